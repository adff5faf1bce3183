extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let refused = #"""
        {
          "type": "about:blank",
          "title": "Bad Request",
          "status": 400,
          "detail": "no document format has that name ('td3')",
          "hint": "A document format is TD1, TD2 or TD3.",
          "field": "documentFormat",
          "code": "DOCUMENT_FORMAT_UNKNOWN",
          "retryable": false,
          "contractCodes": {"mobile": "N00000"}
        }
        """#
}

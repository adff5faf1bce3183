extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a21a4d-d937-7dc1-ae8c-52a855d0a257", "status": 1, "reasons": [], "rejectReasons": [], "faces": []}
        """#
}

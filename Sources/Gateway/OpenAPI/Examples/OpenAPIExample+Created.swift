extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a21c44-2ec5-72d0-b68e-7cc7b4bd20eb", "status": 1, "reasons": [], "rejectReasons": [], "faces": []}
        """#
}

extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a21a0a-5365-7e4e-b14f-8afd5ead32ed", "status": 1, "reasons": [], "rejectReasons": [], "faces": []}
        """#
}

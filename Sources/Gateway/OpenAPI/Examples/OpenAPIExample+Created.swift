extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a225b5-3c1e-7b52-9d0f-6a54c2f1e8b3", "status": 1}
        """#
}

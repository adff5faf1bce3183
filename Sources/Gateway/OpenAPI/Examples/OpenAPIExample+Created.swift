extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a21da9-8c54-7c0b-95f9-a780ccb717b2", "status": 1, "declined": [], "reasons": [], "rejectReasons": [], "faces": []}
        """#
}

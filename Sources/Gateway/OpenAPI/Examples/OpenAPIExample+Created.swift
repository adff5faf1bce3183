extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a21b25-5239-75a3-8004-534550c12dc8", "status": 1, "reasons": [], "rejectReasons": [], "faces": []}
        """#
}

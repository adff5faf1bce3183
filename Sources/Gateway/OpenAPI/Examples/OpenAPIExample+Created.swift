extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let created = #"""
        {"id": "01a21cdf-082b-7e94-a584-ad637ce09413", "status": 1, "reasons": [], "rejectReasons": [], "faces": []}
        """#
}

extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let specimen = #"""
        {"encodedFrontImage": "aW5zcGVjdGQtc3BlY2ltZW46cGFzc2Vk", "workflow": "id", "documentFormat": "TD3", "userReference": "user-7"}
        """#
}

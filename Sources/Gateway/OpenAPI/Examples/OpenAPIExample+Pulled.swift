extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "body": "{\"data\": {\"endpoint\": 3}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-27T15:40:05.142Z\"}",
              "headers": {
                "webhook-id": "msg_b923975aa5e244acbb58ce21657cfe79",
                "webhook-signature": "v1,Bz7cqQlTkQWhA0fBZqNqH6DxeslTXe9ZptkwxmqPuno=",
                "webhook-timestamp": "1795794005"
              }
            }
          ],
          "next": "jDq3WCCuF6wNTJBFQwPNqQQ5O4xrO6tTsEA8O14q319erwllF3SusgT4WmKWMFiCecNi5np3Gj7lp1Lj2dNQEkyiQccomYjQdT8_DZjJ3nc"
        }
        """#
}

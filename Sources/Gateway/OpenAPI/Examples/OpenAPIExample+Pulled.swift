extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "body": "{\"data\": {\"endpoint\": 3}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-27T11:58:43.263Z\"}",
              "headers": {
                "webhook-id": "msg_5d080b247e1b48bfa7834640d041b0bf",
                "webhook-signature": "v1,bbTCWGTlGhW6L0PFsrjq7depQw0I3pdx0C+UV8DtH/w=",
                "webhook-timestamp": "1795780723"
              }
            }
          ],
          "next": "jbKmrtS9JPToTtMypi4C_oS6lFGO_Qp-RsmnDONarCJFxxpcNipwEySE4zFz8rqf4o51sOXS79ISymIWohnuXqrjJE4vQ1Uq8I5wTnN23NU"
        }
        """#
}

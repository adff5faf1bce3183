extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "body": "{\"data\": {\"endpoint\": 3}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-27T09:09:46.145Z\"}",
              "headers": {
                "webhook-id": "msg_03391a2e3f5d45cf909e8e96010cc465",
                "webhook-signature": "v1,2XUZhAwIeBwPDBT2/e63cruuF9LM/aW8eYM+JtEx9Ik=",
                "webhook-timestamp": "1795770586"
              }
            }
          ],
          "next": "dQ7uQXNOG_50eCFgUUVwVIK5P7RsEMIbZiqAgDms-e_2unrIY1rxDMqBEB-tti3YH4Vf2V-0D_YNlBhCKag1H78cqa1ndv0E0xoGutK2VTg"
        }
        """#
}

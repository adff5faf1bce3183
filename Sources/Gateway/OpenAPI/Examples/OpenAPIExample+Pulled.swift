extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "body": "{\"data\": {\"endpoint\": 3}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-26T22:47:14.268Z\"}",
              "headers": {
                "webhook-id": "msg_a2cc09ebbb3d4a379eff87cf048a7136",
                "webhook-signature": "v1,XKmIECbtKaVWwJsOnOAVHivKlksDTyRuu/n5EDGrFKk=",
                "webhook-timestamp": "1795733234"
              }
            }
          ],
          "next": "YCO7d-Y5pWZ7RfJE29lIDKGSyd4HxKEfPWDL2WVOHwBCgEV3CsvAzQNPbIlwDjWf5gi5ykSnja5EU38Vgxgxt2Z2scJrf-vAOgb3Lbi7Exw"
        }
        """#
}

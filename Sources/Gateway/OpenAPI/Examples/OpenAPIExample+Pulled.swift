extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "headers": {
                "webhook-id": "msg_01a225b55d6f778ebb5b30f041536296",
                "webhook-timestamp": "1795730620",
                "webhook-signature": "v1,gn7vopLEsuBQG2gdU6vWIHUS0aM+pJNELEvfjNgYpqg="
              },
              "body": "{\"data\": {\"endpoint\": 2}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-26T22:03:40.000Z\"}"
            }
          ],
          "next": "q7hZ0mB1xT9fKc2LwVdE5nRgYsJ3uOaPi8Xt4vQ6kMzHbCyFeDlWrSjUoGpNtIA1x-_2Lq7hZ0mB1xT9fKc2LwVdE5nRgYsJ3uOaPi8Xt4v"
        }
        """#
}

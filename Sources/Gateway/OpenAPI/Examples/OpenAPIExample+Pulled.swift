extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "body": "{\"data\": {\"endpoint\": 3}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-27T00:00:57.436Z\"}",
              "headers": {
                "webhook-id": "msg_c5f17b67c90b489c905de6c0c7af6922",
                "webhook-signature": "v1,1eCw0vwvIuqcaJQ4pw2Jbn1DYMgEu5bWFvQ9u9DN1AI=",
                "webhook-timestamp": "1795737657"
              }
            }
          ],
          "next": "E88sA_i2kQGsEhxN11XP28q4zS4QYt5Lt9ORVhcwJtOia0URtWn-svSdfgiE1eV917q1SwpOAVABK0r1-NgHweQh5h_lXbRmmp_zwCp3jUU"
        }
        """#
}

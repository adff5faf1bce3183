extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let pulled = #"""
        {
          "events": [
            {
              "body": "{\"data\": {\"endpoint\": 3}, \"type\": \"endpoint.test\", \"timestamp\": \"2026-11-27T03:56:16.555Z\"}",
              "headers": {
                "webhook-id": "msg_025a36ad4f8d44319fb4330fa1e6c597",
                "webhook-signature": "v1,GbT8DbUeLMCtiCUI0tP5MSZvjDCX7pnckah9sG/D0kk=",
                "webhook-timestamp": "1795751776"
              }
            }
          ],
          "next": "qhhqjA140fhRc0ROz3T7zNQD0auMxA5UIj3VCGQIlrCuunEMvek7grR7WVKJRPZ8hPIO1eY_oCi2SDGs7HXzavoamdCbN1QGL9U4BM04Ok8"
        }
        """#
}

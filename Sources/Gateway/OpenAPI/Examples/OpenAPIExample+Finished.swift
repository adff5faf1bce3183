extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-26T22:47:07.176Z",
          "callbackSentAt": "2026-11-26T22:47:07.176Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a21a0a-81c8-7624-9c75-c4a93aaaa5e7", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a21a0a-81c8-7624-9c75-c4a93aaaa5e7", "status": 128, "decision": "PASSED"}
        }
        """#
}

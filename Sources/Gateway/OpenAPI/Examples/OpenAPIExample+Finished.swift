extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-27T00:00:50.266Z",
          "callbackSentAt": "2026-11-27T00:00:50.266Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a21a4d-fec9-7f2a-aa20-c2c9b511a7ae", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a21a4d-fec9-7f2a-aa20-c2c9b511a7ae", "status": 128, "decision": "PASSED"}
        }
        """#
}

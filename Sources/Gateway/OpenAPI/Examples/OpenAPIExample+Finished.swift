extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-27T09:09:38.339Z",
          "callbackSentAt": "2026-11-27T09:09:38.339Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a21c44-6bc4-7497-b2af-4b3e4c22e9bd", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a21c44-6bc4-7497-b2af-4b3e4c22e9bd", "status": 128, "decision": "PASSED"}
        }
        """#
}

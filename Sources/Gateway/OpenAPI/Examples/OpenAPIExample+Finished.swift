extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-27T15:39:56.730Z",
          "callbackSentAt": "2026-11-27T15:39:56.730Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a21da9-c396-7a18-8d9b-f659e13204c9", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a21da9-c396-7a18-8d9b-f659e13204c9", "status": 128, "decision": "PASSED"}
        }
        """#
}

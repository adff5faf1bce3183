extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-27T03:56:10.006Z",
          "callbackSentAt": "2026-11-27T03:56:10.006Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a21b25-72fa-732e-b998-39ae69c32a14", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a21b25-72fa-732e-b998-39ae69c32a14", "status": 128, "decision": "PASSED"}
        }
        """#
}

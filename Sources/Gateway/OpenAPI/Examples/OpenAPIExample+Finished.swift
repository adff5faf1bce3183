extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-26T22:03:34.520Z",
          "callbackSentAt": "2026-11-26T22:03:34.520Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a225b5-3c1e-7b52-9d0f-6a54c2f1e8b3", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a225b5-3c1e-7b52-9d0f-6a54c2f1e8b3", "status": 128, "decision": "PASSED"}
        }
        """#
}

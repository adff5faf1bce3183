extension OpenAPIExample.Values {
    /// Of a real run; `Tests/partner.sh --renew` writes it.
    static let finished = #"""
        {
          "type": "job.finished",
          "timestamp": "2026-11-27T11:58:37.286Z",
          "callbackSentAt": "2026-11-27T11:58:37.286Z",
          "userReference": "user 7",
          "workflowExecution": {"id": "01a21cdf-2689-762c-b979-2dc2c7afd2d7", "definitionKey": "3", "status": "PROCESSED"},
          "data": {"id": "01a21cdf-2689-762c-b979-2dc2c7afd2d7", "status": 128, "decision": "PASSED"}
        }
        """#
}

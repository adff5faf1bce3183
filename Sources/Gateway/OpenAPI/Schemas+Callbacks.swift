extension OpenAPIDocument {
    /// Requests and answers of the calls about callbacks, and the bodies of callbacks.
    static var callbackSchemas: String {
        #"""
        "CallbackPage": {
          "type": "object",
          "required": ["callbacks"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "callbacks": { "type": "array", "items": { "$ref": "#/components/schemas/Callback" } },
            "next": { "type": "string", "description": "What to send as after; absent on the last page" }
          }
        },
        "Callback": {
          "type": "object",
          "required": ["webhookId", "event", "endpoint", "state", "createdAt", "attempts"],
          "additionalProperties": false,
          "properties": {
            "webhookId": { "type": "string" },
            "event": { "type": "string" },
            "job": { "type": "string", "format": "uuid" },
            "endpoint": { "type": "integer" },
            "state": { "enum": ["pending", "held", "dead", "delivered"] },
            "createdAt": { "$ref": "#/components/schemas/Time" },
            "deliveredAt": { "$ref": "#/components/schemas/Time" },
            "nextAttemptAt": { "$ref": "#/components/schemas/Time" },
            "attempts": {
              "type": "array",
              "description": "The last 50",
              "items": {
                "type": "object",
                "required": ["at", "durationMs"],
                "properties": {
                  "at": { "$ref": "#/components/schemas/Time" },
                  "durationMs": { "type": "integer" },
                  "status": { "type": "integer", "description": "HTTP status; absent: no answer came" },
                  "code": { "type": "string", "description": "Why it failed; /errors lists the codes" }
                }
              }
            }
          }
        },
        "EndpointList": {
          "type": "object",
          "required": ["endpoints"],
          "additionalProperties": false,
          "properties": { "test": { "$ref": "#/components/schemas/TestMark" }, "endpoints": { "type": "array", "items": { "$ref": "#/components/schemas/Endpoint" } } }
        },
        "Endpoint": {
          "type": "object",
          "required": ["id", "isDefault", "events", "createdAt", "state", "counts"],
          "properties": {
            "id": { "type": "integer" },
            "url": { "type": "string", "description": "pull: you pull the events; absent: only jobs with a callbackUrl have callbacks" },
            "isDefault": { "type": "boolean" },
            "events": { "type": "array", "items": { "type": "string" } },
            "createdAt": { "$ref": "#/components/schemas/Time" },
            "state": { "enum": ["active", "paused", "disabled"] },
            "reason": { "type": "string", "description": "Why it is disabled, or that the operator paused it" },
            "failingSince": { "$ref": "#/components/schemas/Time" },
            "pausedUntil": { "$ref": "#/components/schemas/Time", "description": "Set after many failures in a row" },
            "counts": {
              "type": "object",
              "required": ["pending", "held", "dead"],
              "description": "Counting stops at 10,000",
              "properties": { "pending": { "type": "integer" }, "held": { "type": "integer" }, "dead": { "type": "integer" } }
            }
          }
        },
        "ReplayRequest": {
          "type": "object",
          "required": ["since"],
          "additionalProperties": false,
          "properties": {
            "since": { "$ref": "#/components/schemas/Time" },
            "until": { "$ref": "#/components/schemas/Time" },
            "delivered": { "type": "boolean", "description": "Also those that were delivered" }
          }
        },
        "Replay": {
          "type": "object",
          "required": ["replayed"],
          "additionalProperties": false,
          "properties": { "test": { "$ref": "#/components/schemas/TestMark" }, "replayed": { "type": "integer" } }
        },
        "RotateRequest": {
          "type": "object",
          "additionalProperties": false,
          "properties": { "overlapSeconds": { "type": "integer", "minimum": 0, "maximum": 31536000, "default": 86400, "description": "How long the old secret also signs" } }
        },
        "Secret": {
          "type": "object",
          "required": ["secret"],
          "additionalProperties": false,
          "properties": { "test": { "$ref": "#/components/schemas/TestMark" }, "secret": { "type": "string", "pattern": "^whsec_" } }
        },
        "TestCallback": {
          "type": "object",
          "required": ["webhookId"],
          "additionalProperties": false,
          "properties": { "test": { "$ref": "#/components/schemas/TestMark" }, "webhookId": { "type": "string" } }
        },
        "Empty": { "type": "object", "additionalProperties": false, "properties": { "test": { "$ref": "#/components/schemas/TestMark" } } },
        "JobEvent": {
          "type": "object",
          "description": "The body of a callback about a job",
          "required": ["type", "timestamp", "callbackSentAt", "workflowExecution", "data"],
          "properties": {
            "type": { "enum": ["job.finished", "job.review_needed", "job.status"] },
            "timestamp": { "$ref": "#/components/schemas/Time" },
            "callbackSentAt": { "$ref": "#/components/schemas/Time", "description": "The same in every attempt, as the signature requires" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" },
            "userReference": { "type": "string" },
            "workflowExecution": {
              "type": "object",
              "required": ["id", "definitionKey", "status"],
              "properties": {
                "id": { "type": "string", "format": "uuid" },
                "definitionKey": { "type": "string" },
                "status": { "enum": ["PROCESSED", "SESSION_EXPIRED", "ACQUIRED"] }
              }
            },
            "data": {
              "type": "object",
              "required": ["id", "status"],
              "properties": {
                "id": { "type": "string", "format": "uuid" },
                "status": { "$ref": "#/components/schemas/Status" },
                "decision": { "anyOf": [{ "$ref": "#/components/schemas/DecisionType" }, { "type": "null" }], "description": "Of a finished job; null: it was erased" },
                "faceSdk": { "$ref": "#/components/schemas/FaceOutcome" },
                "result": { "$ref": "#/components/schemas/Job" }
              }
            }
          }
        },
        "EndpointEvent": {
          "type": "object",
          "description": "The body of a callback about an endpoint",
          "required": ["type", "timestamp", "data"],
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "type": { "enum": ["endpoint.failing", "endpoint.recovered", "endpoint.disabled", "endpoint.enabled", "endpoint.test"] },
            "timestamp": { "$ref": "#/components/schemas/Time" },
            "data": { "type": "object", "required": ["endpoint"], "properties": { "endpoint": { "type": "integer" } } }
          }
        }
        """#
    }
}

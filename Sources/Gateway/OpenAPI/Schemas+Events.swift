extension OpenAPIDocument {
    /// Pulled events and counts.
    static var eventSchemas: String {
        #"""
        "EventPage": {
          "type": "object",
          "required": ["events", "next"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "events": { "type": "array", "maxItems": 1000, "items": { "$ref": "#/components/schemas/Event" } },
            "next": { "type": "string", "pattern": "^[A-Za-z0-9_-]{107}$", "description": "What to send as after, also if there were no events" }
          }
        },
        "Event": {
          "type": "object",
          "required": ["headers", "body"],
          "additionalProperties": false,
          "properties": {
            "headers": {
              "type": "object",
              "required": ["webhook-id", "webhook-timestamp", "webhook-signature"],
              "additionalProperties": false,
              "properties": {
                "webhook-id": { "type": "string", "description": "The same whenever the event comes again" },
                "webhook-timestamp": { "type": "string", "description": "Seconds since 1970, of this answer" },
                "webhook-signature": { "type": "string", "description": "Over id, timestamp and body (Standard Webhooks)" }
              }
            },
            "body": { "type": "string", "description": "The signed text, a JobEvent or EndpointEvent as JSON: verify it, then parse it" }
          }
        },
        "Usage": {
          "type": "object",
          "required": ["month", "total", "counts"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "month": { "type": "string" },
            "countedTo": { "$ref": "#/components/schemas/Time", "description": "Jobs finished before this are counted; absent: none yet" },
            "total": { "type": "integer" },
            "counts": {
              "type": "array",
              "items": {
                "type": "object",
                "required": ["workflow", "decision", "jobs"],
                "additionalProperties": false,
                "properties": {
                  "workflow": { "type": "string" },
                  "decision": { "type": "string", "description": "As in results; ERASED: erased before it was counted" },
                  "error": { "type": "string", "description": "Code of jobs that failed; /errors lists them" },
                  "jobs": { "type": "integer" }
                }
              }
            }
          }
        }
        """#
    }
}

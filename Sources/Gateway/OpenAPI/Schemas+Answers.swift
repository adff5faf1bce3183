extension OpenAPIDocument {
    /// Contents of answers other than jobs and persons.
    static var answerSchemas: String {
        #"""
        "TestMark": { "type": "boolean", "description": "Present and true if it is a test credential" },
        "JobPage": {
          "type": "object",
          "required": ["jobs"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "jobs": { "type": "array", "maxItems": 100, "items": { "$ref": "#/components/schemas/JobEntry" } },
            "next": { "type": "string", "format": "uuid", "description": "What to send as after; absent on the last page" }
          }
        },
        "JobEntry": {
          "type": "object",
          "required": ["id", "status", "workflow", "createdAt"],
          "additionalProperties": false,
          "properties": {
            "id": { "type": "string", "format": "uuid" },
            "status": { "$ref": "#/components/schemas/Status" },
            "workflow": { "type": "string" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" },
            "createdAt": { "type": "string", "format": "date-time" },
            "completedAt": { "type": "string", "format": "date-time" }
          }
        },
        "Usability": {
          "type": "object",
          "required": ["decision", "usability", "reasons"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "decision": { "$ref": "#/components/schemas/Decision" },
            "usability": { "type": "array", "items": { "$ref": "#/components/schemas/UsabilityRecord" } },
            "reasons": { "type": "array", "items": { "$ref": "#/components/schemas/Reason" } }
          }
        },
        "Cancellation": {
          "type": "object",
          "required": ["id", "cancelled"],
          "additionalProperties": false,
          "properties": {
            "id": { "type": "string", "format": "uuid" },
            "cancelled": { "type": "boolean", "description": "False: the job was finished already" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" }
          }
        },
        "SessionAnswer": {
          "type": "object",
          "required": ["sessionId", "isFinished", "success", "livenessPassed", "reason"],
          "properties": {
            "sessionId": { "type": "string", "format": "uuid", "description": "Also the job's id" },
            "isFinished": { "type": "boolean", "description": "False: the session accepts a further blob" },
            "sessionResponseBlob": { "type": "string" },
            "success": { "type": "boolean" },
            "livenessPassed": { "type": "boolean" },
            "reason": { "type": "string" },
            "isRepeated": { "type": "boolean", "description": "Whether the blob had been accepted before, under the same idempotency key; the answer is then the one to the session's last blob" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" }
          }
        },
        "Challenge": {
          "type": "object",
          "required": ["id", "method", "token", "expiresAt"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "id": { "type": "string", "format": "uuid" },
            "method": { "enum": ["colour_flash", "motion", "colour_flash+motion"] },
            "token": { "type": "string", "pattern": "^[A-Za-z0-9_-]{43}$", "description": "For one job, as challenge.token" },
            "expiresAt": { "type": "string", "format": "date-time" },
            "colours": { "type": "array", "items": { "enum": ["RED", "GREEN", "BLUE", "CYAN", "MAGENTA", "YELLOW"] } },
            "colourMs": { "type": "integer" },
            "steps": { "type": "array", "items": { "$ref": "#/components/schemas/Motion" } },
            "stepTimeoutMs": { "type": "integer" }
          }
        },
        "Token": {
          "type": "object",
          "required": ["access_token", "token_type", "expires_in", "scope"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "access_token": { "type": "string" },
            "token_type": { "const": "Bearer" },
            "expires_in": { "type": "integer", "description": "Seconds" },
            "scope": { "type": "string" }
          }
        },
        "TokenRefusal": {
          "type": "object",
          "description": "RFC 6749, section 5.2",
          "required": ["error"],
          "properties": {
            "error": { "enum": ["invalid_request", "invalid_client", "unsupported_grant_type", "invalid_scope"] },
            "error_description": { "type": "string" }
          }
        },
        "Problem": {
          "type": "object",
          "required": ["type", "title", "status", "detail", "code", "retryable", "contractCodes"],
          "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "hint": { "type": "string", "description": "What is allowed, or what to do" },
            "field": {
              "type": "string",
              "description": "The member, parameter, header or part that is wrong; members of members after a dot"
            },
            "code": { "type": "string", "description": "Stable code; GET /errors lists them all" },
            "retryable": { "type": "boolean" },
            "contractCodes": { "$ref": "#/components/schemas/ContractCodes" }
          }
        },
        "ContractCodes": {
          "type": "object",
          "description": "The error's codes in the contracts of apps' SDKs",
          "required": ["mobile"],
          "properties": {
            "mobile": { "type": "string", "pattern": "^[A-Z][0-9]{5}$" },
            "payment": { "type": "integer" }
          }
        },
        "DocumentTable": {
          "type": "object",
          "required": ["documents"],
          "additionalProperties": false,
          "properties": {
            "documents": {
              "type": "array",
              "items": {
                "type": "object",
                "required": ["type", "source", "format", "sides"],
                "additionalProperties": false,
                "properties": {
                  "type": { "type": "string" },
                  "source": { "enum": ["MRZ", "BARCODE"] },
                  "format": { "type": "string" },
                  "sides": { "$ref": "#/components/schemas/PartKinds" },
                  "countries": { "type": "array", "items": { "type": "string" }, "description": "Absent: every issuing state of ICAO Doc 9303-3" }
                }
              }
            }
          }
        },
        "ErrorTable": {
          "type": "object",
          "required": ["errors"],
          "properties": {
            "errors": {
              "type": "array",
              "items": {
                "type": "object",
                "required": ["code", "message", "retryable", "contractCodes"],
                "properties": {
                  "code": { "type": "string" },
                  "message": { "type": "string" },
                  "hint": { "type": "string" },
                  "retryable": { "type": "boolean" },
                  "status": { "type": "integer", "description": "Of a refusal; absent: no request is refused with the code" },
                  "contractCodes": { "$ref": "#/components/schemas/ContractCodes" }
                }
              }
            }
          }
        }
        """#
    }
}

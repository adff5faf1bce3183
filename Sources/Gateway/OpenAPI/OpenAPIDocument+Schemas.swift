internal import InspectCore

extension OpenAPIDocument {
    /// What requests and answers consist of.
    static var schemas: String {
        #"""
              "Base64": { "type": "string", "contentEncoding": "base64", "pattern": "^([A-Za-z0-9+/]{4}[\\r\\n]*)*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?[\\r\\n]*$" },
              "Image": {
                "description": "An image as it was captured; empty or null: it was not taken",
                "anyOf": [{ "$ref": "#/components/schemas/Base64" }, { "type": "null" }]
              },
              "Digest": { "type": "string", "pattern": "^[0-9A-Fa-f]{64}$" },
              "Part": {
                "oneOf": [
                  { "$ref": "#/components/schemas/Base64" },
                  {
                    "type": "object",
                    "required": ["content"],
                    "additionalProperties": false,
                    "properties": { "content": { "$ref": "#/components/schemas/Base64" }, "sha256": { "$ref": "#/components/schemas/Digest" } }
                  },
                  {
                    "type": "object",
                    "required": ["url", "sha256"],
                    "additionalProperties": false,
                    "properties": { "url": { "type": "string", "format": "uri", "maxLength": 2048 }, "sha256": { "$ref": "#/components/schemas/Digest" } }
                  }
                ]
              },
              "Reference": { "type": "string", "minLength": 1, "maxLength": 100 },
              "CreateRequest": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "encodedFrontImage": { "$ref": "#/components/schemas/Image" },
                  "encodedBackImage": { "$ref": "#/components/schemas/Image" },
                  "encodedFaceImage": { "$ref": "#/components/schemas/Image" },
                  "parts": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                      \#(Self.members(of: "Part"))
                    }
                  },
                  "workflow": { "enum": [\#(Self.workflows)] },
                  "documentFormat": { "enum": ["TD1", "TD2", "TD3"] },
                  "documentTypes": { "type": "array", "maxItems": 100, "items": { "enum": ["PASSPORT", "VISA", "DRIVING_LICENSE", "ID_CARD"] } },
                  "countries": { "type": "array", "maxItems": 300, "items": { "type": "string", "pattern": "^[A-Z]{3}$" } },
                  "customerInternalReference": { "$ref": "#/components/schemas/Reference" },
                  "userReference": { "$ref": "#/components/schemas/Reference" },
                  "reportingCriteria": { "type": "string", "maxLength": 100 },
                  "callbackUrl": { "type": "string", "format": "uri", "maxLength": 255 },
                  "idempotencyKey": { "type": "string", "minLength": 1, "maxLength": 100 },
                  "digests": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                      \#(Self.members(of: "Digest"))
                    }
                  },
                  "region": { "type": "string", "pattern": "^[A-Z][A-Z0-9-]{1,15}$" },
                  "delaySeconds": { "type": "number", "minimum": 0, "maximum": 2592000 },
                  "runAt": { "type": "string", "format": "date-time" },
                  "expiresAt": { "type": "string", "format": "date-time" },
                  "review": { "enum": ["never", "rejected", "warning", "always"] },
                  "faceId": { "type": "string", "minLength": 1, "maxLength": 100, "description": "The face that is enrolled or authenticated, by the partner's own name for it." },
                  "threshold": { "type": "number", "minimum": 0.5, "maximum": 0.999, "description": "Similarity from which faces match." },
                  "enrollmentMode": { "enum": ["add", "replace"] },
                  "challenge": {
                    "type": "object",
                    "required": ["token", "frameTimes"],
                    "additionalProperties": false,
                    "properties": {
                      "token": { "type": "string", "description": "Of the answer of /liveness/challenge" },
                      "frameTimes": { "type": "array", "minItems": 1, "maxItems": 256, "items": { "type": "number", "minimum": -600000, "maximum": 600000 }, "description": "Milliseconds since the first colour or instruction, one for each of FRAMES" }
                    }
                  },
                  "consent": {
                    "type": "object",
                    "properties": { "obtained": { "enum": ["yes", "no", "na", true, false] }, "obtainedAt": { "type": "string", "format": "date-time" } }
                  }
                }
              },
              "CreateForm": {
                "type": "object",
                "description": "Parts as bytes, further members as texts or together in request",
                "properties": {
                  \#(Self.files),
                  "request": { "$ref": "#/components/schemas/CreateRequest" },
                  "workflow": { "enum": [\#(Self.workflowWords)] },
                  "documentFormat": { "enum": ["TD1", "TD2", "TD3"] },
                  "customerInternalReference": { "$ref": "#/components/schemas/Reference" },
                  "userReference": { "$ref": "#/components/schemas/Reference" },
                  "reportingCriteria": { "$ref": "#/components/schemas/Reference" },
                  "faceId": { "$ref": "#/components/schemas/Reference" }
                }
              },
              "Job": {
                "type": "object",
                "required": ["id", "status"],
                "properties": {
                  "id": { "type": "string", "format": "uuid" },
                  "status": { "enum": [1, 2, 4, 8, 16, 32, 64, 128], "description": "128 FINISHED; before that nothing else is a result" },
                  "isRepeated": { "type": "boolean", "description": "Whether the request had been accepted before, under the same idempotency key" },
                  "workflow": { "type": "object" },
                  "decision": { "type": "object" },
                  "capabilities": { "type": "object" },
                  "error": {
                    "type": "object",
                    "required": ["code", "message", "retryable", "contractCodes"],
                    "properties": {
                      "code": { "type": "string", "description": "Stable code; insp.error_code lists them all" },
                      "message": { "type": "string" },
                      "retryable": { "type": "boolean" },
                      "contractCodes": { "$ref": "#/components/schemas/ContractCodes" }
                    }
                  }
                }
              },
              "SessionRequest": {
                "type": "object",
                "required": ["sessionRequestBlob"],
                "additionalProperties": false,
                "properties": {
                  "sessionRequestBlob": { "type": "string", "minLength": 1 },
                  "userId": { "anyOf": [{ "$ref": "#/components/schemas/Reference" }, { "type": "null" }] },
                  "flow": { "type": ["string", "null"], "maxLength": 100 }
                }
              },
              "SessionAnswer": {
                "type": "object",
                "required": ["success", "livenessPassed", "reason"],
                "properties": {
                  "sessionResponseBlob": { "type": "string" },
                  "success": { "type": "boolean" },
                  "livenessPassed": { "type": "boolean" },
                  "reason": { "type": "string" }
                }
              },
              "ContractCodes": {
                "type": "object",
                "description": "What the contracts of apps' SDKs call the error",
                "required": ["mobile"],
                "properties": {
                  "mobile": { "type": "string", "pattern": "^[A-Z][0-9]{5}$" },
                  "payment": { "type": "integer" }
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
                  "code": { "type": "string", "description": "Stable code; insp.error_code lists them all" },
                  "retryable": { "type": "boolean" },
                  "contractCodes": { "$ref": "#/components/schemas/ContractCodes" }
                }
              },
              "JobPage": {
                "type": "object",
                "required": ["jobs"],
                "additionalProperties": false,
                "properties": {
                  "jobs": { "type": "array", "maxItems": 100, "items": { "$ref": "#/components/schemas/JobEntry" } },
                  "next": { "type": "string", "format": "uuid", "description": "What to send as after; absent: there are no more" }
                }
              },
              "JobEntry": {
                "type": "object",
                "required": ["id", "status", "workflow", "createdAt"],
                "additionalProperties": false,
                "properties": {
                  "id": { "type": "string", "format": "uuid" },
                  "status": { "enum": [1, 2, 4, 8, 16, 32, 64, 128] },
                  "workflow": { "type": "string" },
                  "createdAt": { "type": "string", "format": "date-time" },
                  "completedAt": { "type": "string", "format": "date-time" }
                }
              },
              "Cancellation": {
                "type": "object",
                "required": ["id", "cancelled"],
                "additionalProperties": false,
                "properties": {
                  "id": { "type": "string", "format": "uuid" },
                  "cancelled": { "type": "boolean", "description": "False: the job was finished already" }
                }
              },
              "ChallengeRequest": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "method": { "enum": ["colour_flash", "motion", "colour_flash+motion"] },
                  "colours": { "type": "integer", "minimum": 6, "maximum": 8 },
                  "colourMs": { "type": "integer", "minimum": 334, "maximum": 1000 },
                  "steps": { "type": "integer", "minimum": 1, "maximum": 5 },
                  "motions": { "type": "array", "minItems": 2, "maxItems": 5, "uniqueItems": true, "items": { "$ref": "#/components/schemas/Motion" } },
                  "stepTimeoutMs": { "type": "integer", "minimum": 1000, "maximum": 30000 },
                  "lifetimeSeconds": { "type": "integer", "minimum": 5, "maximum": 300 }
                }
              },
              "Motion": { "enum": ["MOUTH_OPEN", "SMILE", "BLINK", "SHAKE", "NOD"] },
              "Challenge": {
                "type": "object",
                "required": ["id", "method", "token", "expiresAt"],
                "additionalProperties": false,
                "properties": {
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
              "TokenRequest": {
                "type": "object",
                "required": ["grant_type"],
                "properties": {
                  "grant_type": { "const": "client_credentials" },
                  "scope": { "type": "string", "description": "Separated by spaces; absent: all that the credential allows" },
                  "client_id": { "type": "string", "pattern": "^(ik_[0-9a-f]{16})?$", "description": "Key id, where the header Authorization is absent; empty: absent" },
                  "client_secret": { "type": "string", "pattern": "^([A-Za-z0-9_-]{43})?$" }
                }
              },
              "Token": {
                "type": "object",
                "required": ["access_token", "token_type", "expires_in", "scope"],
                "additionalProperties": false,
                "properties": {
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
              "ErrorTable": {
                "type": "object",
                "required": ["errors"],
                "properties": {
                  "errors": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["code", "message", "retryable", "status", "contractCodes"],
                      "properties": {
                        "code": { "type": "string" },
                        "message": { "type": "string" },
                        "hint": { "type": "string" },
                        "retryable": { "type": "boolean" },
                        "status": { "type": "integer" },
                        "contractCodes": { "$ref": "#/components/schemas/ContractCodes" }
                      }
                    }
                  }
                }
              }
        """#
    }

    /// Names and definition keys; keys also come as numbers.
    private static var workflows: String {
        let words = Workflow.allCases.flatMap { [$0.rawValue, $0.row.definitionKey] }
        let strings = Set(words).sorted().map { "\"\($0)\"" }
        return (strings + Set(words.compactMap(Int.init)).sorted().map(String.init)).joined(separator: ", ")
    }

    private static var workflowWords: String {
        Set(Workflow.allCases.flatMap { [$0.rawValue, $0.row.definitionKey] }).sorted().map { "\"\($0)\"" }
            .joined(separator: ", ")
    }

    /// A field for each kind of part.
    private static var files: String {
        PartKind.allCases.map { kind in
            let one = #"{ "type": "string", "format": "binary" }"#
            let value =
                kind.row.isMany ? #"{ "type": "array", "maxItems": \#(PartKind.countLimit), "items": \#(one) }"# : one
            return #""\#(kind.rawValue)": \#(value)"#
        }.joined(separator: ",\n" + String(repeating: " ", count: 18))
    }

    /// A member for each kind of part, which refers to a schema.
    private static func members(of schema: String) -> String {
        PartKind.allCases.map { kind in
            let one = ##"{ "$ref": "#/components/schemas/\##(schema)" }"##
            let value =
                kind.row.isMany
                ? #"{ "type": "array", "minItems": 1, "maxItems": \#(PartKind.countLimit), "items": \#(one) }"# : one
            return #""\#(kind.rawValue)": \#(value)"#
        }.joined(separator: ",\n" + String(repeating: " ", count: 14))
    }
}

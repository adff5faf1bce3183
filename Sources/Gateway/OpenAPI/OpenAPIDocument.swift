internal import InspectCore

/// The gateway's interface as OpenAPI 3.1, served at `/openapi.json`.
///
/// It describes the form of a request. `insp.enqueue` checks rules between members, such as the parts that a workflow
/// requires, and answers with its own codes.
enum OpenAPIDocument {
    /// - Parameter longestWaitSeconds: How long a client may wait in one request.
    static func text(longestWaitSeconds: Int) -> String {
        #"""
        {
          "openapi": "3.1.0",
          "info": {
            "title": "inspectd gateway",
            "version": "1",
            "description": "Accepts identity inspections and returns their status. Results are valid only at status 128."
          },
          "security": [{ "basic": [] }, { "bearer": [] }],
          "paths": {
            "/inspectionjob/create": {
              "post": {
                "operationId": "createInspectionJob",
                "summary": "Accepts an inspection",
                "description": "Requires the scope create; with wait, also read. The same request under the same idempotency key is one job.",
                "parameters": [
                  { "$ref": "#/components/parameters/wait" },
                  { "name": "Idempotency-Key", "in": "header", "schema": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[!-~]+$" } },
                  { "name": "traceparent", "in": "header", "description": "W3C Trace Context", "schema": { "type": "string" } }
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/CreateRequest" },
                      "examples": {
                        "capture": { "value": { "encodedFrontImage": "aW1hZ2U=", "encodedBackImage": "", "encodedFaceImage": "aW1hZ2U=", "documentFormat": "TD3" } },
                        "parts": { "value": { "workflow": "id", "parts": { "FRONT": { "content": "aW1hZ2U=", "sha256": "6105d6cc76af400325e94d588ce511be5bfdbb73b437dc51eca43917d7a43e3d" } } } }
                      }
                    }
                  }
                },
                "responses": {
                  "201": {
                    "description": "Accepted; with wait, the job as it is at the end of the wait",
                    "links": { "job": { "operationId": "getInspectionJob", "parameters": { "id": "$response.body#/id" } } },
                    "headers": { "Location": { "required": true, "schema": { "type": "string" } } },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 409, 413, 415, 429, 503))
                }
              }
            },
            "/inspectionjob/{id}": {
              "get": {
                "operationId": "getInspectionJob",
                "summary": "How far a job is, and its results once status is 128",
                "description": "Requires the scope read. Another partner's job is unknown.",
                "parameters": [
                  { "name": "id", "in": "path", "required": true, "schema": { "type": "string", "format": "uuid" } },
                  { "$ref": "#/components/parameters/wait" }
                ],
                "responses": {
                  "200": {
                    "description": "The job",
                    "headers": { "Retry-After": { "schema": { "type": "integer" }, "description": "While it is not finished" } },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 404, 405, 429, 503))
                }
              }
            },
            "/facetec/session": {
              "post": {
                "operationId": "runSession",
                "summary": "Turns a session request blob (SDK 10) into a session response blob",
                "description": "Requires the scope session. The raw payload of SDK 9 is refused.",
                "parameters": [
                  { "name": "traceparent", "in": "header", "description": "W3C Trace Context", "schema": { "type": "string" } }
                ],
                "requestBody": {
                  "required": true,
                  "content": { "application/json": { "schema": { "$ref": "#/components/schemas/SessionRequest" } } }
                },
                "responses": {
                  "200": {
                    "description": "The vendor's server answered, or the session could not be run (success is false then)",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/SessionAnswer" } } }
                  },
                  "202": {
                    "description": "Accepted, but not answered within the time; the job goes on",
                    "headers": { "Location": { "required": true, "schema": { "type": "string" } } },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 413, 415, 429, 503))
                }
              }
            },
            "/openapi.json": {
              "get": {
                "operationId": "getDescription",
                "summary": "This document",
                "security": [],
                "responses": {
                  "200": { "description": "OpenAPI 3.1", "content": { "application/json": { "schema": { "type": "object" } } } },
                  \#(Self.refusals(400, 405, 429))
                }
              }
            }
          },
          "components": {
            "securitySchemes": {
              "basic": { "type": "http", "scheme": "basic", "description": "Key id and secret" },
              "bearer": { "type": "http", "scheme": "bearer", "description": "Key id, point, secret" }
            },
            "parameters": {
              "wait": {
                "name": "wait",
                "in": "query",
                "description": "Seconds to wait for status 128 (the legacy synchronous call)",
                "schema": { "type": "integer", "minimum": 0, "maximum": \#(longestWaitSeconds) }
              }
            },
            "responses": {
              "Problem": {
                "description": "Refused (RFC 9457)",
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "Unauthorized": {
                "description": "No valid credential",
                "headers": { "WWW-Authenticate": { "required": true, "schema": { "type": "string" } } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "MethodNotAllowed": {
                "description": "The path takes another method",
                "headers": { "Allow": { "required": true, "schema": { "type": "string" } } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "Later": {
                "description": "Not now: too many requests, or no database",
                "headers": { "Retry-After": { "required": true, "schema": { "type": "integer" } } },
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              }
            },
            "schemas": {
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
                  "consent": {
                    "type": "object",
                    "properties": { "obtained": { "enum": ["yes", "no", "na", true, false] }, "obtainedAt": { "type": "string", "format": "date-time" } }
                  }
                }
              },
              "Job": {
                "type": "object",
                "required": ["id", "status"],
                "properties": {
                  "id": { "type": "string", "format": "uuid" },
                  "status": { "enum": [1, 2, 4, 8, 16, 32, 64, 128], "description": "128 FINISHED; before that nothing else is a result" },
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
              }
            }
          }
        }

        """#
    }

    /// The responses of an operation that refuse a request.
    private static func refusals(_ statuses: Int...) -> String {
        statuses.map { status in
            let response =
                switch status {
                case 401: "Unauthorized"
                case 405: "MethodNotAllowed"
                case 429, 503: "Later"
                default: "Problem"
                }
            return ##""\##(status)": { "$ref": "#/components/responses/\##(response)" }"##
        }.joined(separator: ",\n" + String(repeating: " ", count: 10))
    }

    /// Names and definition keys; keys also come as numbers.
    private static var workflows: String {
        let words = Workflow.allCases.flatMap { [$0.rawValue, $0.row.definitionKey] }
        let strings = Set(words).sorted().map { "\"\($0)\"" }
        return (strings + Set(words.compactMap(Int.init)).sorted().map(String.init)).joined(separator: ", ")
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

internal import InspectCore

extension OpenAPIDocument {
    /// Calls about jobs.
    static var jobs: String {
        #"""
            "/inspectionjob/create": {
              "post": {
                "operationId": "createInspectionJob",
                \#(Self.security(.create)),
                "summary": "Accepts an inspection",
                "description": "Requires the scope create; with wait, also read. The same request under the same idempotency key is one job.",
                "parameters": [
                  { "$ref": "#/components/parameters/wait" },
                  { "$ref": "#/components/parameters/idempotencyKey" },
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
                    },
                    "multipart/form-data": {
                      "schema": { "$ref": "#/components/schemas/CreateForm" },
                      "encoding": { "request": { "contentType": "application/json" } }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "Accepted before, under the same idempotency key; otherwise as 201",
                    "headers": { "Location": { "required": true, "schema": { "type": "string" } } },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
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
            "/inspectionjob": {
              "get": {
                "operationId": "listInspectionJobs",
                \#(Self.security(.read)),
                "summary": "The jobs that have all of the given references, newest first",
                "description": "Requires the scope read, and at least one reference. A page may have fewer jobs than limit, or none, and a next one all the same.",
                "parameters": [
                  { "name": "userReference", "in": "query", "schema": { "$ref": "#/components/schemas/Reference" } },
                  { "name": "customerInternalReference", "in": "query", "schema": { "$ref": "#/components/schemas/Reference" } },
                  { "name": "reportingCriteria", "in": "query", "schema": { "$ref": "#/components/schemas/Reference" } },
                  { "name": "status", "in": "query", "schema": { "enum": [1, 2, 4, 8, 16, 32, 64, 128] } },
                  { "name": "after", "in": "query", "description": "next of the page before", "schema": { "type": "string", "format": "uuid" } },
                  { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 100, "default": 50 } }
                ],
                "responses": {
                  "200": {
                    "description": "A page",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/JobPage" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 429, 503))
                }
              }
            },
            "/inspectionjob/{id}": {
              "get": {
                "operationId": "getInspectionJob",
                \#(Self.security(.read)),
                "summary": "How far a job is, and its results once status is 128",
                "description": "Requires the scope read. Another partner's job is unknown.",
                "parameters": [
                  { "$ref": "#/components/parameters/id" },
                  { "$ref": "#/components/parameters/wait" },
                  { "name": "If-None-Match", "in": "header", "description": "ETag of an earlier answer", "schema": { "type": "string" } }
                ],
                "responses": {
                  "200": {
                    "description": "The job",
                    "headers": {
                      "ETag": { "required": true, "schema": { "type": "string" } },
                      "Retry-After": { "schema": { "type": "integer" }, "description": "While it is not finished" }
                    },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
                  "304": {
                    "description": "The job is as it was",
                    "headers": { "ETag": { "required": true, "schema": { "type": "string" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 404, 405, 429, 503))
                }
              },
              "delete": {
                "operationId": "cancelInspectionJob",
                \#(Self.security(.create)),
                "summary": "Ends a job that is not finished",
                "description": "Requires the scope create. The job remains, finished as NOT_EXECUTED with the error CANCELLED.",
                "parameters": [{ "$ref": "#/components/parameters/id" }],
                "responses": {
                  "200": {
                    "description": "The job is finished now",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Cancellation" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 404, 405, 429, 503))
                }
              }
            },
            "/inspectionjob/{id}/rerun": {
              "post": {
                "operationId": "rerunInspectionJob",
                \#(Self.security(.create)),
                "summary": "Runs a finished job again, as a new job",
                "description": "Requires the scope create. Each call creates a job.",
                "parameters": [{ "$ref": "#/components/parameters/id" }],
                "responses": {
                  "201": {
                    "description": "The new job",
                    "headers": { "Location": { "required": true, "schema": { "type": "string" } } },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 404, 405, 409, 429, 503))
                }
              }
            },
            "/inspectionjob/{id}/parts/{kind}": {
              "get": {
                "operationId": "getPart",
                \#(Self.security(.images)),
                "summary": "The bytes of a part, as they were received",
                "description": "Requires the scope images. Parts that were given by URL are not kept.",
                "parameters": [
                  { "$ref": "#/components/parameters/id" },
                  { "name": "kind", "in": "path", "required": true, "schema": { "enum": [\#(Self.kinds)] } },
                  { "name": "ordinal", "in": "query", "description": "Which of several parts of the kind, from 0", "schema": { "type": "integer", "minimum": 0, "maximum": 255 } }
                ],
                "responses": {
                  "200": { "description": "The bytes", "content": { "application/octet-stream": {} } },
                  \#(Self.refusals(400, 401, 403, 404, 405, 409, 429, 503))
                }
              }
            }
        """#
    }

    private static var kinds: String { PartKind.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ") }

    /// Calls for a person in front of a camera.
    static var sessions: String {
        #"""
            "/facetec/session": {
              "post": {
                "operationId": "runSession",
                \#(Self.security(.session)),
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
            "/liveness/challenge": {
              "post": {
                "operationId": "issueChallenge",
                \#(Self.security(.create)),
                "summary": "Issues a liveness challenge: what a person shall show or do in front of the camera, once",
                "description": "Requires the scope create. A job answers it with FRAMES and challenge.",
                "requestBody": {
                  "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ChallengeRequest" } } }
                },
                "responses": {
                  "201": {
                    "description": "The challenge",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Challenge" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 413, 415, 429, 503))
                }
              }
            }
        """#
    }
}

extension OpenAPIDocument {
    /// Calls about faces and persons.
    static var persons: String {
        #"""
            "/faces/{faceId}": {
              "get": {
                "operationId": "getFace",
                \#(Self.security(.faces)),
                "summary": "The templates of a face id, without the embeddings",
                "description": "Requires the scope faces.",
                "parameters": [{ "$ref": "#/components/parameters/faceId" }],
                "responses": {
                  "200": {
                    "description": "The face",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Face" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 404, 405, 429, 503))
                }
              },
              "post": {
                "operationId": "enrolFace",
                \#(Self.security(.faces)),
                "summary": "Enrols a face: a job of the workflow enrollment",
                "description": "Requires the scope faces; with wait, also read. Takes what /inspectionjob/create takes, FACE among it.",
                "parameters": [
                  { "$ref": "#/components/parameters/faceId" },
                  { "$ref": "#/components/parameters/wait" },
                  { "$ref": "#/components/parameters/idempotencyKey" }
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/CreateRequest" } },
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
                    "headers": { "Location": { "required": true, "schema": { "type": "string" } } },
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Job" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 409, 413, 415, 429, 503))
                }
              },
              "delete": {
                "operationId": "deleteFace",
                \#(Self.security(.faces)),
                "summary": "Deletes a face id with all its templates, and ends its jobs",
                "description": "Requires the scope faces. Also where there is nothing to delete.",
                "parameters": [{ "$ref": "#/components/parameters/faceId" }],
                "responses": {
                  "200": {
                    "description": "What was deleted",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/FaceDeletion" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 429, 503))
                }
              }
            },
            "/persons/{userReference}": {
              "delete": {
                "operationId": "erasePerson",
                \#(Self.security(.persons)),
                "summary": "Erases all that is kept of a person (GDPR, article 17)",
                "description": "Requires the scope persons. All jobs with their reruns, faces and references; none while a job is not finished. Also where there is nothing to erase.",
                "parameters": [{ "$ref": "#/components/parameters/userReference" }],
                "responses": {
                  "200": {
                    "description": "How many jobs were erased, each with its reruns",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Erasure" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 409, 429, 503))
                }
              }
            },
            "/persons/{userReference}/export": {
              "get": {
                "operationId": "exportPerson",
                \#(Self.security(.persons)),
                "summary": "All that is kept of a person (GDPR, articles 15 and 20), newest job first",
                "description": "Requires the scope persons. The bytes of parts come from /inspectionjob/{id}/parts/{kind}.",
                "parameters": [
                  { "$ref": "#/components/parameters/userReference" },
                  { "name": "after", "in": "query", "description": "next of the page before", "schema": { "type": "string", "format": "uuid" } },
                  { "name": "limit", "in": "query", "schema": { "type": "integer", "minimum": 1, "maximum": 100, "default": 20 } }
                ],
                "responses": {
                  "200": {
                    "description": "A page",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Export" } } }
                  },
                  \#(Self.refusals(400, 401, 403, 405, 429, 503))
                }
              }
            }
        """#
    }

    /// What these calls answer.
    static var personSchemas: String {
        #"""
              "Template": {
                "type": "object",
                "required": ["engine", "modelSHA256", "createdAt"],
                "additionalProperties": false,
                "properties": {
                  "engine": { "type": "string" },
                  "modelSHA256": { "$ref": "#/components/schemas/Digest" },
                  "job": { "type": "string", "format": "uuid", "description": "That enrolled it; absent: it was imported" },
                  "createdAt": { "type": "string", "format": "date-time" }
                }
              },
              "Face": {
                "type": "object",
                "required": ["templates"],
                "additionalProperties": false,
                "properties": { "templates": { "type": "array", "minItems": 1, "items": { "$ref": "#/components/schemas/Template" } } }
              },
              "FaceDeletion": {
                "type": "object",
                "required": ["templates", "jobs", "deletedAt"],
                "additionalProperties": false,
                "properties": {
                  "templates": { "type": "integer" },
                  "jobs": { "type": "integer", "description": "That were not finished, and ended as FACE_DELETED" },
                  "deletedAt": { "type": "string", "format": "date-time" }
                }
              },
              "Erasure": {
                "type": "object",
                "required": ["jobs"],
                "additionalProperties": false,
                "properties": { "jobs": { "type": "integer" } }
              },
              "Export": {
                "type": "object",
                "required": ["jobs"],
                "additionalProperties": false,
                "properties": {
                  "jobs": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["result"],
                      "additionalProperties": false,
                      "properties": {
                        "result": { "$ref": "#/components/schemas/Job" },
                        "request": { "type": "object", "description": "What the request said of the person" },
                        "parts": {
                          "type": "array",
                          "items": {
                            "type": "object",
                            "required": ["kind", "ordinal"],
                            "properties": {
                              "kind": { "type": "string" },
                              "ordinal": { "type": "integer" },
                              "size": { "type": "integer", "description": "Bytes as stored; absent: a part by URL" }
                            }
                          }
                        },
                        "notes": {
                          "type": "array",
                          "items": {
                            "type": "object",
                            "required": ["at", "text"],
                            "properties": { "at": { "type": "string", "format": "date-time" }, "text": { "type": "string" } }
                          }
                        }
                      }
                    }
                  },
                  "faces": {
                    "type": "array",
                    "description": "On the first page",
                    "items": {
                      "type": "object",
                      "required": ["templates"],
                      "properties": {
                        "faceId": { "type": "string", "description": "Absent: the face is sealed" },
                        "templates": { "type": "array", "items": { "$ref": "#/components/schemas/Template" } }
                      }
                    }
                  },
                  "next": { "type": "string", "format": "uuid", "description": "What to send as after; absent: there are no more" }
                }
              }
        """#
    }
}

extension OpenAPIDocument {
    /// Answers of the calls about faces and persons.
    static var personSchemas: String {
        #"""
        "Template": {
          "type": "object",
          "required": ["engine", "modelSHA256", "createdAt"],
          "additionalProperties": false,
          "properties": {
            "engine": { "type": "string" },
            "modelSHA256": { "$ref": "#/components/schemas/Digest" },
            "job": { "type": "string", "format": "uuid", "description": "The job that enrolled it; absent: it was imported" },
            "createdAt": { "type": "string", "format": "date-time" }
          }
        },
        "Face": {
          "type": "object",
          "required": ["templates"],
          "additionalProperties": false,
          "properties": { "test": { "$ref": "#/components/schemas/TestMark" }, "templates": { "type": "array", "minItems": 1, "items": { "$ref": "#/components/schemas/Template" } } }
        },
        "FaceDeletion": {
          "type": "object",
          "required": ["templates", "jobs", "deletedAt"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "templates": { "type": "integer" },
            "jobs": { "type": "integer", "description": "Unfinished jobs that ended as FACE_DELETED" },
            "deletedAt": { "type": "string", "format": "date-time" }
          }
        },
        "Erasure": {
          "type": "object",
          "required": ["jobs"],
          "additionalProperties": false,
          "properties": { "test": { "$ref": "#/components/schemas/TestMark" }, "jobs": { "type": "integer", "description": "Jobs that were erased, each with its reruns" } }
        },
        "Withdrawal": {
          "type": "object",
          "required": ["cancelled", "jobs"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "cancelled": { "type": "integer", "description": "Unfinished jobs that were cancelled" },
            "jobs": { "type": "integer", "description": "Jobs that were erased, each with its reruns" }
          }
        },
        "JobWithdrawal": {
          "type": "object",
          "required": ["id", "withdrawn"],
          "additionalProperties": false,
          "properties": {
            "id": { "type": "string", "format": "uuid" },
            "withdrawn": { "type": "boolean", "description": "False: there was nothing to stop and nothing to erase" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" }
          }
        },
        "Export": {
          "type": "object",
          "required": ["jobs"],
          "additionalProperties": false,
          "properties": {
            "test": { "$ref": "#/components/schemas/TestMark" },
            "jobs": {
              "type": "array",
              "items": {
                "type": "object",
                "required": ["result"],
                "additionalProperties": false,
                "properties": {
                  "result": { "$ref": "#/components/schemas/Job" },
                  "request": { "type": "object", "description": "The person's data in the request" },
                  "unreadable": {
                    "type": "string",
                    "enum": ["KEY_UNKNOWN", "KEY_DESTROYED"], "description": "Why result and request lack their sealed data: no key was found, or the key was destroyed by an erasure, so they can never be opened again; absent: they are complete"
                  },
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
            "next": { "type": "string", "format": "uuid", "description": "What to send as after; absent on the last page" }
          }
        }
        """#
    }
}

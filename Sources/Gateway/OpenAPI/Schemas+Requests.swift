internal import InspectCore

extension OpenAPIDocument {
    /// What requests carry.
    static var requestSchemas: String {
        #"""
        "Base64": { "type": "string", "contentEncoding": "base64", "pattern": "^([A-Za-z0-9+/]{4}[\\r\\n]*)*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?[\\r\\n]*$" },
        "Image": {
          "description": "An image as it was captured; empty or null: none was taken",
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
        "Choice": {
          "type": "object",
          "additionalProperties": false,
          "properties": { "values": { "type": "array", "items": { "type": "string" } }, "predefinedType": { "type": "string" } }
        },
        "Reference": { "type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f]+$" },
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
                \#(Self.members(PartKind.allCases, of: "Part"))
              }
            },
            "workflow": { "anyOf": [{ "type": "string", "enum": [\#(Self.workflowWords)] }, { "type": "integer", "enum": [\#(Self.workflowNumbers)] }] },
            "workflowDefinition": {
              "type": "object",
              "description": "Instead of workflow, countries and documentTypes, as Jumio's API has them",
              "required": ["key"],
              "additionalProperties": false,
              "properties": {
                "key": { "anyOf": [{ "type": "string", "enum": [\#(Self.workflowWords)] }, { "type": "integer", "enum": [\#(Self.workflowNumbers)] }] },
                "credentials": {
                  "type": "array",
                  "maxItems": 10,
                  "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "properties": {
                      "category": { "type": "string", "description": "ID; other values have no effect" },
                      "label": { "type": "string" },
                      "country": { "$ref": "#/components/schemas/Choice" },
                      "type": { "$ref": "#/components/schemas/Choice" }
                    }
                  }
                }
              }
            },
            \#(Self.texts),
            "documentTypes": { "type": "array", "maxItems": 100, "items": { "enum": ["PASSPORT", "VISA", "DRIVING_LICENSE", "ID_CARD"] } },
            "countries": { "type": "array", "maxItems": 300, "items": { "type": "string", "pattern": "^[A-Z]{3}$" } },
            "digests": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                \#(Self.members(PartKind.allCases, of: "Digest"))
              }
            },
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
              "description": "The person's consent. A consent that says no is refused as CONSENT_MISSING, whatever the partner's policy",
              "properties": {
                "obtained": { "anyOf": [{ "type": "string", "enum": ["yes", "no", "na"] }, { "type": "boolean" }] },
                "obtainedAt": { "type": "string", "format": "date-time", "description": "Not in the future" },
                "policyVersion": { "type": "string", "description": "The version of the policy that the person saw" },
                "purposes": { "type": "array", "items": { "type": "string" }, "description": "What the person consented to" }
              }
            }
          }
        },
        "CreateForm": {
          "type": "object",
          "description": "Parts as bytes, and members of CreateRequest: texts and numbers in fields with their names, any others in request; no member twice",
          "additionalProperties": false,
          "properties": {
            \#(Self.files(PartKind.allCases)),
            "request": { "$ref": "#/components/schemas/CreateRequest" },
            "workflow": { "enum": [\#(Self.workflowWords)] },
            \#(Self.texts)
          }
        },
        "UsabilityRequest": {
          "type": "object",
          "additionalProperties": false,
          "description": "One image or two, each under one of its names",
          "properties": {
            "encodedFrontImage": { "$ref": "#/components/schemas/Image" },
            "encodedBackImage": { "$ref": "#/components/schemas/Image" },
            "parts": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                \#(Self.members(PartKind.sides, of: "Bytes"))
              }
            }
          }
        },
        "Bytes": {
          "oneOf": [
            { "$ref": "#/components/schemas/Base64" },
            {
              "type": "object",
              "required": ["content"],
              "additionalProperties": false,
              "properties": { "content": { "$ref": "#/components/schemas/Base64" } }
            }
          ]
        },
        "UsabilityForm": {
          "type": "object",
          "additionalProperties": false,
          "properties": {
            \#(Self.files(PartKind.sides)),
            "request": { "$ref": "#/components/schemas/UsabilityRequest" }
          }
        },
        "SessionRequest": {
          "type": "object",
          "required": ["sessionRequestBlob"],
          "additionalProperties": false,
          "properties": {
            "sessionRequestBlob": { "type": "string", "minLength": 1 },
            "sessionId": { "type": ["string", "null"], "format": "uuid", "description": "From the answer to the session's previous blob" },
            "userId": { "anyOf": [{ "$ref": "#/components/schemas/Reference" }, { "type": "null" }] },
            "flow": { "type": ["string", "null"], "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f]*$" },
            "documentScan": { "type": ["boolean", "null"], "description": "With a session's first blob: whether the app scans a document in the same session once liveness is proven" },
            "consent": {
              "type": ["object", "null"],
              "description": "The person's consent, with a session's first blob. A consent that says no is refused as CONSENT_MISSING with any blob, whatever the partner's policy",
              "properties": {
                "obtained": { "anyOf": [{ "type": "string", "enum": ["yes", "no", "na"] }, { "type": "boolean" }] },
                "obtainedAt": { "type": "string", "format": "date-time", "description": "Not in the future" },
                "policyVersion": { "type": "string", "description": "The version of the policy that the person saw" },
                "purposes": { "type": "array", "items": { "type": "string" }, "description": "What the person consented to" }
              }
            }
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
        "TokenRequest": {
          "type": "object",
          "required": ["grant_type"],
          "properties": {
            "grant_type": { "const": "client_credentials" },
            "scope": { "type": "string", "description": "Separated by spaces; absent: all that the credential allows" },
            "client_id": { "type": "string", "pattern": "^(ik_[0-9a-f]{16})?$", "description": "Key id, if there is no header Authorization; empty: absent" },
            "client_secret": { "type": "string", "pattern": "^([A-Za-z0-9_-]{43})?$" }
          }
        }
        """#
    }

    /// Members of a request for a job that are texts or numbers: in a form, they have their own fields.
    private static let texts = #"""
        "documentFormat": { "enum": ["TD1", "TD2", "TD3"] },
                    "customerInternalReference": { "$ref": "#/components/schemas/Reference" },
                    "userReference": { "$ref": "#/components/schemas/Reference" },
                    "reportingCriteria": { "type": "string", "maxLength": 100, "pattern": "^[^\\u0000-\\u001f\\u007f]*$" },
                    "callbackUrl": { "type": "string", "format": "uri", "maxLength": 255 },
                    "idempotencyKey": { "type": "string", "minLength": 1, "maxLength": 100, "description": "The same as the header Idempotency-Key" },
                    "region": { "type": "string", "pattern": "^[A-Z][A-Z0-9-]{1,15}$" },
                    "delaySeconds": { "type": "number", "minimum": 0, "maximum": 2592000 },
                    "runAt": { "type": "string", "format": "date-time" },
                    "expiresAt": { "type": "string", "format": "date-time" },
                    "review": { "enum": ["never", "rejected", "warning", "always"] },
                    "faceId": { "type": "string", "minLength": 1, "maxLength": 100, "description": "The face that is enrolled or authenticated, by the partner's own name for it." },
                    "threshold": { "type": "number", "minimum": 0.5, "maximum": 0.999, "description": "Similarity from which faces match." },
                    "enrollmentMode": { "enum": ["add", "replace"] },
                    "traceparent": { "type": "string", "pattern": "^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$", "description": "W3C Trace Context; takes precedence over the header" }
        """#

    /// Definition keys that are numbers.
    private static var workflowNumbers: String {
        Workflow.allCases.compactMap { Int($0.row.definitionKey) }.sorted().map(String.init).joined(separator: ", ")
    }

    /// Names and definition keys.
    private static var workflowWords: String {
        Set(Workflow.allCases.flatMap { [$0.rawValue, $0.row.definitionKey] }).sorted().map { "\"\($0)\"" }
            .joined(separator: ", ")
    }

    /// A field for the bytes of each kind of part.
    static func files(_ kinds: [PartKind]) -> String {
        kinds.map { kind in
            let one = #"{ "type": "string", "format": "binary" }"#
            let value =
                kind.row.isMany ? #"{ "type": "array", "maxItems": \#(PartKind.countLimit), "items": \#(one) }"# : one
            return #""\#(kind.rawValue)": \#(value)"#
        }.joined(separator: ",\n" + String(repeating: " ", count: 12))
    }

    /// A member for each kind of part, which refers to a schema.
    private static func members(_ kinds: [PartKind], of schema: String) -> String {
        kinds.map { kind in
            let one = ##"{ "$ref": "#/components/schemas/\##(schema)" }"##
            let value =
                kind.row.isMany
                ? #"{ "type": "array", "minItems": 1, "maxItems": \#(PartKind.countLimit), "items": \#(one) }"# : one
            return #""\#(kind.rawValue)": \#(value)"#
        }.joined(separator: ",\n" + String(repeating: " ", count: 16))
    }
}

internal import InspectCore

extension OpenAPIDocument {
    /// Capture links.
    static var captureSchemas: String {
        #"""
        "CaptureRequest": {
          "type": "object",
          "required": ["workflow"],
          "additionalProperties": false,
          "properties": {
            "workflow": { "enum": [\#(Self.words(Workflow.captured.map(\.rawValue)))] },
            "documentFormat": { "enum": ["TD1", "TD2", "TD3"], "description": "The frame that the page shows; required except for liveness" },
            "documentTypes": { "type": "array", "maxItems": 100, "items": { "enum": ["PASSPORT", "VISA", "DRIVING_LICENSE", "ID_CARD"] } },
            "countries": { "type": "array", "maxItems": 300, "items": { "type": "string", "pattern": "^[A-Z]{3}$" } },
            "customerInternalReference": { "$ref": "#/components/schemas/Reference" },
            "userReference": { "$ref": "#/components/schemas/Reference" },
            "reportingCriteria": { "type": "string", "maxLength": 100 },
            "callbackUrl": { "type": "string", "format": "uri", "maxLength": 255 },
            "review": { "enum": ["never", "rejected", "warning", "always"] },
            "challenge": { "enum": ["none", "colour_flash", "motion"], "description": "Absent: colour_flash if the workflow has liveness" },
            "fallback": { "enum": ["none", "review"], "default": "none", "description": "review: a person who cannot complete the challenge continues without it, and a reviewer decides" },
            "showResult": { "type": "boolean", "default": false, "description": "Whether the page says how the job ended" },
            "locale": { "type": "string", "pattern": "^[A-Za-z]{2}(-[A-Za-z0-9]{1,8})?$", "description": "Absent: the browser's" },
            "embedOrigin": { "type": "string", "description": "The origin whose pages may embed it, one of the credential's" },
            "returnUrl": { "type": "string", "format": "uri", "maxLength": 2048, "description": "Where the person goes afterwards; its host must be registered" },
            "lifetimeSeconds": { "type": "integer", "minimum": 60, "maximum": 86400, "default": 900, "description": "Until a person must have begun" },
            "sessionSeconds": { "type": "integer", "minimum": 300, "maximum": 7200, "default": 1800, "description": "From when the person begins" }
          }
        },
        "CaptureLink": {
          "type": "object",
          "required": ["id", "url", "expiresAt"],
          "additionalProperties": false,
          "properties": {
            "id": { "type": "string", "format": "uuid" },
            "url": { "type": "string", "pattern": "^/capture/[A-Za-z0-9_-]{43}$", "description": "Relative to the address at which people reach the gateway" },
            "expiresAt": { "type": "string", "format": "date-time", "description": "Until a person must have begun" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" }
          }
        },
        "CaptureOpening": {
          "type": "object",
          "required": ["browser"],
          "properties": {
            "browser": { "type": "string", "pattern": "^[A-Za-z0-9_-]{43}$", "description": "32 random bytes of the browser" },
            "policyVersion": { "type": ["string", "null"], "description": "The version that the page showed" },
            "text": { "type": ["string", "null"], "pattern": "^[A-Za-z0-9._ -]{1,32}$", "description": "Version and language of the text that the page showed" },
            "purposes": { "type": ["array", "null"], "items": { "type": "string" }, "description": "Those that the page showed" }
          }
        },
        "CaptureState": {
          "type": "object",
          "required": ["state", "partner", "parts", "challenge", "fallback", "expiresIn", "sessionSeconds", "purposes", "showsResult", "tries", "mostTries"],
          "additionalProperties": false,
          "properties": {
            "state": { "enum": ["new", "open", "submitted"] },
            "partner": { "type": "string" },
            "parts": { "type": "array", "items": { "enum": [\#(Self.words(PartKind.captured.map(\.rawValue)))] } },
            "documentFormat": { "enum": ["TD1", "TD2", "TD3"] },
            "challenge": { "enum": ["none", "colour_flash", "motion"] },
            "fallback": { "enum": ["none", "review"] },
            "locale": { "type": "string" },
            "expiresIn": { "type": "integer", "description": "Seconds: until the person must have begun, then until the link ends" },
            "sessionSeconds": { "type": "integer", "description": "From when the person begins" },
            "policyUrl": { "type": "string" },
            "policyVersion": { "type": "string" },
            "purposes": { "type": "array", "items": { "type": "string" } },
            "embedOrigin": { "type": "string" },
            "showsResult": { "type": "boolean" },
            "tries": { "type": "object", "additionalProperties": { "type": "integer" } },
            "mostTries": { "type": "integer" },
            "isFinished": { "type": "boolean" },
            "decision": { "enum": ["PASSED", "WARNING", "REJECTED", "NOT_EXECUTED"] },
            "returnUrl": { "type": "string" }
          }
        },
        "CaptureVerdict": {
          "type": "object",
          "required": ["triesLeft"],
          "additionalProperties": false,
          "properties": { "verdict": { "$ref": "#/components/schemas/Usability" }, "triesLeft": { "type": "integer" } }
        },
        "CaptureCheckForm": {
          "type": "object",
          "additionalProperties": false,
          "description": "One of them",
          "properties": {
            \#(Self.files(PartKind.captured.filter { !$0.row.isMany }))
          }
        },
        "CaptureForm": {
          "type": "object",
          "properties": {
            \#(Self.files(PartKind.captured)),
            "request": {
              "type": "object",
              "additionalProperties": false,
              "properties": {
                "challenge": {
                  "type": "object",
                  "required": ["token", "frameTimes"],
                  "additionalProperties": false,
                  "properties": {
                    "token": { "type": "string" },
                    "frameTimes": { "type": "array", "minItems": 1, "maxItems": 256, "items": { "type": "number", "minimum": -600000, "maximum": 600000 } }
                  }
                }
              }
            }
          }
        }
        """#
    }
}

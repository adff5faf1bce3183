extension OpenAPIDocument {
    /// The chip's files and their passive authentication (ICAO Doc 9303-11, section 5.1).
    static var chipSchemas: String {
        #"""
        "Chip": {
          "type": "object",
          "required": ["passiveAuthentication"],
          "properties": {
            "dg1": {
              "type": "object",
              "properties": {
                "format": { "type": "string" },
                "lines": { "$ref": "#/components/schemas/Texts" },
                "checks": { "$ref": "#/components/schemas/Checks" },
                "documentNumber": { "type": "string" },
                "firstName": { "type": "string" },
                "lastName": { "type": "string" },
                "dateOfBirth": { "$ref": "#/components/schemas/Day" },
                "expiryDate": { "$ref": "#/components/schemas/Day" },
                "issuingCountry": { "type": "string" },
                "nationality": { "type": "string" },
                "reason": { "type": "string" }
              }
            },
            "dg2": {
              "type": "object",
              "properties": { "image": { "$ref": "#/components/schemas/ImageFacts" }, "reason": { "type": "string" } }
            },
            "dg7": {
              "type": "object",
              "description": "The displayed signature",
              "properties": { "count": { "type": "integer", "minimum": 1, "description": "Images" }, "reason": { "type": "string" } }
            },
            "dg11": {
              "type": "object",
              "description": "Additional details of the holder",
              "properties": {
                "fullName": { "type": "string", "description": "In the state's own characters: primary identifier, comma, secondary identifier" },
                "otherNames": { "$ref": "#/components/schemas/Texts" },
                "personalNumber": { "type": "string" },
                "dateOfBirth": { "$ref": "#/components/schemas/Day" },
                "placeOfBirth": { "$ref": "#/components/schemas/Texts" },
                "address": { "$ref": "#/components/schemas/Texts" },
                "telephone": { "type": "string" },
                "profession": { "type": "string" },
                "title": { "type": "string" },
                "personalSummary": { "type": "string" },
                "otherDocumentNumbers": { "$ref": "#/components/schemas/Texts" },
                "custody": { "type": "string" },
                "hasProofOfCitizenship": { "type": "boolean" },
                "reason": { "type": "string" }
              }
            },
            "dg12": {
              "type": "object",
              "description": "Additional details of the document",
              "properties": {
                "issuingAuthority": { "type": "string" },
                "issuingDate": { "$ref": "#/components/schemas/Day" },
                "otherPersons": { "$ref": "#/components/schemas/Texts" },
                "endorsements": { "type": "string" },
                "taxOrExitRequirements": { "type": "string" },
                "personalizedAt": { "type": "string", "description": "YYYY-MM-DDThh:mm:ss of an unknown time zone" },
                "personalizationSystem": { "type": "string" },
                "hasFrontImage": { "type": "boolean" },
                "hasRearImage": { "type": "boolean" },
                "reason": { "type": "string" }
              }
            },
            "passiveAuthentication": {
              "type": "object",
              "required": ["status", "reasons", "checks", "dataGroups", "revocation", "deviations", "trustAnchors", "trustAnchorNotes"],
              "properties": {
                "status": { "enum": ["valid", "invalid", "inconclusive"] },
                "reason": { "type": "string" },
                "reasons": { "$ref": "#/components/schemas/Texts" },
                "checks": { "type": "object", "additionalProperties": { "type": ["boolean", "null"] }, "description": "Null: undetermined" },
                "detail": { "type": "string" },
                "dataGroups": { "type": "object", "additionalProperties": { "type": "boolean" } },
                "digestAlgorithm": { "type": "string" },
                "signatureAlgorithm": { "type": "string" },
                "ldsVersion": { "type": "string" },
                "signedOn": { "type": "string" },
                "signer": { "$ref": "#/components/schemas/Certificate" },
                "authority": { "$ref": "#/components/schemas/Certificate" },
                "revocation": { "type": "string" },
                "deviations": { "$ref": "#/components/schemas/Texts" },
                "trustAnchors": { "type": "integer" },
                "trustAnchorNotes": { "$ref": "#/components/schemas/Texts" }
              }
            }
          }
        },
        "Certificate": {
          "type": "object",
          "required": ["notBefore", "notAfter", "sha256", "key", "hasExplicitParameters"],
          "properties": {
            "country": { "type": "string" },
            "notBefore": { "$ref": "#/components/schemas/Day" },
            "notAfter": { "$ref": "#/components/schemas/Day" },
            "sha256": { "type": "string" },
            "key": { "type": "string" },
            "hasExplicitParameters": { "type": "boolean" }
          }
        }
        """#
    }
}

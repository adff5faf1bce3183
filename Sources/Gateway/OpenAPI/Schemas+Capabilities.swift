extension OpenAPIDocument {
    /// The data of each capability.
    static var capabilitySchemas: String {
        #"""
        "UsabilityData": {
          "type": "object",
          "required": ["image"],
          "properties": {
            "image": { "$ref": "#/components/schemas/ImageFacts" },
            "quality": { "$ref": "#/components/schemas/Measurements" },
            "outline": { "$ref": "#/components/schemas/Outline" },
            "failedMeasurements": { "$ref": "#/components/schemas/FailedMeasurements" },
            "side": { "$ref": "#/components/schemas/DocumentSide" }
          }
        },
        "DocumentSide": {
          "type": "object",
          "description": "Which side of a document the image shows, whatever part it was sent as",
          "required": ["evidence", "isCertain"],
          "properties": {
            "kind": { "enum": ["FRONT", "BACK", "DATA_PAGE", "BOTH"], "description": "Absent if it cannot be determined" },
            "evidence": {
              "type": "array",
              "items": {
                "enum": ["PORTRAIT", "MRZ_OF_BACK", "MRZ_OF_FRONT", "LICENCE_BARCODE", "STACKED_BARCODE", "PRINT_OF_FRONT"]
              }
            },
            "isCertain": { "type": "boolean" }
          }
        },
        "ImageFacts": {
          "type": "object",
          "required": ["format", "width", "height", "orientation", "storedWidth", "storedHeight"],
          "properties": {
            "format": { "enum": ["JPEG", "PNG", "WEBP", "JPEG2000", "HEIC", "BMP", "PDF"] },
            "width": { "type": "integer", "description": "Pixels, upright" },
            "height": { "type": "integer" },
            "orientation": { "type": "integer", "minimum": 1, "maximum": 8, "description": "EXIF orientation that was applied" },
            "storedWidth": { "type": "integer" },
            "storedHeight": { "type": "integer" },
            "isGrey": { "type": "boolean", "description": "Stored without colours, as infrared images are; absent: no" }
          }
        },
        "Measurements": { "type": "object", "description": "Value by name", "additionalProperties": { "type": "number" } },
        "FaceMeasurements": {
          "type": "object",
          "description": "Value by name",
          "properties": { "contour": { "$ref": "#/components/schemas/Measurements" } },
          "additionalProperties": { "type": "number" }
        },
        "Outline": {
          "type": "object",
          "required": ["quad", "aspectRatio", "cornersOutside", "support"],
          "properties": {
            "quad": {
              "type": "object",
              "required": ["topLeft", "topRight", "bottomRight", "bottomLeft"],
              "properties": {
                "topLeft": { "$ref": "#/components/schemas/Point" },
                "topRight": { "$ref": "#/components/schemas/Point" },
                "bottomRight": { "$ref": "#/components/schemas/Point" },
                "bottomLeft": { "$ref": "#/components/schemas/Point" }
              }
            },
            "aspectRatio": { "type": "number" },
            "cornersOutside": { "type": "integer" },
            "support": { "type": "number" }
          }
        },
        "Point": { "type": "object", "required": ["x", "y"], "properties": { "x": { "type": "number" }, "y": { "type": "number" } } },
        "Box": {
          "type": "object",
          "required": ["x", "y", "width", "height"],
          "properties": { "x": { "type": "number" }, "y": { "type": "number" }, "width": { "type": "number" }, "height": { "type": "number" } }
        },
        "FailedMeasurements": {
          "type": "array",
          "items": {
            "type": "object",
            "required": ["name", "value"],
            "properties": {
              "name": { "type": "string" },
              "value": { "type": "number" },
              "atMost": { "type": "number" },
              "atLeast": { "type": "number" },
              "below": { "type": "number" },
              "above": { "type": "number" }
            }
          }
        },
        "ImageCheckData": {
          "type": "object",
          "required": ["assessed", "notAssessed"],
          "properties": {
            "assessed": { "type": "array", "items": { "$ref": "#/components/schemas/Label" } },
            "notAssessed": { "type": "array", "items": { "$ref": "#/components/schemas/Label" } },
            "reason": { "type": "string" },
            "failedMeasurements": { "$ref": "#/components/schemas/FailedMeasurements" },
            "findings": { "$ref": "#/components/schemas/Texts" }
          }
        },
        "ExtractionData": {
          "type": "object",
          "required": ["extractionMethod"],
          "properties": {
            "type": { "enum": ["PASSPORT", "DRIVING_LICENSE", "ID_CARD", "VISA", "UNSUPPORTED"] },
            "issuingCountry": { "type": "string" },
            "firstName": { "type": "string" },
            "lastName": { "type": "string" },
            "dateOfBirth": { "$ref": "#/components/schemas/Day" },
            "placeOfBirth": { "type": "string" },
            "issuingDate": { "$ref": "#/components/schemas/Day" },
            "issuingAuthority": { "type": "string" },
            "expiryDate": { "$ref": "#/components/schemas/Day" },
            "documentNumber": { "type": "string" },
            "personalNumber": { "type": "string" },
            "nationality": { "type": "string" },
            "gender": { "enum": ["M", "F", "X"] },
            "address": {
              "type": "object",
              "properties": {
                "line1": { "type": "string" },
                "city": { "type": "string" },
                "subdivision": { "type": "string" },
                "postalCode": { "type": "string" },
                "country": { "type": "string" }
              }
            },
            "categories": { "type": "string" },
            "mrzLine1": { "type": "string" },
            "mrzLine2": { "type": "string" },
            "mrzLine3": { "type": "string" },
            "rawBarcodeData": { "type": "string", "description": "The first 50 characters" },
            "mrz": {
              "type": "object",
              "required": ["format", "lines", "checks", "part", "uncertain"],
              "properties": {
                "format": { "type": "string" },
                "lines": { "$ref": "#/components/schemas/Texts" },
                "checks": { "$ref": "#/components/schemas/Checks" },
                "part": { "$ref": "#/components/schemas/PartKind" },
                "uncertain": { "$ref": "#/components/schemas/Texts" }
              }
            },
            "barcode": {
              "type": "object",
              "required": ["format", "text", "bytesHex", "fields", "part"],
              "properties": {
                "format": { "type": "string" },
                "text": { "type": "string" },
                "bytesHex": { "type": "string" },
                "fields": { "type": "object", "additionalProperties": { "type": "string" }, "description": "By AAMVA element id" },
                "card": {
                  "type": "object",
                  "properties": {
                    "suffix": { "type": "string" },
                    "vehicleClass": { "type": "string" },
                    "restrictions": { "type": "string" },
                    "endorsements": { "type": "string" },
                    "heightInches": { "type": "integer" },
                    "heightCentimetres": { "type": "integer" },
                    "eyeColour": { "type": "string", "description": "Code of ANSI D-20" },
                    "eyeColourName": { "type": "string" },
                    "hairColour": { "type": "string", "description": "Code of ANSI D-20" },
                    "hairColourName": { "type": "string" },
                    "documentDiscriminator": { "type": "string" },
                    "inventoryControlNumber": { "type": "string" },
                    "cardRevisionDate": { "$ref": "#/components/schemas/Day" },
                    "isRealID": { "type": "boolean" },
                    "isLimitedDuration": { "type": "boolean" },
                    "isOrganDonor": { "type": "boolean" },
                    "isVeteran": { "type": "boolean" }
                  }
                },
                "part": { "$ref": "#/components/schemas/PartKind" }
              }
            },
            "chip": { "$ref": "#/components/schemas/Chip" },
            "viz": {
              "type": "object",
              "required": ["part", "fields", "linesFound", "linesRead", "cpuMs", "modelSHA256"],
              "properties": {
                "part": { "$ref": "#/components/schemas/PartKind" },
                "fields": {
                  "type": "array",
                  "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                      "name": { "type": "string" },
                      "value": { "type": "string" },
                      "confidence": { "type": "number", "minimum": 0, "maximum": 1 },
                      "comparison": { "enum": ["agrees", "contradicts", "notFound"] },
                      "reason": { "enum": ["NOT_CERTAIN", "AMBIGUOUS", "NO_VALUE", "NOT_FOUND"] }
                    }
                  }
                },
                "comparedWith": { "$ref": "#/components/schemas/PartKind" },
                "linesFound": { "type": "integer" },
                "linesRead": { "type": "integer" },
                "cpuMs": { "type": "number" },
                "modelSHA256": { "type": "string" }
              }
            },
            "extractionMethod": { "enum": ["CHIP", "MRZ", "BARCODE", "OCR", "NONE"] },
            "scanMode": { "enum": ["nfc", "mrz", "barcode", "lineFinder", "manual"] },
            "reason": { "type": "string" }
          }
        },
        "Texts": { "type": "array", "items": { "type": "string" } },
        "Checks": { "type": "object", "additionalProperties": { "type": "boolean" }, "description": "Check digit to whether it holds" },
        "DataCheckData": {
          "type": "object",
          "required": ["checks"],
          "properties": {
            "checks": {
              "type": "array",
              "items": {
                "type": "object",
                "required": ["name", "outcome"],
                "properties": { "name": { "type": "string" }, "outcome": { "$ref": "#/components/schemas/Outcome" }, "reason": { "type": "string" } }
              }
            }
          }
        },
        \#(Self.chipSchemas),
        \#(Self.faceSchemas)
        """#
    }

    /// Faces: comparison, liveness, enrolment.
    private static var faceSchemas: String {
        #"""
        "SimilarityData": {
          "type": "object",
          "required": ["outcome", "threshold"],
          "properties": {
            "outcome": { "enum": ["MATCH", "NO_MATCH", "NOT_POSSIBLE"] },
            "similarity": { "type": "number", "minimum": 0, "maximum": 1 },
            "distance": { "type": "number" },
            "threshold": { "type": "number" },
            "fmrAtThreshold": { "type": "number" },
            "engine": { "type": "string" },
            "reason": { "type": "string" }
          }
        },
        "LivenessData": {
          "type": "object",
          "required": ["method", "assurance", "scores"],
          "properties": {
            "method": { "enum": ["passive", "colour_flash", "motion", "colour_flash+motion", "vendor"] },
            "assurance": { "enum": ["evidence", "challenge", "certified-vendor"] },
            "scores": { "type": "object", "additionalProperties": { "type": "number" } },
            "reason": { "type": "string" },
            "findings": { "$ref": "#/components/schemas/Texts" },
            "network": {
              "type": "object",
              "required": ["name", "modelSHA256", "threshold"],
              "properties": {
                "name": { "type": "string" },
                "modelSHA256": { "type": "string" },
                "live": { "type": "number" },
                "threshold": { "type": "number" }
              }
            },
            "failedMeasurements": { "$ref": "#/components/schemas/FailedMeasurements" },
            "passiveSignalsSuffice": { "type": "boolean" },
            "steps": {
              "type": "array",
              "items": {
                "type": "object",
                "required": ["name", "outcome"],
                "properties": {
                  "name": { "type": "string" },
                  "outcome": { "$ref": "#/components/schemas/Outcome" },
                  "startMs": { "type": "number" },
                  "endMs": { "type": "number" },
                  "score": { "type": "number" }
                }
              }
            },
            "resultCode": { "type": "integer" },
            "vendor": {
              "type": "object",
              "required": ["success"],
              "properties": {
                "sessionResponseBlob": { "type": "string" },
                "success": { "type": "boolean" },
                "livenessPassed": { "type": "boolean" },
                "matched": { "type": "boolean" },
                "matchLevel": { "type": "integer" },
                "reason": { "type": "string" }
              }
            }
          }
        },
        "AuthenticationData": {
          "type": "object",
          "required": ["threshold", "templates", "generation"],
          "properties": {
            "result": { "enum": ["Verify", "Not Verify"] },
            "similarity": { "type": "number", "minimum": 0, "maximum": 1 },
            "distance": { "type": "number" },
            "threshold": { "type": "number" },
            "fmrAtThreshold": { "type": "number" },
            "engine": { "type": "string" },
            "templates": { "type": "integer" },
            "generation": { "type": "integer" },
            "reason": { "type": "string" }
          }
        },
        "EnrollmentData": {
          "type": "object",
          "required": ["mode", "reasons"],
          "properties": {
            "engine": { "type": "string" },
            "modelSHA256": { "type": "string" },
            "featureLength": { "type": "integer" },
            "mode": { "enum": ["add", "replace"] },
            "reasons": { "$ref": "#/components/schemas/Texts" }
          }
        },
        "DetectedFace": {
          "type": "object",
          "required": ["part", "box", "landmarks", "quality"],
          "properties": {
            "part": { "type": "string", "description": "A part, or one of FRAMES by its number" },
            "box": { "$ref": "#/components/schemas/Box" },
            "landmarks": { "type": "array", "items": { "$ref": "#/components/schemas/Point" } },
            "quality": { "$ref": "#/components/schemas/FaceMeasurements" },
            "assessment": {
              "type": "object",
              "required": ["measures", "isoConform", "isoReasons", "appearance"],
              "properties": {
                "measures": {
                  "type": "array",
                  "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                      "name": { "type": "string" },
                      "native": { "type": "number" },
                      "score": { "type": "integer", "minimum": 0, "maximum": 100 },
                      "note": { "type": "string" }
                    }
                  }
                },
                "isoConform": { "$ref": "#/components/schemas/Outcome" },
                "isoReasons": { "$ref": "#/components/schemas/Texts" },
                "appearance": {
                  "type": "object",
                  "properties": {
                    "pose": { "enum": ["frontal", "turned", "profile", "up", "down"] },
                    "eyes": { "enum": ["open", "closed"] },
                    "mouth": { "enum": ["open", "closed"] },
                    "smile": { "type": "boolean" }
                  }
                }
              }
            },
            "feature": {
              "type": "object",
              "required": ["engine", "modelSHA256", "hex"],
              "properties": { "engine": { "type": "string" }, "modelSHA256": { "type": "string" }, "hex": { "type": "string" } }
            }
          }
        }
        """#
    }
}

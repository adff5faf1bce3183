internal import InspectCore

extension OpenAPIDocument {
    /// A job with its result. Members may be added without a new `schemaVersion`; none is removed or changes its meaning.
    static var resultSchemas: String {
        #"""
        "Job": {
          "type": "object",
          "required": ["id", "status"],
          "properties": {
            "schemaVersion": { "type": "integer", "enum": [1], "description": "Rises when a member is removed or changes its meaning" },
            "id": { "type": "string", "format": "uuid" },
            "status": { "$ref": "#/components/schemas/Status" },
            "isRepeated": { "type": "boolean", "description": "Whether the request had been accepted before, under the same idempotency key" },
            "test": { "type": "boolean", "description": "True for a test job with a fixed outcome; absent for real ones" },
            "isSealed": { "type": "boolean", "description": "The rest is sealed, and was not opened" },
            "workflow": {
              "type": "object",
              "required": ["key", "definitionKey"],
              "properties": { "key": { "enum": [\#(Self.words(Workflow.allCases.map(\.rawValue)))] }, "definitionKey": { "type": "string" } }
            },
            "createdAt": { "$ref": "#/components/schemas/Time" },
            "startedAt": { "$ref": "#/components/schemas/Time" },
            "completedAt": { "$ref": "#/components/schemas/Time" },
            "purgedAt": { "$ref": "#/components/schemas/Time" },
            "erasedAt": { "$ref": "#/components/schemas/Time" },
            "rerunOf": { "type": "string", "format": "uuid" },
            "declined": { "type": "array", "items": { "enum": [\#(Self.words(PartKind.ofPerson.map(\.rawValue)))] }, "description": "The parts that a person chose to skip on a capture link's page; absent or empty: none" },
            "customerInternalReference": { "type": "string" },
            "userReference": { "type": "string" },
            "reportingCriteria": { "type": "string" },
            "decision": { "$ref": "#/components/schemas/Decision" },
            "policyVersion": { "type": "integer", "minimum": 1, "description": "The version of your decision policy that was applied; absent if you have none" },
            "capabilities": { "$ref": "#/components/schemas/Capabilities" },
            "reasons": { "type": "array", "items": { "$ref": "#/components/schemas/Reason" } },
            "rejectReasons": { "type": "array", "items": { "$ref": "#/components/schemas/RejectReason" } },
            "faces": { "type": "array", "items": { "$ref": "#/components/schemas/DetectedFace" } },
            "error": { "$ref": "#/components/schemas/JobError" },
            "faceSdk": { "$ref": "#/components/schemas/FaceSDKEvent" },
            "review": { "$ref": "#/components/schemas/Review" },
            "engine": { "$ref": "#/components/schemas/Engine" }
          }
        },
        "Status": { "enum": [\#(JobStatus.allCases.map { "\($0.rawValue)" }.joined(separator: ", "))], "description": "128 FINISHED; before that, nothing else is valid" },
        "Time": { "type": "string", "format": "date-time" },
        "Day": { "type": "string", "format": "date" },
        "DecisionType": { "enum": [\#(Self.words(DecisionType.allCases.map(\.rawValue)))] },
        "Decision": {
          "type": "object",
          "required": ["type", "details"],
          "properties": {
            "type": { "$ref": "#/components/schemas/DecisionType" },
            "details": { "type": "object", "required": ["label"], "properties": { "label": { "$ref": "#/components/schemas/Label" } } },
            "risk": {
              "type": "object",
              "required": ["score"],
              "properties": {
                "score": { "type": "integer", "minimum": -1, "maximum": 100 },
                "findings": { "type": "array", "items": { "$ref": "#/components/schemas/RiskFinding" }, "description": "The findings from which the score is computed; absent if there are none. RESULTS.md has the formula" }
              }
            }
          }
        },
        "RiskFinding": {
          "type": "object",
          "required": ["name", "weight"],
          "properties": {
            "name": { "type": "string", "description": "A capability and its label, such as dataChecks.MRZ_CHECKSUM" },
            "weight": { "type": "integer", "minimum": 1, "maximum": 100, "description": "In hundredths" }
          }
        },
        "Label": { "type": "string", "pattern": "^[A-Z][A-Z0-9_]*$", "description": "RESULTS.md lists the labels that are given; a reviewer may choose others" },
        "PartKind": { "enum": [\#(Self.words(PartKind.allCases.map(\.rawValue)))] },
        "PartKinds": { "type": "array", "items": { "$ref": "#/components/schemas/PartKind" } },
        "Outcome": { "enum": ["pass", "fail", "inconclusive"] },
        "Capabilities": {
          "type": "object",
          "description": "Those of the workflow, each for the parts that it examined",
          "properties": {
            \#(Self.capabilities)
          }
        },
        \#(Self.records),
        "Reason": {
          "type": "object",
          "required": ["code", "label"],
          "properties": {
            "code": { "type": "string", "description": "RESULTS.md lists them, with advice in several languages" },
            "label": { "$ref": "#/components/schemas/Label" },
            "part": { "$ref": "#/components/schemas/PartKind" },
            "mobileCode": { "type": "string", "pattern": "^[A-Z][0-9]{5}$", "description": "The error of Jumio's mobile SDK that asks the person to do the same" },
            "advice": { "type": "string", "description": "Advice for the person in front of the camera" }
          }
        },
        "RejectReason": {
          "type": "object",
          "required": ["code", "message"],
          "properties": { "code": { "type": "integer" }, "message": { "type": "string" }, "part": { "$ref": "#/components/schemas/PartKind" } }
        },
        "JobError": {
          "type": "object",
          "required": ["code", "message", "retryable", "contractCodes"],
          "properties": {
            "code": { "type": "string", "description": "Stable code; /errors lists them all" },
            "message": { "type": "string" },
            "retryable": { "type": "boolean" },
            "contractCodes": { "$ref": "#/components/schemas/ContractCodes" }
          }
        },
        "FaceSDKEvent": {
          "type": "object",
          "required": ["type", "outcome", "status"],
          "properties": {
            "type": { "enum": [\#(Self.words(FaceSDKEvent.Kind.allCases.map(\.rawValue)))] },
            "outcome": { "enum": [\#(Self.words(FaceSDKEvent.Outcome.allCases.map(\.rawValue)))] },
            "status": { "enum": ["success", "error", "cancelled"] },
            "code": { "type": "integer" },
            "error": { "type": "string" },
            "result": { "enum": ["Verify", "Not Verify"] }
          }
        },
        "FaceOutcome": {
          "type": "object",
          "description": "The outcome of an enrolment, authentication or liveness job: enrolled, matched, not matched; absent for other jobs, and once the job is erased",
          "required": ["type", "outcome"],
          "properties": {
            "type": { "enum": [\#(Self.words(FaceSDKEvent.Kind.allCases.map(\.rawValue)))] },
            "outcome": { "enum": [\#(Self.words(FaceSDKEvent.Outcome.allCases.map(\.rawValue)))] },
            "code": { "type": "integer" },
            "result": { "enum": ["Verify", "Not Verify"] }
          }
        },
        "Review": {
          "type": "object",
          "required": ["decision"],
          "properties": {
            "decision": { "$ref": "#/components/schemas/DecisionType" },
            "label": { "$ref": "#/components/schemas/Label" },
            "at": { "$ref": "#/components/schemas/Time" }
          }
        },
        "Engine": {
          "type": "object",
          "required": ["versions", "models", "timingsMs"],
          "properties": {
            "versions": { "type": "object", "additionalProperties": { "type": "string" } },
            "models": { "type": "object", "additionalProperties": { "type": "string" }, "description": "SHA-256 by name" },
            "timingsMs": { "type": "object", "additionalProperties": { "type": "number" } }
          }
        }
        """#
    }

    /// Words as JSON strings.
    static func words(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: ", ") }

    /// The capabilities, each with the schema of its data.
    private static let data: [(name: String, schema: String)] = [
        ("usability", "UsabilityData"), ("imageChecks", "ImageCheckData"), ("extraction", "ExtractionData"),
        ("dataChecks", "DataCheckData"), ("similarity", "SimilarityData"), ("liveness", "LivenessData"),
        ("authentication", "AuthenticationData"), ("enrollment", "EnrollmentData"),
    ]

    private static var capabilities: String {
        self.data.map {
            ##""\##($0.name)": { "type": "array", "items": { "$ref": "#/components/schemas/\##($0.schema.replacing("Data", with: "Record"))" } }"##
        }.joined(separator: ",\n    ")
    }

    private static var records: String {
        self.data.map {
            ##"""
            "\##($0.schema.replacing("Data", with: "Record"))": {
              "type": "object",
              "required": ["parts", "decision"],
              "properties": {
                "parts": { "$ref": "#/components/schemas/PartKinds" },
                "decision": { "$ref": "#/components/schemas/Decision" },
                "data": { "$ref": "#/components/schemas/\##($0.schema)" }
              }
            }
            """##
        }.joined(separator: ",\n")
    }
}

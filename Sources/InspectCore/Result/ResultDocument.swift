/// What an inspection ends with: the output of the step with status 128.
///
/// `insp.job_result` puts the job's ids, references and times around it; `inspectd inspect` prints it as it is.
public struct ResultDocument: Codable, Sendable {
    public var decision: Decision
    public var capabilities: Capabilities
    public var rejectReasons: [RejectReason]
    public var faces: [FaceRecord]
    /// Why nothing was decided; set exactly when the decision is NOT_EXECUTED for a technical reason.
    public var error: ErrorRecord?
    public var engine: EngineRecord
    /// The end of an enrolment, authentication or liveness check in the words of the face SDK's contract.
    public var faceSdk: FaceSDKEvent?

    public init(
        decision: Decision, capabilities: Capabilities, rejectReasons: [RejectReason], faces: [FaceRecord],
        error: ErrorRecord?, engine: EngineRecord
    ) {
        self.decision = decision
        self.capabilities = capabilities
        self.rejectReasons = rejectReasons
        self.faces = faces
        self.error = error
        self.engine = engine
    }
}

/// A decision in the shape of Jumio's retrieval API: `{"type", "details": {"label"}}`, with a risk on the whole.
public struct Decision: Codable, Sendable, Equatable {
    public struct Details: Codable, Sendable, Equatable {
        public var label: String
    }
    public struct Risk: Codable, Sendable, Equatable {
        public var score: Int
    }

    public var type: DecisionType
    public var details: Details
    public var risk: Risk?

    public init(_ type: DecisionType, _ label: String, risk: Int? = nil) {
        self.type = type
        self.details = Details(label: label)
        self.risk = risk.map { Risk(score: $0) }
    }
}

extension DecisionType {
    /// The lower end of the class's band of risk scores (Jumio retrieval API: −1 not executed, 0–30 passed, 31–70 warning,
    /// 71–100 rejected). No finer risk is claimed than the class itself.
    public var riskScore: Int {
        switch self {
        case .notExecuted: -1
        case .passed: 0
        case .warning: 31
        case .rejected: 71
        }
    }
}

/// The outcome of one capability for the parts that it looked at.
public struct CapabilityRecord<Payload: Codable & Sendable>: Codable, Sendable {
    public var parts: [String]
    public var decision: Decision
    public var data: Payload?

    public init(parts: [String], decision: Decision, data: Payload?) {
        self.parts = parts
        self.decision = decision
        self.data = data
    }
}

/// The capabilities that the workflow asked for; the others are absent.
public struct Capabilities: Codable, Sendable {
    public var usability: [CapabilityRecord<UsabilityData>]?
    public var imageChecks: [CapabilityRecord<ImageCheckData>]?
    public var extraction: [CapabilityRecord<ExtractionData>]?
    public var dataChecks: [CapabilityRecord<DataCheckData>]?
    public var similarity: [CapabilityRecord<SimilarityData>]?
    public var liveness: [CapabilityRecord<LivenessData>]?
    public var authentication: [CapabilityRecord<AuthenticationData>]?
    public var enrollment: [CapabilityRecord<EnrollmentData>]?

    public init() {}
}

/// What usability was decided on.
public struct UsabilityData: Codable, Sendable {
    public var image: ImageFacts
    public var quality: QualityFacts?
    public var outline: OutlineFacts?
    /// What an objection rests on; absent where there is none.
    public var failedMeasurements: [FailedMeasurement]?

    public init(
        image: ImageFacts, quality: QualityFacts? = nil, outline: OutlineFacts? = nil,
        failedMeasurements: [FailedMeasurement]? = nil
    ) {
        self.image = image
        self.quality = quality
        self.outline = outline
        self.failedMeasurements = failedMeasurements
    }
}

/// What the image checks looked at; a check that this version does not have says so.
public struct ImageCheckData: Codable, Sendable {
    public var assessed: [String]
    public var notAssessed: [String]
    /// What a finding rests on; names of fields, never their values.
    public var reason: String?
    /// The same where it was measured; absent where nothing is objected to.
    public var failedMeasurements: [FailedMeasurement]?

    public init(
        assessed: [String], notAssessed: [String], reason: String? = nil,
        failedMeasurements: [FailedMeasurement]? = nil
    ) {
        self.assessed = assessed
        self.notAssessed = notAssessed
        self.reason = reason
        self.failedMeasurements = failedMeasurements
    }
}

/// Cross-checks of what was extracted: each `pass`, `fail` or `inconclusive`.
public struct DataCheckData: Codable, Sendable {
    public enum Outcome: String, Codable, Sendable {
        case pass, fail, inconclusive
    }
    public struct Check: Codable, Sendable {
        public var name: String
        public var outcome: Outcome
        /// Why the check is inconclusive or failed; names of fields, never their values.
        public var reason: String?

        public init(name: String, outcome: Outcome, reason: String? = nil) {
            self.name = name
            self.outcome = outcome
            self.reason = reason
        }
    }

    public var checks: [Check]

    public init(checks: [Check]) {
        self.checks = checks
    }
}

/// Similarity of the document's portrait and the selfie.
public struct SimilarityData: Codable, Sendable {
    /// MATCH, NO_MATCH or NOT_POSSIBLE (Jumio retrieval API, `similarity.data.similarity`).
    public var outcome: String
    /// 0–1; `nil` where it was not possible.
    public var similarity: Double?
    /// Euclidean distance of the features.
    public var distance: Double?
    public var threshold: Double
    /// Measured false match rate at the threshold: an upper bound, see ``SimilarityScale``.
    public var fmrAtThreshold: Double?
    public var engine: String?
    public var reason: String?

    public init(
        outcome: String, similarity: Double?, distance: Double?, threshold: Double, fmrAtThreshold: Double?,
        engine: String?, reason: String?
    ) {
        self.outcome = outcome
        self.similarity = similarity
        self.distance = distance
        self.threshold = threshold
        self.fmrAtThreshold = fmrAtThreshold
        self.engine = engine
        self.reason = reason
    }
}

/// What is known about liveness, and how far it can be trusted.
public struct LivenessData: Codable, Sendable {
    /// `passive`, `colour_flash`, `motion`, `colour_flash+motion` or `vendor`.
    public var method: String
    /// `evidence`: cues for a person to weigh, never proof. `challenge`: what the server asked for was done.
    /// `certified-vendor`: a vendor's server vouches for it.
    public var assurance: String
    public var scores: [String: Double]
    public var reason: String?
    /// What a person should look at, by name; `nil` where nothing was measured.
    public var findings: [String]?
    /// What an operator's network says; `nil` where none is configured.
    public var network: LivenessNetworkScore?
    /// Present and true where the partner lets evidence without any finding pass (`insp.set_liveness_policy`).
    public var evidenceSuffices: Bool?
    /// Each colour or motion of a challenge.
    public var steps: [LivenessVerdict.Step]?
    /// The face SDK's result code: 1 success, 53 too bright, 60 timeout; absent for its error LIVENESS_FAILED.
    public var resultCode: Int?
    /// What a vendor's server answered.
    public var vendor: VendorSessionFacts?

    public init(
        method: String, assurance: String, scores: [String: Double], reason: String?,
        steps: [LivenessVerdict.Step]? = nil, resultCode: Int? = nil, vendor: VendorSessionFacts? = nil
    ) {
        self.method = method
        self.assurance = assurance
        self.scores = scores
        self.reason = reason
        self.steps = steps
        self.resultCode = resultCode
        self.vendor = vendor
    }
}

/// A face that was found, without its feature unless the caller asked for it.
public struct FaceRecord: Codable, Sendable {
    public var part: String
    public var box: Box
    public var landmarks: [Point]
    public var quality: FaceQuality
    /// Of the first face of a person's picture.
    public var assessment: FaceAssessment?
    public var feature: FaceFeature?

    public init(part: String, face: FaceFacts, withFeature: Bool, assessment: FaceAssessment? = nil) {
        self.part = part
        self.box = face.box
        self.landmarks = face.landmarks
        self.quality = face.quality
        self.assessment = assessment
        self.feature = withFeature ? face.feature : nil
    }
}

/// An error as partners see it.
public struct ErrorRecord: Codable, Sendable, Equatable {
    public var code: String
    public var message: String
    public var retryable: Bool
    public var contractCodes: ContractCodes

    public init(_ error: InspectError) {
        self.code = error.code.rawValue
        self.message = error.text
        self.retryable = error.code.isRetryable
        self.contractCodes = error.code.contractCodes
    }
}

/// Which program decided, with which models, and how long each stage took.
public struct EngineRecord: Codable, Sendable {
    /// Program and libraries: name to version.
    public var versions: [String: String]
    /// Model name to SHA-256.
    public var models: [String: String]
    /// Stage name to milliseconds of wall time.
    public var timingsMs: [String: Double]

    public init(versions: [String: String] = [:], models: [String: String] = [:], timingsMs: [String: Double] = [:]) {
        self.versions = versions
        self.models = models
        self.timingsMs = timingsMs
    }
}

/// What an inspection ends with: the output of the step with status 128.
///
/// `insp.job_result` puts the job's ids, references and times around it; `inspectd inspect` prints it as it is.
package struct ResultDocument: Codable, Sendable {
    package var decision: Decision
    package var capabilities: Capabilities
    package var rejectReasons: [RejectReason]
    package var faces: [FaceRecord]
    /// Why nothing was decided; set exactly when the decision is NOT_EXECUTED for a technical reason.
    package var error: ErrorRecord?
    package var engine: EngineRecord
    /// The end of an enrolment, authentication or liveness check in the words of the face SDK's contract.
    package var faceSdk: FaceSDKEvent?

    package init(
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
package struct Decision: Codable, Sendable, Equatable {
    package struct Details: Codable, Sendable, Equatable {
        package var label: String
    }
    package struct Risk: Codable, Sendable, Equatable {
        package var score: Int
    }

    package var type: DecisionType
    package var details: Details
    package var risk: Risk?

    package init(_ type: DecisionType, _ label: String, risk: Int? = nil) {
        self.type = type
        self.details = Details(label: label)
        self.risk = risk.map { Risk(score: $0) }
    }
}

extension DecisionType {
    /// The lower end of the class's band of risk scores (Jumio retrieval API: −1 not executed, 0–30 passed, 31–70 warning,
    /// 71–100 rejected). No finer risk is claimed than the class itself.
    package var riskScore: Int {
        switch self {
        case .notExecuted: -1
        case .passed: 0
        case .warning: 31
        case .rejected: 71
        }
    }
}

/// The outcome of one capability for the parts that it looked at.
package struct CapabilityRecord<Payload: Codable & Sendable>: Codable, Sendable {
    package var parts: [String]
    package var decision: Decision
    package var data: Payload?

    package init(parts: [String], decision: Decision, data: Payload?) {
        self.parts = parts
        self.decision = decision
        self.data = data
    }
}

/// The capabilities that the workflow asked for; the others are absent.
package struct Capabilities: Codable, Sendable {
    package var usability: [CapabilityRecord<UsabilityData>]?
    package var imageChecks: [CapabilityRecord<ImageCheckData>]?
    package var extraction: [CapabilityRecord<ExtractionData>]?
    package var dataChecks: [CapabilityRecord<DataCheckData>]?
    package var similarity: [CapabilityRecord<SimilarityData>]?
    package var liveness: [CapabilityRecord<LivenessData>]?
    package var authentication: [CapabilityRecord<AuthenticationData>]?
    package var enrollment: [CapabilityRecord<EnrollmentData>]?

    package init() {}
}

/// What usability was decided on.
package struct UsabilityData: Codable, Sendable {
    package var image: ImageFacts
    package var quality: QualityFacts?
    package var outline: OutlineFacts?
    /// What an objection rests on; absent where there is none.
    package var failedMeasurements: [FailedMeasurement]?

    package init(
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
package struct ImageCheckData: Codable, Sendable {
    package var assessed: [String]
    package var notAssessed: [String]
    /// What a finding rests on; names of fields, never their values.
    package var reason: String?
    /// The same where it was measured; absent where nothing is objected to.
    package var failedMeasurements: [FailedMeasurement]?

    package init(
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
package struct DataCheckData: Codable, Sendable {
    package enum Outcome: String, Codable, Sendable {
        case pass, fail, inconclusive
    }
    package struct Check: Codable, Sendable {
        package var name: String
        package var outcome: Outcome
        /// Why the check is inconclusive or failed; names of fields, never their values.
        package var reason: String?

        package init(name: String, outcome: Outcome, reason: String? = nil) {
            self.name = name
            self.outcome = outcome
            self.reason = reason
        }
    }

    package var checks: [Check]

    package init(checks: [Check]) {
        self.checks = checks
    }
}

/// Similarity of the document's portrait and the selfie.
package struct SimilarityData: Codable, Sendable {
    /// MATCH, NO_MATCH or NOT_POSSIBLE (Jumio retrieval API, `similarity.data.similarity`).
    package var outcome: String
    /// 0–1; `nil` where it was not possible.
    package var similarity: Double?
    /// Euclidean distance of the features.
    package var distance: Double?
    package var threshold: Double
    /// Measured false match rate at the threshold: an upper bound, see ``SimilarityScale``.
    package var fmrAtThreshold: Double?
    package var engine: String?
    package var reason: String?

    package init(
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
package struct LivenessData: Codable, Sendable {
    /// `passive`, `colour_flash`, `motion`, `colour_flash+motion` or `vendor`.
    package var method: String
    /// `evidence`: signals for a person to weigh, never proof. `challenge`: what the server asked for was done.
    /// `certified-vendor`: a vendor's server vouches for it.
    package var assurance: String
    package var scores: [String: Double]
    package var reason: String?
    /// What a person should look at, by name; `nil` where nothing was measured.
    package var findings: [String]?
    /// What an operator's network says; `nil` where none is configured.
    package var network: LivenessNetworkScore?
    /// Present and true where the partner lets evidence without any finding pass (`insp.set_liveness_policy`).
    package var evidenceSuffices: Bool?
    /// Each colour or motion of a challenge.
    package var steps: [LivenessVerdict.Step]?
    /// The face SDK's result code: 1 success, 53 too bright, 60 timeout; absent for its error LIVENESS_FAILED.
    package var resultCode: Int?
    /// What a vendor's server answered.
    package var vendor: VendorSessionFacts?

    package init(
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
package struct FaceRecord: Codable, Sendable {
    package var part: String
    package var box: Box
    package var landmarks: [Point]
    package var quality: FaceQuality
    /// Of the first face of a person's image.
    package var assessment: FaceAssessment?
    package var feature: FaceEmbedding?

    package init(part: String, face: FaceFacts, withFeature: Bool, assessment: FaceAssessment? = nil) {
        self.part = part
        self.box = face.box
        self.landmarks = face.landmarks
        self.quality = face.quality
        self.assessment = assessment
        self.feature = withFeature ? face.feature : nil
    }
}

/// An error as partners see it.
package struct ErrorRecord: Codable, Sendable, Equatable {
    package var code: String
    package var message: String
    package var retryable: Bool
    package var contractCodes: ContractCodes

    package init(_ error: InspectError) {
        self.code = error.code.rawValue
        self.message = error.text
        self.retryable = error.code.isRetryable
        self.contractCodes = error.code.contractCodes
    }
}

/// Which program decided, with which models, and how long each stage took.
package struct EngineRecord: Codable, Sendable {
    /// Program and libraries: name to version.
    package var versions: [String: String]
    /// Model name to SHA-256.
    package var models: [String: String]
    /// Stage name to milliseconds of wall time.
    package var timingsMs: [String: Double]

    package init(versions: [String: String] = [:], models: [String: String] = [:], timingsMs: [String: Double] = [:]) {
        self.versions = versions
        self.models = models
        self.timingsMs = timingsMs
    }
}

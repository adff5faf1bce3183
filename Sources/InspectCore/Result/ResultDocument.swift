/// The result of an inspection: the output of the step with status 128.
///
/// `insp.job_result` adds the job's ids, references and times; `inspectd inspect` prints it unchanged.
package struct ResultDocument: Codable, Sendable {
    /// Rises when a member goes or changes its meaning; `insp.result_frame` has the same.
    package static let schemaVersion = 1

    /// The decision on the whole job.
    package var decision: Decision
    /// The version of the partner's decision policy that the job was decided by; `nil`: the partner has none.
    package var policyVersion: Int?
    /// What each capability found.
    package var capabilities: Capabilities
    /// Why it was not passed; empty for other decisions.
    package var reasons: [ReasonRecord]
    /// Those of ``reasons`` that have a number in Jumio's mobile SDK.
    package var rejectReasons: [RejectReason]
    /// By part, the largest first.
    package var faces: [FaceRecord]
    /// Why nothing was decided; set exactly when the decision is NOT_EXECUTED for a technical reason.
    package var error: ErrorRecord?
    /// The origin of the result: versions and models.
    package var engine: EngineRecord
    /// The end of an enrolment, authentication or liveness check in the words of the face SDK's contract.
    package var faceSdk: FaceSDKEvent?
    /// The parts that a person chose to skip on a capture link's page; added by the database, `nil`: none.
    package var declined: [String]?
}

/// A decision in the shape of Jumio's retrieval API: `{"type", "details": {"label"}}`, with a risk on the whole.
package struct Decision: Codable, Sendable, Equatable {
    /// What the decision says beyond its type.
    package struct Details: Codable, Sendable, Equatable {
        /// One of ``DecisionLabel``.
        package var label: String
    }
    /// Set on the whole only, not on capabilities.
    package struct Risk: Codable, Sendable, Equatable {
        /// 0–100.
        package var score: Int
        /// The findings from which the score is computed; `nil`: nothing was found.
        package var findings: [RiskRules.Finding]?
    }

    /// PASSED, WARNING, REJECTED or NOT_EXECUTED.
    package var type: DecisionType
    /// With the label.
    package var details: Details
    /// `nil` on a capability.
    package var risk: Risk?

    package init(_ type: DecisionType, _ label: String, risk: Int? = nil) {
        self.type = type
        self.details = Details(label: label)
        self.risk = risk.map { Risk(score: $0) }
    }

    init(_ type: DecisionType, _ label: String, risk: Risk) {
        self.init(type, label)
        self.risk = risk
    }
}

/// The outcome of one capability for the parts that it examined.
package struct CapabilityRecord<Payload: Codable & Sendable>: Codable, Sendable {
    /// The names of the parts.
    package var parts: [String]
    /// Of this capability alone.
    package var decision: Decision
    /// `nil`: the capability has none to show.
    package var data: Payload?

    package init(parts: [String], decision: Decision, data: Payload?) {
        self.parts = parts
        self.decision = decision
        self.data = data
    }
}

/// The capabilities of the workflow; the others are absent.
package struct Capabilities: Codable, Sendable {
    /// Whether the images can be used.
    package var usability: [CapabilityRecord<UsabilityData>]?
    /// Whether the document is genuine, complete and in one piece.
    package var imageChecks: [CapabilityRecord<ImageCheckData>]?
    /// What was read.
    package var extraction: [CapabilityRecord<ExtractionData>]?
    /// Whether the extracted data agrees.
    package var dataChecks: [CapabilityRecord<DataCheckData>]?
    /// Whether the selfie shows the document's holder.
    package var similarity: [CapabilityRecord<SimilarityData>]?
    /// Whether a living person was there.
    package var liveness: [CapabilityRecord<LivenessData>]?
    /// Whether the face is that of an enrolled person.
    package var authentication: [CapabilityRecord<AuthenticationData>]?
    /// Whether the face was enrolled.
    package var enrollment: [CapabilityRecord<EnrollmentData>]?

    package init() {}
}

/// The measurements behind the usability decision.
package struct UsabilityData: Codable, Sendable {
    /// How the image was decoded.
    package var image: ImageFacts
    /// `nil` if it was not measured.
    package var quality: QualityFacts?
    /// `nil`: no outline was found, or none was sought.
    package var outline: OutlineFacts?
    /// The measurements behind an objection; absent if there is none.
    package var failedMeasurements: [FailedMeasurement]?
    /// Which side of the document the image shows; `nil` for the image of a person.
    package var side: DocumentSide?

    package init(
        image: ImageFacts, quality: QualityFacts? = nil, outline: OutlineFacts? = nil,
        failedMeasurements: [FailedMeasurement]? = nil, side: DocumentSide? = nil
    ) {
        self.image = image
        self.quality = quality
        self.outline = outline
        self.failedMeasurements = failedMeasurements
        self.side = side
    }
}

/// The image checks; a check that this version lacks is listed as not assessed.
package struct ImageCheckData: Codable, Sendable {
    /// The checks that were made, by name.
    package var assessed: [String]
    var notAssessed: [String]
    /// The fields behind a finding: names, never values.
    package var reason: String?
    /// The same if it was measured; absent if nothing is objected to.
    package var failedMeasurements: [FailedMeasurement]?
    /// For a reviewer, whatever the decision: what the file says of itself. Absent if there is nothing.
    package var findings: [String]?
}

/// Cross-checks of the extracted data: each `pass`, `fail` or `inconclusive`.
package struct DataCheckData: Codable, Sendable {
    /// Inconclusive is neither good nor bad: something that the check needs was missing.
    package enum Outcome: String, Codable, Sendable {
        case pass = "pass"
        case fail = "fail"
        case inconclusive = "inconclusive"
    }
    /// One check with its outcome.
    package struct Check: Codable, Sendable {
        /// As in RESULTS.md.
        package var name: String
        /// How it ended.
        package var outcome: Outcome
        /// Why the check is inconclusive or failed; names of fields, never their values.
        package var reason: String?

        package init(name: String, outcome: Outcome, reason: String? = nil) {
            self.name = name
            self.outcome = outcome
            self.reason = reason
        }
    }

    /// In a fixed order.
    package var checks: [Check]
}

/// Similarity of the document's portrait and the selfie.
package struct SimilarityData: Codable, Sendable {
    /// MATCH, NO_MATCH or NOT_POSSIBLE (Jumio retrieval API, `similarity.data.similarity`).
    package var outcome: String
    /// 0–1; `nil` if it was not possible.
    package var similarity: Double?
    /// Euclidean distance of the embeddings.
    package var distance: Double?
    /// The similarity from which two faces match.
    package var threshold: Double
    /// Measured false match rate at the threshold: an upper bound, see ``SimilarityScale``.
    package var fmrAtThreshold: Double?
    /// The engine that made the embeddings; `nil`: nothing was compared.
    package var engine: String?
    /// Why nothing was compared; a name of ``SimilarityRules/Obstacle``.
    package var reason: String?
}

/// The liveness findings, and how far they can be trusted.
package struct LivenessData: Codable, Sendable {
    /// `passive`, `colour_flash`, `motion`, `colour_flash+motion` or `vendor`.
    package var method: String
    /// `evidence`: signals for a reviewer, never proof. `challenge`: the person met the server's challenge.
    /// `certified-vendor`: a vendor's server vouches for it.
    package var assurance: String
    /// Named numbers behind the decision.
    package var scores: [String: Double]
    /// What the decision is based on, or why it is not PASSED.
    package var reason: String?
    /// Signals for a reviewer, by name; `nil` if nothing was measured.
    package var findings: [String]?
    /// The measurements beyond their limits that suggest a document in place of a person; `nil` if nothing does.
    package var failedMeasurements: [FailedMeasurement]?
    /// The score of the operator's network; `nil` if none is configured.
    package var network: LivenessNetworkScore?
    /// Present and true if the partner accepts passive signals without a finding (`insp.set_liveness_policy`).
    package var passiveSignalsSuffice: Bool?
    /// Each colour or motion of a challenge.
    package var steps: [LivenessVerdict.Step]?
    /// The face SDK's result code: 1 success, 53 too bright, 60 timeout; absent for its error LIVENESS_FAILED.
    package var resultCode: Int?
    /// A vendor server's answer.
    package var vendor: VendorSessionFacts?
}

/// A detected face; its embedding only if the caller asked for it.
package struct FaceRecord: Codable, Sendable {
    /// The part that it was found in.
    package var part: String
    /// As the detector frames faces.
    package var box: Box
    /// The five points of ``FaceFacts/landmarks``.
    package var landmarks: [Point]
    /// Measures of the face's pixels.
    package var quality: FaceQuality
    /// Of the first face of a person's image.
    package var assessment: FaceAssessment?
    /// The embedding, by the name that the face SDK has for it.
    package var feature: FaceEmbedding?

    package init(part: String, face: FaceFacts, withEmbedding: Bool, assessment: FaceAssessment? = nil) {
        self.part = part
        self.box = face.box
        self.landmarks = face.landmarks
        self.quality = face.quality
        self.assessment = assessment
        self.feature = withEmbedding ? face.embedding : nil
    }
}

/// An error as partners see it.
package struct ErrorRecord: Codable, Sendable, Equatable {
    /// A raw value of ``ErrorCode``.
    package var code: String
    /// For the partner's log; contains no personal data.
    package var message: String
    /// Whether the same request may succeed later.
    package var retryable: Bool
    /// The same error in the contracts of Jumio and the face SDK.
    package var contractCodes: ContractCodes

    package init(_ error: InspectError) {
        self.code = error.code.rawValue
        self.message = error.text
        self.retryable = error.code.isRetryable
        self.contractCodes = error.code.contractCodes
    }
}

/// The program, the models and the duration of each stage.
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

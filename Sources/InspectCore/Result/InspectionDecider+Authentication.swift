/// A face against the templates of its face id.
package struct AuthenticationData: Codable, Sendable {
    /// `Verify` or `Not Verify`; `nil` if it was not possible.
    package var result: String?
    /// Of the best template, 0–1.
    package var similarity: Double?
    /// Of the best template.
    package var distance: Double?
    /// The similarity from which two faces match.
    package var threshold: Double
    /// Upper bound (95 %) of the rate at which strangers reach the threshold with any of the templates.
    package var fmrAtThreshold: Double?
    /// The engine that made the embeddings; `nil`: nothing was compared.
    package var engine: String?
    /// How many templates were compared, and of which generation of the face id.
    package var templates: Int
    /// Rises when an enrolment replaces the templates.
    package var generation: Int64
    /// Why nothing was compared.
    package var reason: String?
}

/// The outcome of an enrolment.
package struct EnrollmentData: Codable, Sendable {
    /// The engine and the model that made the embedding; those of others cannot be compared with it.
    package var engine: String?
    /// SHA-256 of its file, in lower-case hexadecimal.
    package var modelSHA256: String?
    /// Characters of the embedding: 1,024.
    package var featureLength: Int?
    /// `add` or `replace`.
    package var mode: String
    /// Why nothing was enrolled; empty if the embedding may be kept.
    package var reasons: [String]
}

extension InspectionDecider {
    /// The embedding to store under the request's face id; `nil` unless the image is fit.
    package var template: FaceEmbedding? {
        guard self.facts.request.workflow.capabilities.contains(.enrollment),
            self.decide().capabilities.enrollment?.first?.decision.type == .passed
        else { return nil }
        return self.selfie?.faces.first?.embedding
    }

    /// Whether the job requires liveness and did not pass it: then nothing is compared and nothing stored.
    private var lacksProofOfLife: Bool {
        (self.facts.request.challenge != nil || self.hasVendorSession)
            && self.livenessRecord(isOpen: true).1.type != .passed
    }

    func authentication(isOpen: Bool) -> (CapabilityRecord<AuthenticationData>, CapabilityDecision) {
        guard isOpen, !self.lacksProofOfLife, let selfie = self.selfie, let enrolled = self.facts.enrolled else {
            return self.record([.face], .preconditionNotFulfilled)
        }
        let threshold = self.facts.request.threshold ?? SimilarityScale.defaultThreshold
        let outcome = AuthenticationRules.authenticate(
            selfie.faces, against: enrolled, threshold: threshold, calibration: self.facts.calibration)
        let data = AuthenticationData(
            result: outcome.match.map { $0.match ? "Verify" : "Not Verify" }, similarity: outcome.match?.similarity,
            distance: outcome.match?.distance, threshold: threshold, fmrAtThreshold: outcome.match?.fmrAtThreshold,
            engine: outcome.match?.engine, templates: outcome.compared, generation: enrolled.generation,
            reason: outcome.obstacle?.rawValue)
        return self.record([.face], outcome.decision, data)
    }

    func enrollment(isOpen: Bool) -> (CapabilityRecord<EnrollmentData>, CapabilityDecision) {
        let enrolled = self.facts.enrolled ?? EnrolledFace(generation: 0, templates: [])
        let mode = enrolled.isToBeReplaced ? "replace" : "add"
        let faces = self.selfie?.faces ?? []
        let (record, liveness) = self.livenessRecord(isOpen: true)
        var obstacles = AuthenticationRules.obstacles(
            faces, to: enrolled, liveness: liveness, calibration: self.facts.calibration)
        if obstacles.isEmpty, self.lacksProofOfLife { obstacles = [liveness.label] }
        if obstacles.isEmpty, let least = self.facts.request.decisionPolicy?.enrollmentAssurance,
            liveness.type != .passed || !record.reaches(least)
        {
            obstacles = [DecisionLabel.livenessUndetermined.rawValue]
        }
        guard isOpen, obstacles.isEmpty, let embedding = faces.first?.embedding else {
            return self.record(
                [.face], CapabilityDecision(type: .rejected, label: .notEnrolled),
                EnrollmentData(mode: mode, reasons: obstacles))
        }
        return self.record(
            [.face], CapabilityDecision(type: .passed, label: .enrolled),
            EnrollmentData(
                engine: embedding.engine, modelSHA256: embedding.modelSHA256, featureLength: embedding.hex.count,
                mode: mode, reasons: []))
    }
}

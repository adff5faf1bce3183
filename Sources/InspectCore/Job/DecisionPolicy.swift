/// How far a liveness outcome can be trusted, the lowest assurance first.
package enum Assurance: String, Codable, Sendable, CaseIterable, Comparable {
    /// PAD signals that found nothing: no proof.
    case evidence = "evidence"
    /// The person met the server's challenge.
    case challenge = "challenge"
    /// A vendor's server vouches for it.
    case certifiedVendor = "certified-vendor"

    package static func < (left: Assurance, right: Assurance) -> Bool {
        let order = Self.allCases
        return (order.firstIndex(of: left) ?? 0) < (order.firstIndex(of: right) ?? 0)
    }
}

/// A partner's decision policy. When a job is accepted, the database writes the current version into the payload, and no client can
/// set it: later changes do not affect the job, and its result states the version.
package struct DecisionPolicy: Codable, Sendable, Equatable {
    /// Rises with each change of the partner's policy.
    package var version: Int
    /// How many days after its expiry a document still passes.
    package var expiryGraceDays: Int?
    /// Whether an expired document is rejected; otherwise it is a warning.
    package var rejectExpired: Bool?
    /// The age in years that a document must show.
    package var minimumAge: Int?
    /// The lowest assurance with which liveness passes; `nil`: any.
    package var livenessAssurance: Assurance?
    /// The lowest assurance of a passed liveness check for an enrolment; `nil`: it needs none.
    package var enrollmentAssurance: Assurance?
    /// Labels whose decisions wait for a review.
    package var reviewLabels: [String]?
    /// The risk from which a decision waits for a review.
    package var reviewRisk: Int?

    package init(version: Int) { self.version = version }

    /// Whether a result waits for a review. NOT_EXECUTED never does: there is no decision to confirm.
    package func asksForReview(of document: ResultDocument) -> Bool {
        guard document.decision.type != .notExecuted else { return false }
        if let least = self.reviewRisk, let risk = document.decision.risk, risk.score >= least { return true }
        guard let labels = self.reviewLabels, !labels.isEmpty else { return false }
        return document.capabilities.outcomes.contains { labels.contains($0.decision.details.label) }
    }
}

/// What a job runs: which capabilities, in which stages, on which parts.
///
/// The raw value is the name that payloads and the database use. `insp.workflow` has the same; a test holds them equal.
package enum Workflow: String, Codable, Sendable, CaseIterable {
    /// ID verification.
    case id
    /// ID and identity verification.
    case idIdentity = "id_identity"
    /// Comparison of two faces.
    case similarity
    /// Liveness alone.
    case liveness
    /// A face against an enrolment.
    case authentication
    /// A face becomes an enrolment.
    case enrollment
}

extension Workflow {
    /// The workflow's definition key in Jumio's API ("Workflow Descriptions"); enrolment has none there and keeps its name.
    package var definitionKey: String {
        switch self {
        case .id: "2"
        case .idIdentity: "3"
        case .similarity: "5"
        case .liveness: "6"
        case .authentication: "9"
        case .enrollment: self.rawValue
        }
    }

    /// The workflow of a key or of a Jumio definition key.
    package init?(name: String) {
        guard let workflow = Self.allCases.first(where: { $0.rawValue == name || $0.definitionKey == name }) else {
            return nil
        }
        self = workflow
    }

    /// The capabilities that run, in order: one that rejects keeps its successors from running.
    package var capabilities: [Capability] {
        switch self {
        case .id: [.usability, .imageChecks, .extraction, .dataChecks]
        case .idIdentity: [.usability, .imageChecks, .extraction, .dataChecks, .similarity, .liveness]
        case .similarity: [.usability, .similarity]
        case .liveness: [.usability, .liveness]
        case .authentication: [.usability, .liveness, .authentication]
        case .enrollment: [.usability, .liveness, .enrollment]
        }
    }

    /// The stages whose results are stored, in order; a status that is not among them is skipped.
    package var stages: [JobStatus] {
        switch self {
        case .id: [.acquired, .document]
        case .idIdentity: [.acquired, .document, .face, .liveness]
        case .similarity: [.acquired, .document, .face]
        case .liveness, .authentication, .enrollment: [.acquired, .face, .liveness]
        }
    }

    /// Whether the job names one of the partner's face ids. No stage's result then keeps the embedding: it becomes a
    /// template, or it is deleted with the job.
    package var namesFace: Bool { self == .authentication || self == .enrollment }

    /// Parts that a job must have, and parts of which it must have one; the database refuses the job otherwise.
    package var requiredParts: (all: [PartKind], one: [PartKind]) {
        switch self {
        case .id: ([], [.front, .sod])
        case .idIdentity: ([.front], [])
        case .similarity: ([.front, .face], [])
        case .liveness: ([], [.face, .frames, .sessionBlob])
        case .authentication, .enrollment: ([.face], [])
        }
    }
}

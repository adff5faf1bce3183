/// The capabilities that a job runs, their stages, and the parts that it takes.
///
/// The raw value is the name that payloads and the database use. `insp.workflow` has the same; a test holds them equal.
package enum Workflow: String, Codable, Sendable, CaseIterable {
    case id = "id"
    case idIdentity = "id_identity"
    case similarity = "similarity"
    case liveness = "liveness"
    case authentication = "authentication"
    case enrollment = "enrollment"
}

extension Workflow {
    /// All facts about a workflow. All lists of workflows, such as hints and the gateway's description, are made
    /// from it.
    package struct Row: Sendable {
        /// The definition key in Jumio's API ("Workflow Descriptions"); enrolment has none there and keeps its name.
        package var definitionKey: String
        /// The capabilities that run, in order: a rejection keeps the later ones from running.
        package var capabilities: [Capability]
        /// The stages whose results are stored, in order; a status that is not among them is skipped.
        package var stages: [JobStatus]
        /// Parts that suffice for a job. The database has the exact requirements.
        package var fewest: [PartKind]
        /// Whether capture links run it.
        package var isCaptured = false
        /// The event of the face SDK that it ends with, if that has one.
        var faceEvent: FaceSDKEvent.Kind?
    }

    /// The facts about this workflow.
    package var row: Row {
        switch self {
        case .id:
            Row(
                definitionKey: "2", capabilities: [.usability, .imageChecks, .extraction, .dataChecks],
                stages: [.acquired, .document], fewest: [.front], isCaptured: true)
        case .idIdentity:
            Row(
                definitionKey: "3",
                capabilities: [.usability, .imageChecks, .extraction, .dataChecks, .similarity, .liveness],
                stages: [.acquired, .document, .face, .liveness], fewest: [.front], isCaptured: true)
        case .similarity:
            Row(
                definitionKey: "5", capabilities: [.usability, .similarity], stages: [.acquired, .document, .face],
                fewest: [.front, .face], isCaptured: true)
        case .liveness:
            Row(
                definitionKey: "6", capabilities: [.usability, .liveness], stages: [.acquired, .face, .liveness],
                fewest: [.face], isCaptured: true, faceEvent: .liveness)
        case .authentication:
            Row(
                definitionKey: "9", capabilities: [.usability, .liveness, .authentication],
                stages: [.acquired, .face, .liveness], fewest: [.face], faceEvent: .verification)
        case .enrollment:
            Row(
                definitionKey: self.rawValue, capabilities: [.usability, .liveness, .enrollment],
                stages: [.acquired, .face, .liveness], fewest: [.face], faceEvent: .enrollment)
        }
    }

    /// Those that run, in order.
    package var capabilities: [Capability] { self.row.capabilities }

    /// Those whose results are stored, in order.
    package var stages: [JobStatus] { self.row.stages }

    /// Those that capture links run.
    package static let captured = Self.allCases.filter(\.row.isCaptured)

    /// The workflow of a key or of a Jumio definition key.
    package init?(name: String) {
        guard let workflow = Self.allCases.first(where: { $0.rawValue == name || $0.row.definitionKey == name }) else {
            return nil
        }
        self = workflow
    }

    /// The workflow of a job that specifies none.
    package static func usual(for kinds: Set<PartKind>) -> Workflow {
        let sources = Set(kinds.map(\.row.source))
        if sources.isDisjoint(with: [.document, .chip]) { return .liveness }
        return sources.contains(.person) ? .idIdentity : .id
    }

    /// Whether the job names one of the partner's face ids. No stage's result then keeps the embedding: it becomes a
    /// template, or it is deleted with the job.
    package var namesFace: Bool {
        self.capabilities.contains { $0 == .authentication || $0 == .enrollment }
    }
}

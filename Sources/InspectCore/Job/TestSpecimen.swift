package import Foundation

/// A text that a partner sends instead of an image with a test credential: each has a fixed outcome.
///
/// A specimen is a short text, so that no image of a person gets into a test, and none is mistaken for one.
package enum TestSpecimen: String, Sendable, CaseIterable {
    case passed = "passed"
    case blurred = "blurred"
    case mismatch = "mismatch"
    case expiring = "expiring"
    case noMatch = "no_match"
    case notLive = "not_live"
    case failed = "failed"

    private static let prefix = Data("inspectd-specimen:".utf8)

    /// The bytes of a part.
    package var bytes: Data { Self.prefix + Data(self.rawValue.utf8) }

    /// - Returns: `nil` for any other part. White space at the end is ignored, as editors add it.
    package init?(_ part: Data) {
        guard part.starts(with: Self.prefix), part.count < 64 else { return nil }
        let name = String(decoding: part.dropFirst(Self.prefix.count), as: UTF8.self)
        guard let specimen = Self(rawValue: String(name.reversed().drop(while: \.isWhitespace).reversed())) else {
            return nil
        }
        self = specimen
    }

    /// Its objection; `nil`: none.
    private var objection: (capability: Capability, type: DecisionType, label: DecisionLabel)? {
        switch self {
        case .passed, .failed: nil
        case .blurred: (.usability, .rejected, .blurred)
        case .mismatch: (.dataChecks, .rejected, .mismatchingDatapoints)
        case .expiring: (.dataChecks, .warning, .documentExpiry)
        case .noMatch: (.similarity, .rejected, .noMatch)
        case .notLive: (.liveness, .rejected, .livenessUndetermined)
        }
    }

    /// The result of a job in which it is the first specimen. If the workflow lacks the capability that it fails, it passes.
    package func document(of workflow: Workflow, parts: [PartKind]) -> ResultDocument {
        guard self != .failed else { return .notExecuted(InspectError(.tooManyPixels)) }
        let names = PartKind.allCases.filter(parts.contains).map(\.rawValue)
        var types: [DecisionType] = []
        func record<Payload>(_ capability: Capability) -> [CapabilityRecord<Payload>]? {
            guard workflow.capabilities.contains(capability) else { return nil }
            var decision =
                switch capability {
                case .similarity, .authentication: Decision(.passed, DecisionLabel.match.rawValue)
                case .enrollment: Decision(.passed, DecisionLabel.enrolled.rawValue)
                default: Decision(.passed, DecisionLabel.ok.rawValue)
                }
            if let objection, objection.capability == capability {
                decision = Decision(objection.type, objection.label.rawValue)
            } else if types.contains(.rejected),
                self == .blurred || capability == .authentication || capability == .enrollment
            {
                decision = Decision(.notExecuted, DecisionLabel.preconditionNotFulfilled.rawValue)
            }
            types.append(decision.type)
            return [CapabilityRecord(parts: names, decision: decision, data: nil)]
        }
        var capabilities = Capabilities()
        capabilities.usability = record(.usability)
        capabilities.imageChecks = record(.imageChecks)
        capabilities.extraction = record(.extraction)
        capabilities.dataChecks = record(.dataChecks)
        capabilities.similarity = record(.similarity)
        capabilities.liveness = record(.liveness)
        capabilities.authentication = record(.authentication)
        capabilities.enrollment = record(.enrollment)
        let overall: DecisionType =
            types.contains(.rejected) ? .rejected : Set(types) == [.passed] ? .passed : .warning
        var decision = Decision(overall, overall.rawValue)
        decision.risk = RiskRules.risk(of: overall, capabilities)
        var document = ResultDocument(
            decision: decision, capabilities: capabilities,
            reasons: ReasonRecord.all(
                overall, capabilities.outcomes.map { ($0.parts, $0.decision) }, numbered: []),
            rejectReasons: [], faces: [], error: nil, engine: EngineRecord())
        document.engine.versions["inspectd"] = Version.current
        document.faceSdk = FaceSDKEvent(workflow: workflow, capabilities)
        return document
    }
}

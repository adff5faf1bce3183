/// The part of a result that the database uses for decisions and reports. It reads nothing else.
package struct ResultSummary: Encodable, Sendable {
    /// A capability that warned or rejected.
    package struct Label: Encodable, Sendable, Hashable {
        /// The capability that gave the label.
        package var capability: Capability
        /// One of ``DecisionLabel``.
        package var label: String
    }

    /// As ``ResultDocument/decision``.
    package var decision: Decision
    /// As ``ResultDocument/policyVersion``.
    package var policyVersion: Int?
    /// As ``ResultDocument/reasons``.
    package var reasons: [ReasonRecord]
    /// As ``ResultDocument/rejectReasons``.
    package var rejectReasons: [RejectReason]
    /// As ``ResultDocument/error``.
    package var error: ErrorRecord?
    /// As ``ResultDocument/faceSdk``.
    package var faceSdk: FaceSDKEvent?
    /// Those of all capabilities; `nil`: all passed.
    package var labels: [Label]?
}

/// The part of a result that the database stores without reading it.
package struct ResultBody: Encodable, Sendable {
    /// As ``ResultDocument/capabilities``.
    package var capabilities: Capabilities
    /// As ``ResultDocument/faces``.
    package var faces: [FaceRecord]
    /// As ``ResultDocument/engine``.
    package var engine: EngineRecord
}

extension ResultDocument {
    /// The part that the database reads, for lists and statistics.
    package var summary: ResultSummary {
        let labels = self.capabilities.labels
        return ResultSummary(
            decision: self.decision, policyVersion: self.policyVersion, reasons: self.reasons,
            rejectReasons: self.rejectReasons, error: self.error,
            faceSdk: self.faceSdk,
            labels: labels.isEmpty ? nil : labels)
    }

    /// The outcomes that led to the decision: objections and, in a warning, what did not run.
    var causes: [(capability: Capability, parts: [String], decision: Decision)] {
        guard self.decision.type == .warning else { return self.capabilities.objections }
        let sides = PartKind.sides.map(\.rawValue)
        return self.capabilities.outcomes.filter { outcome in
            // Sides that cannot be compared count no more than a missing back.
            outcome.decision.type != .passed
                && (outcome.decision.type != .notExecuted || outcome.capability != .imageChecks
                    || outcome.parts != sides)
        }
    }

    /// Everything that ``summary`` leaves out.
    package var body: ResultBody {
        ResultBody(capabilities: self.capabilities, faces: self.faces, engine: self.engine)
    }
}

extension Capabilities {
    /// Every decision with its parts, in the order of the chain.
    var outcomes: [(capability: Capability, parts: [String], decision: Decision)] {
        func outcomes<Payload>(
            _ capability: Capability, _ records: [CapabilityRecord<Payload>]?
        ) -> [(capability: Capability, parts: [String], decision: Decision)] {
            (records ?? []).map { (capability, $0.parts, $0.decision) }
        }
        return outcomes(.usability, self.usability) + outcomes(.imageChecks, self.imageChecks)
            + outcomes(.extraction, self.extraction) + outcomes(.dataChecks, self.dataChecks)
            + outcomes(.similarity, self.similarity) + outcomes(.liveness, self.liveness)
            + outcomes(.authentication, self.authentication) + outcomes(.enrollment, self.enrollment)
    }

    /// Decisions with an objection to the job.
    var objections: [(capability: Capability, parts: [String], decision: Decision)] {
        self.outcomes.filter { [.warning, .rejected].contains($0.decision.type) }
    }

    fileprivate var labels: [ResultSummary.Label] {
        self.objections.map { ResultSummary.Label(capability: $0.capability, label: $0.decision.details.label) }
    }
}

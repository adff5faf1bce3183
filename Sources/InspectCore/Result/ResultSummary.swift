/// The part of a result that the database uses for decisions and reports. It reads nothing else.
package struct ResultSummary: Encodable, Sendable {
    /// A capability that warned or rejected.
    package struct Label: Encodable, Sendable, Hashable {
        package var capability: Capability
        package var label: String
    }

    package var decision: Decision
    package var policyVersion: Int?
    package var reasons: [ReasonRecord]
    package var rejectReasons: [RejectReason]
    package var error: ErrorRecord?
    package var faceSdk: FaceSDKEvent?
    package var labels: [Label]?
}

/// The part of a result that the database stores without reading it.
package struct ResultBody: Encodable, Sendable {
    package var capabilities: Capabilities
    package var faces: [FaceRecord]
    package var engine: EngineRecord
}

extension ResultDocument {
    package var summary: ResultSummary {
        let labels = self.capabilities.labels
        return ResultSummary(
            decision: self.decision, policyVersion: self.policyVersion, reasons: self.reasons,
            rejectReasons: self.rejectReasons, error: self.error,
            faceSdk: self.faceSdk,
            labels: labels.isEmpty ? nil : labels)
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

    fileprivate var labels: [ResultSummary.Label] {
        self.outcomes.filter { [.warning, .rejected].contains($0.decision.type) }
            .map { ResultSummary.Label(capability: $0.capability, label: $0.decision.details.label) }
    }
}

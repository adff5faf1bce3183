/// The part of a result that the database uses for decisions and reports. It reads nothing else.
package struct ResultSummary: Encodable, Sendable {
    /// A capability that warned or rejected.
    package struct Label: Encodable, Sendable, Hashable {
        package var capability: Capability
        package var label: String
    }

    package var decision: Decision
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
            decision: self.decision, rejectReasons: self.rejectReasons, error: self.error, faceSdk: self.faceSdk,
            labels: labels.isEmpty ? nil : labels)
    }

    /// Everything that ``summary`` leaves out.
    package var body: ResultBody {
        ResultBody(capabilities: self.capabilities, faces: self.faces, engine: self.engine)
    }
}

extension Capabilities {
    fileprivate var labels: [ResultSummary.Label] {
        func labels<Payload>(
            _ capability: Capability, _ records: [CapabilityRecord<Payload>]?
        ) -> [ResultSummary.Label] {
            (records ?? []).map(\.decision).filter { [.warning, .rejected].contains($0.type) }
                .map { ResultSummary.Label(capability: capability, label: $0.details.label) }
        }
        return labels(.usability, self.usability) + labels(.imageChecks, self.imageChecks)
            + labels(.extraction, self.extraction) + labels(.dataChecks, self.dataChecks)
            + labels(.similarity, self.similarity) + labels(.liveness, self.liveness)
            + labels(.authentication, self.authentication) + labels(.enrollment, self.enrollment)
    }
}

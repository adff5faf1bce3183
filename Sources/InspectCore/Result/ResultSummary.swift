/// What of a result the database decides and reports by. It looks into nothing else.
public struct ResultSummary: Encodable, Sendable {
    /// A capability that warned or rejected.
    public struct Label: Encodable, Sendable, Hashable {
        public var capability: Capability
        public var label: String
    }

    public var decision: Decision
    public var rejectReasons: [RejectReason]
    public var error: ErrorRecord?
    public var faceSdk: FaceSDKEvent?
    public var labels: [Label]?
}

/// What of a result the database keeps unread.
public struct ResultBody: Encodable, Sendable {
    public var capabilities: Capabilities
    public var faces: [FaceRecord]
    public var engine: EngineRecord
}

extension ResultDocument {
    public var summary: ResultSummary {
        let labels = self.capabilities.labels
        return ResultSummary(
            decision: self.decision, rejectReasons: self.rejectReasons, error: self.error, faceSdk: self.faceSdk,
            labels: labels.isEmpty ? nil : labels)
    }

    /// Everything that ``summary`` leaves out.
    public var body: ResultBody {
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

/// Decides which stages are still needed, and turns their facts into the result document.
///
/// The chains are Jumio's: usability → imageChecks → extraction → dataChecks, and usability → similarity, liveness. A
/// rejection makes its successors NOT_EXECUTED with PRECONDITION_NOT_FULFILLED, unless the gate is open.
package struct InspectionDecider {
    let facts: InspectionFacts
    let today: CalendarDate
    let isGated: Bool

    /// - Parameters:
    ///   - today: The day of the decision: expiry and the century of birth dates depend on it.
    ///   - isGated: Whether a rejection keeps the later capabilities from running.
    package init(facts: InspectionFacts, today: CalendarDate, isGated: Bool = true) {
        self.facts = facts
        self.today = today
        self.isGated = isGated
    }

    /// Whether a stage can still change the outcome, given the facts of the earlier ones.
    package func needs(_ stage: JobStatus) -> Bool {
        switch stage {
        case .acquired: true
        case .document: !self.documentParts.isEmpty || !self.chipParts.isEmpty
        case .face: self.hasFaceImage && !(self.isGated && self.isUnusable)
        case .liveness:
            !(self.isGated && self.isUnusable)
                && (self.hasVendorSession || self.hasFaceImage && self.isLivenessWorthwhile)
        case .queued, .started, .decided, .finished: false
        }
    }

    /// The result document; the caller adds engine versions and timings.
    ///
    /// - Parameter withEmbeddings: Whether the result contains the faces' embeddings: biometric data, so only on demand.
    package func decide(withEmbeddings: Bool = false) -> ResultDocument {
        VIZMemo.during { self.document(withEmbeddings: withEmbeddings) }
    }

    private func document(withEmbeddings: Bool) -> ResultDocument {
        var capabilities = Capabilities()
        var outcomes: [CapabilityDecision] = []
        let wanted = self.facts.request.workflow.capabilities
        let documents = self.documentParts + self.chipParts
        let extraction = ExtractionRules(facts: self.facts, today: self.today)

        if wanted.contains(.usability) {
            let (records, decisions) = self.usability(extraction)
            capabilities.usability = records
            outcomes += decisions
        }
        if wanted.contains(.imageChecks) {
            let (records, decisions) = self.imageChecks(isOpen: self.isOpen(after: outcomes), extraction)
            capabilities.imageChecks = records
            outcomes += decisions
        }
        if wanted.contains(.extraction) {
            let isOpen = self.isOpen(after: outcomes)
            let decision = isOpen ? extraction.decision : .preconditionNotFulfilled
            capabilities.extraction = [
                CapabilityRecord(
                    parts: documents.map(\.rawValue), decision: Decision(decision),
                    data: isOpen ? extraction.data : nil)
            ]
            outcomes.append(decision)
        }
        if wanted.contains(.dataChecks) {
            let isOpen = self.isOpen(after: outcomes) && (extraction.hasData || extraction.chip != nil)
            let checks = DataCheckRules(
                extraction: extraction, today: self.today, policy: self.facts.request.decisionPolicy)
            let decision = isOpen ? checks.decision : .preconditionNotFulfilled
            capabilities.dataChecks = [
                CapabilityRecord(
                    parts: documents.map(\.rawValue), decision: Decision(decision), data: isOpen ? checks.data : nil)
            ]
            outcomes.append(decision)
        }
        let personIsOpen = !(self.isGated && self.isUnusable)
        if wanted.contains(.similarity) {
            let (records, decisions) = self.similarity(isOpen: personIsOpen)
            capabilities.similarity = records
            outcomes += decisions
        }
        if wanted.contains(.liveness) {
            let (record, decision) = self.livenessRecord(isOpen: personIsOpen)
            capabilities.liveness = [record]
            outcomes.append(decision)
        }

        if wanted.contains(.authentication) {
            let (record, decision) = self.authentication(isOpen: self.isOpen(after: outcomes))
            capabilities.authentication = [record]
            outcomes.append(decision)
        }
        if wanted.contains(.enrollment) {
            let (record, decision) = self.enrollment(isOpen: self.isOpen(after: outcomes))
            capabilities.enrollment = [record]
            outcomes.append(decision)
        }

        let overall = Self.overall(outcomes)
        var seen: Set<RejectReason> = []
        let numbered = outcomes.flatMap(\.reasons).filter { seen.insert($0).inserted }
        var document = ResultDocument(
            decision: Decision(overall, overall.rawValue, risk: RiskRules.risk(of: overall, capabilities)),
            policyVersion: self.facts.request.decisionPolicy?.version, capabilities: capabilities,
            reasons: ReasonRecord.all(
                overall, capabilities.outcomes.map { ($0.parts, $0.decision) }, numbered: numbered,
                causes: self.causes(of: capabilities, extraction)),
            rejectReasons: numbered,
            faces: self.faceRecords(withEmbeddings: withEmbeddings), error: nil, engine: self.engine)
        document.faceSdk = FaceSDKEvent(workflow: self.facts.request.workflow, capabilities)
        return document
    }

    /// The worst capability decides. A job passes only if each requested capability ran and passed: a document without
    /// readable data, or an identity without a face, is a warning at best.
    private static func overall(_ outcomes: [CapabilityDecision]) -> DecisionType {
        let types = Set(outcomes.map(\.type))
        if types.contains(.rejected) { return .rejected }
        if types.isSubset(of: [.notExecuted]) { return .notExecuted }
        return types == [.passed] ? .passed : .warning
    }

    private func isOpen(after outcomes: [CapabilityDecision]) -> Bool {
        !self.isGated || !outcomes.contains { $0.type == .rejected }
    }

    private func faceRecords(withEmbeddings: Bool) -> [FaceRecord] {
        let documents = self.documentParts.flatMap { kind in
            (self.side(kind)?.faces ?? []).map {
                FaceRecord(part: kind.rawValue, face: $0, withEmbedding: withEmbeddings)
            }
        }
        var images = (self.facts.faces?.images ?? [:]).sorted { $0.key < $1.key }
        if let portrait = self.chipPortrait { images.insert((PartKind.dg2.rawValue, portrait), at: 0) }
        let persons = images.flatMap { name, facts in
            facts.faces.enumerated().map { index, face in
                FaceRecord(
                    part: name, face: face, withEmbedding: withEmbeddings,
                    assessment: index == 0 ? FaceAssessment(faces: facts.faces, image: facts.image) : nil)
            }
        }
        return documents + persons
    }

    /// The models used, and the processor time of all stages.
    private var engine: EngineRecord {
        var engine = EngineRecord()
        let faces =
            self.documentParts.flatMap { self.side($0)?.faces ?? [] } + (self.chipPortrait?.faces ?? [])
            + (self.facts.faces?.images.values.flatMap(\.faces) ?? [])
        for embedding in faces.compactMap(\.embedding) { engine.models[embedding.engine] = embedding.modelSHA256 }
        if let network = self.facts.liveness?.passive?.network { engine.models[network.name] = network.modelSHA256 }
        return engine
    }
}

extension InspectionDecider {
    var documentParts: [PartKind] { self.facts.parts.filter(\.isSide) }

    var chipParts: [PartKind] { self.facts.parts.filter(\.isChipFile) }

    var chipPortrait: FaceStageFacts.Image? { self.facts.documents?.chip?.portrait }

    var hasFaceImage: Bool { self.facts.parts.contains { $0 == .face || $0 == .frames } }

    func side(_ kind: PartKind) -> DocumentFacts? { self.facts.documents?.sides[kind.rawValue] }

    var selfie: FaceStageFacts.Image? { self.facts.faces?.images[PartKind.face.rawValue] }

    /// Whether usability rejected the document: then nothing else is worth the time.
    var isUnusable: Bool { self.usability(nil).decisions.contains { $0.type == .rejected } }
}

extension Decision {
    init(_ decision: CapabilityDecision) {
        self.init(decision.type, decision.label)
    }
}

extension ResultDocument {
    /// The document of a job that could not be inspected.
    package static func notExecuted(_ error: InspectError) -> ResultDocument {
        ResultDocument(
            decision: Decision(
                .notExecuted, DecisionLabel.technicalError.rawValue, risk: DecisionType.notExecuted.riskBand.lowerBound),
            capabilities: Capabilities(), reasons: [], rejectReasons: [], faces: [], error: ErrorRecord(error),
            engine: EngineRecord())
    }
}

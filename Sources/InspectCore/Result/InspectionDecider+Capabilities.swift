extension InspectionDecider {
    /// Whether each document side can be used; for workflows without a document, whether the image of the person can.
    ///
    /// - Parameter extraction: What was read, to compare it with the client's preselection, which rejects nothing; `nil` if only
    ///   rejections matter.
    func usability(
        _ extraction: ExtractionRules?
    ) -> (records: [CapabilityRecord<UsabilityData>], decisions: [CapabilityDecision]) {
        var records: [CapabilityRecord<UsabilityData>] = []
        var decisions: [CapabilityDecision] = []
        for kind in self.documentParts {
            guard let side = self.side(kind) else { continue }
            let decision = self.usability(of: side, kind, extraction)
            decisions.append(decision)
            records.append(
                CapabilityRecord(
                    parts: [kind.rawValue], decision: Decision(decision),
                    data: UsabilityData(
                        side, reading: self.evidence(side), format: self.facts.request.documentFormat)))
        }
        if self.documentParts.isEmpty, let selfie = self.selfie {
            let decision = UsabilityRules.decide(selfie)
            decisions.append(decision)
            records.append(
                CapabilityRecord(
                    parts: [PartKind.face.rawValue], decision: Decision(decision),
                    data: UsabilityData(image: selfie.image)))
        }
        if self.documentParts.isEmpty, !self.chipParts.isEmpty,
            let decision = extraction.flatMap({ self.preselection($0.data) })
        {
            decisions.append(decision)
            records.append(
                CapabilityRecord(parts: self.chipParts.map(\.rawValue), decision: Decision(decision), data: nil))
        }
        return (records, decisions)
    }

    private func usability(
        of side: DocumentFacts, _ kind: PartKind, _ extraction: ExtractionRules?
    ) -> CapabilityDecision {
        var decision = UsabilityRules.decide(
            side, reading: self.evidence(side), part: kind.rawValue, format: self.facts.request.documentFormat)
        let (missing, isCertain) = self.missingSide(seenFrom: kind)
        guard decision.type == .passed else {
            // Another photo of the wrong side would not help.
            if isCertain { decision.reasons += missing }
            return decision
        }
        if !missing.isEmpty {
            return CapabilityDecision(
                type: isCertain ? .rejected : .warning, label: .missingPage, reasons: isCertain ? missing : [])
        }
        let format = self.facts.request.documentFormat
        if kind == .front, format == .td3, side.mrz == nil, self.readsDocument {
            // Every passport has an MRZ (Doc 9303-4 §4.2).
            return CapabilityDecision(
                type: .rejected, label: .missingMandatoryDatapoints,
                reasons: [RejectReason(.notReadable, part: kind.rawValue)])
        }
        return extraction.flatMap { self.preselection($0.data) } ?? decision
    }

    /// An image does not show the side that it was sent as, or a two-sided card came without the side that bears its data.
    private func missingSide(seenFrom kind: PartKind) -> (reasons: [RejectReason], isCertain: Bool) {
        let (front, back, request) = (self.side(.front), self.side(.back), self.facts.request)
        // A comparison needs no more than the portrait.
        if back == nil, !self.readsDocument { return ([], false) }
        let rules = SideRules(front: front, back: back, format: request.documentFormat)
        let missing = rules.missing.filter { $0.part == kind.rawValue }
        if !missing.isEmpty || back != nil { return (missing, rules.isCertain) }
        let isReadable = front.map { self.evidence($0) != .none } ?? true
        guard request.documentFormat == .td1, !isReadable else { return ([], false) }
        return ([RejectReason(.missingBack, part: PartKind.back.rawValue)], true)
    }

    private var readsDocument: Bool { self.facts.request.workflow.capabilities.contains(.extraction) }

    /// Compares the client's accepted countries, types and size with the extracted data.
    private func preselection(_ data: ExtractionData) -> CapabilityDecision? {
        let request = self.facts.request
        if let country = data.issuingCountry, !request.countries.isEmpty, !request.countries.contains(country) {
            return CapabilityDecision(type: .warning, label: .unsupportedCountry)
        }
        if let type = data.type, !request.documentTypes.isEmpty, !request.documentTypes.contains(type) {
            return CapabilityDecision(type: .warning, label: .unsupportedDocumentType)
        }
        if let chosen = request.documentFormat, let read = data.mrz?.format,
            DocumentFormat(rawValue: read).map({ $0 != chosen }) == true
        {
            return CapabilityDecision(type: .warning, label: .unsupportedDocumentType)
        }
        // What is unknown may be something that is not accepted.
        if data.issuingCountry == nil, !request.countries.isEmpty {
            return CapabilityDecision(type: .warning, label: .countryUndetermined)
        }
        if data.type == nil, !request.documentTypes.isEmpty {
            return CapabilityDecision(type: .warning, label: .documentTypeUndetermined)
        }
        return nil
    }

    private func evidence(_ side: DocumentFacts) -> ReadingEvidence {
        UsabilityRules.evidence(side, today: self.today)
    }

    /// Whether each document side shows the document itself and not a copy of it.
    func imageChecks(
        isOpen: Bool, _ extraction: ExtractionRules
    ) -> (records: [CapabilityRecord<ImageCheckData>], decisions: [CapabilityDecision]) {
        var records: [CapabilityRecord<ImageCheckData>] = []
        var decisions: [CapabilityDecision] = []
        for kind in self.documentParts {
            guard let side = self.side(kind) else { continue }
            let decision =
                isOpen ? ImageCheckRules.decide(side, part: kind.rawValue) : .preconditionNotFulfilled
            decisions.append(decision)
            let findings = ImageCheckRules.findings(side)
            let data = ImageCheckData(
                assessed: ImageCheckRules.assessed(side), notAssessed: ImageCheckRules.notAssessed(side),
                failedMeasurements: FailedMeasurement.all(ImageCheckRules.measurements(side)),
                findings: findings.isEmpty ? nil : findings)
            records.append(
                CapabilityRecord(parts: [kind.rawValue], decision: Decision(decision), data: isOpen ? data : nil))
        }
        if isOpen, let sides = FrontBackRules(extraction, parts: self.documentParts) {
            let label = DecisionLabel.mismatchFrontBack
            let isAssessed = sides.outcome != .inconclusive
            let decision: CapabilityDecision =
                switch sides.outcome {
                case .pass: .passed
                case .fail: CapabilityDecision(type: sides.isCertain ? .rejected : .warning, label: label)
                case .inconclusive: .preconditionNotFulfilled
                }
            // Sides that cannot be compared count no more than a missing back.
            if isAssessed { decisions.append(decision) }
            records.append(
                CapabilityRecord(
                    parts: [PartKind.front.rawValue, PartKind.back.rawValue], decision: Decision(decision),
                    data: ImageCheckData(
                        assessed: isAssessed ? [label.rawValue] : [], notAssessed: isAssessed ? [] : [label.rawValue],
                        reason: sides.differing.isEmpty ? nil : sides.differing.joined(separator: ", "))))
        }
        return (records, decisions)
    }
}

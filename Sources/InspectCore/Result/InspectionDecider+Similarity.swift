extension InspectionDecider {
    /// The portraits against the selfie, and against each other: the printed one first, then the chip's.
    func similarity(isOpen: Bool) -> (records: [CapabilityRecord<SimilarityData>], decisions: [CapabilityDecision]) {
        let hasDocument = !self.documentParts.isEmpty
        let hasChip = self.facts.parts.contains(.dg2)
        var records: [CapabilityRecord<SimilarityData>] = []
        var decisions: [CapabilityDecision] = []
        if hasDocument || !hasChip {
            let (record, decision) = self.compare(
                .front, self.side(.front)?.faces, with: .face, self.selfie?.faces, isOpen: isOpen)
            records.append(record)
            decisions.append(decision)
        }
        guard hasChip else { return (records, decisions) }
        let portrait = self.chipPortrait?.faces
        var further: [(CapabilityRecord<SimilarityData>, CapabilityDecision)] = []
        if self.hasFaceImage {
            further.append(self.compare(.dg2, portrait, with: .face, self.selfie?.faces, isOpen: isOpen))
        }
        if hasDocument {
            further.append(self.compare(.front, self.side(.front)?.faces, with: .dg2, portrait, isOpen: isOpen))
        }
        for (record, decision) in further {
            records.append(record)
            // Next to a printed portrait, the chip's can only contradict: if it cannot be compared, the result is the same
            // as without it. Without a printed portrait, it is the portrait.
            if !hasDocument || decision.type == .rejected { decisions.append(decision) }
        }
        return (records, decisions)
    }

    private func compare(
        _ first: PartKind, _ portrait: [FaceFacts]?, with second: PartKind, _ other: [FaceFacts]?, isOpen: Bool
    ) -> (CapabilityRecord<SimilarityData>, CapabilityDecision) {
        let parts = [first, second]
        guard isOpen, other != nil || second == .dg2 else {
            return self.record(parts, .preconditionNotFulfilled)
        }
        let threshold = self.facts.request.threshold ?? SimilarityScale.portraitThreshold
        do {
            let outcome = try SimilarityRules.decide(
                portrait: portrait ?? [], selfie: other ?? [], threshold: threshold, calibration: self.facts.calibration
            )
            let data = SimilarityData(
                outcome: outcome.decision.label, similarity: outcome.match?.similarity,
                distance: outcome.match?.distance, threshold: threshold,
                fmrAtThreshold: outcome.match?.fmrAtThreshold, engine: outcome.match?.engine,
                reason: outcome.obstacle?.rawValue)
            return self.record(parts, outcome.decision, data)
        } catch {
            let data = SimilarityData(
                outcome: "NOT_POSSIBLE", similarity: nil, distance: nil, threshold: threshold, fmrAtThreshold: nil,
                engine: nil, reason: error.code.rawValue)
            return self.record(parts, .technicalError, data)
        }
    }
}

extension InspectionDecider {
    var hasVendorSession: Bool { self.facts.parts.contains(where: \.isOpaque) }

    /// Signals and frames are measured only if a conforming face was found.
    var isLivenessWorthwhile: Bool { self.selfie.map { LivenessRules.isWorthwhile($0) } ?? false }

    /// The liveness finding, which passes only with the assurance that the partner's policy requires.
    func livenessRecord(isOpen: Bool) -> (CapabilityRecord<LivenessData>, CapabilityDecision) {
        let (record, decision) = self.foundLiveness(isOpen: isOpen)
        guard decision.type == .passed, let least = self.facts.request.decisionPolicy?.livenessAssurance,
            !record.reaches(least)
        else { return (record, decision) }
        var lesser = record
        let undetermined = CapabilityDecision(type: .warning, label: .livenessUndetermined)
        lesser.decision = Decision(undetermined)
        lesser.data?.reason = "the partner's policy needs \(least.rawValue)"
        lesser.data?.resultCode = nil
        return (lesser, undetermined)
    }

    /// Decides liveness by a vendor's answer, by a challenge, or by the passive signals of one image.
    private func foundLiveness(isOpen: Bool) -> (CapabilityRecord<LivenessData>, CapabilityDecision) {
        if isOpen, self.hasVendorSession, let vendor = self.facts.liveness?.vendor {
            let isOpen = self.facts.liveness?.session?.isOpen == true
            return self.record(
                [.sessionBlob], VendorSessionRules.decide(vendor, isOpen: isOpen),
                VendorSessionRules.data(vendor, isOpen: isOpen))
        }
        guard isOpen, let selfie = self.selfie else {
            return self.record([.face], .preconditionNotFulfilled, nil)
        }
        let passive = self.facts.liveness?.passive
        let faults = FaceConformity(faces: selfie.faces).faults.map(\.rawValue)
        let suffices = self.facts.request.passiveSignalsSuffice
        let document = self.documentAsSelfie(selfie)
        var decision = LivenessRules.decide(
            faces: selfie.faces, passive: passive, image: selfie.image, document: document, suffices: suffices)
        var data = LivenessData(
            method: "passive", assurance: LivenessRules.assurance,
            scores: (passive?.signals ?? [:]).merging(document.scores) { $1 },
            reason: Self.reason(of: decision, faults: faults))
        if passive != nil || !document.findings.isEmpty {
            data.findings =
                document.findings + (passive.map { LivenessRules.findings($0, image: selfie.image) } ?? [])
        }
        data.failedMeasurements = FailedMeasurement.all(document.measurements)
        data.network = passive?.network
        guard faults.isEmpty else { return self.record([.face], decision, data) }
        if let challenge = self.facts.request.challenge {
            let outcome = ChallengeRules.decide(challenge, self.facts.liveness?.capture)
            data.method = outcome.method
            data.assurance = ChallengeRules.assurance
            data.steps = outcome.verdicts.flatMap(\.steps)
            data.resultCode = outcome.resultCode
            for verdict in outcome.verdicts { data.scores.merge(verdict.scores) { $1 } }
            // Signals of an artefact in one image count, whatever the others show.
            if Self.isOutweighed(decision, by: outcome.decision) {
                decision = outcome.decision
                data.reason = outcome.reason?.rawValue
            }
            return self.record([.face, .frames], decision, data)
        }
        if suffices {
            data.passiveSignalsSuffice = true
            if decision.type == .passed { data.reason = "no signal was found, and the partner accepts passive signals" }
        }
        if let capture = self.facts.liveness?.capture {
            data.scores["framesRepeated"] = CaptureRules.repeatedShare(capture)
            data.scores["framesWithFace"] = CaptureRules.faceShare(capture)
            data.scores["movement"] = CaptureRules.movement(capture)
            if let evidence = LivenessRules.decide(capture, suffices: suffices),
                Self.isOutweighed(decision, by: evidence.decision)
            {
                decision = evidence.decision
                data.reason = evidence.reason
            }
            return self.record([.face, .frames], decision, data)
        }
        return self.record([.face], decision, data)
    }

    /// The frames decide, except that a rejection of the selfie stays, and that only a passed challenge, or a rejection,
    /// outweighs the warning that a document is shown: a still picture of one is both.
    private static func isOutweighed(_ selfie: CapabilityDecision, by frames: CapabilityDecision) -> Bool {
        selfie.type != .rejected
            && (selfie.label != DecisionLabel.idUsedAsSelfie.rawValue || frames.type != .warning)
    }

    private static func reason(of decision: CapabilityDecision, faults: [String]) -> String {
        let label = DecisionLabel(rawValue: decision.label)
        if let label, label == .idUsedAsSelfie { return label.meaning }
        if !faults.isEmpty { return faults.joined(separator: ", ") }
        if let label, decision.type == .rejected { return label.meaning }
        return "liveness cannot be proven from one image; only a challenge can prove it"
    }

    /// The selfie next to the portraits on the document and in its chip.
    func documentAsSelfie(_ selfie: FaceStageFacts.Image) -> DocumentAsSelfie {
        let portraits = [self.side(.front)?.faces.first, self.chipPortrait?.faces.first]
        return DocumentAsSelfie(selfie, portraits: portraits.compactMap { $0 })
    }

    func record<Payload>(
        _ parts: [PartKind], _ decision: CapabilityDecision, _ data: Payload? = nil
    ) -> (CapabilityRecord<Payload>, CapabilityDecision) {
        (CapabilityRecord(parts: parts.map(\.rawValue), decision: Decision(decision), data: data), decision)
    }
}

extension CapabilityRecord<LivenessData> {
    /// Whether it was found with an assurance, or a better one.
    func reaches(_ least: Assurance) -> Bool {
        self.data.flatMap { Assurance(rawValue: $0.assurance) }.map { $0 >= least } ?? false
    }
}

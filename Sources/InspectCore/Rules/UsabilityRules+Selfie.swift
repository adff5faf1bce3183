extension UsabilityRules {
    /// The quality of a person's image. Liveness judges whom it shows.
    static func decide(_ selfie: FaceStageFacts.Image) -> CapabilityDecision {
        let faults = FaceConformity(faces: selfie.faces).faults
        if faults.contains(.blurred) { return CapabilityDecision(type: .warning, label: .blurred) }
        let isPoor = faults.contains { [.tooDark, .tooBright, .tooSmall].contains($0) }
        return isPoor ? CapabilityDecision(type: .warning, label: .badQuality) : .passed
    }

    /// Judges a selfie before there is a job: its quality, and whether it shows one face as liveness and comparison need it. Nothing
    /// else is judged without these, and the sender can still take another selfie.
    package static func recordAtOnce(_ selfie: FaceStageFacts.Image) -> CapabilityRecord<UsabilityData> {
        let document = DocumentAsSelfie(selfie)
        let person = LivenessRules.decide(faces: selfie.faces, passive: nil, document: document)
        let quality = self.decide(selfie)
        let isConform = FaceConformity(faces: selfie.faces).isConform
        // What an image shows outranks how well it shows it. A document is only a hint: the image can be used, since a job accepts it.
        let outranks = person.type == .rejected || document.isSuspected
        let decision = outranks ? person : quality != .passed ? quality : isConform ? .passed : person
        return CapabilityRecord(
            parts: [PartKind.face.rawValue], decision: Decision(decision),
            data: UsabilityData(
                image: selfie.image,
                failedMeasurements: selfie.faces.first.flatMap {
                    FailedMeasurement.all(
                        FaceConformity.measurements($0.quality, isJudged: true) + document.measurements)
                }))
    }
}

/// Whether the picture is one of the document itself (Jumio's capability `imageChecks`).
public enum ImageCheckRules {
    /// Judges one side of a document.
    ///
    /// - Returns: `NOT_EXECUTED` where nothing could be checked: the picture is too small for a copy to show, and its
    ///   print was not read.
    public static func decide(_ facts: DocumentFacts, part: String) -> CapabilityDecision {
        if let moire = facts.quality.moire, !Limits.moire.allows(moire), !UsabilityRules.isPrintedCopy(facts.quality) {
            return CapabilityDecision(
                type: .rejected, label: "DIGITAL_COPY", reasons: [RejectReason(.digitalCopy, part: part)])
        }
        // People are called Muster and Sample, too: a word alone rejects nobody.
        if self.showsSpecimenWord(facts) { return CapabilityDecision(type: .warning, label: "SAMPLE") }
        return self.assessed(facts).isEmpty ? .preconditionNotFulfilled : .passed
    }

    static func showsSpecimenWord(_ facts: DocumentFacts) -> Bool {
        facts.visualZone.map { SpecimenWords.line($0) != nil } ?? false
    }

    /// The labels that a check was made for.
    static func assessed(_ facts: DocumentFacts) -> [String] {
        (facts.quality.moire == nil ? [] : ["DIGITAL_COPY"]) + (facts.visualZone == nil ? [] : ["SAMPLE"])
    }

    /// The labels that no check was made for.
    static func notAssessed(_ facts: DocumentFacts) -> [String] {
        let all = [
            "DIGITAL_COPY", "SAMPLE", "MANIPULATED_DOCUMENT", "PUNCHED", "WATERMARK", "GHOST_IMAGE_DIFFERENT", "FAKE",
        ]
        let assessed = self.assessed(facts)
        return all.filter { !assessed.contains($0) }
    }

    /// What was measured for it, beside its limit.
    public static func measurements(_ facts: DocumentFacts) -> [Measurement] {
        [
            Measurement(
                "moire", facts.quality.moire, Limits.moire, counts: !UsabilityRules.isPrintedCopy(facts.quality),
                note: facts.quality.moire != nil
                    ? "the raster is a printing machine's, which usability judges"
                    : "the document is smaller than the patches this takes")
        ]
    }
}

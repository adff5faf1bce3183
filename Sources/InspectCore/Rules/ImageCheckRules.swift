/// Whether the picture is one of the document itself (Jumio's capability `imageChecks`).
public enum ImageCheckRules {
    /// Judges one side of a document.
    ///
    /// - Returns: `NOT_EXECUTED` where the picture is too small for the one check there is: nothing was checked then,
    ///   so nothing passed.
    public static func decide(_ facts: DocumentFacts, part: String) -> CapabilityDecision {
        guard let moire = facts.quality.moire else { return .preconditionNotFulfilled }
        guard !Limits.moire.allows(moire) else { return .passed }
        return CapabilityDecision(
            type: .rejected, label: "DIGITAL_COPY", reasons: [RejectReason(.digitalCopy, part: part)])
    }

    /// What was measured for it, beside its limit.
    public static func measurements(_ facts: DocumentFacts) -> [Measurement] {
        [
            Measurement(
                "moire", facts.quality.moire, Limits.moire, note: "the document is smaller than the patches this takes")
        ]
    }
}

/// Whether the picture is one of the document itself (Jumio's capability `imageChecks`).
public enum ImageCheckRules {
    /// How far a screen's pixel grid stands out of the spectrum: 6.4 and more in pictures of screens; print, paper and
    /// JPEG blocks reach 4.1.
    static let screenMoire = 5.2

    /// Judges one side of a document.
    ///
    /// - Returns: `NOT_EXECUTED` where the picture is too small for the one check there is: nothing was checked then,
    ///   so nothing passed.
    public static func decide(_ facts: DocumentFacts, part: String) -> CapabilityDecision {
        guard let moire = facts.quality.moire else { return .preconditionNotFulfilled }
        guard moire > Self.screenMoire else { return .passed }
        return CapabilityDecision(
            type: .rejected, label: "DIGITAL_COPY", reasons: [RejectReason(.digitalCopy, part: part)])
    }
}

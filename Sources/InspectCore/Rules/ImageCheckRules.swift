/// Whether the image shows the document itself rather than a copy (Jumio's capability `imageChecks`).
package enum ImageCheckRules {
    /// Judges one side of a document.
    ///
    /// - Returns: `NOT_EXECUTED` if nothing could be checked: the image is too small to reveal a copy, and its VIZ text
    ///   was not read; also if the image has no colours that could reveal a copy.
    package static func decide(_ facts: DocumentFacts, part: String) -> CapabilityDecision {
        if let moire = facts.quality.moire, !Limits.moire.allows(moire), !UsabilityRules.isPrintedCopy(facts.quality) {
            return CapabilityDecision(
                type: .rejected, label: .digitalCopy, reasons: [RejectReason(.digitalCopy, part: part)])
        }
        // No photo of the document calls itself a screenshot.
        if facts.metadata?.isScreenshot == true { return CapabilityDecision(type: .warning, label: .digitalCopy) }
        if self.showsEdit(facts) { return CapabilityDecision(type: .warning, label: .manipulatedDocument) }
        if let distance = facts.ghost?.distance, !Limits.ghostDistance.allows(distance) {
            return CapabilityDecision(type: .warning, label: .ghostImageDifferent)
        }
        if let hole = facts.quality.punchedHole, !Limits.punchedHole.allows(hole) {
            return CapabilityDecision(type: .warning, label: .punched)
        }
        if let tear = facts.quality.tornEdge, !Limits.tornEdge.allows(tear), self.isUncovered(facts) {
            return CapabilityDecision(type: .warning, label: .damagedDocument)
        }
        // Muster and Sample are also surnames: a word alone rejects nobody.
        if self.showsSpecimenWord(facts) { return CapabilityDecision(type: .warning, label: .sample) }
        // Agreeing portraits and the absence of holes and tears say nothing about copies.
        let isAssessed = facts.quality.moire != nil || facts.viz != nil || facts.recompression != nil
        return !isAssessed || self.lacksColours(facts) ? .preconditionNotFulfilled : .passed
    }

    /// Whether no finger lies over an edge: in its shade it may look like the table.
    private static func isUncovered(_ facts: DocumentFacts) -> Bool {
        facts.quality.occlusion.map(Limits.occlusion.allows) ?? true
    }

    /// Whether a side that should have colours was sent in one channel of grey, as infrared images are.
    static func lacksColours(_ facts: DocumentFacts) -> Bool {
        facts.image.isGrey == true && UsabilityRules.shouldHaveColour(facts)
    }

    /// Whether a patch lacks the traces of compression that the rest has. Drawn or pasted pixels lack them, including harmless
    /// ones such as a stamp with the purpose of a copy: a person has to look at them.
    private static func showsEdit(_ facts: DocumentFacts) -> Bool {
        facts.recompression.map { !Limits.recompression.allows($0) } ?? false
    }

    /// The file's metadata, for a reviewer: anybody can remove or forge it, so only a screenshot's own word counts.
    static func findings(_ facts: DocumentFacts) -> [String] {
        (facts.metadata?.reasons(width: facts.image.width, height: facts.image.height) ?? []).map { "metadata: \($0)" }
    }

    static func showsSpecimenWord(_ facts: DocumentFacts) -> Bool {
        facts.viz.map { SpecimenWords.line($0) != nil } ?? false
    }

    /// The labels that were checked.
    static func assessed(_ facts: DocumentFacts) -> [String] {
        let labels: [DecisionLabel] =
            (facts.quality.moire == nil ? [] : [.digitalCopy]) + (facts.viz == nil ? [] : [.sample])
            + (facts.recompression == nil ? [] : [.manipulatedDocument])
            + (facts.ghost?.distance == nil ? [] : [.ghostImageDifferent])
            + (facts.quality.punchedHole == nil ? [] : [.punched])
            + (facts.quality.tornEdge == nil ? [] : [.damagedDocument])
        return labels.map(\.rawValue)
    }

    /// The labels that were not checked.
    static func notAssessed(_ facts: DocumentFacts) -> [String] {
        let all: [DecisionLabel] = [
            .digitalCopy, .sample, .manipulatedDocument, .punched, .damagedDocument, .watermark, .ghostImageDifferent,
            .fake,
        ]
        let assessed = self.assessed(facts)
        let colour: [DecisionLabel] = self.lacksColours(facts) ? [.blackWhite, .photocopy] : []
        return (colour + all).map(\.rawValue).filter { !assessed.contains($0) }
    }

    /// Its measurement and limit.
    package static func measurements(_ facts: DocumentFacts) -> [Measurement] {
        [
            Measurement(
                "moire", facts.quality.moire, Limits.moire, counts: !UsabilityRules.isPrintedCopy(facts.quality),
                note: facts.quality.moire != nil
                    ? "the raster is a printing machine's, which usability judges"
                    : "the document is smaller than the patches this takes"),
            Measurement(
                "recompression", facts.recompression, Limits.recompression,
                note: "the file shows no earlier compression that an edit would have interrupted"),
            Measurement("ghostDistance", facts.ghost?.distance, Limits.ghostDistance, note: self.noGhost(facts)),
            Measurement(
                "punchedHole", facts.quality.punchedHole, Limits.punchedHole,
                note: facts.outline == nil
                    ? "no outline was found, and a hole is recognised by what is seen around the document"
                    : "the document looks like what it lies on, or that has many colours"),
            Measurement(
                "tornEdge", facts.quality.tornEdge, Limits.tornEdge, counts: self.isUncovered(facts),
                note: facts.quality.tornEdge != nil
                    ? "something that looks like a finger covers an edge"
                    : facts.outline == nil
                        ? "no outline was found, and a missing piece is recognised by the table that shows there"
                        : "the document looks like what it lies on, or that has many colours"),
        ]
    }

    /// Why portrait and ghost image were not compared.
    private static func noGhost(_ facts: DocumentFacts) -> String {
        guard let ghost = facts.ghost else {
            return facts.faces.isEmpty
                ? "no portrait was found"
                : "the side was not searched: it is a back, or its portrait is too small for a smaller one to be compared"
        }
        guard let score = ghost.detectionScore, let eyes = ghost.interEyeDistance else {
            return "no second portrait was seen"
        }
        if !Limits.ghostEyeDistance.allows(eyes) { return "the second portrait has too few pixels" }
        return Limits.ghostScore.allows(score)
            ? "the second portrait has no usable features" : "the second portrait is too faint"
    }
}

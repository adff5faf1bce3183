extension UsabilityRules {
    /// All measurements on one side, with their limits and whether a value beyond them counts.
    ///
    /// - Parameters:
    ///   - reading: What the image's text proves: it decides which limits apply.
    ///   - format: What the client chose; its proportions apply.
    package static func measurements(
        _ facts: DocumentFacts, reading: ReadingEvidence, format: DocumentFormat? = nil
    ) -> [Measurement] {
        let quality = facts.quality
        let reads = reading == .proven
        let waived = "does not count: the text was read, which proves more"
        let isDark = self.isDark(quality)
        let assessesColour = self.assessesColour(facts, reading: reading)
        let isBlackAndWhite = assessesColour && self.isBlackAndWhite(facts)
        let isPhotocopy = assessesColour && self.isPhotocopy(facts)
        let isGrey = isBlackAndWhite || isPhotocopy
        let greyAlone = "counts only where the document should have colour and shows none"
        let isJudgedByShape = reading == .none && facts.mrz == nil && facts.barcodes.isEmpty
        let isCrop = isJudgedByShape && facts.outline == nil

        var rows = [
            Measurement("blur", self.blur(quality), self.blurLimit(reading), note: waived),
            Measurement("edgeWidth", quality.edgeWidth),
            Measurement(
                "coherence", quality.coherence, Limits.motion, counts: self.isMoved(facts, reading: reading),
                note: quality.coherence == nil
                    ? "not measured" : "counts only where edges are wide and no barcode was read"),
            Measurement(
                "laplacianVariance", quality.laplacianVariance, Limits.detail,
                counts: !reads && self.hasRunPrint(quality), note: "counts only together with the print's share"),
            Measurement(
                "brightness", quality.brightness, Limits.brightness, counts: isDark,
                note: "counts only together with contrast"),
            Measurement(
                "contrast", quality.contrast, Limits.contrast, counts: isDark,
                note: "counts only together with brightness"),
            Measurement("glareShare", quality.glareShare, self.glareLimit(reading), note: waived),
            Measurement("chroma", quality.chroma, Limits.colour, counts: isGrey, note: greyAlone),
            Measurement(
                "balancedChroma", quality.balancedChroma, Limits.balancedColour,
                counts: isPhotocopy && self.isOfOneTint(quality),
                note: quality.balancedChroma == nil ? "not measured" : greyAlone),
            Measurement(
                "backgroundChroma", quality.backgroundChroma, Limits.backgroundOfPhotocopy,
                counts: isPhotocopy,
                note: quality.backgroundChroma == nil ? "no background is visible" : "counts only for a grey document"),
            Measurement(
                "midtoneShare", quality.midtoneShare, Limits.midtones, counts: isBlackAndWhite,
                note: quality.midtoneShare == nil ? "not measured" : "counts only for a grey image"),
            Measurement(
                "documentWidth", quality.documentWidth, Limits.documentWidth,
                counts: self.isTooSmall(facts, reading: reading), note: waived),
        ]
        if !assessesColour {
            let colours = ["chroma", "balancedChroma", "backgroundChroma", "midtoneShare"]
            for index in rows.indices where colours.contains(rows[index].name) {
                rows[index].outcome = .inconclusive
                rows[index].note = "not assessed: the file has one channel of grey, as infrared images do"
            }
        }
        if let mrz = facts.mrz {
            rows.append(Measurement("pitch", mrz.pitch, Limits.pitch, counts: !reads, note: waived))
            rows += mrz.edgeWidths.enumerated().map { Measurement("edgeWidth of line \($0.offset + 1)", $0.element) }
        }
        rows += self.outlineMeasurements(
            facts, reading: reading, format: format, isJudgedByShape: isJudgedByShape, waived: waived)
        rows.append(
            Measurement(
                "occlusion", quality.occlusion, Limits.occlusion, counts: !reads,
                note: quality.occlusion == nil ? "not measured without an outline" : waived))
        rows.append(
            Measurement(
                "halftone", quality.halftone, Limits.halftone, counts: self.isPrintedCopy(quality),
                note: quality.halftone == nil
                    ? "not measured: the document is smaller than the patches this takes"
                    : "counts only where the raster stands out"))
        rows.append(
            Measurement(
                "missingCorner", quality.missingCorner, Limits.missingCorner, counts: self.isInView(facts),
                note: quality.missingCorner == nil
                    ? "the table is too like the document, or not visible"
                    : "a corner under a finger or outside the frame is no damage"))
        rows.append(
            Measurement(
                "sharpPrint", quality.printShare, Limits.sharpPrint, counts: !reads && self.hasRunPrint(quality),
                note: quality.printShare == nil ? "not measured" : "counts only together with little detail"))
        rows.append(
            Measurement(
                "printShare", quality.printShare, Limits.print, counts: isCrop,
                note: quality.printShare == nil ? "not measured" : "counts only for a crop without text"))
        var faceShare = Measurement(
            "faceShare", facts.faces.isEmpty ? nil : self.faceShare(facts), Limits.faceOfDocument, counts: isCrop,
            note: facts.faces.isEmpty ? "no face was found" : "counts only for a crop without text")
        if facts.faces.isEmpty { faceShare.outcome = nil }
        rows.append(faceShare)
        if isCrop, facts.faces.isEmpty {
            // Only its shape and colours can show that this is a document.
            rows.append(
                Measurement(
                    "frameAspectRatio", self.frameAspectRatio(facts), Limits.aspectRatio, note: "the image is empty"))
            rows.append(Measurement("chromaOfPrint", quality.chroma, Limits.colourfulPrint, note: "not measured"))
        }
        return rows
    }

    private static func outlineMeasurements(
        _ facts: DocumentFacts, reading: ReadingEvidence, format: DocumentFormat?, isJudgedByShape: Bool,
        waived: String
    ) -> [Measurement] {
        let part = MissingPart(facts, reading: reading)
        let beyond = Measurement(
            "beyondFrame", part.beyondFrame, Limits.beyondFrame,
            note: "the whole outline is in view, or no MRZ shows the document's size")
        guard let outline = facts.outline else {
            return [
                Measurement(
                    "aspectRatio", nil, Limits.aspectRatio(of: format),
                    note: "no outline: the document fills the image, or there is none"), beyond,
            ]
        }
        let counts = part.judgesOutline
        let note = outline.cornersOutside > 0 ? waived : "counts only where a corner is outside the frame"
        return [
            Measurement(
                "aspectRatio", outline.aspectRatio, Limits.aspectRatio(of: format), counts: counts, note: note),
            Measurement(
                "outlineAspectRatio", outline.aspectRatio, Limits.outlineAspectRatio,
                counts: isJudgedByShape && outline.cornersOutside == 0, note: "counts only without text"),
            Measurement(
                "cardAspectRatio", outline.aspectRatio, Limits.cardAspectRatio(of: format),
                counts: part.judgesCardShape,
                note: "counts only where one side lies along the frame and no MRZ shows the document's size"),
            Measurement(
                "cornerOutside", self.cornerOutside(outline, facts), Limits.cornerOutside, counts: counts, note: note),
            Measurement(
                "cornersOutside", Double(outline.cornersOutside), Limits.cornersOutside,
                counts: counts && outline.cornersOutside == 3, note: note),
            beyond,
            Measurement(
                "missingHeight", part.missingHeight, Limits.missingHeight,
                note: "no side lies along the frame where the MRZ implies more"),
            Measurement("outlineSupport", outline.support),
        ]
    }
}

extension UsabilityRules {
    /// Judges a side before its text is read: an immediate answer, while the person still holds the document.
    ///
    /// REJECTED is final, whatever the text proves. WARNING, with the same labels, becomes a rejection unless the text
    /// proves that the image is readable, or that the side need not have colour.
    package static func decideBeforeReading(_ facts: DocumentFacts, part: String) -> CapabilityDecision {
        let possible = self.findings(facts, reading: .none)
        let colour: [DecisionLabel] = [.blackWhite, .photocopy]
        // Objections that remain even with readable text are final.
        let certain = self.findings(facts, reading: .proven).filter { !colour.contains($0.label) }
        guard let first = certain.first ?? possible.first else { return .passed }
        return CapabilityDecision(
            type: certain.isEmpty ? .warning : .rejected, label: first.label,
            reasons: (certain.isEmpty ? possible : certain).map { RejectReason($0.reason, part: part) })
    }

    /// Judges the sides of one document, before their text is read.
    ///
    /// - Parameter sides: By part.
    package static func decideBeforeReading(_ sides: [PartKind: DocumentFacts]) -> [PartKind: CapabilityDecision] {
        var decisions = Dictionary(
            uniqueKeysWithValues: sides.map { ($0, self.decideBeforeReading($1, part: $0.rawValue)) })
        for missing in SideRules(front: sides[.front], back: sides[.back], knowsFaces: false).missing {
            guard let kind = missing.part.flatMap(PartKind.init), var decision = decisions[kind] else { continue }
            // Lines that were not read may belong to something other than a card.
            if decision.type == .passed { decision = CapabilityDecision(type: .warning, label: .missingPage) }
            decision.reasons.append(missing)
            decisions[kind] = decision
        }
        return decisions
    }
}

/// What the image's text proves about its own readability.
package enum ReadingEvidence: String, Codable, Sendable {
    /// Neither an MRZ nor a barcode was found.
    case none = "none"
    /// An MRZ was found, but its check digits do not hold.
    case unproven = "unproven"
    /// The check digits of an MRZ hold, or a barcode was decoded: the image can be read.
    case proven = "proven"
}

/// Whether an image of a document can be used, and if not, why (Jumio's capability `usability`).
///
/// Every limit is in ``Limits``.
package enum UsabilityRules {
    /// Up to this document width, edges are measured in the image's own pixels.
    static let widestView = 1600.0

    // MARK: Decision

    /// Judges one side of a document.
    ///
    /// An image whose text proves that it can be read is not rejected for hidden parts, for glare and blur only if they
    /// are massive, and for missing parts where its MRZ shows that there must be more: those measure the risk that
    /// something is illegible. It is rejected as a copy, for darkness (the portrait and the security print cannot be
    /// judged) and if the document is too small in it.
    ///
    /// - Parameters:
    ///   - facts: What was measured.
    ///   - reading: What the image's text proves.
    ///   - part: The part's name for the reasons, for example `FRONT`.
    ///   - format: What the client chose; its proportions apply.
    package static func decide(
        _ facts: DocumentFacts, reading: ReadingEvidence, part: String, format: DocumentFormat? = nil
    ) -> CapabilityDecision {
        let findings = Self.findings(facts, reading: reading, format: format)
        guard let first = findings.first else { return .passed }
        return CapabilityDecision(
            type: .rejected, label: first.label, reasons: findings.map { RejectReason($0.reason, part: part) })
    }

    struct Finding: Equatable {
        var label: DecisionLabel
        var reason: RejectReason.Known
    }

    /// All objections, the most useful first.
    static func findings(
        _ facts: DocumentFacts, reading: ReadingEvidence, format: DocumentFormat? = nil
    ) -> [Finding] {
        guard Self.showsDocument(facts, reading: reading) else {
            return [Finding(label: .notADocument, reason: .noDocument)]
        }
        var findings: [Finding] = []
        let quality = facts.quality
        let dark = Self.isDark(quality)
        if !Self.assessesColour(facts, reading: reading) {
            // The image checks report this.
        } else if Self.isBlackAndWhite(facts) {
            findings.append(Finding(label: .blackWhite, reason: .blackWhiteCopy))
        } else if !dark, Self.isPhotocopy(facts) {
            findings.append(Finding(label: .photocopy, reason: .blackWhiteCopy))
        } else if Self.isPrintedCopy(quality) {
            findings.append(Finding(label: .photocopy, reason: .colorPhotocopy))
        }
        if dark || Self.isTooSmall(facts, reading: reading) {
            findings.append(Finding(label: .badQualityImage, reason: .notReadable))
        }
        let reads = reading == .proven
        if !Self.blurLimit(reading).allows(Self.blur(quality))
            || Self.isMoved(facts, reading: reading) || (!reads && Self.hasRunPrint(quality))
        {
            findings.append(Finding(label: .blurred, reason: .blurry))
        }
        if Self.isCut(facts, reading: reading, format: format) {
            findings.append(Finding(label: .partOfDocumentMissing, reason: .missingPartOfDocument))
        }
        if !reads, let occlusion = quality.occlusion, !Limits.occlusion.allows(occlusion) {
            findings.append(Finding(label: .partOfDocumentHidden, reason: .hiddenPartOfDocument))
        }
        if let corner = quality.missingCorner, !Limits.missingCorner.allows(corner), Self.isInView(facts) {
            findings.append(Finding(label: .damagedDocument, reason: .damagedDocument))
        }
        if !Self.glareLimit(reading).allows(quality.glareShare) {
            let glare = Finding(label: .glare, reason: .glare)
            // Massive glare also washes out the edges around it, so it outranks slight blur.
            let explainsBlur =
                !Limits.hopelessGlare.allows(quality.glareShare) && Limits.hopelessBlur.allows(Self.blur(quality))
            let blurred = explainsBlur ? findings.firstIndex { $0.reason == .blurry } : nil
            findings.insert(glare, at: blurred ?? findings.endIndex)
        }
        return findings
    }

    // MARK: Single questions

    /// Dim images with contrast can be read, and so can bright ones without.
    static func isDark(_ quality: QualityFacts) -> Bool {
        !Limits.brightness.allows(quality.brightness) && !Limits.contrast.allows(quality.contrast)
    }

    static func blurLimit(_ reading: ReadingEvidence) -> Limit {
        reading == .proven ? Limits.hopelessBlur : Limits.blur
    }

    static func glareLimit(_ reading: ReadingEvidence) -> Limit {
        reading == .proven ? Limits.hopelessGlare : Limits.glare
    }

    /// The share of the image that the largest face covers; `nil` for an empty image.
    static func faceShare(_ facts: DocumentFacts) -> Double? {
        // Floating-point: facts come from a process that parses untrusted bytes, and an integer product may overflow.
        let frame = Double(facts.image.width) * Double(facts.image.height)
        return frame > 0 ? (facts.faces.map { $0.box.width * $0.box.height }.max() ?? 0) / frame : nil
    }

    /// Longer over shorter side of the image; `nil` for an empty one.
    static func frameAspectRatio(_ facts: DocumentFacts) -> Double? {
        let sides = [Double(facts.image.width), Double(facts.image.height)].sorted()
        return sides[0] > 0 ? sides[1] / sides[0] : nil
    }

    /// Text that reads as a document's, an outline of a document's shape, or a crop of a document's shape with coloured
    /// print. A face alone is a selfie.
    static func showsDocument(_ facts: DocumentFacts, reading: ReadingEvidence) -> Bool {
        if reading != .none || facts.mrz != nil || !facts.barcodes.isEmpty { return true }
        if let outline = facts.outline {
            return outline.cornersOutside > 0 || Limits.outlineAspectRatio.allows(outline.aspectRatio)
        }
        if let share = Self.faceShare(facts), !Limits.faceOfDocument.allows(share) { return false }
        let shaped = Self.frameAspectRatio(facts).map { Limits.aspectRatio.allows($0) } ?? false
        let printed = facts.quality.printShare.map { Limits.print.allows($0) } ?? true
        if !facts.faces.isEmpty { return printed }
        return shaped && printed && Limits.colourfulPrint.allows(facts.quality.chroma)
    }

    /// Grey everywhere, in an image that has a photo's tones. The back of a licence may truly be grey, so a side
    /// with a barcode and no portrait is not judged.
    static func isBlackAndWhite(_ facts: DocumentFacts) -> Bool {
        guard Self.shouldHaveColour(facts), !Limits.colour.allows(facts.quality.chroma) else { return false }
        if let background = facts.quality.backgroundChroma, Limits.colour.allows(background) { return false }
        guard let midtones = facts.quality.midtoneShare else { return false }
        return !Limits.midtones.allows(midtones)
    }

    /// Whether the absence of colours says anything. Document readers send infrared images in one channel of grey, from which MRZ and
    /// barcode are read; where they prove themselves, such an image is no copy for its lack of colours, nor proven to be none.
    static func assessesColour(_ facts: DocumentFacts, reading: ReadingEvidence) -> Bool {
        facts.image.isGrey != true || reading != .proven
    }

    /// Grey inside the outline and colour outside, or the whole document in one tint that a lamp can cause.
    static func isPhotocopy(_ facts: DocumentFacts) -> Bool {
        guard Self.shouldHaveColour(facts), let background = facts.quality.backgroundChroma else { return false }
        if !Limits.colour.allows(facts.quality.chroma) { return !Limits.backgroundOfPhotocopy.allows(background) }
        return Self.isOfOneTint(facts.quality)
    }

    /// Whether the image consists of printed dots, as copiers and printers make them and security print does not.
    static func isPrintedCopy(_ quality: QualityFacts) -> Bool {
        guard let moire = quality.moire, let halftone = quality.halftone else { return false }
        return !Limits.moire.allows(moire) && !Limits.halftone.allows(halftone)
    }

    /// Grey under a lamp that is not white.
    static func isOfOneTint(_ quality: QualityFacts) -> Bool {
        guard let balanced = quality.balancedChroma else { return false }
        return Limits.tintBrightness.allows(quality.brightness) && !Limits.tint.allows(quality.chroma)
            && !Limits.balancedColour.allows(balanced)
    }

    /// Whether print is so smeared that no thin stroke is left.
    static func hasRunPrint(_ quality: QualityFacts) -> Bool {
        guard let print = quality.printShare else { return false }
        return !Limits.detail.allows(quality.laplacianVariance) && !Limits.sharpPrint.allows(print)
    }

    /// Whether the strokes of one direction are blurred away. A barcode has strokes of one direction only, so a barcode that
    /// was read explains this.
    static func isMoved(_ facts: DocumentFacts, reading: ReadingEvidence) -> Bool {
        let readsMRZ = facts.mrz != nil && facts.barcodes.isEmpty
        guard let coherence = facts.quality.coherence, reading != .proven || readsMRZ else { return false }
        return !Limits.motion.allows(coherence) && !Limits.movedEdges.allows(Self.blur(facts.quality))
    }

    /// Whether the whole document can be seen: a corner under a finger or outside the frame is not damage, nor is one of an
    /// outline that may belong to another sheet.
    static func isInView(_ facts: DocumentFacts) -> Bool {
        guard let outline = facts.outline, Limits.trustedOutline.allows(outline.support) else { return false }
        return outline.cornersOutside == 0 && Limits.occlusion.allows(facts.quality.occlusion ?? 0)
    }

    static func shouldHaveColour(_ facts: DocumentFacts) -> Bool {
        facts.barcodes.isEmpty || !facts.faces.isEmpty || facts.mrz != nil
    }

    /// How blurred the image is. Edges are wide in relation to the document in every small image, and wide in
    /// pixels in every large one; blur makes them wide in both.
    static func blur(_ quality: QualityFacts) -> Double {
        quality.edgeWidth * (min(quality.documentWidth, Self.widestView) / 1000).squareRoot()
    }

    /// Whether too few pixels show the document. A small but readable crop is acceptable; a photo with a small document was
    /// taken from too far away to show more than its text.
    static func isTooSmall(_ facts: DocumentFacts, reading: ReadingEvidence) -> Bool {
        let small = !Limits.documentWidth.allows(facts.quality.documentWidth)
        if small, let outline = facts.outline, outline.cornersOutside == 0 { return true }
        if reading == .proven { return false }
        if let mrz = facts.mrz { return !Limits.pitch.allows(mrz.pitch) }
        return small
    }
}

extension UsabilityRules {
    /// What the text of one side proves about its image.
    package static func evidence(_ side: DocumentFacts, today: CalendarDate) -> ReadingEvidence {
        if !side.barcodes.isEmpty { return .proven }
        guard let mrz = side.mrz.flatMap({ MRZDocument(lines: $0.lines, today: today) }) else { return .none }
        return !mrz.checks.isEmpty && mrz.checksHold ? .proven : .unproven
    }
}

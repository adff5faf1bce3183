/// What the picture's text proves about its own readability.
public enum ReadingEvidence: String, Codable, Sendable {
    /// Neither a machine-readable zone nor a barcode was found.
    case none
    /// A machine-readable zone was found, but its check digits do not hold.
    case unproven
    /// The check digits of a machine-readable zone hold, or a barcode was decoded: the picture can be read.
    case proven
}

/// Whether a picture of a document can be used, and if not, why (Jumio's capability `usability`).
///
/// Every limit is named and says where it comes from. Limits without another source were set on the development
/// pictures, halfway (in ratio) between the worst good picture and the best bad one.
public enum UsabilityRules {
    // MARK: Limits

    /// Geometric mean of the width of edges in pixels of the picture and at 1,000 px: readable pictures reach 5.5,
    /// blurred ones start at 8.
    static let blurredEdgeWidth = 6.7
    /// From here on a picture is rejected even if its largest print, the machine-readable zone, can still be read.
    static let hopelesslyBlurredEdgeWidth = 7.5
    /// Up to this document width, edges are measured in the picture's own pixels.
    static let widestView = 1600.0
    /// Mean luminance of the document: 45 when a document could only just be guessed at, 76 in a dim but usable photo.
    static let darkBrightness = 57.0
    static let darkContrast = 25.0
    /// An ID-1 card at 95 dots per inch: its smallest print is 4 px high.
    static let leastDocumentWidth = 320.0
    /// Pixels per character below which a machine-readable zone is too small to trust without its check digits.
    static let leastPitch = 7.0
    /// Share of the document under glare: 0 in usable pictures, 0.02–0.2 where print is lost.
    static let glareShare = 0.01
    /// From here on a picture is rejected even if its text can be read: the glare hides the portrait or the print.
    static let hopelessGlareShare = 0.08
    /// A true black-and-white picture measures 0 to 1 after JPEG; the palest colour document 21.
    static let greyChroma = 4.0
    /// Backgrounds of colour photos measure 15 and more even when they are grey tables under warm light.
    static let colourfulBackground = 12.0
    /// Photos have half of the picture in mid-tones; drawings and scans of print 3–24 %.
    static let photographicMidtones = 0.35
    /// ID-1 1.586, ID-2 and ID-3 1.42 (ISO/IEC 7810), widened for oblique views: 1.34 to 1.61 were measured.
    static let aspectRatios = 1.29...1.78
    /// A corner is outside the frame if it is farther out than this share of the document's width.
    static let cornerTolerance = 0.03
    /// Share of the document under a hand; fingers that hold a card at its edge cover up to 3 %.
    static let hiddenShare = 0.038
    /// Share of a document's area under thin dark strokes: 0.014 and more where print is sharp.
    static let leastPrint = 0.008
    /// A portrait's face covers up to about 6 % of a document, that of a selfie 10 % and more of the frame.
    static let selfieFaceShare = 0.12

    // MARK: Decision

    /// Judges one side of a document.
    ///
    /// A picture whose text proves that it can be read is not rejected for hidden or missing parts, and for glare and
    /// blur only where they are massive: those measure the risk that something cannot be read. It is rejected for being
    /// a copy, for darkness (the portrait and the security print cannot be judged) and for being photographed from too
    /// far away.
    ///
    /// - Parameters:
    ///   - facts: What was measured.
    ///   - reading: What the picture's text proves.
    ///   - part: The part's name for the reasons, for example `FRONT`.
    public static func decide(_ facts: DocumentFacts, reading: ReadingEvidence, part: String) -> CapabilityDecision {
        let findings = Self.findings(facts, reading: reading)
        guard let first = findings.first else { return .passed }
        return CapabilityDecision(
            type: .rejected, label: first.label, reasons: findings.map { RejectReason($0.reason, part: part) })
    }

    struct Finding: Equatable {
        var label: String
        var reason: RejectReason.Known
    }

    /// All objections, the most telling first.
    static func findings(_ facts: DocumentFacts, reading: ReadingEvidence) -> [Finding] {
        guard Self.showsDocument(facts, reading: reading) else {
            return [Finding(label: "NOT_A_DOCUMENT", reason: .noDocument)]
        }
        var findings: [Finding] = []
        let quality = facts.quality
        let dark = quality.brightness < Self.darkBrightness && quality.contrast < Self.darkContrast
        if Self.isBlackAndWhite(facts) {
            findings.append(Finding(label: "BLACK_WHITE", reason: .blackWhiteCopy))
        } else if !dark, Self.isPhotocopy(facts) {
            findings.append(Finding(label: "PHOTOCOPY", reason: .blackWhiteCopy))
        }
        if dark || Self.isTooSmall(facts, reading: reading) {
            findings.append(Finding(label: "BAD_QUALITY_IMAGE", reason: .notReadable))
        }
        let reads = reading == .proven
        if Self.blur(quality) > (reads ? Self.hopelesslyBlurredEdgeWidth : Self.blurredEdgeWidth) {
            findings.append(Finding(label: "BLURRED", reason: .blurry))
        }
        if !reads, Self.isCut(facts) {
            findings.append(Finding(label: "PART_OF_DOCUMENT_MISSING", reason: .missingPartOfDocument))
        }
        if !reads, let occlusion = quality.occlusion, occlusion > Self.hiddenShare {
            findings.append(Finding(label: "PART_OF_DOCUMENT_HIDDEN", reason: .hiddenPartOfDocument))
        }
        if quality.glareShare > (reads ? Self.hopelessGlareShare : Self.glareShare) {
            findings.append(Finding(label: "GLARE", reason: .glare))
        }
        return findings
    }

    // MARK: Single questions

    /// Text that reads as a document's, an outline of a document's shape, or a crop of a document's shape with coloured
    /// print. A face alone is a selfie.
    static func showsDocument(_ facts: DocumentFacts, reading: ReadingEvidence) -> Bool {
        if reading != .none || facts.mrz != nil || !facts.barcodes.isEmpty { return true }
        if let outline = facts.outline { return outline.cornersOutside > 0 || outline.aspectRatio < 1.9 }
        let frame = Double(facts.image.width * facts.image.height)
        let largestFace = facts.faces.map { $0.box.width * $0.box.height }.max() ?? 0
        if frame > 0, largestFace / frame > Self.selfieFaceShare { return false }
        let sides = [Double(facts.image.width), Double(facts.image.height)].sorted()
        let shaped = sides[0] > 0 && Self.aspectRatios.contains(sides[1] / sides[0])
        let printed = facts.quality.printShare.map { $0 >= Self.leastPrint } ?? true
        if !facts.faces.isEmpty { return printed }
        return shaped && printed && facts.quality.chroma > 4 * Self.greyChroma
    }

    /// Grey everywhere, in a picture that has a photograph's tones. The back of a licence may truly be grey, so a side
    /// with a barcode and no portrait is not judged.
    static func isBlackAndWhite(_ facts: DocumentFacts) -> Bool {
        guard Self.shouldHaveColour(facts), facts.quality.chroma <= Self.greyChroma else { return false }
        if let background = facts.quality.backgroundChroma, background > Self.greyChroma { return false }
        guard let midtones = facts.quality.midtoneShare else { return false }
        return midtones >= Self.photographicMidtones
    }

    /// Grey inside the outline, colour outside.
    static func isPhotocopy(_ facts: DocumentFacts) -> Bool {
        guard Self.shouldHaveColour(facts), let background = facts.quality.backgroundChroma else { return false }
        return facts.quality.chroma <= Self.greyChroma && background >= Self.colourfulBackground
    }

    private static func shouldHaveColour(_ facts: DocumentFacts) -> Bool {
        facts.barcodes.isEmpty || !facts.faces.isEmpty || facts.mrz != nil
    }

    /// How blurred the picture is. Edges are wide in relation to the document in every small picture, and wide in
    /// pixels in every large one; blur makes them both.
    static func blur(_ quality: QualityFacts) -> Double {
        quality.edgeWidth * (min(quality.documentWidth, Self.widestView) / 1000).squareRoot()
    }

    /// Whether too few pixels show the document. A small crop that proves readable was made small by someone who could
    /// read it; a photo in which the document is small was taken from too far away to show more than its text.
    static func isTooSmall(_ facts: DocumentFacts, reading: ReadingEvidence) -> Bool {
        let small = facts.quality.documentWidth < Self.leastDocumentWidth
        if small, let outline = facts.outline, outline.cornersOutside == 0 { return true }
        if reading == .proven { return false }
        if let mrz = facts.mrz { return mrz.pitch < Self.leastPitch }
        return small
    }

    /// Whether the frame cuts the document: corners outside it, or on its border while the shape is no document's.
    static func isCut(_ facts: DocumentFacts) -> Bool {
        guard let outline = facts.outline, outline.cornersOutside > 0 else { return false }
        if !Self.aspectRatios.contains(outline.aspectRatio) { return true }
        let margin = Self.cornerTolerance * facts.quality.documentWidth
        let width = Double(facts.image.width)
        let height = Double(facts.image.height)
        let quad = outline.quad
        return [quad.topLeft, quad.topRight, quad.bottomRight, quad.bottomLeft].contains { corner in
            corner.x < -margin || corner.y < -margin || corner.x > width + margin || corner.y > height + margin
        }
    }
}

extension UsabilityRules {
    /// The side that was not given although two pictures were: both show the same side of a two-sided card.
    ///
    /// - Returns: `nil` unless the pictures leave no doubt.
    public static func missingSide(front: DocumentFacts, back: DocumentFacts) -> RejectReason? {
        func isBack(_ side: DocumentFacts) -> Bool {
            side.faces.isEmpty && (!side.barcodes.isEmpty || side.mrz?.lines.count == 3)
        }
        func isFront(_ side: DocumentFacts) -> Bool {
            !side.faces.isEmpty && side.barcodes.isEmpty && side.mrz == nil
        }
        if isBack(front), isBack(back) { return RejectReason(.missingFront, part: "FRONT") }
        if isFront(front), isFront(back) { return RejectReason(.missingBack, part: "BACK") }
        return nil
    }
}

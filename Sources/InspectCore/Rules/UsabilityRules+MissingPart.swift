/// Whether a part of the document lies outside the image.
extension UsabilityRules {
    /// What the outline and the MRZ show.
    struct MissingPart {
        /// How far the document extends beyond the frame according to its MRZ, relative to its height; `nil` without an MRZ, or if the
        /// whole outline is inside the frame.
        var beyondFrame: Double?
        /// How much of its height an outline on the frame lacks, if the MRZ agrees that something is missing.
        var missingHeight: Double?
        /// Whether the outline alone is believed: no MRZ proves the image readable.
        var judgesOutline: Bool
        /// Whether one side of the outline lies along the frame, the others clear of it, and no MRZ shows the document's size.
        var judgesCardShape: Bool

        init(_ facts: DocumentFacts, reading: ReadingEvidence) {
            let outline = facts.outline
            let leavesFrame = (outline?.cornersOutside ?? 4) > 0
            let told = DocumentExtent.of(facts)
            self.beyondFrame = leavesFrame ? told?.beyondFrame : nil
            self.judgesOutline = reading != .proven && outline != nil && leavesFrame
            self.judgesCardShape = self.judgesOutline && told == nil && UsabilityRules.hasSideOnFrame(facts)
            if let outline, outline.cornersOutside >= 2, let told,
                !Limits.outlineBeyondFrame.allows(told.beyondFrame)
            {
                self.missingHeight = 1 - told.extent.aspectRatio / max(outline.aspectRatio, 1)
            }
        }
    }

    /// Whether the frame cuts the document: the MRZ implies more than is visible, or the outline has corners outside the
    /// frame, or on its border while its shape is not that of a document.
    ///
    /// - Parameter format: What the client chose; its proportions apply.
    static func isCut(_ facts: DocumentFacts, reading: ReadingEvidence, format: DocumentFormat? = nil) -> Bool {
        let part = MissingPart(facts, reading: reading)
        if let beyond = part.beyondFrame, !Limits.beyondFrame.allows(beyond) { return true }
        if let missing = part.missingHeight, !Limits.missingHeight.allows(missing) { return true }
        guard part.judgesOutline, let outline = facts.outline else { return false }
        let shape = Limits.aspectRatio(of: format)
        if !shape.allows(outline.aspectRatio) || outline.cornersOutside == 3 { return true }
        if part.judgesCardShape, !Limits.cardAspectRatio(of: format).allows(outline.aspectRatio) { return true }
        return !Limits.cornerOutside.allows(Self.cornerOutside(outline, facts))
    }

    /// How far the farthest corner lies outside the frame, over the document's width.
    static func cornerOutside(_ outline: OutlineFacts, _ facts: DocumentFacts) -> Double {
        let farthest = Self.corners(outline).map { -Self.insideFrame($0, facts.image) }.max() ?? 0
        return farthest > 0 ? farthest / max(facts.quality.documentWidth, 1) : 0
    }

    /// Two neighbouring corners on the border or outside, and two well inside.
    static func hasSideOnFrame(_ facts: DocumentFacts) -> Bool {
        guard let outline = facts.outline, outline.cornersOutside == 2 else { return false }
        let side = max(Double(max(facts.image.width, facts.image.height)), 1)
        let corners = Self.corners(outline).map { Self.insideFrame($0, facts.image) / side }
        let inside = corners.map { $0 > Limits.clearOfBorder }
        return inside.count { $0 } == 2 && (0..<4).contains { inside[$0] && inside[($0 + 1) % 4] }
    }

    private static func corners(_ outline: OutlineFacts) -> [Point] {
        [outline.quad.topLeft, outline.quad.topRight, outline.quad.bottomRight, outline.quad.bottomLeft]
    }

    /// Pixels from a point to the nearest border; negative outside.
    private static func insideFrame(_ point: Point, _ image: ImageFacts) -> Double {
        min(point.x, point.y, Double(image.width) - point.x, Double(image.height) - point.y)
    }
}

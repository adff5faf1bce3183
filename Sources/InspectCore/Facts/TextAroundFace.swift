/// How much legible text stands around the face of a selfie. The text itself, which may be of somebody's document, is not kept.
package struct TextAroundFace: Codable, Sendable, Hashable {
    /// Legible lines.
    package var lines: Int
    /// Those of them that documents have: labels of fields, days, titles, and lines with an MRZ's fillers.
    package var documentLines: Int

    package init(lines: Int, documentLines: Int) {
        self.lines = lines
        self.documentLines = documentLines
    }

    package init(lines: [VIZLine]) {
        let legible = lines.filter(Self.isLegible)
        self.init(lines: legible.count, documentLines: legible.count { Self.isOfDocument($0.text) })
    }

    private static let leastCharacters = 5
    /// Mean confidence of the characters: patterns and hair that were taken for text stay below.
    private static let leastConfidence = 0.6

    private static func isLegible(_ line: VIZLine) -> Bool {
        line.text.count { !$0.isWhitespace } >= Self.leastCharacters
            && line.confidences.reduce(0, +) >= Self.leastConfidence * Double(line.confidences.count)
    }

    private static func isOfDocument(_ text: String) -> Bool {
        text.count { $0 == "<" } >= 2 || VIZDate.range(text) != nil || VIZTitle.isTitle(text)
            || !VIZLabel.marks(text).isEmpty
    }
}

/// How much legible text is around the face of a selfie. The text itself, which may be from somebody's document, is not kept.
package struct TextAroundFace: Codable, Sendable, Hashable {
    /// Legible lines.
    package var lines: Int
    /// Those that documents have: labels of fields, titles and lines with an MRZ's fillers. Days count as one more:
    /// tickets, badges and posters have them too.
    package var documentLines: Int

    package init(lines: Int, documentLines: Int) {
        self.lines = lines
        self.documentLines = documentLines
    }

    package init(lines: [VIZLine]) {
        let legible = lines.filter(Self.isLegible)
        let named = legible.count { Self.isOfDocument($0.text) }
        let days = legible.contains { !Self.isOfDocument($0.text) && Self.isDay($0.text) }
        self.init(lines: legible.count, documentLines: named + (named > 0 && days ? 1 : 0))
    }

    private static let leastCharacters = 5
    /// Mean confidence of the characters: patterns and hair mistaken for text stay below.
    private static let leastConfidence = 0.6

    private static func isLegible(_ line: VIZLine) -> Bool {
        line.text.count { !$0.isWhitespace } >= Self.leastCharacters
            && line.confidences.reduce(0, +) >= Self.leastConfidence * Double(line.confidences.count)
    }

    private static func isOfDocument(_ text: String) -> Bool {
        text.count { $0 == "<" } >= 2 || VIZTitle.isTitle(text) || VIZLabel.isNothingElse(text)
    }

    /// Whether the line has a day of the calendar, and no longer row of numbers: those belong to telephones and networks.
    private static func isDay(_ text: String) -> Bool {
        guard !VIZDate.readings(text).isEmpty else { return false }
        let rows = text.split { !$0.isNumber && !" ./-".contains($0) }
        return rows.allSatisfy { $0.split { !$0.isNumber }.count <= 3 }
    }
}

/// Names as the VIZ prints them, if the MRZ agrees: with hyphens, small letters and diacritics, which MRZs lack.
enum VIZNames {
    struct Printed: Hashable {
        var text: String
        var line: Int
        var confidence: Double
    }

    /// The name in the VIZ's own spelling; `nil` if no line shows it so that its spelling is certain.
    ///
    /// - Parameter others: The document's other names: a line with all of them may be the signature.
    static func printed(
        _ value: VIZExpectation.Value, _ lines: [VIZLine], labelled: Int?, others: [VIZExpectation.Value],
        state: String?
    ) -> Printed? {
        var best: (printed: Printed, rank: Int)?
        for (index, line) in lines.enumerated() {
            let characters = Array(line.text)
            guard let range = VIZText.run(line.text, name: value.text) else { continue }
            let text = String(characters[range])
            let rest = characters[..<range.lowerBound] + characters[range.upperBound...]
            let isAlone = !rest.contains { $0.isLetter }
            let isWhole = others.contains { $0.isShown(in: line.text) }
            // `LIN, CHIEN-SHENG` and `KOWALSKA-NOWAK BEATA` name the family first; a signature seldom does.
            let isListed =
                isWhole && (line.text.contains(",") || Self.isFamilyFirst(value.field, range, in: characters))
            let rank = index == labelled && !isWhole ? 3 : isAlone ? 2 : isListed ? 1 : 0
            guard rank > 0, let confidence = line.confidences[range.clamped(to: line.confidences.indices)].min(),
                confidence >= Limits.agreeingVIZText,
                // France prints commas between given names.
                Self.isPlainlyWritten(value.field == .firstName ? text.replacing(",", with: "") : text),
                // The MRZ knows where words end; a narrow blank is easily overlooked.
                Self.words(text).count >= Self.words(value.text).count
            else { continue }
            if let best, best.rank >= rank { continue }
            best = (
                Printed(
                    text: VIZText.deduced(text, name: value.text, state: state), line: index, confidence: confidence),
                rank
            )
        }
        return best?.printed
    }

    private static func words(_ text: String) -> [Substring] { text.split { $0 == " " || $0 == "-" } }

    /// Whether a line of capitals with the whole name begins with the family's, or ends with the given ones.
    private static func isFamilyFirst(_ field: VIZField, _ range: Range<Int>, in line: [Character]) -> Bool {
        let others = field == .lastName ? line[..<range.lowerBound] : line[range.upperBound...]
        return !others.contains(where: \.isLetter) && !line.contains(where: \.isLowercase)
    }

    /// Whether every word is all capitals, or a capital and small letters: anything else was misread.
    private static func isPlainlyWritten(_ text: String) -> Bool {
        guard text.allSatisfy({ $0.isLetter || " -'’".contains($0) }) else { return false }
        let words = text.split { !$0.isLetter }
        let capitals = words.filter { $0.allSatisfy(\.isUppercase) }.count
        let mixed = words.filter { word in
            word.first?.isUppercase == true && word.dropFirst().allSatisfy(\.isLowercase)
        }.count
        return capitals == words.count || mixed == words.count
    }
}

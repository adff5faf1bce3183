/// Compares a document's VIZ text with its machine-readable data, field by field.
package struct VIZRules: Sendable {
    /// How the VIZ and the machine-readable data compare.
    package enum Outcome: String, Codable, Sendable {
        /// The VIZ shows the value.
        case agrees = "agrees"
        /// The VIZ shows another value in the field's position, read twice with certainty.
        case contradicts = "contradicts"
        /// The value was not found, and no other value is certain in its position.
        case notFound = "notFound"
    }

    /// What was found of one field.
    package struct Finding: Sendable, Hashable {
        /// The field.
        package var field: VIZField
        /// How it compares.
        package var outcome: Outcome
        /// Index of the line that shows or contradicts it.
        package var line: Int?
        /// Whether it is the line's first word that contradicts: the rest says nothing.
        package var isFirstWord = false
        /// Whether the contradiction is a suspicion: the MRZ may have been misread, or the date be of another calendar.
        package var isSuspicion = false
    }

    /// One for each field of the expectation.
    package let findings: [Finding]

    /// - Parameter trustsUnconfirmed: Also reports contradictions that no second reading has confirmed, to find the lines
    ///   that need one.
    package init(_ facts: VIZFacts, expected: VIZExpectation, trustsUnconfirmed: Bool = false) {
        let fields = VIZFields(facts)
        let shown = expected.values.map { value in facts.lines.firstIndex { value.isShown(in: $0.text) } }
        // Two values that agree prove that this is the right document and that its VIZ is legible.
        let isLegible = shown.count { $0 != nil } >= 2
        self.findings = zip(expected.values, shown).map { value, line in
            if isLegible, let line, let other = Self.longerName(value, fields, expected), other != line,
                trustsUnconfirmed || facts.lines[other].isConfirmed == true
            {
                return Finding(
                    field: value.field, outcome: .contradicts, line: other, isFirstWord: true, isSuspicion: true)
            }
            if let line { return Finding(field: value.field, outcome: .agrees, line: line) }
            let proven =
                isLegible ? Self.contradiction(value, fields, expected) ?? Self.nearMiss(value, facts) : nil
            let other = proven ?? (isLegible ? Self.noDay(value, facts, fields.layout, state: expected.state) : nil)
            if let other, trustsUnconfirmed || facts.lines[other].isConfirmed == true {
                return Finding(
                    field: value.field, outcome: .contradicts, line: other, isSuspicion: proven == nil)
            }
            return Finding(field: value.field, outcome: .notFound)
        }
    }

    /// Certain lines without an expected value that may be the other value of a missing field: reading their labels is
    /// worthwhile.
    package static func unexplained(_ facts: VIZFacts, expected: VIZExpectation) -> [Int] {
        let missing = expected.missing(in: facts.lines.map(\.text))
        let missesDate = missing.contains { $0.date != nil }
        let missesName = missing.contains { $0.field == .lastName || $0.field == .firstName }
        guard expected.values.count - missing.count >= 2 else { return [] }
        return facts.lines.indices.filter { index in
            let line = facts.lines[index]
            guard line.confidence >= Limits.sureVIZText, VIZLabel.field(line.text) == nil,
                !expected.values.contains(where: { $0.isShown(in: line.text) })
            else { return false }
            if missesDate, !VIZDate.readings(line.text).isEmpty { return true }
            return missesName && line.text.count >= 3
                && line.text.allSatisfy { $0.isUppercase || $0 == " " || $0 == "-" }
        }
    }

    /// The line in the field's position, if it certainly shows another value.
    private static func contradiction(
        _ value: VIZExpectation.Value, _ fields: VIZFields, _ expected: VIZExpectation
    ) -> Int? {
        guard let reading = fields[value.field], reading.confidence >= Limits.sureVIZText else { return nil }
        let text = reading.value
        // A value of another field means that its label was misread.
        guard !expected.values.contains(where: { $0.isShown(in: text) }) else { return nil }
        if let expected = value.date {
            guard let date = reading.date else { return nil }
            // `3 JUL` may be a cut-off `13 JUL`.
            let isCut =
                date.year == expected.year && date.month == expected.month && date.day == expected.day % 10
            return isCut ? nil : reading.line
        }
        // Half of a name or number is a truncated value, not another one.
        let printed = VIZText.folded(text)
        let wanted = VIZText.folded(value.text)
        guard !printed.contains(wanted), !wanted.contains(printed) else { return nil }
        let shared = Self.similarity(Array(printed), Array(wanted))
        // Cards show several numbers: only one that resembles this one contradicts it.
        if value.field == .documentNumber {
            return printed.count == wanted.count && shared >= 0.5 ? reading.line : nil
        }
        // Names have more spellings than any table lists: only one that shares little contradicts.
        return shared < 0.5 && text.allSatisfy { $0.isASCII } ? reading.line : nil
    }

    /// A labelled name whose first word is the machine-readable one with a letter before it, although another line spells it as the
    /// MRZ does: a letter that was cut off is no spelling (Doc 9303-3 §6), and no reading adds one with certainty.
    private static func longerName(
        _ value: VIZExpectation.Value, _ fields: VIZFields, _ expected: VIZExpectation
    ) -> Int? {
        guard value.field == .firstName || value.field == .lastName, !value.isTruncated, !value.mayLackStart,
            let reading = fields[value.field], reading.confidence >= Limits.sureVIZText,
            !expected.values.contains(where: { $0.isShown(in: reading.value) }),
            let printed = VIZText.words(reading.value).first, printed.allSatisfy(\.isASCII),
            let wanted = value.text.split(separator: " ").first, wanted.count >= 3
        else { return nil }
        return printed.dropFirst() == wanted ? reading.line : nil
    }

    /// A labelled date in numbers that no calendar has, `45/05/2014`: it is another than the MRZ's, whichever was meant.
    private static func noDay(
        _ value: VIZExpectation.Value, _ facts: VIZFacts, _ layout: VIZLayout, state: String?
    ) -> Int? {
        guard value.date != nil else { return nil }
        for label in layout.labels where label.field == value.field && label.inline == nil {
            guard let index = layout.value(of: label) else { continue }
            let line = facts.lines[index]
            if line.confidence >= Limits.sureVIZText, VIZDate.isOfNoCalendar(line.text, state: state) {
                return index
            }
        }
        return nil
    }

    /// A number of the same length with one or two other characters, anywhere: no unrelated number of a document is so
    /// similar.
    private static func nearMiss(_ value: VIZExpectation.Value, _ facts: VIZFacts) -> Int? {
        guard value.field == .documentNumber else { return nil }
        let wanted = Array(VIZText.folded(value.text))
        guard wanted.count >= 7 else { return nil }
        return facts.lines.firstIndex { line in
            guard line.confidence >= Limits.legibleVIZText else { return false }
            let printed = Array(VIZText.folded(line.text))
            // Of the characters that count: letters and digits.
            let confidences = zip(line.text, line.confidences).filter { $0.0.isLetter || $0.0.isNumber }.map(\.1)
            guard printed.count == wanted.count, confidences.count == wanted.count else { return false }
            let differing = wanted.indices.filter { printed[$0] != wanted[$0] }
            return (1...2).contains(differing.count)
                && differing.allSatisfy { confidences[$0] >= Limits.sureVIZText }
        }
    }

    /// Share (0–1) of the longer text that a longest common subsequence covers.
    private static func similarity(_ left: [Character], _ right: [Character]) -> Double {
        guard !left.isEmpty, !right.isEmpty else { return 0 }
        var row = [Int](repeating: 0, count: right.count + 1)
        for character in left {
            var diagonal = 0
            for (index, other) in right.enumerated() {
                let above = row[index + 1]
                row[index + 1] = character == other ? diagonal + 1 : max(above, row[index])
                diagonal = above
            }
        }
        return Double(row[right.count]) / Double(max(left.count, right.count))
    }
}

/// Words that mark a document as a specimen.
enum SpecimenWords {
    private static let words: Set<String> = [
        "SPECIMEN", "SPECIMENS", "SAMPLE", "MUSTER", "MUESTRA", "ESPECIMEN", "CAMPIONE", "VZOR", "WZOR", "MINTA",
        "UZORAK", "VZOREC", "ORNEK", "NAIDIS", "PARAUGS", "FACSIMILE", "VOID", "NOTVALID", "EXEMPLAIRE", "MALLI",
        "NEPLATNE", "PAVYZDYS",
    ]

    /// The first line that shows one with certainty.
    package static func line(_ facts: VIZFacts) -> Int? {
        facts.lines.firstIndex { line in
            line.confidence >= Limits.specimenWord
                && Self.isShown(in: line.text)
        }
    }

    static func isShown(in text: String) -> Bool { VIZLabel.plain(text).contains { Self.words.contains($0) } }
}

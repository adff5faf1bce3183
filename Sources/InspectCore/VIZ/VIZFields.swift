import Foundation

/// The fields of the VIZ, found by their printed labels and numbers.
struct VIZFields {
    /// One field as printed.
    struct Reading: Hashable {
        var field: VIZField
        var value: String
        /// The day, where the field is a date that can be read in one way only.
        var date: CalendarDate?
        /// The certainty of the value's least certain character.
        var confidence: Double
        /// Index of the line that the value stands on.
        var line: Int
    }

    let readings: [Reading]

    init(_ facts: VIZFacts) {
        var found: [Reading] = []
        let isAmerican = Self.isAmerican(facts)
        for index in facts.lines.indices {
            guard let (field, rest) = Self.label(facts.lines[index], isEuropean: !isAmerican) else { continue }
            if let rest, let reading = Self.reading(field, facts.lines[index], characters: rest, line: index) {
                found.append(reading)
            } else if let below = Self.below(index, facts),
                let reading = Self.reading(
                    field, facts.lines[below],
                    characters: facts.lines[below].text.startIndex..<facts.lines[below].text.endIndex, line: below)
            {
                found.append(reading)
            }
        }
        // A field found in two places is certain in neither.
        self.readings = found.filter { reading in
            found.allSatisfy { $0.field != reading.field || $0.value == reading.value }
        }.reduce(into: []) { list, reading in
            if !list.contains(where: { $0.field == reading.field }) { list.append(reading) }
        }
    }

    subscript(field: VIZField) -> Reading? { self.readings.first { $0.field == field } }

    // MARK: Labels

    /// North American licences number their fields as Europe's do, but for the licence's own number.
    private static func isAmerican(_ facts: VIZFacts) -> Bool {
        let words = Set(facts.lines.flatMap { VIZLabel.plain($0.text) })
        return !words.isDisjoint(with: ["LICENSE", "DOB", "EXP", "ISS", "DLN", "HGT", "DD", "EYES", "CLASS", "USA"])
    }

    /// The field that a line names, and the characters after the name, if there are any.
    private static func label(
        _ line: VIZLine, isEuropean: Bool
    ) -> (field: VIZField, rest: Range<String.Index>?)? {
        let text = line.text
        if let field = VIZLabel.field(text) { return (field, nil) }
        let words = Self.wordRanges(text)
        // `5 D1234567`, `4b EXP 15.04.2034`
        if words.count > 1 {
            let mark = String(text[words[0]])
            if let field = VIZNumbering.field(mark, isEuropean: isEuropean) {
                let isNamed = VIZLabel.field(String(text[words[1]])) == field && words.count > 2
                return (field, words[isNamed ? 2 : 1].lowerBound..<text.endIndex)
            }
        }
        // `DOB: 04/15/1980`
        if let colon = text.firstIndex(of: ":"), let field = VIZLabel.field(String(text[..<colon])),
            let value = words.first(where: { $0.lowerBound > colon })
        {
            return (field, value.lowerBound..<text.endIndex)
        }
        return nil
    }

    /// Words as ``VIZText/words(_:)`` counts them.
    private static func wordRanges(_ text: String) -> [Range<String.Index>] {
        var ranges: [Range<String.Index>] = []
        var start: String.Index?
        for index in text.indices {
            let character = text[index]
            let isWord = character.isLetter || character.isNumber || "'’‘`´".contains(character)
            if isWord, start == nil { start = index }
            if !isWord, let from = start {
                ranges.append(from..<index)
                start = nil
            }
        }
        if let start { ranges.append(start..<text.endIndex) }
        return ranges
    }

    /// The line under a label: values stand there, aligned with it.
    private static func below(_ index: Int, _ facts: VIZFacts) -> Int? {
        let label = facts.lines[index].place
        let candidates = facts.lines.indices.filter { other in
            guard other != index else { return false }
            let place = facts.lines[other].place
            let size = max(place.height, label.height)
            let gap = place.y - (label.y + label.height)
            return gap > -0.3 * size && gap < 1.8 * size && abs(place.x - label.x) < 1.5 * size
                && facts.lines[other].height > 0.9 * facts.lines[index].height
        }
        return candidates.min { facts.lines[$0].place.y < facts.lines[$1].place.y }
    }

    // MARK: Values

    private static func reading(
        _ field: VIZField, _ line: VIZLine, characters: Range<String.Index>, line index: Int
    ) -> Reading? {
        let value = line.text[characters].trimmingCharacters(
            in: .whitespaces.union(CharacterSet(charactersIn: ".,:;‘’'`")))
        let offset = line.text.distance(from: line.text.startIndex, to: characters.lowerBound)
        let count = line.text.distance(from: characters.lowerBound, to: characters.upperBound)
        let confidences = line.confidences.dropFirst(offset).prefix(count)
        guard let confidence = confidences.min(), !value.isEmpty, VIZLabel.field(value) == nil else { return nil }
        var reading = Reading(field: field, value: value, confidence: confidence, line: index)
        let letters = value.filter(\.isLetter).count
        let digits = value.filter(\.isNumber).count
        switch field {
        case .dateOfBirth, .expiryDate, .issuingDate:
            let days = VIZDate.readings(value)
            guard !days.isEmpty else { return nil }
            reading.date = days.count == 1 ? days.first : nil
        case .documentNumber:
            guard digits >= 3, digits + letters >= 5, !value.contains("/") else { return nil }
        case .lastName, .firstName:
            guard letters >= 2, digits == 0 else { return nil }
        case .issuingAuthority, .categories:
            guard letters >= 1 else { return nil }
        }
        return reading
    }
}

import Foundation

/// The fields of the VIZ, found by their printed labels and numbers.
package struct VIZFields {
    /// One field as printed.
    struct Reading: Hashable {
        var field: VIZField
        var value: String
        /// The day, if the field is a date that can be read in one way only.
        var date: CalendarDate?
        /// The certainty of the value's least certain character.
        var confidence: Double
        /// Whether second readings of its lines gave the same text.
        var isConfirmed = false
        /// Index of the line that the value stands on.
        var line: Int
        /// Index of the line and of those that continue it.
        var lines: [Int] = []

        /// Whether it may be reported although no other source has it.
        var isCertain: Bool {
            self.confidence >= Limits.reportedVIZText
                || self.isConfirmed && self.confidence >= self.confirmedLimit
        }

        /// The least confidence that a second reading makes certain.
        var confirmedLimit: Double {
            switch self.field {
            case .lastName, .firstName: Limits.confirmedTwiceVIZText
            default: Limits.doubtfulVIZText
            }
        }

        /// The least confidence that the second reading itself needs: it is often much surer than the first.
        var confirmingLimit: Double {
            self.confidence >= Limits.confirmedTwiceVIZText ? Limits.confirmedVIZText : Limits.reportedVIZText
        }
    }

    let readings: [Reading]
    /// Where the lines' labels are.
    let layout: VIZLayout
    /// Fields whose values stand in two places and differ.
    let ambiguous: Set<VIZField>
    /// Fields whose label was found but not their value.
    let withoutValue: Set<VIZField>

    /// - Parameter dates: What is known about the document's days.
    init(_ facts: VIZFacts, dates: VIZDays = VIZDays()) {
        let layout = VIZLayout(facts.lines)
        self.layout = layout
        var dates = dates
        if dates.order == nil {
            // Labels in English alone are no evidence: Australia and the Philippines write the day first.
            let isAmerican =
                VIZLayout.isAmerican(facts.lines) && (dates.isAmerican || VIZTitle.isOfNorthAmerica(facts))
            dates.order =
                VIZDate.order(facts.lines.map(\.text))
                ?? (isAmerican ? .monthFirst : layout.isEuropeanLicence ? .dayFirst : nil)
        }
        var found: [Reading] = VIZLicence.readings(facts, dates: dates)
        let known = Set(found.map(\.field))
        var labelled: Set<VIZField> = []
        for label in layout.labels {
            guard let field = label.field, !known.contains(field) else { continue }
            labelled.insert(field)
            if let characters = label.inline {
                if let reading = Self.reading(
                    field, facts, line: label.line, characters: characters, layout: layout, dates: dates)
                {
                    found.append(reading)
                    if label.isNumbered, let place = Self.birthplace(reading, facts, characters) { found.append(place) }
                    continue
                }
            }
            for line in layout.values(of: label) {
                let characters = 0..<facts.lines[line].text.count
                if let reading = Self.reading(
                    field, facts, line: line, characters: characters, layout: layout, dates: dates)
                {
                    found.append(reading)
                    break
                }
            }
        }
        if !labelled.contains(.issuingAuthority), !found.contains(where: { $0.field == .issuingAuthority }),
            let top = dates.top, let line = VIZAuthority.line(facts.lines, below: top),
            let reading = Self.reading(
                .issuingAuthority, facts, line: line, characters: 0..<facts.lines[line].text.count, layout: layout,
                dates: dates)
        {
            found.append(reading)
        }
        if let position = VIZPosition(facts, layout, dates) {
            let taken = Set(found.flatMap(\.lines))
            let places = [
                (VIZField.placeOfBirth, position.placeOfBirth(but: taken)),
                (.issuingAuthority, position.authority(but: taken)),
            ]
            for case (let field, let line?) in places where !found.contains(where: { $0.field == field }) {
                let characters = 0..<facts.lines[line].text.count
                let reading = Self.reading(
                    field, facts, line: line, characters: characters, layout: layout, dates: dates)
                if let reading { found.append(reading) }
            }
        }
        if !found.contains(where: { $0.field == .address }), let line = VIZPosition.address(facts, layout, dates),
            let reading = Self.reading(
                .address, facts, line: line, characters: 0..<facts.lines[line].text.count, layout: layout, dates: dates)
        {
            found.append(reading)
        }
        // A field found in two places is certain in neither.
        self.ambiguous = Set(
            found.filter { reading in found.contains { $0.field == reading.field && $0.value != reading.value } }
                .map(\.field))
        let ambiguous = self.ambiguous
        self.readings = found.filter { !ambiguous.contains($0.field) }.reduce(into: []) { list, reading in
            if !list.contains(where: { $0.field == reading.field }) { list.append(reading) }
        }
        self.withoutValue = labelled.subtracting(found.map(\.field))
    }

    /// Whether the numbered fields alone show an EU licence. A list may also be numbered 1 to 4b and have days; a licence also expires
    /// after its issue and names its authority or its own number.
    var isLicence: Bool {
        guard self.layout.isEuropeanLicence, let issue = self[.issuingDate]?.date,
            let expiry = self[.expiryDate]?.date
        else { return false }
        return issue < expiry && (self[.issuingAuthority] != nil || self[.documentNumber] != nil)
    }

    subscript(field: VIZField) -> Reading? { self.readings.first { $0.field == field } }

    // MARK: Values

    /// How many further lines a value may have.
    private static let moreLines: [VIZField: Int] = [.address: 3, .issuingAuthority: 1]

    private static func reading(
        _ field: VIZField, _ facts: VIZFacts, line index: Int, characters: Range<Int>, layout: VIZLayout, dates: VIZDays
    ) -> Reading? {
        let line = Self.spelt(facts.lines[index], field)
        var characters = characters
        if field.isDate, let day = VIZDate.range(line.text, in: characters) {
            // Text next to a day may be hard to read.
            characters = day
        }
        let text = String(Array(line.text)[characters])
        let value = self.trimmed(text)
        guard !value.isEmpty, !VIZLabel.isLabel(value) else { return nil }
        // A speck read as a full stop is not part of the value.
        let start =
            characters.lowerBound
            + (text.range(of: value).map { text.distance(from: text.startIndex, to: $0.lowerBound) } ?? 0)
        let span = start..<min(start + value.count, line.confidences.count)
        guard let confidence = line.confidences[span.clamped(to: line.confidences.indices)].min() else { return nil }
        let isCut = field.isText && facts.isCut(line)
        var reading = Reading(
            field: field, value: value, confidence: isCut ? 0 : confidence, isConfirmed: line.isConfirmed == true,
            line: index, lines: [index])
        let letters = value.filter(\.isLetter).count
        let digits = value.filter(\.isNumber).count
        switch field {
        case .dateOfBirth, .expiryDate, .issuingDate:
            guard !VIZDate.readings(value).isEmpty else { return nil }
            reading.date = dates.day(value, of: field)
        case .documentNumber:
            let isSplit = value.contains("/") && !(layout.isEuropeanLicence && VIZDate.readings(value).isEmpty)
            guard digits >= 3, digits + letters >= 5, !isSplit else { return nil }
        case .personalNumber:
            guard digits >= 3, digits + letters >= 4, letters <= digits else { return nil }
        case .lastName, .firstName:
            guard letters >= 2, digits == 0 else { return nil }
        case .placeOfBirth:
            guard letters >= 2, digits <= 3 else { return nil }
        case .issuingAuthority:
            guard letters >= 2 else { return nil }
            if let known = VIZAuthority.known(
                value, confidences: Array(line.confidences[span.clamped(to: line.confidences.indices)]))
            {
                (reading.value, reading.confidence) = (known, 1)
            }
        case .categories:
            // Capitals with a digit or two: C1E, AM/B1/B.
            guard value.wholeMatch(of: /[A-Z][A-Z0-9]{0,2}([ ,\/]+[A-Z][A-Z0-9]{0,2})*/) != nil else { return nil }
        case .gender:
            guard let gender = VIZValue.gender(value) else { return nil }
            reading.value = gender
        case .nationality:
            guard letters >= 3, digits == 0 else { return nil }
        case .address:
            guard letters >= 3 else { return nil }
        }
        for more in layout.continuation(of: index, most: self.moreLines[field] ?? 0) {
            // Another field's value, for example a day, is not the second line of a name.
            if field == .issuingAuthority, facts.lines[more].text.count(where: \.isNumber) > 2 { break }
            let next = Self.spelt(facts.lines[more], field)
            let confidence = facts.isCut(next) ? 0 : next.confidence
            if field == .issuingAuthority, VIZAuthority.begins(line.text),
                VIZAuthority.begins(next.text, isWhole: false)
            {
                // The same in another language: the more certain one.
                guard VIZAuthority.begins(next.text), confidence > reading.confidence else { break }
                reading.value = self.trimmed(next.text)
                (reading.confidence, reading.isConfirmed) = (confidence, next.isConfirmed == true)
                (reading.line, reading.lines) = (more, [more])
                break
            }
            reading.value += "\n" + self.trimmed(next.text)
            reading.confidence = min(reading.confidence, confidence)
            reading.isConfirmed = reading.isConfirmed && facts.lines[more].isConfirmed == true
            reading.lines.append(more)
        }
        return reading
    }

    private static func spelt(_ line: VIZLine, _ field: VIZField) -> VIZLine {
        guard field == .placeOfBirth || field == .issuingAuthority else { return line }
        var line = line
        if field == .placeOfBirth { line.text = VIZWords.withoutZeros(line.text) }
        let (characters, confidences) = VIZWords.spelt(Array(line.text), line.confidences)
        (line.text, line.confidences) = (String(characters), confidences)
        return line
    }

    /// `3. 03.02.1991 KRAKÓW`: EU licences print the place of birth after the day.
    private static func birthplace(_ reading: Reading, _ facts: VIZFacts, _ characters: Range<Int>) -> Reading? {
        guard reading.field == .dateOfBirth else { return nil }
        let line = Self.spelt(facts.lines[reading.line], .placeOfBirth)
        guard let day = VIZDate.range(line.text, in: characters) else { return nil }
        let place = self.trimmed(String(Array(line.text)[day.upperBound...]))
        guard place.count(where: \.isLetter) >= 3, let confidence = line.confidences.dropFirst(day.upperBound).min()
        else { return nil }
        var found = reading
        found.confidence = facts.isCut(line) ? 0 : confidence
        (found.field, found.value, found.date) = (.placeOfBirth, place, nil)
        return found
    }

    static func trimmed(_ text: String) -> String {
        let value = text.trimmingCharacters(in: self.blanks)
        // A full stop belongs to an initial only.
        guard value.hasSuffix(".") else { return value }
        let words = value.split(separator: " ")
        return words.count > 1 && words[words.count - 1].count == 2
            ? value : value.trimmingCharacters(in: self.blanksAndStops)
    }

    private static let blanks = CharacterSet.whitespaces.union(CharacterSet(charactersIn: ",:;‘’'`\"“”|_~*«»"))
    private static let blanksAndStops = Self.blanks.union(CharacterSet(charactersIn: "."))
}

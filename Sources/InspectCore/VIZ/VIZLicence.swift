/// Fields of North American licences, whose numbers and labels are small and stand close to their values (AAMVA card design
/// standard, annex A).
enum VIZLicence {
    static func readings(_ facts: VIZFacts, dates: VIZDays) -> [VIZFields.Reading] {
        let lines = facts.lines
        guard VIZLayout.isAmerican(lines) else { return [] }
        let found =
            self.days(lines, dates) + self.numbers(lines) + self.classes(lines) + self.names(lines)
            + self.address(lines)
        return found.map { reading in
            var reading = reading
            let isCut = reading.lines.contains { facts.isCut(lines[$0]) }
            if reading.field.isText, isCut { reading.confidence = 0 }
            return reading
        }
    }

    /// `4d LIC#WDLABCD456DG 9CLASS B`
    private static func numbers(_ lines: [VIZLine]) -> [VIZFields.Reading] {
        lines.enumerated().compactMap { index, line in
            let text = line.text.uppercased()
            // Few lines are worth the regular expression, which is compiled at each use.
            guard text.contains("LIC") || text.contains("DL"),
                // The sign for a number may look like an H.
                let match = text.firstMatch(of: /(LIC ?#|LICH|DLN|DL ?#|LIC NO|DL NO)[:. ]*([A-Z0-9-]{6,})/),
                match.2.count(where: \.isNumber) >= 3, text.count == line.text.count
            else { return nil }
            let start = text.distance(from: text.startIndex, to: match.2.startIndex)
            return self.reading(.documentNumber, line, index, characters: start..<start + match.2.count)
        }
    }

    /// `9CLASS B`, also behind another field.
    private static func classes(_ lines: [VIZLine]) -> [VIZFields.Reading] {
        lines.enumerated().compactMap { index, line in
            guard line.text.contains("CLASS"),
                let match = line.text.firstMatch(of: /(^|[^A-Z0-9])9A? ?CLASS[:. ]+([A-Z]{1,2})( |$)/)
            else { return nil }
            let start = line.text.distance(from: line.text.startIndex, to: match.2.startIndex)
            return self.reading(.categories, line, index, characters: start..<start + match.2.count)
        }
    }

    private static func reading(
        _ field: VIZField, _ line: VIZLine, _ index: Int, characters: Range<Int>
    ) -> VIZFields.Reading? {
        let value = VIZFields.trimmed(String(Array(line.text)[characters]))
        // The trimmed text is not part of the value.
        let end = min(characters.lowerBound + value.count, characters.upperBound)
        let span = (characters.lowerBound..<end).clamped(to: line.confidences.indices)
        guard !value.isEmpty, let confidence = line.confidences[span].min() else { return nil }
        return VIZFields.Reading(
            field: field, value: value, confidence: confidence, isConfirmed: line.isConfirmed == true, line: index,
            lines: [index])
    }

    /// A day after its label, of which the first characters may be misread: `4aiss01/06/2015`, `ap ExP 08/12/2020`.
    private static func days(_ lines: [VIZLine], _ dates: VIZDays) -> [VIZFields.Reading] {
        lines.enumerated().compactMap { index, line in
            guard let range = VIZDate.range(line.text), range.lowerBound > 0 else { return nil }
            let label = String(Array(line.text)[..<range.lowerBound]).uppercased().filter { $0.isLetter || $0.isNumber }
            let field: VIZField? =
                label.hasSuffix("EXP") || label.hasPrefix("4B")
                ? .expiryDate
                : label.hasSuffix("ISS") || label.hasPrefix("4A")
                    ? .issuingDate
                    : label.hasSuffix("DOB") || label.first == "3" && label.count <= 4 ? .dateOfBirth : nil
            guard let field, var found = self.reading(field, line, index, characters: range) else { return nil }
            found.date = dates.day(found.value, of: field)
            return found
        }
    }

    /// The family name stands at 1, directly above the given names at 2.
    private static func names(_ lines: [VIZLine]) -> [VIZFields.Reading] {
        for (index, line) in lines.enumerated() {
            guard line.text.first == "2", let match = line.text.firstMatch(of: /^2[ .]*(?=\p{Lu}{2})/) else { continue }
            let start = line.text.distance(from: line.text.startIndex, to: match.range.upperBound)
            let above = lines.indices.filter { other in
                let place = lines[other].place
                let gap = line.place.y - (place.y + place.height)
                return gap > -0.3 * line.place.height && gap < 1.2 * line.height
                    && abs(place.x - line.place.x) < 1.5 * max(line.height, lines[other].height)
            }
            guard above.count == 1, let first = above.first,
                let given = self.reading(.firstName, line, index, characters: start..<line.text.count),
                let number = lines[first].text.firstMatch(of: /^([0-9|\]] ?|[Il] )?(?=\p{Lu}{2})/)
            else { continue }
            let from = lines[first].text.distance(from: lines[first].text.startIndex, to: number.range.upperBound)
            guard let family = self.reading(.lastName, lines[first], first, characters: from..<lines[first].text.count),
                !family.value.contains(where: \.isNumber), !given.value.contains(where: \.isNumber)
            else { continue }
            return [family, given]
        }
        return []
    }

    /// The line with city, state and code, and the street above it, at 8.
    private static func address(_ lines: [VIZLine]) -> [VIZFields.Reading] {
        for (index, line) in lines.enumerated() {
            guard VIZAddress.isAmericanCity(VIZFields.trimmed(line.text)) else { continue }
            let above = lines.indices.filter { other in
                let place = lines[other].place
                let gap = line.place.y - (place.y + place.height)
                return gap > -0.3 * line.place.height && gap < 1.2 * line.height
                    && abs(place.x - line.place.x) < 1.5 * line.height
            }
            guard above.count == 1, let first = above.first,
                var found = self.reading(.address, line, index, characters: 0..<line.text.count)
            else { continue }
            var street = lines[first].text
            // The field's number hangs out to the left.
            if lines[first].place.x < line.place.x - 0.4 * line.height {
                guard street.first == "8" else { continue }
                street.removeFirst()
            }
            found.value = VIZFields.trimmed(street) + "\n" + found.value
            found.confidence = min(found.confidence, lines[first].confidence)
            found.isConfirmed = found.isConfirmed && lines[first].isConfirmed == true
            found.lines.insert(first, at: 0)
            return [found]
        }
        return []
    }
}

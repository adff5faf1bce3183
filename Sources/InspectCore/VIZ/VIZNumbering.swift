/// The numbers that stand before the fields of driving licences.
package enum VIZNumbering {
    /// - Parameter isEuropean: EU directive 2006/126/EC annex I; otherwise AAMVA's card design standard, annex A, whose
    ///   numbers are the same but for the licence's own.
    static func field(_ number: String, isEuropean: Bool) -> VIZField? {
        switch number.uppercased() {
        case "1": .lastName
        case "2": .firstName
        case "3": .dateOfBirth
        case "4A": .issuingDate
        case "4B": .expiryDate
        case "4C": isEuropean ? .issuingAuthority : nil
        case "4D": isEuropean ? nil : .documentNumber
        case "5": isEuropean ? .documentNumber : nil
        case "8": .address
        case "9": .categories
        case "15": isEuropean ? nil : .gender
        default: nil
        }
    }

    /// A field's number in a line.
    struct Head: Hashable {
        /// `nil` for a field that is not read.
        var field: VIZField?
        /// Where its value begins and ends.
        var value: Range<Int>
    }

    /// The fields whose numbers stand in `line`: `5 D1234567`, `4a. 19.01.2023 4c. Stadt Köln`; none if it begins with no number.
    static func heads(_ line: VIZLine, isEuropean: Bool) -> [Head] {
        let characters = Array(line.text)
        guard let start = characters.firstIndex(where: \.isPartOfWord),
            let first = self.head(characters, at: start, isEuropean: isEuropean)
        else { return [] }
        var heads = [first]
        // Only days and the authority stand on one row. In another value, `4a` is part of a name or an address.
        guard isEuropean, let field = first.field, field.isDate && field != .dateOfBirth || field == .issuingAuthority
        else { return heads }
        for index in characters.indices.dropFirst(first.value.lowerBound + 1)
        where characters[index] == "4" && characters[index - 1] == " " {
            // Only numbers with a letter stand inside a line: any other may be part of a value.
            guard let next = self.head(characters, at: index, isEuropean: true), next.value.lowerBound > index + 2,
                next.field?.isDate != true
                    || VIZDate.range(line.text, in: next.value)?.lowerBound == next.value.lowerBound
            else {
                continue
            }
            heads[heads.count - 1].value = heads[heads.count - 1].value.lowerBound..<index
            heads.append(next)
        }
        return heads
    }

    private static func head(_ characters: [Character], at start: Int, isEuropean: Bool) -> Head? {
        var end = start
        while end < characters.count, characters[end].isPartOfWord { end += 1 }
        var number = String(characters[start..<end])
        if number.count > 2, isEuropean {
            // A narrow blank was overlooked: `1SILVA`, `4a03.09.2017`.
            let isName = ["1", "2"].contains(number.first) && number.dropFirst().allSatisfy(\.isLetter)
            guard isName || number.first == "4" else { return nil }
            number = String(number.prefix(isName ? 1 : 2))
            end = start + number.count
        }
        let isOther = isEuropean && number.uppercased() == "4D"
        let field = self.field(number, isEuropean: isEuropean)
        guard field != nil || isOther, end < characters.count,
            let value = characters[end...].firstIndex(where: \.isPartOfWord)
        else { return nil }
        return Head(field: field, value: value..<characters.count)
    }

    /// Whether `text` is a field's number alone, as licences print it.
    static func isNumber(_ text: String) -> Bool {
        let number = text.hasSuffix(".") ? String(text.dropLast()) : text
        return number.uppercased() == "4D" || self.field(number, isEuropean: true) != nil
    }

    /// Where the numbers of fields may stand that were not found as parts of their lines, by line: left of the lines of a licence
    /// without machine-readable data. A number is often smaller than its value, and a wide blank away.
    package static func places(_ facts: VIZFacts) -> [Int: Box] {
        guard !VIZLayout.isAmerican(facts.lines) else { return [:] }
        let heads = facts.lines.map { self.heads($0, isEuropean: true) }
        let isLicence =
            Set(heads.joined().compactMap(\.field)).count >= 2 || facts.emblem != nil
            || VIZTitle.type(facts) == "DRIVING_LICENSE"
        guard isLicence else { return [:] }
        var places: [Int: Box] = [:]
        for (index, line) in facts.lines.enumerated() where heads[index].isEmpty && !VIZTitle.isTitle(line.text) {
            let height = line.height
            let place = Box(
                x: line.place.x - 3 * height, y: line.place.y - 0.45 * height, width: 2.75 * height,
                height: line.place.height + 0.75 * height)
            let isFree = facts.lines.allSatisfy { other in
                other.place.y > place.y + place.height || other.place.y + other.place.height < place.y
                    || other.place.x > line.place.x - 0.1 * height || other.place.x + other.place.width < place.x
            }
            if place.x > 0, isFree { places[index] = place }
        }
        return places
    }
}

extension VIZLine {
    /// The line with the number of its field, which was read by itself; `nil` if `number` is none.
    package func numbered(_ number: VIZLine) -> VIZLine? {
        guard number.confidence >= Limits.legibleVIZText, VIZNumbering.isNumber(number.text) else { return nil }
        var line = self
        line.text = number.text + " " + self.text
        line.confidences = number.confidences + [number.confidence] + self.confidences
        line.place.x = number.place.x
        line.place.width += self.place.x - number.place.x
        return line
    }
}

/// Where the labels of a VIZ stand, and which lines bear their values.
struct VIZLayout {
    /// A label, or the number of a field.
    struct Label {
        /// `nil` for a label of something else.
        var field: VIZField?
        var line: Int
        var left: Double
        var right: Double
        /// The value's characters, if it stands on the label's own line.
        var inline: Range<Int>?
        /// Whether the value follows a field's number, as on licences.
        var isNumbered = false
    }

    let labels: [Label]
    /// Lines that consist only of labels.
    let isLabel: [Bool]
    /// Whether the lines bear the numbers of a licence's fields (directive 2006/126/EC annex I).
    let isEuropeanLicence: Bool
    private let lines: [VIZLine]

    init(_ lines: [VIZLine]) {
        self.lines = lines
        let marks = lines.map { VIZLabel.marks($0.text) }
        let isEuropean = !Self.isAmerican(lines)
        let numbered = lines.map { VIZNumbering.heads($0, isEuropean: isEuropean) }
        let fields = Set(numbered.joined().compactMap(\.field))
        // A single number before a line may be anything, for example a house number.
        let isLicence = fields.count >= 3 || !isEuropean && fields.count >= 2
        self.isEuropeanLicence =
            isEuropean && isLicence && !fields.isDisjoint(with: [.issuingDate, .expiryDate, .issuingAuthority])
        var labels: [Label] = []
        var isLabel = [Bool](repeating: false, count: lines.count)
        for (index, line) in lines.enumerated() {
            let count = max(line.text.count, 1)
            func place(_ character: Int) -> Double {
                line.place.x + line.place.width * Double(character) / Double(count)
            }
            if isLicence, !numbered[index].isEmpty {
                for head in numbered[index] {
                    let after = Self.skipping(marks[index], from: head.value.lowerBound, in: line.text)
                    labels.append(
                        Label(
                            field: head.field, line: index, left: line.place.x, right: place(head.value.lowerBound),
                            inline: after < head.value.upperBound ? after..<head.value.upperBound : nil,
                            isNumbered: true))
                    isLabel[index] = after >= head.value.upperBound
                }
                continue
            }
            guard let first = marks[index].first else { continue }
            let value = marks[index].count == 1 && first.letters <= 4 ? Self.inline(first, line.text) : nil
            if value == nil, VIZLabel.isLabel(line.text, marks: marks[index]) {
                isLabel[index] = true
                for mark in marks[index] {
                    if let last = labels.last, last.line == index, last.field == mark.field {
                        labels[labels.count - 1].right = place(mark.characters.upperBound)
                    } else {
                        labels.append(
                            Label(
                                field: mark.field, line: index, left: place(mark.characters.lowerBound),
                                right: place(mark.characters.upperBound)))
                    }
                }
                // The last label ends where the line does, read or not.
                if let last = labels.last, last.line == index { labels[labels.count - 1].right = place(count) }
            } else if let after = Self.inline(first, line.text) {
                labels.append(
                    Label(
                        field: first.field, line: index, left: line.place.x, right: place(first.characters.upperBound),
                        inline: after..<count))
            }
        }
        self.labels = labels
        self.isLabel = isLabel
    }

    // MARK: Labels and values on one line

    /// North American licences number their fields as European ones do, except the licence's own number.
    static func isAmerican(_ lines: [VIZLine]) -> Bool {
        let words = Set(lines.flatMap { VIZLabel.plain($0.text) })
        let own: Set = ["LICENSE", "DOB", "EXP", "ISS", "DLN", "HGT", "DD", "EYES", "CLASS", "WGT"]
        return words.intersection(own).count >= 2 || words.contains("LICENSE") || words.contains("DLN")
    }

    /// Where the value begins after labels that follow a field's number: `3 DOB 08/22/1974`.
    private static func skipping(_ marks: [VIZLabel.Mark], from start: Int, in text: String) -> Int {
        let characters = Array(text)
        var position = start
        for mark in marks where mark.characters.lowerBound <= position + 1 && mark.characters.upperBound > position {
            position = mark.characters.upperBound
        }
        guard position > start else { return start }
        while position < characters.count, !characters[position].isLetter, !characters[position].isNumber {
            position += 1
        }
        return position
    }

    /// `DOB: 04/15/1980`, `SEX F`: where the value begins, if the line begins with the label.
    private static func inline(_ mark: VIZLabel.Mark, _ text: String) -> Int? {
        let characters = Array(text)
        guard !characters[..<mark.characters.lowerBound].contains(where: \.isLetter) else { return nil }
        let rest = characters[mark.characters.upperBound...]
        guard let value = rest.firstIndex(where: { $0.isLetter || $0.isNumber }) else { return nil }
        let isClosed = rest[..<value].contains(":")
        let isAbbreviation = mark.letters <= 4 && mark.field != .lastName && mark.field != .firstName
        return isClosed || isAbbreviation ? value : nil
    }

    // MARK: Values

    /// The line of a label's value: under the label, or else to its right.
    func value(of label: Label) -> Int? { self.values(of: label).first }

    /// The lines that may be a label's value, the likelier first.
    func values(of label: Label) -> [Int] { [self.below(label), self.beside(label)].compactMap { $0 } }

    /// The nearest line under the label, unless that is another label.
    private func below(_ label: Label, rest: Int = 1) -> Int? {
        let own = self.lines[label.line]
        let bottom = own.place.y + own.place.height
        let near = self.lines.indices.filter { other in
            guard other != label.line else { return false }
            let place = self.lines[other].place
            let size = max(place.height, own.place.height)
            let gap = place.y - bottom
            // Further down stands another field's value.
            let reach = 1.3 * max(own.place.height, min(place.height, 1.5 * own.place.height))
            return gap > -0.45 * size && gap < reach && place.y > own.place.y + 0.4 * own.place.height
                && place.x < label.right + 0.5 * size && place.x + place.width > label.left - 0.5 * size
                && place.x > label.left - 4 * size
        }
        let nearest = near.min { left, right in
            let (first, second) = (self.lines[left].place, self.lines[right].place)
            let size = max(first.height, second.height)
            // On one row, the one that begins where the label does.
            guard abs(first.y - second.y) < 0.6 * size else { return first.y < second.y }
            return abs(first.x - label.left) < abs(second.x - label.left)
        }
        guard let nearest else { return nil }
        if self.isLabel[nearest] {
            // The label continues on the next line.
            let next = self.labels.first { $0.line == nearest }
            guard let next, next.field == label.field, next.left < label.right else { return nil }
            return self.below(next, rest: rest)
        }
        if self.labels.contains(where: { $0.line == nearest }) { return nil }
        if self.lines[nearest].height > 1.1 * own.height { return nearest }
        // Text as small as the label may be the label in an unknown language, with the value under it.
        let place = self.lines[nearest].place
        let next = Label(field: label.field, line: nearest, left: place.x, right: place.x + place.width)
        if rest > 0, let value = self.below(next, rest: rest - 1), self.lines[value].height > 1.1 * own.height {
            return value
        }
        // Labels are written small, values in capitals.
        let isCapital = { (line: VIZLine) in !line.text.contains(where: \.isLowercase) }
        return isCapital(self.lines[nearest]) && !isCapital(own) ? nearest : nil
    }

    /// The nearest line right of the label on its row, unless another label stands between.
    private func beside(_ label: Label) -> Int? {
        let own = self.lines[label.line]
        let middle = own.place.y + own.place.height / 2
        let right = self.lines.indices.filter { other in
            let place = self.lines[other].place
            let size = max(place.height, own.place.height)
            return other != label.line && place.x > label.right - 0.3 * size && place.x - label.right < 0.35
                && abs(place.y + place.height / 2 - middle) < 0.6 * size
        }.min { self.lines[$0].place.x < self.lines[$1].place.x }
        guard let right, !self.isLabel[right], !self.labels.contains(where: { $0.line == right }) else { return nil }
        // A label with its value under it has none next to it.
        return right
    }

    /// The lines that continue a value: directly under it, with the same left edge and letters of the same height.
    func continuation(of index: Int, most: Int) -> [Int] {
        var found: [Int] = []
        var last = index
        while found.count < most {
            let own = self.lines[last]
            let next = self.lines.indices.first { other in
                let line = self.lines[other]
                let gap = line.place.y - (own.place.y + own.place.height)
                return other != last && !self.isLabel[other] && !self.labels.contains { $0.line == other }
                    && gap > -0.3 * own.place.height && gap < 1.1 * own.height
                    && abs(line.place.x - self.lines[index].place.x) < 1.5 * own.height
                    && line.height > 0.75 * own.height && line.height < 1.33 * own.height
            }
            guard let next, !found.contains(next) else { break }
            found.append(next)
            last = next
        }
        return found
    }
}

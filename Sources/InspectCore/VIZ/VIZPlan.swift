/// Which lines of a VIZ to read, in which order: reading takes an eighth of a millisecond for each character, and a page has a thousand.
///
/// First come the lines that may show an expected value, then those with letters of the same height, and last the labels of lines
/// that these did not explain.
package struct VIZPlan {
    /// A line before it is read.
    package struct Line {
        var place: Box
        var height: Double
        /// Connected strokes, about one for each character.
        var marks: Int

        package init(place: Box, height: Double, marks: Int) {
            self.place = place
            self.height = height
            self.marks = marks
        }
    }

    /// The most characters to read of each kind.
    private static let mostExpected = 150
    private static let mostValues = 160
    private static let mostLabels = 260
    private static let mostUnexpected = 450
    /// Touching and broken strokes make a line's length uncertain by this share.
    private static let lengthTolerance = 0.5
    /// Letters of one style differ by this factor at most.
    private static let sameHeight = 0.78...1.35

    private let lines: [Line]
    private let expected: VIZExpectation?
    private let fitting: [Int]
    private var spent: [Step: Int] = [:]
    private var step = Step.rest
    private var read: Set<Int> = []
    /// Values that no line has shown yet.
    private var missing: [VIZExpectation.Value]
    /// Heights of the letters of lines that showed one.
    private var heights: [Double] = []
    /// Lines that no expectation explains.
    private var unexplained: [Int] = []
    /// Those of them that were hard to read: letters as high as the values' make them worth a second reading, and their label.
    private var doubtful: Set<Int> = []
    /// Lines of a passport that show every name: the signature, unless the day of birth stands below.
    private var signatures: [Int] = []
    /// The top of a line that shows the day of birth.
    private var birth: Double?
    /// Nothing above it is missing from the MRZ.
    private var top = -Double.infinity

    private enum Step {
        case expected, values, labels, rest
    }

    package init(_ lines: [Line], expected: VIZExpectation?) {
        self.lines = lines
        self.expected = expected
        self.missing = expected?.values ?? []
        self.fitting = expected.map { Self.order(lines, expected: $0) } ?? []
    }

    /// The next line, or `nil` if no other is worth reading.
    package mutating func next() -> Int? {
        if !self.missing.isEmpty, let line = self.take(self.fitting, .expected, most: Self.mostExpected) {
            return line
        }
        guard let height = self.valueHeight else {
            // From the MRZ upwards: at the top are titles, or the page before.
            let order = self.expected == nil ? Array(self.lines.indices) : self.lines.indices.reversed()
            return self.take(order, .rest, most: Self.mostUnexpected)
        }
        let values = self.lines.indices.filter {
            self.lines[$0].place.y > self.top && Self.sameHeight.contains(self.lines[$0].height / height)
        }
        return self.take(values, .values, most: Self.mostValues)
            ?? self.take(self.labels, .labels, most: Self.mostLabels)
    }

    /// Whether the last line to read cannot show a name from the machine-readable data.
    package var isBesideNames: Bool { self.step == .values || self.step == .labels }

    /// Takes the reading of a line, and decides which to read next.
    package mutating func add(_ line: VIZLine, at index: Int) {
        self.read.insert(index)
        // Letters that touch are one mark.
        self.spent[self.step, default: 0] += max(0, line.text.count - self.lines[index].marks)
        guard let expected else { return }
        let shown = expected.values.filter { $0.isShown(in: line.text) }
        if !shown.isEmpty {
            let names = expected.values.filter { $0.field == .lastName || $0.field == .firstName }
            if expected.isBooklet, names.count > 1, names.allSatisfy(shown.contains) {
                self.signatures.append(index)
            } else {
                self.accept(shown, at: index)
            }
            if shown.contains(where: { $0.field == .dateOfBirth }) { self.birth = self.lines[index].place.y }
            if let birth {
                for index in self.signatures where self.lines[index].place.y < birth { self.accept(names, at: index) }
                self.signatures.removeAll { self.lines[$0].place.y < birth }
            }
        } else if line.confidence >= Limits.doubtfulVIZText, !VIZLabel.isLabel(line.text),
            line.text.count(where: { $0.isLetter || $0.isNumber }) >= 3
        {
            self.unexplained.append(index)
            if line.confidence < Limits.agreeingVIZText { self.doubtful.insert(index) }
        }
    }

    private mutating func accept(_ shown: [VIZExpectation.Value], at index: Int) {
        self.heights.append(self.lines[index].height)
        self.missing.removeAll { shown.contains($0) }
        if self.expected?.isBooklet == true, shown.contains(where: { $0.field == .lastName || $0.field == .firstName })
        {
            // A signature stands below the names.
            self.top = self.top.isFinite ? min(self.top, self.lines[index].place.y) : self.lines[index].place.y
        }
    }

    private mutating func take(_ candidates: [Int], _ step: Step, most: Int) -> Int? {
        let left = most - self.spent[step, default: 0]
        guard let line = candidates.first(where: { !self.read.contains($0) && self.lines[$0].marks <= left }) else {
            return nil
        }
        self.spent[step, default: 0] += self.lines[line].marks
        self.step = step
        return line
    }

    /// The height of the letters of values; `nil` if fewer than two lines showed an expected value.
    private var valueHeight: Double? {
        self.heights.count < 2 ? nil : self.heights.sorted()[self.heights.count / 2]
    }

    /// Unread lines above, or else left of, values that no expectation explains.
    private var labels: [Int] {
        self.labelled.compactMap { self.above($0) ?? self.left($0) }
    }

    /// Read lines that no expectation explains, and whose labels were not found as lines.
    package var withoutLabel: [Int] {
        self.labelled.filter { self.above($0) == nil && self.left($0) == nil }
    }

    /// Read lines that may be values of fields that no expectation has.
    private var labelled: [Int] {
        let height = self.valueHeight
        return self.unexplained.sorted().filter { index in
            let line = self.lines[index]
            let isValue = height.map { Self.sameHeight.contains(line.height / $0) } ?? false
            return line.place.y > self.top && (isValue || !self.doubtful.contains(index))
        }
    }

    private func above(_ index: Int) -> Int? {
        let own = self.lines[index]
        return self.lines.indices.filter { other in
            let line = self.lines[other]
            let gap = own.place.y - (line.place.y + line.place.height)
            return other != index && line.height < 1.1 * own.height && gap > -0.45 * own.place.height
                && gap < 1.3 * own.place.height && line.place.y < own.place.y - 0.4 * own.place.height
                && line.place.x < own.place.x + own.place.width && line.place.x + line.place.width > own.place.x
        }.max { left, right in
            let (first, second) = (self.lines[left], self.lines[right])
            guard abs(first.place.y - second.place.y) <= 0.5 * first.place.height else {
                return first.place.y < second.place.y
            }
            // Of a label that was found in pieces, the one over the value's beginning, unless that is too short to name a field.
            guard min(first.marks, second.marks) >= 4 else { return first.marks < second.marks }
            return abs(first.place.x - own.place.x) > abs(second.place.x - own.place.x)
        }
    }

    private func left(_ index: Int) -> Int? {
        let own = self.lines[index]
        return self.lines.indices.filter { other in
            let place = self.lines[other].place
            return place.x + place.width < own.place.x && own.place.x - place.x - place.width < 0.35
                && abs(place.y + place.height / 2 - own.place.y - own.place.height / 2) < 0.6 * own.place.height
        }.max { self.lines[$0].place.x < self.lines[$1].place.x }
    }

    /// Lines about as long as an expected value, the best fit first, and among equals the largest characters first.
    private static func order(_ lines: [Line], expected: VIZExpectation) -> [Int] {
        guard !expected.values.isEmpty else { return Array(lines.indices) }
        let lengths = expected.values.map(\.lengths)
        func misfit(_ index: Int) -> Double {
            let marks = lines[index].marks
            return lengths.map { length in
                let nearest = min(max(marks, length.lowerBound), length.upperBound)
                return abs(Double(marks - nearest)) / Double(nearest)
            }.min() ?? 1
        }
        return lines.indices.filter { misfit($0) <= self.lengthTolerance }.sorted { left, right in
            let (first, second) = (Int(misfit(left) / 0.25), Int(misfit(right) / 0.25))
            if first != second { return first < second }
            return lines[left].height > lines[right].height
        }
    }
}

extension VIZFields {
    /// Where values stand that were not found as lines, single characters for example: under labels of days and codes, whose form
    /// shows whether they were read.
    package static func unseen(_ facts: VIZFacts, expected: VIZExpectation?, today: CalendarDate) -> [Box] {
        let fields = VIZFields(facts, dates: VIZDays(expected, lines: facts.lines, today: today))
        let wanted: Set<VIZField> = expected == nil ? [.issuingDate, .gender, .categories] : [.issuingDate]
        let layout = fields.layout
        let heights = facts.lines.indices.filter {
            !layout.isLabel[$0] && facts.lines[$0].confidence >= Limits.reportedVIZText
        }
        .map { facts.lines[$0].height }.sorted()
        guard !heights.isEmpty else { return [] }
        let height = heights[heights.count / 2]
        return layout.labels.compactMap { label in
            guard let field = label.field, wanted.contains(field), fields.withoutValue.contains(field),
                label.inline == nil
            else { return nil }
            let place = facts.lines[label.line].place
            return Box(
                x: label.left - 0.3 * height, y: place.y + place.height + 0.15 * height,
                width: field == .issuingDate ? 10 * height : 3 * height, height: 1.7 * height)
        }
    }

    /// Values on one line that would be certain if the other network gave the same text.
    package struct Doubt {
        /// The values as read.
        package var values: [String]
        /// The confidence that every character of the other reading needs.
        package var limit: Double
        /// Whether it is a place or an authority, whose words are known.
        package var hasKnownWords = false
    }

    /// The lines of the address of a document without machine-readable data.
    package static func addressLines(_ facts: VIZFacts, today: CalendarDate) -> [Int] {
        VIZFields(facts, dates: VIZDays(nil, lines: facts.lines, today: today))[.address]?.lines ?? []
    }

    /// The doubtful values by line.
    package static func unconfirmed(
        _ facts: VIZFacts, expected: VIZExpectation?, today: CalendarDate
    ) -> [Int: Doubt] {
        let fields = VIZFields(facts, dates: VIZDays(expected, lines: facts.lines, today: today))
        var lines: [Int: Doubt] = [:]
        for reading in fields.readings where !reading.isCertain {
            guard reading.confidence >= reading.confirmedLimit,
                expected?.values.contains(where: { $0.field == reading.field || $0.isShown(in: reading.value) }) != true
            else { continue }
            let values = reading.value.split(separator: "\n").map(String.init)
            for (line, value) in zip(reading.lines, values) where facts.lines[line].isConfirmed == nil {
                let hasKnownWords = reading.field == .placeOfBirth || reading.field == .issuingAuthority
                let other = lines[line]
                lines[line] = Doubt(
                    values: (other?.values ?? []) + [value], limit: max(other?.limit ?? 0, reading.confirmingLimit),
                    hasKnownWords: hasKnownWords || other?.hasKnownWords == true)
            }
        }
        let days = VIZDays(expected, lines: facts.lines, today: today)
        if let issue = days.issue(facts.lines)?.line, facts.lines[issue].confidence < Limits.agreeingVIZText {
            lines[issue] = Doubt(values: [facts.lines[issue].text], limit: Limits.legibleVIZText)
        }
        return lines
    }
}

extension VIZLine {
    /// Whether it may be reported alone.
    package var isCertain: Bool { self.confidence >= Limits.reportedVIZText }

    /// With the blanks before words that only `other` has, if that gives the same letters and digits.
    package func withBlanks(of other: VIZLine) -> VIZLine {
        guard self.saysTheSame(as: other, confidence: 0) else { return self }
        // How many letters and digits stand before each blank.
        var breaks: Set<Int> = []
        var count = 0
        for character in other.text {
            if character == " " { breaks.insert(count) }
            if character.isPartOfWord { count += 1 }
        }
        var line = self
        (line.text, line.confidences, count) = ("", [], 0)
        for (character, confidence) in zip(self.text, self.confidences) {
            if character.isPartOfWord {
                if breaks.contains(count), let last = line.text.last, last.isPartOfWord || last == "," || last == "." {
                    line.text.append(" ")
                    line.confidences.append(confidence)
                }
                count += 1
            }
            line.text.append(character)
            line.confidences.append(confidence)
        }
        return line
    }

    /// With its towns' and authorities' words as they are spelt.
    package var spelt: VIZLine {
        var line = self
        let (characters, confidences) = VIZWords.spelt(Array(self.text), self.confidences)
        (line.text, line.confidences) = (String(characters), confidences)
        return line
    }

    /// Whether the line shows the letters and digits of `value`, each with at least `confidence`.
    package func shows(_ value: String, confidence: Double) -> Bool {
        let (characters, confidences) = VIZWords.spelt(Array(self.text), self.confidences)
        let seen = zip(characters, confidences).filter { $0.0.isLetter || $0.0.isNumber }
        let wanted = value.filter { $0.isLetter || $0.isNumber }
        guard !wanted.isEmpty, seen.count >= wanted.count else { return false }
        let isWords = !wanted.contains(where: \.isNumber)
        return (0...seen.count - wanted.count).contains { start in
            let part = seen[start..<start + wanted.count]
            // Many fonts print O and 0 alike, and no word contains a 0. A number may contain an O, so a 0 there is a different reading.
            return zip(part, wanted)
                .allSatisfy { $0.0 == $1 || $0.0 == "O" && $1 == "0" || isWords && $0.0 == "0" && $1 == "O" }
                && part.allSatisfy { $0.1 >= confidence }
        }
    }
}

/// Fields of a passport's data page that its layout tells, where their labels are too small to be read: Doc 9303-4 §4.1 puts the
/// place of birth between the days of birth and of issue, and the authority beside or under the day of issue.
struct VIZPosition {
    private let facts: VIZFacts
    private let layout: VIZLayout
    private let birth: VIZLine
    /// The day of issue.
    private let issue: VIZLine
    private let names: [VIZExpectation.Value]

    /// `nil` unless the page shows both days.
    init?(_ facts: VIZFacts, _ layout: VIZLayout, _ days: VIZDays) {
        guard days.isBooklet, let day = days.birth,
            let birth = facts.lines.first(where: { VIZDate.readings($0.text, order: days.order).contains(day) }),
            let issue = days.issue(facts.lines).map({ facts.lines[$0.line] }),
            issue.place.y > birth.place.y + birth.place.height
        else { return nil }
        (self.facts, self.layout, self.birth, self.issue) = (facts, layout, birth, issue)
        self.names = days.names
    }

    /// The only line of words between the days.
    func placeOfBirth(but taken: Set<Int>) -> Int? {
        let found = self.words(but: taken).filter { index in
            let middle = self.middle(self.facts.lines[index])
            return middle > self.birth.place.y + self.birth.place.height
                && middle < self.issue.place.y - 0.1 * self.issue.place.height
        }
        return found.count == 1 ? found.first : nil
    }

    /// The only line of words, or two under each other, beside or under the day of issue.
    func authority(but taken: Set<Int>) -> Int? {
        let found = self.words(but: taken).filter {
            self.middle(self.facts.lines[$0]) > self.middle(self.issue) - 0.6 * self.issue.place.height
        }
        guard let first = found.first else { return nil }
        return found.count == 1
            || self.layout.continuation(of: first, most: found.count - 1) == Array(found.dropFirst())
            ? first : nil
    }

    /// The first line of the only address on a card's back: a street with its number, and directly above or under it a town, all as
    /// high and with the same left edge.
    static func address(_ facts: VIZFacts, _ layout: VIZLayout, _ days: VIZDays) -> Int? {
        guard days.top == -.infinity else { return nil }
        let isOther = { (index: Int) in layout.isLabel[index] || layout.labels.contains { $0.line == index } }
        let pairs = facts.lines.indices.compactMap { first -> Int? in
            guard !isOther(first), let second = layout.continuation(of: first, most: 1).first else { return nil }
            let texts = [first, second].map { VIZFields.trimmed(facts.lines[$0].text) }
            return texts.contains(where: self.isStreet) && texts.contains { !self.isStreet($0) && self.isTown($0) }
                ? first : nil
        }
        return pairs.count == 1 ? pairs[0] : nil
    }

    /// `HEIDESTR. 17`, `Rue de la Gare 4B`; not `160 cm`.
    private static func isStreet(_ text: String) -> Bool {
        let words = text.split(separator: " ")
        guard words.count > 1, let number = words.last, number.first?.isNumber == true, number.count <= 5,
            number.count(where: \.isLetter) <= 1
        else { return false }
        return words.dropLast().joined().count(where: \.isLetter) >= 4
    }

    /// Letters, before them a postal code at most.
    private static func isTown(_ text: String) -> Bool {
        let words = text.split(separator: " ").drop { $0.allSatisfy { $0.isNumber || "-".contains($0) } }
        return words.joined().count >= 3
            && words.allSatisfy { $0.allSatisfy { $0.isLetter || "-.()/'’".contains($0) } }
    }

    private func middle(_ line: VIZLine) -> Double { line.place.y + line.place.height / 2 }

    /// Lines of words as high as the days' digits.
    private func words(but taken: Set<Int>) -> [Int] {
        self.facts.lines.indices.filter { index in
            let line = self.facts.lines[index]
            let letters = line.text.count(where: \.isLetter)
            return !taken.contains(index) && !self.layout.isLabel[index]
                && !self.layout.labels.contains { $0.line == index || self.layout.value(of: $0) == index }
                && (0.75...1.35).contains(line.height / self.birth.height) && letters >= 3
                && line.confidence >= Limits.agreeingVIZText
                && line.text.count(where: \.isNumber) <= 3 && VIZDate.readings(line.text).isEmpty
                // A signature, or a stamp.
                && !self.names.contains { name in
                    VIZLabel.plain(name.text).contains { $0.count >= 3 && VIZLabel.plain(line.text).contains($0) }
                }
                && !SpecimenWords.isShown(in: line.text)
        }
    }
}

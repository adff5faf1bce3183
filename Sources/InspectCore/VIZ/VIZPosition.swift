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
        return found.count == 1 || self.layout.continuation(of: first, most: found.count - 1) == Array(found.dropFirst())
            ? first : nil
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

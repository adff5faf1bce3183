/// Fields of a passport's data page that its layout gives, where their labels are too small to be read: Doc 9303-4 §4.1 puts the
/// place of birth between the days of birth and of issue, and the authority next to or under the day of issue.
struct VIZPosition {
    private let facts: VIZFacts
    private let layout: VIZLayout
    private let birth: VIZLine
    /// The day of issue, or else that of expiry, which stands next to or under it.
    private let issue: VIZLine
    private let isIssue: Bool
    private let names: [VIZExpectation.Value]

    /// `nil` unless the page shows the day of birth and, under it, one of the others.
    init?(_ facts: VIZFacts, _ layout: VIZLayout, _ days: VIZDays) {
        guard days.isBooklet, let day = days.birth,
            let birth = facts.lines.first(where: { VIZDate.readings($0.text, order: days.order).contains(day) }),
            let issue = Self.second(facts, days), issue.line.place.y > birth.place.y + birth.place.height
        else { return nil }
        (self.facts, self.layout, self.birth, self.issue) = (facts, layout, birth, issue.line)
        self.isIssue = issue.isIssue
        self.names = days.names
    }

    private static func second(_ facts: VIZFacts, _ days: VIZDays) -> (line: VIZLine, isIssue: Bool)? {
        if let issue = days.issue(facts.lines) { return (facts.lines[issue.line], true) }
        guard let day = days.expiry else { return nil }
        return facts.lines.first { VIZDate.readings($0.text, order: days.order).contains(day) }.map { ($0, false) }
    }

    /// The only line of words between the days, if that is not the authority, which may stand above the day of expiry.
    func placeOfBirth(but taken: Set<Int>) -> Int? {
        let found = self.words(but: taken).filter { index in
            let middle = self.middle(self.facts.lines[index])
            return middle > self.birth.place.y + self.birth.place.height
                && middle < self.issue.place.y - 0.1 * self.issue.place.height
        }
        guard found.count == 1, let line = found.first else { return nil }
        if self.isIssue { return line }
        // The day of issue has its own row in between.
        let isNext = self.facts.lines[line].place.y < (self.birth.place.y + self.issue.place.y) / 2
        return isNext && !VIZAuthority.begins(self.facts.lines[line].text, isWhole: false) ? line : nil
    }

    /// The only line of words, or two under each other, next to or under the day of issue.
    func authority(but taken: Set<Int>) -> Int? {
        let found = self.words(but: taken).filter {
            self.middle(self.facts.lines[$0]) > self.middle(self.issue) - 0.6 * self.issue.place.height
        }
        guard let first = found.first else { return nil }
        return found.count == 1
            || self.layout.continuation(of: first, most: found.count - 1) == Array(found.dropFirst())
            ? first : nil
    }

    /// The first line of the only address: a street with its number, and directly above or under it a town, all of the same height and with
    /// the same left edge. On a front, which also has names, the town has its postal code. An address under an authority's name
    /// is the authority's.
    static func address(_ facts: VIZFacts, _ layout: VIZLayout, _ days: VIZDays) -> Int? {
        let isBack = days.top == -.infinity
        let isOther = { (index: Int) in layout.isLabel[index] || layout.labels.contains { $0.line == index } }
        let pairs = facts.lines.indices.compactMap { first -> Int? in
            guard !isOther(first), let second = layout.continuation(of: first, most: 1).first else { return nil }
            let above = facts.lines.indices.filter { self.isDirectlyAbove(facts.lines[$0], facts.lines[first]) }
            guard !(above + [first]).contains(where: { VIZAuthority.begins(facts.lines[$0].text) }) else { return nil }
            let texts = [first, second].map { VIZFields.trimmed(facts.lines[$0].text) }
            guard texts.contains(where: self.isStreet) else { return nil }
            return texts.contains { isBack ? !self.isStreet($0) && self.isTown($0) : VIZAddress.isEuropeanCity($0) }
                ? first : nil
        }
        return pairs.count == 1 ? pairs[0] : nil
    }

    private static func isDirectlyAbove(_ line: VIZLine, _ other: VIZLine) -> Bool {
        let gap = other.place.y - (line.place.y + line.place.height)
        return gap > -0.3 * line.place.height && gap < 1.1 * max(line.height, other.height)
            && line.place.x < other.place.x + other.place.width && other.place.x < line.place.x + line.place.width
    }

    /// `HEIDESTR. 17`, `Rue de la Gare 4B`; not `160 cm`.
    private static func isStreet(_ text: String) -> Bool {
        let words = text.split(separator: " ")
        guard words.count > 1, let number = words.last, number.first?.isNumber == true, number.count <= 5,
            number.count(where: \.isLetter) <= 1
        else { return false }
        return words.dropLast().joined().count(where: \.isLetter) >= 4
    }

    /// Letters, with at most a postal code before them.
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

/// Whether front and back are two sides of one document (Jumio's image check MISMATCH_FRONT_BACK).
struct FrontBackRules {
    /// Inconclusive if the sides have too little in common.
    package let outcome: DataCheckData.Outcome
    /// Names of fields in which the sides differ.
    package let differing: [String]
    /// Whether the difference leaves no doubt; otherwise it is worth a warning.
    let isCertain: Bool

    /// - Returns: `nil` unless both sides were given.
    init?(_ extraction: ExtractionRules, parts: [PartKind]) {
        guard parts.contains(.front), parts.contains(.back) else { return nil }
        func fields(of part: PartKind) -> [[String: String]] {
            extraction.mrzs.filter { $0.part == part.rawValue }.map { mrz in
                Self.fields(
                    mrz.value.documentNumber, mrz.value.birthDate?.date, mrz.value.expiryDate?.date,
                    isProven: mrz.value.checksHold)
            }
                + extraction.cards.filter { $0.part == part.rawValue }.map { card in
                    Self.fields(card.value.documentNumber, card.value.birthDate, card.value.expiryDate, isProven: true)
                }
        }
        var compared = 0
        var isCertain = true
        var differing: Set<String> = []
        func format(of part: PartKind) -> MRZFormat? {
            extraction.mrzs.first { $0.part == part.rawValue && $0.value.checksHold }?.value.format
        }
        // A passport's page and the back of a card, for example.
        if let front = format(of: .front), let back = format(of: .back), front != back { differing.insert("type") }
        for front in fields(of: .front) {
            for back in fields(of: .back) {
                for (name, value) in front {
                    guard let other = back[name] else { continue }
                    compared += 1
                    if value != other { differing.insert(name) }
                }
            }
        }
        if let viz = extraction.viz, let other = viz.comparedWith, other != viz.part {
            compared += viz.fields.count { $0.comparison == .agrees }
            let contradicting = viz.fields.filter { $0.comparison == .contradicts }
            // A suspicion alone proves nothing unless something else differs.
            isCertain =
                !differing.isEmpty || contradicting.isEmpty || contradicting.contains { $0.isSuspicion != true }
            differing.formUnion(contradicting.map(\.name))
        }
        // Two holders may share a name or a day, so what agrees does not excuse what differs.
        if differing.isEmpty, let other = SideText(extraction.sides, today: extraction.today) {
            differing = other.differing
            isCertain = other.isCertain && compared == 0
            compared += other.agreeing
        }
        self.isCertain = isCertain
        self.differing = differing.sorted()
        self.outcome = !differing.isEmpty ? .fail : compared > 0 ? .pass : .inconclusive
    }

    private static func fields(
        _ number: String?, _ birth: CalendarDate?, _ expiry: CalendarDate?, isProven: Bool
    ) -> [String: String] {
        guard isProven else { return [:] }
        var fields: [String: String] = [:]
        fields["documentNumber"] = number.flatMap { $0.isEmpty ? nil : $0 }
        fields["dateOfBirth"] = birth?.iso8601
        fields["expiryDate"] = expiry?.iso8601
        return fields
    }
}

/// The VIZ text of one side compared with the machine-readable data of the other: cards of two holders differ in most fields, and
/// text that was merely misread does not.
struct SideText {
    /// How many different days, or fields next to their labels, are enough; of fields, as many as agree at least.
    private static let enough = 2
    /// How many legible lines count as much print. If the other side's data appears in none of them, and one more missing
    /// value is certain, that is suspicious.
    private static let muchPrint = 8

    /// Fields that agree.
    let agreeing: Int
    /// Names of the fields that differ.
    let differing: Set<String>
    /// Whether the difference leaves no doubt; never if anything agrees.
    let isCertain: Bool

    /// - Returns: `nil` if one side was not read, or has the machine-readable data itself.
    init?(_ sides: [(part: String, facts: DocumentFacts)], today: CalendarDate) {
        guard let read = sides.first(where: { $0.facts.viz != nil }), let viz = read.facts.viz,
            let other = sides.first(where: { $0.part != read.part }),
            VIZExpectation(sides: [read.facts], today: today) == nil,
            let expected = VIZExpectation(sides: [other.facts], today: today)
        else { return nil }
        let lines = viz.lines.filter { $0.confidence >= Limits.sureVIZText }
        let absent = expected.values.filter { value in !viz.lines.contains { value.isShown(in: $0.text) } }
        self.agreeing = expected.values.count - absent.count
        // Names alone may be misread letters of another script.
        let named = VIZFields(viz).readings.filter { reading in
            reading.confidence >= Limits.sureVIZText && (!reading.field.isDate || reading.date != nil)
                && absent.contains { $0.field == reading.field }
        }
        var differing: Set<String> = []
        if named.count >= max(Self.enough, self.agreeing),
            named.contains(where: { $0.field.isDate || $0.field == .documentNumber })
        {
            differing.formUnion(named.map(\.field.rawValue))
        }
        // Each line's day, or the two days that it may denote: every card shows birth and expiry.
        let days = Set(lines.map { VIZDate.readings($0.text) }.filter { !$0.isEmpty })
        let absentDays = absent.filter { $0.date != nil }
        if self.agreeing < Self.enough, days.count >= Self.enough, absentDays.count >= Self.enough || self.agreeing == 0
        {
            differing.formUnion(absentDays.map(\.field.rawValue))
        }
        guard self.agreeing == 0 else {
            (self.differing, self.isCertain) = (differing, false)
            return
        }
        self.isCertain = !differing.isEmpty
        let legible = viz.lines.count { $0.confidence >= Limits.legibleVIZText }
        if differing.isEmpty, legible >= Self.muchPrint {
            if !days.isEmpty { differing.formUnion(expected.values.filter { $0.date != nil }.map(\.field.rawValue)) }
            if let number = expected.values.first(where: { $0.field == .documentNumber }),
                lines.contains(where: { Self.resembles($0.text, number.text) })
            {
                differing.insert(number.field.rawValue)
            }
        }
        self.differing = differing
    }

    /// Whether a line is nothing but a number of the length of `number`.
    private static func resembles(_ text: String, _ number: String) -> Bool {
        let marks = text.filter { $0.isLetter || $0.isNumber }
        return number.count >= 7 && marks.count == number.count && marks.contains(where: \.isNumber)
            && !text.contains(" ") && marks.allSatisfy { $0.isNumber || $0.isUppercase }
    }
}

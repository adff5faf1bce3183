/// What is known about a document's days: it decides how its printed dates are read.
struct VIZDays: Hashable {
    /// Whether day or month stands first; `nil` if nothing says so.
    var order: VIZDate.Order?
    var birth: CalendarDate?
    var expiry: CalendarDate?
    var today: CalendarDate?
    /// Whether its issuer is a state of North America, which may write the month first.
    var isAmerican = false
    /// Whether the document is a passport's data page.
    var isBooklet = false
    /// Whether it is a visa of a Schengen state.
    var isSchengenVisa = false
    /// The holder's names by the machine-readable data.
    var names: [VIZExpectation.Value] = []

    /// The top of the lowest line that shows name or birth by the machine-readable data: titles stand above it.
    var top: Double?
    /// How many digits the numbers of the document's other days have: a day with fewer digits may have been cut off.
    var shapes: [[Int]] = []

    /// Years between issue and expiry that states use.
    private static let terms: Set<Int> = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20]
    private static let longestTerm = 20

    init(order: VIZDate.Order? = nil) { self.order = order }

    /// - Parameter expected: The machine-readable data; their days decide the order.
    init(_ expected: VIZExpectation?, lines: [VIZLine], today: CalendarDate) {
        self.today = today
        self.isBooklet = expected?.isBooklet == true
        self.isSchengenVisa = expected?.isSchengenVisa == true
        self.isAmerican = expected?.isAmerican == true
        self.names = expected?.names ?? []
        self.birth = expected?.values.first { $0.field == .dateOfBirth }?.date
        self.expiry = expected?.values.first { $0.field == .expiryDate }?.date
        let heads: Set<VIZField> = [.lastName, .firstName, .dateOfBirth]
        let known = (expected?.values ?? []).filter { heads.contains($0.field) } + (expected?.names ?? [])
        self.top = known.compactMap { value in lines.first { value.isShown(in: $0.text) }?.place.y }.max()
        // A card's back bears neither: there, the name of an authority is not a title.
        if self.top == nil, expected?.isCard == true { self.top = -.infinity }
        for line in lines {
            let days = VIZDate.readings(line.text)
            // Without machine-readable data, days of one shape prove each other.
            let isKnown =
                expected == nil
                ? !days.isEmpty : [self.birth, self.expiry].contains { $0.map(days.contains) ?? false }
            if isKnown {
                self.shapes.append(
                    Self.shape(VIZDate.range(line.text).map { String(Array(line.text)[$0]) } ?? line.text))
            }
        }
        if expected == nil { self.shapes = self.shapes.filter { shape in self.shapes.count { $0 == shape } > 1 } }
        for day in [self.birth, self.expiry].compactMap({ $0 }) where self.order == nil {
            for line in lines {
                let isDayFirst = VIZDate.readings(line.text, order: .dayFirst).contains(day)
                let isMonthFirst = VIZDate.readings(line.text, order: .monthFirst).contains(day)
                if isDayFirst != isMonthFirst { self.order = isDayFirst ? .dayFirst : .monthFirst }
            }
        }
    }

    /// The digits of a date's numbers: `[2, 2, 4]` of 12.08.1974.
    static func shape(_ text: String) -> [Int] {
        text.split { !$0.isNumber }.map(\.count)
    }

    /// The day that `text` denotes as `field`; `nil` if several are possible, or if the text may be cut off.
    func day(_ text: String, of field: VIZField) -> CalendarDate? {
        guard let day = self.only(text, of: field) else { return nil }
        if field == .issuingDate, let expiry, self.isWholeTerm(day, expiry) { return day }
        guard !self.shapes.isEmpty || self.birth != nil || self.expiry != nil else { return day }
        return self.shapes.contains(Self.shape(text)) ? day : nil
    }

    private func only(_ text: String, of field: VIZField) -> CalendarDate? {
        let days = VIZDate.readings(text, order: self.order).filter { self.isPossible($0, as: field) }
        if days.count == 1 { return days.first }
        // Two digits of a year: of births the later century, of the others this one.
        let sameDay = Set(days.map { [$0.month, $0.day] })
        guard sameDay.count == 1, let today, field == .dateOfBirth || field == .expiryDate else { return nil }
        return field == .dateOfBirth ? days.filter { $0 <= today }.max() : days.max()
    }

    private func isPossible(_ day: CalendarDate, as field: VIZField) -> Bool {
        if let today {
            if field != .expiryDate, day > today { return false }
            if field == .expiryDate, day.year > today.year + 60 { return false }
        }
        switch field {
        case .dateOfBirth: return self.expiry.map { day < $0 } ?? true
        case .issuingDate:
            if let birth, day < birth { return false }
            if let expiry { return day < expiry && expiry.year - day.year <= Self.longestTerm }
            return today.map { $0.year - day.year <= 60 } ?? true
        default: return self.birth.map { day > $0 } ?? true
        }
    }

    /// The day of issue that a page without a legible label shows: the only other day, a whole term before the expiry.
    func issue(_ lines: [VIZLine]) -> (day: CalendarDate, line: Int)? {
        guard let birth, let expiry, let today else { return nil }
        var found: [(day: CalendarDate, line: Int)] = []
        for (index, line) in lines.enumerated() {
            let days = VIZDate.readings(line.text, order: self.order)
            guard !days.contains(birth), !days.contains(expiry) else { continue }
            for day in days where day > birth && day < expiry && day <= today { found.append((day, index)) }
        }
        if self.isSchengenVisa { return self.issue(ofVisa: found, lines) }
        let whole = found.filter { self.isWholeTerm($0.day, expiry) }
        guard let first = whole.first, whole.allSatisfy({ $0.day == first.day }),
            found.allSatisfy({ $0.line == first.line || $0.day == first.day })
        else { return nil }
        return first
    }

    /// The visas of the Schengen states have the day from which they are valid left of the day of expiry, and the day of issue, the
    /// same or an earlier one, in a row below (Regulation (EC) 1683/95).
    private func issue(ofVisa days: [(day: CalendarDate, line: Int)], _ lines: [VIZLine]) -> (CalendarDate, Int)? {
        guard let expiry, let until = lines.first(where: { self.shows($0, expiry) }) else { return nil }
        let isBeside = { (index: Int) in
            let place = lines[index].place
            return abs(place.y - until.place.y) < 0.6 * until.place.height && place.x < until.place.x
        }
        let from = days.filter { isBeside($0.line) }
        let below = days.filter { lines[$0.line].place.y > until.place.y + until.place.height }
        guard from.count == 1, below.count == 1, days.count == 2, below[0].day <= from[0].day else { return nil }
        return below[0]
    }

    private func shows(_ line: VIZLine, _ day: CalendarDate) -> Bool {
        VIZDate.readings(line.text, order: self.order).contains(day)
    }

    /// Whether `expiry` is whole years after `day`, on the same day, the day before or the day after.
    private func isWholeTerm(_ day: CalendarDate, _ expiry: CalendarDate) -> Bool {
        let (before, after) = (day.month * 31 + day.day, expiry.month * 31 + expiry.day)
        guard abs(before - after) <= 1 || abs(before - after) <= 4 && day.month != expiry.month else { return false }
        return Self.terms.contains(expiry.year - day.year)
    }
}

/// Values of the fields that contain codes.
enum VIZValue {
    /// M, F or X; the last language decides: `K/M` is a man's in Azerbaijan, `K/F` a woman's in Poland.
    static func gender(_ text: String) -> String? {
        let words = VIZLabel.plain(text)
        guard let last = words.last, words.count <= 3 else { return nil }
        switch last {
        case "M", "MALE", "MASCULIN": return "M"
        case "F", "FEMALE", "FEMININ": return "F"
        case "X": return "X"
        default: return nil
        }
    }
}

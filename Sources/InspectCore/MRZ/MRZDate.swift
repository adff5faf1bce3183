/// A date as an MRZ prints it: YYMMDD, unknown parts as `<`.
package struct MRZDate: Sendable, Hashable {
    /// The six characters as printed.
    package var text: String
    /// The day, or `nil` if parts are unknown or no such day exists.
    package var date: CalendarDate?
    /// Six digits that name no day of the calendar: wrong whatever the check digit says.
    var isImpossible: Bool
    /// Whether month or day is unknown: `<` (Doc 9303-3 §4.8), or zeros, which some states print instead.
    var isUnknown: Bool

    enum Kind { case birth, expiry }

    /// Whether six characters may be a date: digits that name a month and a day of it, or unknown parts (Doc 9303-3 §4.8).
    static func isPlausible(_ bytes: some Collection<UInt8>) -> Bool {
        let text = Array(bytes)
        guard text.count == 6 else { return false }
        func part(_ start: Int) -> Int? {
            guard MRZText.isDigit(text[start]), MRZText.isDigit(text[start + 1]) else { return nil }
            return Int(text[start] - 0x30) * 10 + Int(text[start + 1] - 0x30)
        }
        let month = part(2), day = part(4)
        return (month.map { (1...12).contains($0) } ?? true) && (day.map { (1...31).contains($0) } ?? true)
    }

    /// Doc 9303 gives no rule for the century. A birth lies in the latest century that is not after `today`; an expiry
    /// in this one, except that years from 70 on are those of archived documents.
    init(_ bytes: some Collection<UInt8>, kind: Kind, today: CalendarDate) {
        self.text = MRZText.string(bytes)
        self.date = nil
        self.isImpossible = false
        self.isUnknown = false
        guard bytes.count == 6, bytes.allSatisfy(MRZText.isDigit) else {
            // `74<<<<` is a birth of which only the year is known; letters are simply wrong.
            self.isImpossible = !bytes.allSatisfy { MRZText.isDigit($0) || $0 == MRZText.filler }
            self.isUnknown = !self.isImpossible
            return
        }
        let digits = bytes.map { Int($0) - 0x30 }
        let (year, month, day) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3], digits[4] * 10 + digits[5])
        if month == 0 || day == 0 {
            self.isUnknown = month <= 12 && day <= 31
            self.isImpossible = !self.isUnknown
            return
        }
        var full = CalendarDate(year: (kind == .expiry && year >= 70 ? 1900 : 2000) + year, month: month, day: day)
        if kind == .birth, full > today { full.year -= 100 }
        // 29 February may exist in one century only.
        self.isImpossible = !full.isValid
        self.date = full.isValid ? full : nil
    }
}

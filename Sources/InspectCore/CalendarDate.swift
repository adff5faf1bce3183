package import Foundation

/// A day of the Gregorian calendar, without a time of day or a time zone, as documents print it.
package struct CalendarDate: Sendable, Hashable, Comparable {
    /// In full, such as 1974.
    package var year: Int
    /// 1 to 12.
    package var month: Int
    /// 1 to 31.
    package var day: Int

    package init(year: Int, month: Int, day: Int) {
        self.year = year
        self.month = month
        self.day = day
    }

    /// The day of an instant in UTC.
    package init(_ instant: Date) {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = calendar.dateComponents([.year, .month, .day], from: instant)
        self.init(year: parts.year ?? 1970, month: parts.month ?? 1, day: parts.day ?? 1)
    }

    /// Whether that day exists.
    package var isValid: Bool {
        guard (1...12).contains(self.month) else { return false }
        let isLeap = (self.year % 4 == 0 && self.year % 100 != 0) || self.year % 400 == 0
        let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        return (1...days[self.month - 1]).contains(self.day)
    }

    /// `YYYY-MM-DD` (ISO 8601).
    package var iso8601: String {
        func padded(_ number: Int, _ width: Int) -> String {
            let digits = String(number)
            return String(repeating: "0", count: max(0, width - digits.count)) + digits
        }
        return "\(padded(self.year, 4))-\(padded(self.month, 2))-\(padded(self.day, 2))"
    }

    /// The day that many days later.
    package func adding(days: Int) -> CalendarDate {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let start = calendar.date(from: DateComponents(year: self.year, month: self.month, day: self.day))
        return start.flatMap { calendar.date(byAdding: .day, value: days, to: $0) }.map(CalendarDate.init) ?? self
    }

    package static func < (left: CalendarDate, right: CalendarDate) -> Bool {
        (left.year, left.month, left.day) < (right.year, right.month, right.day)
    }
}

internal import Foundation

/// Something that the gateway still answers, and will not for ever: here alone are its dates.
///
/// What is deprecated is added here, and its answers say so with ``headers`` (RFC 9745, RFC 8594).
struct Deprecation: Sendable {
    /// Midnight (UTC) of the day since when it is deprecated, in seconds since 1970.
    let sinceSeconds: Int
    /// From then on it may be refused; in seconds since 1970.
    let untilSeconds: Int

    /// How long something is answered after it was deprecated: ``untilSeconds`` follows from that.
    static let periodDays = 365

    /// The secret of a credential where a token would do: deprecated since there are tokens, 2026-11-24.
    static let credentialSecret = Deprecation(sinceSeconds: 1_795_478_400)

    /// - Parameter sinceSeconds: Midnight of a day, in seconds since 1970.
    init(sinceSeconds: Int) {
        self.sinceSeconds = sinceSeconds
        self.untilSeconds = sinceSeconds + Self.periodDays * 86_400
    }

    /// Of an answer to a request that uses it.
    var headers: [(name: String, value: String)] {
        [
            ("Deprecation", "@\(self.sinceSeconds)"), ("Sunset", Self.httpDate(self.untilSeconds)),
            ("Link", #"</openapi.json>; rel="deprecation"; type="application/json""#),
        ]
    }

    /// The day of ``untilSeconds``, such as 2027-11-24.
    var end: String { String(Self.date(self.untilSeconds).formatted(.iso8601).prefix(10)) }

    private static func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: TimeInterval(seconds)) }

    /// As in RFC 9110, section 5.6.7.
    static func httpDate(_ seconds: Int) -> String {
        var calendar = Calendar(identifier: .gregorian)
        guard let zone = TimeZone(secondsFromGMT: 0) else { return "" }
        calendar.timeZone = zone
        let parts = calendar.dateComponents(
            [.year, .month, .day, .weekday, .hour, .minute, .second], from: self.date(seconds))
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        func two(_ number: Int?) -> String { (number ?? 0) < 10 ? "0\(number ?? 0)" : "\(number ?? 0)" }
        return
            "\(days[(parts.weekday ?? 1) - 1]), \(two(parts.day)) \(months[(parts.month ?? 1) - 1]) \(parts.year ?? 0) "
            + "\(two(parts.hour)):\(two(parts.minute)):\(two(parts.second)) GMT"
    }
}

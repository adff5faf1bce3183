internal import Foundation
internal import HTTPServer

/// A feature that the gateway still supports, but not for ever: its dates are only here.
///
/// Deprecated features are added here, and answers to them say so with ``headers`` (RFC 9745, RFC 8594).
struct Deprecation: Sendable {
    /// Midnight (UTC) of the day since when it is deprecated, in seconds since 1970.
    let sinceSeconds: Int
    /// From then on it may be refused; in seconds since 1970.
    let untilSeconds: Int

    /// How long a feature is supported after it was deprecated: ``untilSeconds`` follows from that.
    static let periodDays = 365

    /// The secret of a credential, although a token would do: deprecated since tokens exist, 2026-11-24.
    static let credentialSecret = Deprecation(sinceSeconds: 1_795_478_400)

    /// - Parameter sinceSeconds: Midnight of a day, in seconds since 1970.
    init(sinceSeconds: Int) {
        self.sinceSeconds = sinceSeconds
        self.untilSeconds = sinceSeconds + Self.periodDays * 86_400
    }

    /// Of an answer to a request that uses it.
    var headers: [(name: String, value: String)] {
        [
            ("Deprecation", "@\(self.sinceSeconds)"), ("Sunset", HTTPSyntax.date(self.untilSeconds)),
            ("Link", #"</openapi.json>; rel="deprecation"; type="application/json""#),
        ]
    }

    /// The day of ``untilSeconds``, such as 2027-11-24.
    var end: String {
        String(Date(timeIntervalSince1970: TimeInterval(self.untilSeconds)).formatted(.iso8601).prefix(10))
    }
}

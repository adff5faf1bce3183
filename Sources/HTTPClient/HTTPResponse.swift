internal import CCurl
package import Foundation

/// The answer to a request: complete headers, and as much of the body as the limits let through.
package struct HTTPResponse: Sendable {
    /// A three-digit status code (RFC 9110 §15).
    package var status: Int
    /// Header lines in order of arrival, each ended by a line feed. Kept as text, since few callers read one.
    package var head: [UInt8]
    /// At most as long as ``HTTPRequest/Limits/bodyBytes``.
    package var body: [UInt8]
    /// Why the body is incomplete: too large, too slow or torn. `nil` if it is complete.
    ///
    /// Not thrown, since the status is known: a partner that answers 200 and then floods has received the callback, and
    /// another attempt would only send a duplicate.
    package var bodyFailure: HTTPError?
    /// From the start of the request to its end, in microseconds.
    package var microseconds: Int
    /// Whether an open connection was used again.
    var isConnectionReused: Bool
    /// When the connection was ready and the request went out.
    package var sent: ContinuousClock.Instant?

    /// The first value of a header.
    ///
    /// - Parameter name: In lower case.
    package func header(_ name: String) -> String? {
        self.head.split(separator: UInt8(ascii: "\n")).first { Self.name(of: $0, is: name) }.map { line in
            String(decoding: line.dropFirst(name.utf8.count + 1), as: UTF8.self).trimmingCharacters(in: .whitespaces)
        }
    }

    /// Whether a header line has a name, which is given in lower case.
    package static func name(of line: some Collection<UInt8>, is name: String) -> Bool {
        let count = name.utf8.count
        // Bit 5 makes ASCII letters lower case.
        return line.count > count && line.dropFirst(count).first == UInt8(ascii: ":")
            && zip(line, name.utf8).allSatisfy { $0 == $1 || (65...90).contains($0) && $0 | 0x20 == $1 }
    }

    /// Seconds from `Retry-After`: a number or a date (RFC 9110 section 10.2.3), never below 0.
    package func retryAfter(now: Date) -> Duration? {
        guard let value = self.header("retry-after") else { return nil }
        if let seconds = UInt32(value) { return .seconds(seconds) }
        let time = curl_getdate(value, nil)
        return time < 0 ? nil : .seconds(max(0, Double(time) - now.timeIntervalSince1970))
    }
}

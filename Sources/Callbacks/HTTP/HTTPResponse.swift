internal import CCurl
internal import Foundation

/// The answer to a request: complete headers, and as much of the body as the limits let through.
struct HTTPResponse: Sendable {
    var status: Int
    /// Header lines in order of arrival, names in lower case.
    var headers: [HTTPRequest.Header]
    var body: [UInt8]
    /// What ended the body early: too large, too slow, torn. `nil` if the body is complete.
    ///
    /// It is no thrown error, because the status is known: a partner that answers 200 and then floods has received the
    /// callback, and sending it again would only add a duplicate.
    var bodyFailure: HTTPError?
    /// From the start of the request to its end, in microseconds.
    var microseconds: Int
    /// Whether an open connection was used again.
    var isConnectionReused: Bool
    /// When the connection was ready and the request went out.
    var sent: ContinuousClock.Instant?

    /// The first value of a header.
    func header(_ name: String) -> String? {
        self.headers.first { $0.name == name }?.value
    }

    /// Seconds that `Retry-After` asks for: a number or a date (RFC 9110 section 10.2.3), never below 0.
    func retryAfter(now: Date) -> Double? {
        guard let value = self.header("retry-after") else { return nil }
        if let seconds = UInt32(value) { return Double(seconds) }
        let time = curl_getdate(value, nil)
        return time < 0 ? nil : max(0, Double(time) - now.timeIntervalSince1970)
    }
}

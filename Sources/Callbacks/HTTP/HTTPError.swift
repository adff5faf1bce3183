/// Why a request got no answer.
struct HTTPError: Error, Sendable, Equatable {
    enum Code: String, Sendable {
        /// The URL or a header is not acceptable; nothing was sent.
        case requestInvalid = "request invalid"
        /// The server's address is one that the egress policy refuses; nothing was sent.
        case egressRefused = "address refused by the egress policy"
        case nameNotResolved = "name not resolved"
        case connectionFailed = "connection failed"
        case tlsFailed = "TLS failed"
        case timedOut = "timed out"
        /// The body or the headers exceed the request's limits.
        case responseTooLarge = "response too large"
        /// Not HTTP, or torn.
        case responseBroken = "response broken"
        /// Ours, not the server's: no memory, no file descriptor, no route, unreadable certificate store.
        case localFault = "fault on our side"
        case cancelled = "cancelled"
    }

    var code: Code
    /// A library's own words or a limit; no URL, no data. May be empty.
    var detail: String

    init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }
}

extension HTTPError: CustomStringConvertible {
    var description: String {
        self.detail.isEmpty ? self.code.rawValue : "\(self.code.rawValue): \(self.detail)"
    }
}

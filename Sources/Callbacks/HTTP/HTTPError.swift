internal import InspectCore

/// Why a request got no answer.
struct HTTPError: Error, Sendable, Equatable {
    enum Code: String, Sendable {
        /// The URL or a header is not acceptable; nothing was sent.
        case requestInvalid = "request invalid"
        /// The server's address is one that the egress policy refuses; nothing was sent.
        case egressRefused = "address refused by the egress policy"
        case nameNotResolved = "name not resolved"
        /// Whether the name exists is not known; nothing was sent.
        case resolverSilent = "the resolver does not answer"
        case connectionFailed = "connection failed"
        case tlsFailed = "TLS failed"
        /// Not of a known authority, not of this host, or not valid now.
        case certificateInvalid = "certificate refused"
        case pinMismatch = "public key is not pinned"
        case timedOut = "timed out"
        /// The body or the headers exceed the request's limits.
        case responseTooLarge = "response too large"
        /// Not HTTP, or torn.
        case responseBroken = "response broken"
        /// Ours, not the server's: no memory, no file descriptor, no route, unreadable certificate store.
        case localFault = "fault on our side"
        case cancelled = "cancelled"
        /// The authorization provider gave no access token.
        case authorizationFailed = "no access token"
        /// The authorization provider does not know the client.
        case clientInvalid = "client not accepted by the authorization provider"
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

extension HTTPError.Code {
    /// The row of the error table under which it is recorded.
    var errorCode: ErrorCode {
        switch self {
        case .requestInvalid: .requestInvalid
        case .egressRefused: .egressRefused
        case .nameNotResolved, .resolverSilent: .nameNotResolved
        case .connectionFailed: .connectionFailed
        case .tlsFailed: .tlsFailed
        case .certificateInvalid: .certificateInvalid
        case .pinMismatch: .pinMismatch
        case .timedOut: .timedOut
        case .responseTooLarge: .responseTooLarge
        case .responseBroken: .responseBroken
        case .localFault: .localFault
        case .cancelled: .attemptInterrupted
        case .authorizationFailed: .authorizationFailed
        case .clientInvalid: .clientIDInvalid
        }
    }
}

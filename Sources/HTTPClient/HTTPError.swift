package import InspectCore

/// Why a request got no answer.
package struct HTTPError: Error, Sendable, Equatable {
    /// What went wrong, classified by what the caller can do about it.
    package enum Code: Sendable {
        /// The URL or a header is not acceptable; nothing was sent.
        case requestInvalid
        /// The egress policy refuses the server's address; nothing was sent.
        case egressRefused
        case nameNotResolved
        /// It is unknown whether the name exists; nothing was sent.
        case resolverSilent
        case connectionFailed
        case tlsFailed
        /// The certificate's authority is unknown, its name is not the host's, or it is not valid now.
        case certificateInvalid
        case pinMismatch
        case timedOut
        /// The body or the headers exceed the request's limits.
        case responseTooLarge
        /// Not HTTP, or cut off.
        case responseBroken
        /// A fault on our side: no memory, no file descriptor, no route, unreadable certificate store.
        case localFault
        case cancelled
        /// The authorization provider gave no access token.
        case authorizationFailed
        /// The authorization provider does not know the client.
        case clientInvalid
    }

    /// Callers decide on a retry by this alone.
    package var code: Code
    /// A library's message or a limit; no URL, no data. May be empty.
    package var detail: String

    package init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }
}

extension HTTPError: CustomStringConvertible {
    /// The error as the table of codes describes it.
    package var description: String {
        let details = [self.code == .resolverSilent ? "the resolver does not answer" : "", self.detail]
        return InspectError(self.code.errorCode, details.filter { !$0.isEmpty }.joined(separator: ": ")).text
    }
}

extension HTTPError.Code {
    /// The code under which it is recorded.
    package var errorCode: ErrorCode {
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

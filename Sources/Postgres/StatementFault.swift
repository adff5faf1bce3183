internal import InspectCore

/// Why a request was answered with 500 or 503.
package enum StatementFault: Sendable {
    case databaseUnavailable
    /// An SQLSTATE, a ``PostgresError/Code``, or `unexpected`: the database's messages may contain values.
    case failed(String)

    /// - Returns: `nil` for a refusal.
    package init?(_ error: any Error) {
        switch error {
        case let error as InspectError where error.code == .databaseUnavailable: self = .databaseUnavailable
        case is InspectError: return nil
        case let error as PostgresError: self = .failed(error.sqlState ?? error.code.rawValue)
        default: self = .failed("unexpected")
        }
    }
}

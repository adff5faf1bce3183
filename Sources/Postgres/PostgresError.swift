package import InspectCore

/// Why a call on a connection failed.
package struct PostgresError: Error, Sendable {
    /// What went wrong; the raw values appear in logs.
    package enum Code: String, Sendable {
        /// No connection could be made.
        case connectionFailed = "connection failed"
        /// The connection broke, or was closed, before the answer was complete: it is unknown whether the server executed the
        /// statement.
        case connectionLost = "connection lost"
        /// The answer did not come in time; the connection is closed, and the outcome is unknown.
        case timeout = "timed out"
        /// The server refused the statement; ``PostgresError/sqlState`` says why.
        case server = "server error"
        /// A parameter cannot be sent, for example a text with U+0000.
        case invalidParameter = "invalid parameter"
        /// A value is not of the type that the caller asked for.
        case decoding = "unexpected value"
        /// The migrations in the database and in the folder do not agree.
        case migration = "migrations differ"
        /// The database has the schema of 0.1.0, which no script can migrate.
        case firstVersion = "schema of 0.1.0"
        /// Roles that the schema grants rights to do not exist.
        case roleMissing = "role missing"
        /// Workers of another version are alive, and the schema would change under them.
        case otherWorkers = "other workers"
    }

    /// Whether the call may be repeated.
    package var code: Code
    /// SQLSTATE of a server's error (PostgreSQL, "Error Codes").
    package var sqlState: String?
    /// The primary message.
    package var message: String
    /// The constraint that was violated.
    package var constraint: String?
    /// What is wrong, from `insp.refuse`. PostgreSQL's own details are dropped: they contain values of rows.
    package var detail: String?
    /// What is allowed, or what to do, from `insp.refuse`.
    package var hint: String?
    /// The member of a request that is wrong, from `insp.refuse`.
    package var column: String?

    package init(
        _ code: Code, sqlState: String? = nil, _ message: String, constraint: String? = nil, detail: String? = nil,
        hint: String? = nil, column: String? = nil
    ) {
        self.code = code
        self.sqlState = sqlState
        self.message = message
        self.constraint = constraint
        self.detail = detail
        self.hint = hint
        self.column = column
    }

    /// Whether a SQLSTATE is in the class of the schema's own errors.
    static func isRefusal(_ state: String) -> Bool { state.hasPrefix("IN") }

    /// Whether a prepared statement is missing or exists already in the session that a pooler lent.
    var isLostPreparation: Bool { self.sqlState == "26000" || self.sqlState == "42P05" }

    /// Whether the server gave up waiting for a lock (55P03): another transaction holds a row or a table that the statement needs.
    package var isLockTimeout: Bool { self.sqlState == "55P03" }

    /// Whether the login lacks a right (42501).
    package var isForbidden: Bool { self.sqlState == "42501" }

    /// Whether a row with the same unique key exists (23505).
    package var isUniqueViolation: Bool { self.sqlState == "23505" }

    /// Whether the server's error may be temporary: the rule of `insp.is_passing`. Any other SQLSTATE would recur at each try.
    package var isPassing: Bool {
        guard let state = self.sqlState else { return false }
        return ["08", "25", "40", "42", "53", "55", "57", "58"].contains(state.prefix(2)) || state == "XX000"
    }

    /// Whether the same statement may succeed on a new connection or a second try: lost connections, shutdowns,
    /// serialization failures, deadlocks, lock and statement time-outs, and lack of resources.
    package var isTransient: Bool {
        switch self.code {
        case .connectionFailed, .connectionLost, .timeout: return true
        case .invalidParameter, .decoding, .migration, .firstVersion, .roleMissing, .otherWorkers: return false
        case .server:
            guard let state = self.sqlState else { return false }
            if self.isLostPreparation { return true }
            return ["08", "40", "53", "55", "57", "58"].contains(String(state.prefix(2)))
        }
    }
}

extension PostgresError: CustomStringConvertible {
    package var description: String {
        (self.sqlState.map { "\(self.code.rawValue) \($0): " } ?? "\(self.code.rawValue): ") + self.message
            + (self.detail.map { " (\($0))" } ?? "") + (self.hint.map { ". \($0)" } ?? "")
    }
}

extension PostgresError {
    /// The schema's own error that the database raised (`insp.refuse`).
    package var refusal: InspectError? {
        self.sqlState.flatMap(ErrorCode.init(sqlState:)).map {
            InspectError($0, self.detail ?? "", hint: self.hint, field: self.column)
        }
    }

    /// For logs: classes 22 and 23 (data and constraint errors) may quote values.
    package var reason: String {
        guard let state = self.sqlState else { return "\(self.code.rawValue): \(self.message)" }
        if state.hasPrefix("22") || state.hasPrefix("23") { return "SQLSTATE \(state)" }
        return "\(state) \(self.refusal?.description ?? self.message)"
    }

    /// The caller's error: an ``InspectError`` if there is one for it.
    package var meaning: any Error {
        if let refusal = self.refusal { return refusal }
        switch self.sqlState {
        // The payload is not JSON, or contains \u0000 or half a surrogate pair.
        case "22P02", "22P05", "22021": return InspectError(.payloadInvalid, "not JSON that can be stored")
        case _ where self.isTransient: return InspectError(.databaseUnavailable, self.reason)
        default: return self
        }
    }
}

internal import InspectCore
package import Postgres

/// How far a main database has come (`insp.custody_mark`).
struct MainMark: Sendable, Equatable {
    /// The database's history: a database that was restored, promoted or copied has a different one.
    var history: String
    /// The highest job number that was issued.
    var job: Int64

    static func read(on connection: PostgresConnection) async throws -> MainMark {
        let row = try await connection.query("SELECT history, job FROM insp.custody_mark()").single()
        return MainMark(history: try row.string(0), job: try row.int(1))
    }
}

/// The key store's knowledge of its main database: a sweep with an older state or a copy would destroy the keys of all jobs that
/// it lacks.
extension KeyStore {
    private func noted() async throws(InspectError) -> MainMark? {
        try await self.run { connection in
            let row = try await connection.query("SELECT history, job FROM insp.main_mark()").single()
            guard let history = try row.optionalString(0), let job = try row.optionalInt(1) else { return nil }
            return MainMark(history: history, job: job)
        }
    }

    private func note(_ mark: MainMark) async throws(InspectError) {
        try await self.run { connection in
            _ = try await connection.query("SELECT insp.note_main($1, $2)", [.text(mark.history), .int(mark.job)])
        }
    }

    /// Notes how far the main database has come, if nothing is noted yet. Needs the role `keys_locksmith`.
    package func noteFirst(_ main: PostgresConnection) async throws {
        if try await self.noted() == nil { try await self.note(try await MainMark.read(on: main)) }
    }

    /// Notes how far the main database has come, or that it was set back. Needs the role `keys_eraser`.
    package func follow(_ main: PostgresConnection) async throws {
        // In this order: the value read later is never lower, unless the database was set back.
        guard let noted = try await self.noted() else { return }
        let mark = try await MainMark.read(on: main)
        guard mark.history == noted.history, mark.job != noted.job else { return }
        try await self.run { connection in
            _ = try await connection.query(
                "SELECT insp.follow_main($1, $2, $3)", [.text(mark.history), .int(mark.job), .int(noted.job)])
        }
    }

    /// Verifies that the main database lacks no job that it had when its state was last noted, and notes its state. Needs the role
    /// `keys_sweeper`.
    ///
    /// - Parameters:
    ///   - acceptsOlder: Whether it may be an older one or a copy: it is noted nevertheless.
    ///   - record: Called before it is noted, with whether it is older or a different one.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMismatch`` if it may not be older and is.
    package func checkMain(
        _ main: PostgresConnection, acceptsOlder: Bool, record: (_ isOlder: Bool) async throws -> Void
    ) async throws {
        let noted = try await self.noted()
        let mark = try await MainMark.read(on: main)
        var fault: String?
        if let noted, noted.history != mark.history {
            fault = "the main database was restored, promoted or copied since the key store last saw it"
        } else if let noted, mark.job < noted.job {
            fault = "the main database lacks jobs that it had when the key store last saw it"
        }
        if let fault, !acceptsOlder {
            throw InspectError(
                .keyMismatch, fault,
                hint:
                    "A sweep would destroy the keys of jobs that it lacks. If they are lost for good: --accept-older (deploy/SEALING.md, \"Backups\")."
            )
        }
        try await record(fault != nil)
        try await self.note(mark)
    }
}

import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// One actor's connection, made when it is needed; it may hold a transaction open over other actors' actions.
struct SimulatedSession {
    /// What the database says of text that is not JSON.
    static let notStorable = "22P02"

    /// ROW_LOCKED: what an erasure says that waited for too long.
    static let rowLocked = "IN137"

    /// Values that cannot be stored are part of what it writes.
    let mayBeRefused: Bool
    private(set) var connection: PostgresConnection?
    private(set) var isOpen = false

    init(mayBeRefused: Bool = false) { self.mayBeRefused = mayBeRefused }

    /// A statement has no answer if another actor holds a lock, the connection was lost, or a value cannot be stored.
    enum Outcome {
        case rows([[PostgresRow]])
        case blocked(PostgresError)
    }

    private mutating func connected(_ world: SimulatedDatabase) async throws -> PostgresConnection {
        if let connection, await connection.isOpen { return connection }
        let connection = try await world.connection()
        self.connection = connection
        self.isOpen = false
        return connection
    }

    /// Runs statements as one transaction, or within the one that is open.
    mutating func run(_ world: SimulatedDatabase, _ statements: PostgresStatement...) async throws -> Outcome {
        try await self.run(world, statements)
    }

    mutating func run(
        _ world: SimulatedDatabase, _ statements: [PostgresStatement], leaveOpen: Bool = false
    ) async throws -> Outcome {
        let connection = try await self.connected(world)
        if leaveOpen {
            try await connection.execute("BEGIN")
            self.isOpen = true
        }
        do {
            return .rows(try await connection.pipeline(statements))
        } catch let error as PostgresError
            where error.sqlState != nil
            && (error.isTransient || error.sqlState == Self.rowLocked
                || self.mayBeRefused && error.sqlState == Self.notStorable)
        {
            if self.isOpen { try await self.end(commit: false) }
            return .blocked(error)
        } catch let error as PostgresError where error.code == .connectionLost {
            // Whether it was done is not known, which is the same to everyone who tries again.
            await connection.close()
            self.connection = nil
            self.isOpen = false
            return .blocked(error)
        }
    }

    /// Ends the open transaction.
    mutating func end(commit: Bool) async throws {
        guard self.isOpen, let connection else { return }
        self.isOpen = false
        try await connection.execute(commit ? "COMMIT" : "ROLLBACK")
    }

    /// The connection breaks; the server rolls back what is open.
    mutating func drop(_ world: SimulatedDatabase) async {
        guard let connection = self.connection else { return }
        // The server would take a moment to notice a closed socket, and nobody else may find its locks until then. The
        // connection itself goes on to another actor: one that has its plans is ten times faster than a new one.
        if self.isOpen { try? await connection.execute("ROLLBACK") }
        world.release(connection)
        self.connection = nil
        self.isOpen = false
    }
}

/// Duties of maintenance, as the worker calls them.
enum Duty: CaseIterable {
    case promote, rescue, orphans, sweep, expire

    var statement: PostgresStatement {
        switch self {
        case .promote: PostgresStatement("SELECT insp.promote()")
        case .rescue:
            PostgresStatement(
                "SELECT * FROM insp.rescue(make_interval(secs => $1), $2, $3, p_elapsed => '0.5 s', p_thorough => false)",
                [15.0, 8, 3])
        case .orphans:
            PostgresStatement(
                "SELECT * FROM insp.rescue(make_interval(secs => $1), $2, $3, p_elapsed => '0.5 s', p_thorough => true)",
                [15.0, 8, 3])
        case .sweep: PostgresStatement("SELECT insp.sweep()")
        case .expire: PostgresStatement("SELECT insp.expire()")
        }
    }
}

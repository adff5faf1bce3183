package import Custody
internal import Foundation
internal import InspectCore
package import ObjectStore
internal import Postgres

/// The console's calls to the database. Each passes the digest of a person's cookie, which the database checks again.
package final class ConsoleStore: Sendable {
    private let pool: ConnectionPool
    /// `nil`: nothing is sealed.
    let keys: KeyStore?
    /// `nil`: parts are in the database.
    let objects: ObjectStore?
    private let report: @Sendable (ConsoleFault) -> Void

    /// - Parameters:
    ///   - databaseURL: A libpq connection string or URL. Never logged.
    ///   - keys: Opens results and parts, and seals notes.
    ///   - report: Called with the reason why a request is answered with 500 or 503.
    package init(
        databaseURL: String, keys: KeyStore?, objects: ObjectStore? = nil, connections: Int,
        report: @escaping @Sendable (ConsoleFault) -> Void = { _ in }
    ) {
        var options = ConnectionOptions(name: "inspectd console")
        options.timeout = .seconds(30)
        options.connectTimeout = .seconds(5)
        self.pool = ConnectionPool(databaseURL, options: options, size: connections, queueLimit: 128)
        self.keys = keys
        self.objects = objects
        self.report = report
    }

    /// Whether the last statement reached the database.
    package var isConnected: Bool { self.pool.isConnected }

    package func close() async { await self.pool.close() }

    // MARK: Sessions

    /// Begins a session.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/scopeMissing`` for a person without a role, like every call here; any other error
    ///   is an INTERNAL_ERROR.
    func signIn(_ secret: ConsoleSecret, name: String, method: String, grants: [String]) async throws {
        _ = try await self.ask(
            "SELECT insp.console_sign_in($1, $2, $3, $4)",
            [.bytes(secret.sha256), .text(name), .text(method), .texts(grants)])
    }

    func signOut(_ session: ConsoleSession) async throws {
        _ = try await self.ask("SELECT insp.console_sign_out($1)", [session.key])
    }

    /// - Parameter isUse: Whether a person calls; a page that keeps itself up to date does not prolong the session.
    /// - Throws: ``InspectError`` with ``ErrorCode/unauthenticated``.
    func session(_ secret: ConsoleSecret, isUse: Bool = true) async throws -> ConsoleSession {
        let row = try await self.ask(
            "SELECT name, roles, partners, all_roles FROM insp.console_session_of($1, $2)",
            [.bytes(secret.sha256), .bool(isUse)]
        ).single()
        return ConsoleSession(
            secret: secret, name: try row.string("name"),
            roles: Set(try row.textArray("roles").compactMap(ConsoleRole.init)),
            partners: try row.textArray("partners"),
            rolesForAll: Set(try row.textArray("all_roles").compactMap(ConsoleRole.init)))
    }

    func ask(_ sql: String, _ parameters: [PostgresValue]) async throws -> [PostgresRow] {
        do {
            return try await self.pool.run { try await $0.query(sql, parameters) }
        } catch {
            switch error {
            case let error as InspectError where error.code == .databaseUnavailable: self.report(.databaseUnavailable)
            case is InspectError: break
            default:
                // Codes alone: the database's messages may contain values.
                let failure = error as? PostgresError
                self.report(.failed(failure.map { $0.sqlState ?? $0.code.rawValue } ?? "unexpected"))
            }
            throw error
        }
    }
}

/// Why a request was answered with 500 or 503, or a sign-in failed.
package enum ConsoleFault: Sendable {
    case databaseUnavailable
    /// An SQLSTATE, or `unexpected`.
    case failed(String)
    case provider(String)
}

/// What a person may do, for one partner or for all.
package enum ConsoleRole: String, Sendable, CaseIterable {
    case reviewer = "reviewer"
    case `operator` = "operator"
    case auditor = "auditor"
}

/// Who is signed in.
struct ConsoleSession: Sendable {
    var secret: ConsoleSecret
    var name: String
    /// For at least one partner; the database checks which.
    var roles: Set<ConsoleRole>
    /// Partners with a role, for filters.
    var partners: [String]
    /// Those for every partner.
    var rolesForAll: Set<ConsoleRole> = []

    /// Whether the person sees every partner as one of these.
    func isForAll(as roles: Set<ConsoleRole>) -> Bool { !self.rolesForAll.isDisjoint(with: roles) }

    /// The first argument of every call.
    var key: PostgresValue { .bytes(self.secret.sha256) }
}

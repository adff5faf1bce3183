package import Custody
internal import Foundation
internal import InspectCore
package import ObjectStore
package import Postgres
internal import Synchronization

/// The console's calls to the database. Each passes the digest of a person's cookie, which the database checks again.
package final class ConsoleStore: Sendable {
    private let pages: ConnectionPool
    /// Batches of tasks, three at once, must not delay pages.
    let tasks: ConnectionPool
    /// Nor must counts of whole selections, of which each person has one at a time.
    let counts: ConnectionPool
    private let isReached = Mutex(true)
    /// `nil`: nothing is sealed.
    let keys: KeyStore?
    /// `nil`: parts are in the database.
    let objects: ObjectStore?
    private let report: @Sendable (StatementFault) -> Void

    /// - Parameters:
    ///   - databaseURL: A libpq connection string or URL. Never logged.
    ///   - keys: Opens results and parts, and seals notes.
    ///   - connections: For pages; five more are for tasks and counts.
    ///   - report: Called with the reason why a request is answered with 500 or 503.
    package init(
        databaseURL: String, keys: KeyStore?, objects: ObjectStore? = nil, connections: Int,
        report: @escaping @Sendable (StatementFault) -> Void = { _ in }
    ) {
        var options = ConnectionOptions(name: "inspectd console")
        options.timeout = .seconds(30)
        options.connectTimeout = .seconds(5)
        self.pages = ConnectionPool(databaseURL, options: options, size: connections, queueLimit: 128)
        self.tasks = ConnectionPool(databaseURL, options: options, size: 3, queueLimit: 128)
        self.counts = ConnectionPool(databaseURL, options: options, size: 2, queueLimit: 16)
        self.keys = keys
        self.objects = objects
        self.report = report
    }

    /// Whether the last statement reached the database.
    package var isConnected: Bool { self.isReached.withLock { $0 } }

    /// Closes all connections.
    package func close() async {
        for pool in [self.pages, self.tasks, self.counts] { await pool.close() }
    }

    // MARK: Sessions

    /// Begins a session of a provider's person.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/scopeMissing`` for a person without a role, like every call here; any other error
    ///   is an INTERNAL_ERROR.
    func signIn(_ secret: ConsoleSecret, _ person: OpenIDPerson) async throws {
        _ = try await self.ask(
            "SELECT insp.console_sign_in($1, $2, 'oidc', $3, $4, $5)",
            [
                .bytes(secret.sha256), .text(person.name), .texts(person.grants), .text(person.issuer),
                .text(person.subject),
            ])
    }

    /// Begins a session for the person who used a link.
    func signIn(_ secret: ConsoleSecret, name: String, grants: [String]) async throws {
        _ = try await self.ask(
            "SELECT insp.console_sign_in($1, $2, 'link', $3)", [.bytes(secret.sha256), .text(name), .texts(grants)])
    }

    func signOut(_ session: ConsoleSession) async throws {
        _ = try await self.ask("SELECT insp.console_sign_out($1)", [session.key])
    }

    /// - Parameter isUse: Whether a person calls; a page that keeps itself up to date does not extend the session.
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

    /// - Parameters:
    ///   - pool: `nil`: that of pages.
    ///   - failure: Called with the SQLSTATE if the statement fails; 57014 also if it is not answered in time.
    func ask(
        _ sql: String, _ parameters: [PostgresValue], on pool: ConnectionPool? = nil,
        failure: @Sendable (String) -> Void = { _ in }
    ) async throws -> [PostgresRow] {
        do {
            let rows = try await (pool ?? self.pages).run { connection in
                do { return try await connection.query(sql, parameters) } catch let error as PostgresError {
                    if let state = error.code == .timeout ? "57014" : error.sqlState { failure(state) }
                    throw error
                }
            }
            self.isReached.withLock { $0 = true }
            return rows
        } catch {
            if let fault = StatementFault(error) {
                if case .databaseUnavailable = fault { self.isReached.withLock { $0 = false } }
                self.report(fault)
            }
            throw error
        }
    }
}

/// A person's roles, for one partner or for all.
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

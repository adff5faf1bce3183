public import Foundation
public import InspectCore
internal import Postgres
internal import Synchronization

/// What the HTTP gateway calls in the database, over a few connections that its requests share.
public final class GatewayClient: Sendable {
    /// A credential, as the database holds it.
    public struct Credential: Sendable {
        public var id: Int64
        public var partner: String
        public var scopes: [String]
        public var ratePerSecond: Double?
        public var rateBurst: Int?
    }

    /// A job that was accepted: the id that callers know, and the internal number.
    public struct Created: Sendable {
        public var id: String
        public var number: Int64
    }

    /// A job as its partner sees it.
    public struct Answer: Sendable {
        public var number: Int64
        public var isFinished: Bool
        public var document: Data
    }

    /// Requests that may wait for a connection; more are refused at once.
    private static let queueLimit = 512
    private let pool: ConnectionPool
    /// Waits are looked at on a connection of their own, which large parts on their way do not hold up.
    private let looker: ConnectionPool

    /// - Parameters:
    ///   - databaseURL: A libpq connection string or URL. Never logged.
    ///   - connections: Requests that the database works on at once.
    public init(databaseURL: String, connections: Int) {
        self.pool = ConnectionPool(databaseURL, name: "gateway", size: connections, queueLimit: Self.queueLimit)
        self.looker = ConnectionPool(databaseURL, name: "gateway waits", size: 1, queueLimit: 2)
    }

    /// Whether the last statement found the database there; true before the first.
    public var isConnected: Bool { self.pool.isConnected }

    /// A credential that is valid now, if its secret has this digest.
    public func credential(keyID: String, secretSHA256: Data) async throws -> Credential? {
        let rows = try await self.pool.run { connection in
            try await connection.query(
                "SELECT * FROM insp.gateway_credential($1, $2)", [.text(keyID), .bytes(secretSHA256)])
        }
        return try rows.first.map { row in
            Credential(
                id: try row.int("id"), partner: try row.string("partner"), scopes: try row.textArray("scopes"),
                ratePerSecond: try row.optionalDouble("rate_per_second"),
                rateBurst: try row.optionalInt("rate_burst").map(Int.init))
        }
    }

    /// `insp.enqueue` for the partner of a credential, whose secret has this digest.
    ///
    /// - Throws: ``InspectError`` with the code that the database refused the request with.
    public func create(
        credential: Int64, secretSHA256: Data, scope: String, payload: Data, parts: [PartKind: [Data]],
        traceparent: String?
    ) async throws -> Created {
        func single(_ kind: PartKind) -> PostgresValue { .optional(parts[kind]?.first) }
        let parameters: [PostgresValue] = [
            .int(credential), .bytes(secretSHA256), .text(scope), .text(try JobClient.text(of: payload)),
            .optional(traceparent),
            single(.front), single(.back), single(.face), parts[.frames].map { .bytesArray($0) } ?? .null,
            single(.dg1), single(.dg2), single(.sod), single(.sessionBlob),
        ]
        let row = try await self.pool.run { connection in
            try await connection.query(
                """
                SELECT id, job FROM insp.gateway_create($1, $2, $3, $4, $5, front => $6, back => $7, face => $8,
                    frames => $9, dg1 => $10, dg2 => $11, sod => $12, session_blob => $13)
                """, parameters)[0]
        }
        return Created(id: try row.string("id"), number: try row.int("job"))
    }

    /// A job's result document, if it is the credential's partner's.
    public func result(credential: Int64, secretSHA256: Data, scope: String, id: String) async throws -> Answer {
        let row = try await self.pool.run { connection in
            try await connection.query(
                "SELECT job, finished, document FROM insp.gateway_result($1, $2, $3, $4)",
                [.int(credential), .bytes(secretSHA256), .text(scope), .text(id)])[0]
        }
        return Answer(
            number: try row.int("job"), isFinished: try row.bool("finished"), document: try row.data("document"))
    }

    /// Which of these jobs are finished, or gone.
    public func finished(_ numbers: [Int64]) async throws -> [Int64] {
        try await self.looker.run { connection in
            try await connection.query("SELECT insp.gateway_finished($1)", [.intArray(numbers)]).map { try $0.int(0) }
        }
    }

    public func close() async {
        await self.pool.close()
        await self.looker.close()
    }
}

/// A few connections that many callers share, each for one statement at a time.
///
/// While the database does not answer, callers are refused at once instead of each waiting for a time-out of its own.
final class ConnectionPool: Sendable {
    /// After a failure to connect nobody tries again for so long.
    private static let breather = Duration.seconds(1)

    private struct State {
        var idle: [ReconnectingConnection]
        var waiting: [CheckedContinuation<ReconnectingConnection?, Never>] = []
        var closedUntil = ContinuousClock.now
        var isConnected = true
    }

    private let state: Mutex<State>
    private let all: [ReconnectingConnection]
    private let queueLimit: Int

    init(_ url: String, name: String, size: Int, queueLimit: Int) {
        var configuration = JobWorkerConfiguration(databaseURL: url, host: "", version: "", slots: 1)
        // A part of 20 MB takes a moment, and the client waits.
        configuration.connection.timeout = .seconds(30)
        configuration.connection.connectTimeout = .seconds(5)
        self.all = (0..<max(1, size)).map { _ in ReconnectingConnection(configuration, role: name) }
        self.state = Mutex(State(idle: self.all))
        self.queueLimit = queueLimit
    }

    var isConnected: Bool { self.state.withLock { $0.isConnected } }

    /// - Throws: ``InspectError``: a refusal of the database, ``ErrorCode/databaseUnavailable``, or
    ///   ``ErrorCode/gatewayOverloaded`` if too many wait already.
    func run<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        guard let lent = await self.lend() else { throw InspectError(.gatewayOverloaded) }
        defer { self.giveBack(lent) }
        if self.state.withLock({ $0.closedUntil > .now }) { throw InspectError(.databaseUnavailable) }
        do {
            let connection: PostgresConnection
            do { connection = try await lent.open() } catch {
                self.state.withLock { $0.closedUntil = .now + Self.breather }
                throw error
            }
            let result = try await body(connection)
            self.state.withLock { $0.isConnected = true }
            return result
        } catch let error as PostgresError {
            if error.isTransient { self.state.withLock { $0.isConnected = false } }
            throw JobClient.translate(error)
        }
    }

    func close() async {
        for connection in self.all { await connection.close() }
    }

    private func lend() async -> ReconnectingConnection? {
        await withCheckedContinuation { continuation in
            let (ready, lent) = self.state.withLock { state -> (Bool, ReconnectingConnection?) in
                if let connection = state.idle.popLast() { return (true, connection) }
                if state.waiting.count >= self.queueLimit { return (true, nil) }
                state.waiting.append(continuation)
                return (false, nil)
            }
            if ready { continuation.resume(returning: lent) }
        }
    }

    private func giveBack(_ connection: ReconnectingConnection) {
        let next = self.state.withLock { state -> CheckedContinuation<ReconnectingConnection?, Never>? in
            if state.waiting.isEmpty {
                state.idle.append(connection)
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: connection)
    }
}

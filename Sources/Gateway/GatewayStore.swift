package import Foundation
internal import InspectCore
internal import Postgres

/// What the gateway calls in the database, over a few connections that its requests share. Every call shows the digest of the
/// credential's secret, and is checked again.
package final class GatewayStore: Sendable {
    /// Requests that may wait for a connection; more are refused at once.
    private static let queueLimit = 512
    private let pool: ConnectionPool
    /// Waits are looked at on a connection of their own, which large parts on their way do not hold up.
    private let looker: ConnectionPool
    private let report: @Sendable (GatewayFault) -> Void

    /// - Parameters:
    ///   - databaseURL: A libpq connection string or URL. Never logged.
    ///   - connections: Requests that the database works on at once.
    ///   - report: Told why a request will be answered with 500 or 503.
    package init(
        databaseURL: String, connections: Int, report: @escaping @Sendable (GatewayFault) -> Void = { _ in }
    ) {
        func pool(_ name: String, _ size: Int, _ queueLimit: Int) -> ConnectionPool {
            // A part of 20 MB takes a moment, and the client waits.
            var options = ConnectionOptions(name: "inspectd \(name)")
            options.timeout = .seconds(30)
            options.connectTimeout = .seconds(5)
            return ConnectionPool(databaseURL, options: options, size: size, queueLimit: queueLimit)
        }
        self.pool = pool("gateway", connections, Self.queueLimit)
        self.looker = pool("gateway waits", 1, 2)
        self.report = report
    }

    /// Whether the last statement found the database there; true before the first.
    package var isConnected: Bool { self.pool.isConnected }

    /// A credential that is valid now, if its secret has this SHA-256; nobody is told another's.
    ///
    /// - Throws: ``InspectError``, as every call here; anything else is an INTERNAL_ERROR.
    package func credential(keyID: String, secretSHA256: Data) async throws -> GatewayCredential? {
        try await self.ask(
            "SELECT * FROM insp.gateway_credential($1, $2)", [.text(keyID), .bytes(secretSHA256)]
        ).first.map { row in
            GatewayCredential(
                id: try row.int("id"), partner: try row.string("partner"), secretSHA256: secretSHA256,
                scopes: Set(try row.textArray("scopes")), ratePerSecond: try row.optionalDouble("rate_per_second"),
                rateBurst: try row.optionalInt("rate_burst").map(Int.init))
        }
    }

    /// Accepts a job.
    ///
    /// - Parameter payload: A JSON object as `insp.enqueue` takes it, without partner and lane.
    func create(
        _ credential: GatewayCredential, _ scope: GatewayCredential.Scope, payload: Data, parts: [PartKind: [Data]],
        traceparent: String?
    ) async throws -> CreatedJob {
        let row = try await self.ask(
            "SELECT id, job FROM insp.gateway_create($1, $2, $3, $4, $5, $6, $7)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .text(scope.rawValue),
                .text(try PostgresValue.json(payload)), .optional(traceparent),
                .texts(parts.flatMap { kind, all in all.map { _ in kind.rawValue } }), .byteas(parts.flatMap(\.value)),
            ])[0]
        return CreatedJob(id: try row.string("id"), number: try row.int("job"))
    }

    /// How far a job is, with its results once it is finished, if it is the credential's partner's.
    func result(
        _ credential: GatewayCredential, _ scope: GatewayCredential.Scope, id: String
    ) async throws -> JobAnswer {
        let row = try await self.ask(
            "SELECT job, finished, document FROM insp.gateway_result($1, $2, $3, $4)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(scope.rawValue), .text(id)])[0]
        return JobAnswer(
            number: try row.int("job"), isFinished: try row.bool("finished"), document: try row.data("document"))
    }

    /// Which of these jobs are finished, or gone.
    package func finished(_ numbers: [Int64]) async throws -> [Int64] {
        try await self.ask("SELECT insp.gateway_finished($1)", [.intArray(numbers)], on: self.looker)
            .map { try $0.int(0) }
    }

    package func close() async {
        await self.pool.close()
        await self.looker.close()
    }

    private func ask(
        _ sql: String, _ parameters: [PostgresValue], on pool: ConnectionPool? = nil
    ) async throws -> [PostgresRow] {
        do {
            return try await (pool ?? self.pool).run { try await $0.query(sql, parameters) }
        } catch {
            switch error {
            case let error as InspectError where error.code == .databaseUnavailable: self.report(.databaseUnavailable)
            case is InspectError: break
            default:
                // Codes alone: the database's own words may hold a value.
                let failure = error as? PostgresError
                self.report(.failed(failure.map { $0.sqlState ?? $0.code.rawValue } ?? "unexpected"))
            }
            throw error
        }
    }
}

/// Why a request was answered with 500 or 503.
package enum GatewayFault: Sendable {
    case databaseUnavailable
    /// An SQLSTATE, a ``PostgresError/Code``, or `unexpected`.
    case failed(String)
}

/// A job that was accepted.
struct CreatedJob: Sendable {
    /// The id that callers know.
    var id: String
    /// Internal number; never leaves the process.
    var number: Int64
}

/// A job as its partner sees it now.
struct JobAnswer: Sendable {
    var number: Int64
    var isFinished: Bool
    /// The result document, JSON.
    var document: Data
}

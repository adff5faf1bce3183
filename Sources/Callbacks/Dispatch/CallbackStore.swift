internal import Foundation
internal import InspectCore
internal import Postgres

/// One callback under a claim, with what its endpoint allows.
struct ClaimedCallback: Sendable {
    let id: Int64
    /// The right to settle it.
    let claim: Int64
    let webhookID: String
    let endpoint: Int64
    let url: String
    let body: [UInt8]
    /// Counted attempts before this one.
    let attempts: Int
    /// Uncounted attempts before this one.
    let released: Int
    /// The newest first; further ones while a rotation is under way. `whsec_` signs as `v1`, `whsk_` as `v1a`.
    let secrets: [String]
    let allowsHTTP: Bool
    let allowsPrivate: Bool
    /// ``EndpointOptions`` as JSON; `nil` for a plain endpoint.
    let options: String?
    /// From when it was due to the claim, in milliseconds.
    let waitedMilliseconds: Double
    /// The id of the job that it tells of, unless retention removed the job.
    let job: String?
    /// The trace that the job's caller began.
    let trace: TraceContext?

    /// The claim of the callback: after a lapse, the same callback may be under way twice.
    struct Key: Hashable, Sendable {
        let id: Int64
        let claim: Int64
    }

    var key: Key { Key(id: self.id, claim: self.claim) }
}

/// What is to be recorded about one attempt.
struct CallbackSettlement: Sendable {
    let callback: ClaimedCallback
    let outcome: CallbackRetryPolicy.Outcome
    let started: Date
    let milliseconds: Int
    let status: Int?
    let code: ErrorCode?
    let error: String?
    /// The trace context that was sent.
    let trace: TraceContext?
    /// When the claim lapses; afterwards settling is pointless.
    let deadline: ContinuousClock.Instant
    /// When the request went out, if it got an answer.
    let sent: ContinuousClock.Instant?
    /// When the claim's commit was known.
    let claimed: ContinuousClock.Instant
}

/// From which `due_at` on a claim searches, in microseconds since 1970: what lies before was settled, and its dead index
/// entries stay as long as any old transaction runs.
struct CallbackFloors: Sendable {
    /// For every endpoint that is not in ``endpoints``; `nil`: search everything.
    var base: Int64?
    var endpoints: [Int64: Int64] = [:]
}

/// What one round trip brought.
struct CallbackExchange: Sendable {
    /// Settled callbacks whose claim still held.
    var settled: Set<Int64> = []
    /// What became of endpoints by these settlements: `failing`, `recovered`, `disabled`.
    var changes: [(endpoint: Int64, kind: String)] = []
    var claimed: [ClaimedCallback] = []
    /// For the next claim; as given, if nothing was to be claimed.
    var floors = CallbackFloors()
}

/// The outbox's SQL: a settlement and a claim in one round trip and one transaction.
struct CallbackStore: Sendable {
    let connection: PostgresConnection
    let worker: String
    let lease: Duration

    /// - Parameters:
    ///   - settlements: Attempts to record.
    ///   - limit: How many callbacks to claim at most; 0 claims nothing.
    ///   - retries: How many of these may have been tried before.
    ///   - floors: Those of the exchange before; without a base everything is searched.
    func exchange(
        settling settlements: [CallbackSettlement], claiming limit: Int, retries: Int? = nil,
        above floors: CallbackFloors = CallbackFloors()
    ) async throws -> CallbackExchange {
        var exchange = CallbackExchange(floors: floors)
        var statements: [PostgresStatement] = []
        if !settlements.isEmpty { statements.append(self.settle(settlements)) }
        if limit > 0 { statements.append(self.claim(limit, retries ?? limit, floors)) }
        guard !statements.isEmpty else { return exchange }
        var results = try await self.connection.pipeline(statements)[...]
        if !settlements.isEmpty, let rows = results.popFirst() {
            for row in rows {
                if let id = try row.optionalInt(0) {
                    exchange.settled.insert(id)
                } else {
                    exchange.changes.append((try row.int(1), try row.string(2)))
                }
            }
        }
        if limit > 0, let rows = results.popFirst() {
            exchange.floors = CallbackFloors()
            for row in rows {
                if try !row.isNull(0) {
                    exchange.claimed.append(try Self.callback(row))
                } else if let endpoint = try row.optionalInt(3) {
                    exchange.floors.endpoints[endpoint] = try row.int(13)
                } else {
                    exchange.floors.base = try row.int(13)
                }
            }
        }
        return exchange
    }

    private func claim(_ limit: Int, _ retries: Int, _ floors: CallbackFloors) -> PostgresStatement {
        let endpoints = Array(floors.endpoints)
        return PostgresStatement(
            // The jobs of all of them in one look; rows with floors have none.
            """
            WITH claimed AS MATERIALIZED (
                SELECT * FROM insp.callback_take($1, $2 * interval '1 second', $6, $3, $4, $5))
            SELECT c.*, j.job, j.traceparent FROM claimed c LEFT JOIN insp.callback_jobs(
                ARRAY(SELECT x.id FROM claimed x WHERE x.id IS NOT NULL)) j ON j.id = c.id
            """,
            [
                .int(Int64(limit)), .double(self.lease / .seconds(1)), .optional(floors.base),
                .intArray(endpoints.map(\.key)), .intArray(endpoints.map(\.value)), .int(Int64(retries)),
            ])
    }

    private func settle(_ settlements: [CallbackSettlement]) -> PostgresStatement {
        PostgresStatement(
            "SELECT * FROM insp.callback_record($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
            [
                .intArray(settlements.map(\.callback.id)),
                .intArray(settlements.map(\.callback.claim)),
                .textArray(settlements.map { Self.name(of: $0.outcome) }),
                .doubleArray(settlements.map { Self.delay(of: $0.outcome) }),
                .doubleArray(settlements.map(\.started.timeIntervalSince1970)),
                .intArray(settlements.map { Int64($0.milliseconds) }),
                .intArray(settlements.map { Int64($0.status ?? 0) }),
                .textArray(settlements.map { $0.code?.rawValue ?? "" }),
                .textArray(settlements.map { $0.error ?? "" }),
                .text(self.worker),
            ])
    }

    private static func name(of outcome: CallbackRetryPolicy.Outcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .retry: "retry"
        case .dead: "dead"
        case .release: "release"
        }
    }

    private static func delay(of outcome: CallbackRetryPolicy.Outcome) -> Double {
        switch outcome {
        case .delivered, .dead: 0
        case .retry(let seconds), .release(let seconds): seconds
        }
    }

    private static func callback(_ row: PostgresRow) throws -> ClaimedCallback {
        ClaimedCallback(
            id: try row.int(0), claim: try row.int(1), webhookID: try row.string(2), endpoint: try row.int(3),
            url: try row.string(4), body: [UInt8](try row.data(5)), attempts: Int(try row.int(6)),
            released: Int(try row.int(7)), secrets: try row.textArray(8), allowsHTTP: try row.bool(9),
            allowsPrivate: try row.bool(10), options: try row.optionalString(11),
            waitedMilliseconds: try row.double(12),
            job: try row.optionalString("job"),
            trace: try row.optionalString("traceparent").flatMap { TraceContext(traceparent: $0) })
    }
}

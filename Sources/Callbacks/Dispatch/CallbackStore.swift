internal import Foundation
internal import InspectCore
internal import Postgres

/// One callback under a claim.
final class ClaimedCallback: Sendable {
    let id: Int64
    /// The right to settle it.
    let claim: Int64
    /// The same at every attempt, as the body is: see ``CallbackBody``.
    let webhookID: String
    let endpoint: CallbackEndpoint
    let url: String
    /// `nil`: a newer program made the row, and only such a one knows how the body is composed.
    let body: [UInt8]?
    /// Counted attempts before this one.
    let attempts: Int
    /// Uncounted attempts before this one.
    let released: Int
    /// From when it was due to the claim, in milliseconds.
    let waitedMilliseconds: Double
    /// The id of the job that it tells of, unless retention removed the job.
    let job: String?
    /// The trace that the job's caller began.
    let trace: TraceContext?
    /// Whether a job brought the URL, and neither it nor an operator made its origin one of the endpoint's: nothing that the
    /// endpoint trusts its own server with goes there, and none of our own networks can be reached by it.
    let isElsewhere: Bool

    /// - Parameter row: One of `insp.callback_claim`.
    init(_ row: PostgresRow, _ endpoint: CallbackEndpoint) throws(PostgresError) {
        self.id = try row.int(0)
        self.claim = try row.int(1)
        self.endpoint = endpoint
        self.url = try row.string(4)
        self.attempts = Int(try row.int(6))
        self.released = Int(try row.int(7))
        self.waitedMilliseconds = try row.double(8)
        self.job = try row.optionalString(9)
        self.trace = try row.optionalString(10).flatMap { TraceContext(traceparent: $0) }
        self.isElsewhere = try row.bool(18)
        let stored = try row.optionalData(5)
        let body = if let stored { [UInt8](stored) } else { try CallbackBody(row)?.bytes }
        self.body = body
        let name = try row.string(2)
        self.webhookID = try row.bool(26) ? CallbackBody.name(name, ofReduced: body ?? []) : name
    }

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

    /// Whether the endpoint's next wait until this is recorded.
    var holdsOthers: Bool { self.outcome != .delivered && self.outcome != .unsent }
}

/// Where a claim begins to search: what lies before was taken away, and its dead index entries stay as long as any old
/// transaction runs.
struct CallbackFloors: Sendable {
    /// The `due_at`, in microseconds since 1970, for every endpoint that is not in ``endpoints``; `nil`: search everything.
    var base: Int64?
    /// The `due_at` of endpoints with something due.
    var endpoints: [Int64: Int64] = [:]
    /// Of each endpoint the lowest claim that may still hold. Stays true for ever, unlike the others.
    var claims: [Int64: Int64] = [:]
}

/// What a claim brought.
struct CallbackClaim: Sendable {
    var callbacks: [ClaimedCallback] = []
    /// Of each endpoint that something may be taken of: how many of its callbacks the holder may send at once from now on.
    var places: [Int64: Int] = [:]
    /// For the next claim.
    var floors: CallbackFloors
}

/// What recording brought.
struct CallbackRecord: Sendable {
    /// Callbacks whose claim did not hold any more.
    var lost: Set<Int64> = []
    /// What became of endpoints: `failing`, `recovered`, `disabled`.
    var changes: [(endpoint: Int64, kind: String)] = []

    mutating func add(_ other: CallbackRecord) {
        self.lost.formUnion(other.lost)
        self.changes += other.changes
    }
}

/// The outbox's SQL: a claim or a record, each in one round trip and one transaction.
struct CallbackStore: Sendable {
    let connection: PostgresConnection
    let worker: String
    let lease: Duration
    /// The number of a dispatcher that keeps to ``CallbackClaim/places``, and so may claim more; `nil`: all that is
    /// claimed will be sent at once.
    let holder: Int64?
    private let endpoints = CallbackEndpoints()

    init(connection: PostgresConnection, worker: String, lease: Duration, holder: Int64? = nil) {
        self.connection = connection
        self.worker = worker
        self.lease = lease
        self.holder = holder
    }

    /// Takes due callbacks, to be sent once this has returned.
    ///
    /// - Parameters:
    ///   - limit: How many at most.
    ///   - retries: How many of these may have been tried before.
    ///   - floors: Those of the claim before; without a base everything is searched.
    func claim(
        _ limit: Int, retries: Int? = nil, above floors: CallbackFloors = CallbackFloors()
    ) async throws -> CallbackClaim {
        let endpoints = Array(Set(floors.endpoints.keys).union(floors.claims.keys))
        let statement = PostgresStatement(
            "SELECT * FROM insp.callback_claim($1, $2 * interval '1 second', $3, $4, $5, $6, $7, p_holder => $8)",
            [
                .int(Int64(limit)), .double(self.lease / .seconds(1)), .int(Int64(retries ?? limit)),
                .optional(floors.base), .bigints(endpoints),
                .bigints(endpoints.map { floors.endpoints[$0] ?? floors.base ?? 0 }),
                .bigints(endpoints.map { floors.claims[$0] ?? 0 }), .optional(self.holder),
            ])
        return try self.read(try await self.connection.pipeline([statement])[0], floors)
    }

    /// The claimed callbacks come first, and then a row for each endpoint with something due.
    private func read(_ rows: [PostgresRow], _ before: CallbackFloors) throws -> CallbackClaim {
        var claim = CallbackClaim(floors: CallbackFloors(base: before.base, claims: before.claims))
        var endpoints: [Int64: CallbackEndpoint] = [:]
        let count = try rows.firstIndex { try $0.isNull(0) } ?? rows.count
        for row in rows[count...] {
            guard let id = try row.optionalInt(3) else {
                claim.floors.base = try row.int(15)
                continue
            }
            claim.floors.endpoints[id] = try row.int(15)
            if let lowest = try row.optionalInt(16) { claim.floors.claims[id] = lowest }
            if let places = try row.optionalInt(17) { claim.places[id] = Int(places) }
            guard try !row.isNull(12) else { continue }
            endpoints[id] = self.endpoints.endpoint(
                id, keys: try row.textArray(11), allowsHTTP: try row.bool(12), allowsPrivate: try row.bool(13),
                options: try row.optionalString(14))
        }
        claim.callbacks.reserveCapacity(count)
        for row in rows[..<count] {
            // An endpoint that was removed between the two looks: its claim lapses.
            guard let endpoint = endpoints[try row.int(3)] else { continue }
            claim.callbacks.append(try ClaimedCallback(row, endpoint))
        }
        return claim
    }

    /// Records attempts, all of them or none.
    ///
    /// - Throws: ``PostgresError`` that ``PostgresError/isHeldRow`` where somebody's open transaction holds one of the rows.
    func record(_ settlements: [CallbackSettlement]) async throws -> CallbackRecord {
        var record = CallbackRecord()
        for row in try await self.connection.pipeline([self.settle(settlements)])[0] {
            if let id = try row.optionalInt(0) {
                record.lost.insert(id)
            } else {
                record.changes.append((try row.int(1), try row.string(2)))
            }
        }
        return record
    }

    private func settle(_ settlements: [CallbackSettlement]) -> PostgresStatement {
        // Mostly all are delivered, and nothing else is to be said of any.
        let isPlain = settlements.allSatisfy { $0.outcome == .delivered && $0.code == nil && $0.error == nil }
        return PostgresStatement(
            "SELECT * FROM insp.callback_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            [
                .bigints(settlements.map(\.callback.endpoint.id)),
                .bigints(settlements.map(\.callback.id)),
                .bigints(settlements.map(\.callback.claim)),
                .texts(isPlain ? [] : settlements.map { Self.name(of: $0.outcome) }),
                .bigints(isPlain ? [] : settlements.map { Int64(Self.delay(of: $0.outcome) * 1_000) }),
                .bigints(settlements.map { Int64($0.started.timeIntervalSince1970 * 1_000_000) }),
                .bigints(settlements.map { Int64($0.milliseconds) }),
                .bigints(settlements.map { Int64($0.status ?? 0) }),
                .texts(isPlain ? [] : settlements.map { $0.code?.rawValue ?? "" }),
                .texts(isPlain ? [] : settlements.map { $0.error ?? "" }),
                .text(self.worker),
            ])
    }

    private static func name(of outcome: CallbackRetryPolicy.Outcome) -> String {
        switch outcome {
        case .delivered: "delivered"
        case .retry: "retry"
        case .dead: "dead"
        case .release: "release"
        case .unsent: "return"
        }
    }

    private static func delay(of outcome: CallbackRetryPolicy.Outcome) -> Double {
        switch outcome {
        case .delivered, .dead, .unsent: 0
        case .retry(let seconds), .release(let seconds): seconds
        }
    }
}

internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

/// The outcome of one attempt. An object, because it goes through several lists.
final class CallbackSettlement: Sendable {
    let callback: ClaimedCallback
    let outcome: CallbackRetryPolicy.Outcome
    /// `nil` if nothing was sent.
    let started: Date?
    let milliseconds: Int
    let status: Int?
    let code: ErrorCode?
    let error: String?
    /// The trace context that was sent.
    let trace: TraceContext?
    /// When the claim lapses; after that, settling is pointless.
    let deadline: ContinuousClock.Instant
    /// When the request went out, if it got an answer.
    let sent: ContinuousClock.Instant?
    /// When the claim's commit was known.
    let claimed: ContinuousClock.Instant

    init(
        callback: ClaimedCallback, outcome: CallbackRetryPolicy.Outcome, started: Date?, milliseconds: Int,
        status: Int?, code: ErrorCode?, error: String?, trace: TraceContext?, deadline: ContinuousClock.Instant,
        sent: ContinuousClock.Instant?, claimed: ContinuousClock.Instant
    ) {
        self.callback = callback
        self.outcome = outcome
        self.started = started
        self.milliseconds = milliseconds
        self.status = status
        self.code = code
        self.error = error
        self.trace = trace
        self.deadline = deadline
        self.sent = sent
        self.claimed = claimed
    }

    /// Whether the endpoint's next callbacks wait until this is settled.
    var holdsOthers: Bool { self.outcome != .delivered && self.outcome.isAttempt }
}

/// Where a claim begins to search: rows before it are deleted, but their dead index entries remain while any old transaction
/// runs.
struct CallbackFloors: Sendable {
    /// The `due_at`, since 1970, of all endpoints that are not in ``endpointMicroseconds``; `nil`: search everything.
    var baseMicroseconds: Int64?
    /// The `due_at` of endpoints with something due.
    var endpointMicroseconds: [Int64: Int64] = [:]
    /// The lowest claim of each endpoint that may still be valid. Unlike the others, it never becomes wrong.
    var claims: [Int64: Int64] = [:]
}

/// The result of a claim.
struct CallbackClaim: Sendable {
    var callbacks: [ClaimedCallback] = []
    /// For each endpoint that may send: how many of its callbacks the dispatcher may send at once from now on.
    var permits: [Int64: Int] = [:]
    /// For the next claim.
    var floors: CallbackFloors
}

/// The result of settling.
struct CallbackRecord: Sendable {
    /// Callbacks whose claim had lapsed.
    var lost: Set<Int64> = []
    /// Changes of endpoints: `failing`, `recovered`, `disabled`.
    var changes: [(endpoint: Int64, kind: String)] = []

    mutating func add(_ other: CallbackRecord) {
        self.lost.formUnion(other.lost)
        self.changes += other.changes
    }
}

/// The outcome of a batch of settlements.
struct SettledBatch {
    var settled: [CallbackSettlement] = []
    var record = CallbackRecord()
    /// Those that the database refuses permanently. Their claims lapse.
    var refused: [(settlement: CallbackSettlement, reason: String)] = []
    /// Those that fail even alone, with an error of their row or of the schema (``PostgresError/mayBeOfOneRow``).
    var suspected: [(settlement: CallbackSettlement, error: PostgresError)] = []
    /// Those with a row that another transaction holds, such as one that an operator left open, and a single suspected one. They
    /// wait, so that they delay only their own endpoints.
    var held: [CallbackSettlement] = []
    /// Those still to be settled because of ``failure``.
    var unsettled: [CallbackSettlement] = []
    var failure: (any Error)?
}

/// The outbox's SQL: a claim or a settlement, each in one round trip and one transaction.
struct CallbackStore: Sendable {
    let connection: PostgresConnection
    let worker: String
    let lease: Duration
    /// Opens what is sealed of jobs and endpoints; `nil`: there is no key store.
    let keys: PatientKeys?
    /// The number of a dispatcher that obeys ``CallbackClaim/permits`` and so may claim ahead; `nil`: all claimed callbacks will be
    /// sent at once.
    let holder: Int64?
    /// The region whose callbacks are claimed, in addition to those without one.
    private let region: String?
    /// The endpoints of earlier claims, whose keys are already decoded.
    private let endpoints: CallbackEndpoints

    init(
        connection: PostgresConnection, worker: String, lease: Duration, holder: Int64? = nil, region: String? = nil,
        keys: PatientKeys? = nil, endpoints: CallbackEndpoints = CallbackEndpoints()
    ) {
        self.connection = connection
        self.worker = worker
        self.lease = lease
        self.keys = keys
        self.holder = holder
        self.region = region
        self.endpoints = endpoints
    }

    /// Claims due callbacks, which may be sent after this returns.
    ///
    /// - Parameters:
    ///   - limit: How many at most.
    ///   - retries: How many of these may be retries.
    ///   - floors: Those of the claim before; without a base everything is searched.
    func claim(
        _ limit: Int, retries: Int? = nil, above floors: CallbackFloors = CallbackFloors()
    ) async throws -> CallbackClaim {
        let endpoints = Array(Set(floors.endpointMicroseconds.keys).union(floors.claims.keys))
        let statement = PostgresStatement(
            "SELECT * FROM insp.callback_claim($1, $2 * interval '1 second', $3, $4, $5, $6, $7, $8, $9)",
            [
                .int(Int64(limit)), .double(self.lease / .seconds(1)), .int(Int64(retries ?? limit)),
                .optional(floors.baseMicroseconds), .bigints(endpoints),
                .bigints(endpoints.map { floors.endpointMicroseconds[$0] ?? floors.baseMicroseconds ?? 0 }),
                .bigints(endpoints.map { floors.claims[$0] ?? 0 }), .optional(self.holder), .optional(self.region),
            ])
        let rows = try await self.connection.pipeline([statement])[0]
        return try await self.read(rows, floors)
    }

    /// The first row is the claim itself, with each endpoint that has something due; each other row is a callback.
    private func read(_ rows: [PostgresRow], _ before: CallbackFloors) async throws -> CallbackClaim {
        guard let head = rows.first else { throw PostgresError(.decoding, "a claim returned no row") }
        var claim = CallbackClaim(
            floors: CallbackFloors(baseMicroseconds: try head.int("floor_microseconds"), claims: before.claims))
        var given: [GivenEndpoint] = []
        let due = try head.records(
            "endpoints", "endpoint_id", "floor_microseconds", "claim_floor", "at_once", "secrets", "allow_http",
            "allow_private",
            "options")
        for endpoint in due {
            let id = try endpoint.int("endpoint_id")
            claim.floors.endpointMicroseconds[id] = try endpoint.int("floor_microseconds")
            if let lowest = try endpoint.optionalInt("claim_floor") { claim.floors.claims[id] = lowest }
            if let permits = try endpoint.optionalInt("at_once") { claim.permits[id] = Int(permits) }
            guard let allowsHTTP = try endpoint.optionalBool("allow_http") else { continue }
            given.append(
                GivenEndpoint(
                    id: id, keys: try endpoint.textArray("secrets"), allowsHTTP: allowsHTTP,
                    allowsPrivate: try endpoint.bool("allow_private"), options: try endpoint.optionalString("options")))
        }
        guard rows.count > 1 else { return claim }
        var endpoints = self.endpoints.known(of: given)
        given.removeAll { endpoints[$0.id] != nil }
        let opened = await self.open(
            given.reduce(into: try Self.keys(of: rows)) { $0.formUnion($1.sealingKeys) })
        for endpoint in given { endpoints[endpoint.id] = self.endpoints.add(endpoint, opening: opened) }
        let column = try ClaimedCallback.Columns(head)
        claim.callbacks.reserveCapacity(rows.count - 1)
        for row in rows.dropFirst() {
            // The endpoint was removed between the two queries: the claim lapses.
            guard let endpoint = endpoints[try row.int(column.endpoint)] else { continue }
            claim.callbacks.append(
                try ClaimedCallback(row, column, endpoint, try OpenedCallback.open(row, column, opened)))
        }
        return claim
    }

    /// Settles attempts, all of them or none.
    ///
    /// - Throws: ``PostgresError`` with ``PostgresError/isHeldRow`` if an open transaction holds one of the rows.
    func settle(_ settlements: [CallbackSettlement]) async throws -> CallbackRecord {
        let row = try await self.connection.pipeline([self.statement(settlements)])[0].single()
        var record = CallbackRecord()
        if try !row.isNull("lost") { record.lost = Set(try row.intArray("lost")) }
        if try !row.isNull("endpoints") {
            record.changes = Array(zip(try row.intArray("endpoints"), try row.textArray("changes")))
        }
        return record
    }

    private func statement(_ settlements: [CallbackSettlement]) -> PostgresStatement {
        // Usually all are delivered, without further details.
        let isPlain = settlements.allSatisfy { $0.outcome == .delivered && $0.code == nil && $0.error == nil }
        return PostgresStatement(
            "SELECT * FROM insp.callback_settle($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
            [
                .bigints(settlements.map(\.callback.endpoint.id)),
                .bigints(settlements.map(\.callback.id)),
                .bigints(settlements.map(\.callback.claim)),
                .texts(isPlain ? [] : settlements.map { Self.name(of: $0.outcome) }),
                .bigints(isPlain ? [] : settlements.map { Int64(Self.delay(of: $0.outcome) / .milliseconds(1)) }),
                .bigints(settlements.map { Int64(($0.started?.timeIntervalSince1970 ?? 0) * 1_000_000) }),
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
        case .deadLetter: "dead"
        case .release(_, let isCounted): isCounted ? "uncounted" : "release"
        }
    }

    private static func delay(of outcome: CallbackRetryPolicy.Outcome) -> Duration {
        switch outcome {
        case .delivered, .deadLetter: .zero
        case .retry(let delay), .release(let delay, _): delay
        }
    }

    // MARK: Batches

    /// Settles, so that attempts that cannot be settled do not block the rest.
    ///
    /// - Parameter held: Those whose rows were held before; settled separately for each endpoint.
    func settle(_ settlements: [CallbackSettlement], held: [CallbackSettlement]) async -> SettledBatch {
        var batch = SettledBatch()
        if !settlements.isEmpty { await self.settle(settlements, &batch) }
        if batch.failure == nil {
            await self.settleApart(held, &batch)
        } else {
            batch.held += held
        }
        self.judge(&batch)
        return batch
    }

    /// Decides whose fault the suspected ones' error is: their rows', if others are settled; the schema's, if several fail and none is
    /// settled. A single one waits for others.
    private func judge(_ batch: inout SettledBatch) {
        guard let first = batch.suspected.first else { return }
        if !batch.settled.isEmpty {
            batch.refused += batch.suspected.map { ($0.settlement, $0.error.reason) }
        } else if batch.suspected.count == 1 {
            batch.held.append(first.settlement)
        } else {
            batch.failure = batch.failure ?? first.error
            batch.unsettled += batch.suspected.map(\.settlement)
        }
    }

    private func settle(_ settlements: [CallbackSettlement], _ batch: inout SettledBatch) async {
        do {
            batch.record.add(try await self.settle(settlements))
            batch.settled = batch.settled.isEmpty ? settlements : batch.settled + settlements
        } catch let error as PostgresError where error.isHeldRow {
            // It is unknown which of them it was.
            await self.settleApart(settlements, &batch)
        } catch let error as PostgresError where error.mayBeOfOneRow {
            await self.settleHalves(settlements, &batch, error)
        } catch {
            batch.failure = error
            batch.unsettled += settlements
        }
    }

    /// Settles endpoint by endpoint.
    private func settleApart(_ settlements: [CallbackSettlement], _ batch: inout SettledBatch) async {
        for (_, own) in Dictionary(grouping: settlements, by: \.callback.endpoint.id).sorted(by: { $0.key < $1.key }) {
            guard batch.failure == nil else {
                batch.unsettled += own
                continue
            }
            do {
                batch.record.add(try await self.settle(own))
                batch.settled += own
            } catch let error as PostgresError where error.isHeldRow {
                batch.held += own
            } catch let error as PostgresError where error.mayBeOfOneRow {
                await self.settleHalves(own, &batch, error)
            } catch {
                batch.failure = error
                batch.unsettled += own
            }
        }
    }

    /// Finds the refused one, which would make every batch with it fail.
    private func settleHalves(
        _ settlements: [CallbackSettlement], _ batch: inout SettledBatch, _ error: PostgresError
    ) async {
        guard settlements.count > 1 else {
            if error.isOfOneRow {
                batch.refused += settlements.map { ($0, error.reason) }
            } else {
                batch.suspected += settlements.map { ($0, error) }
            }
            return
        }
        let middle = settlements.count / 2
        for half in [settlements[..<middle], settlements[middle...]] {
            if batch.failure == nil {
                await self.settle(Array(half), &batch)
            } else {
                batch.unsettled += half
            }
        }
    }
}

extension PostgresError {
    /// Whether the statement found a row that another transaction holds: `lock_not_available` or `deadlock_detected`.
    var isHeldRow: Bool { self.sqlState == "55P03" || self.sqlState == "40P01" }

    /// Whether one callback's value or row is at fault, so that the statement may succeed without it: any SQLSTATE that is not
    /// ``isPassing``, except those that a new connection cures (a stale plan, a lost prepared statement, a login).
    var isOfOneRow: Bool {
        if self.code == .invalidParameter { return true }
        guard self.code == .server, let state = self.sqlState else { return false }
        return !self.isPassing && !["0A", "26", "28", "3D"].contains(state.prefix(2))
    }

    /// Whether one callback's row may be at fault, though the schema may be as well: the rule of `insp.may_be_of_row`.
    var mayBeOfOneRow: Bool { self.isOfOneRow || self.code == .server && self.sqlState == "XX000" }
}

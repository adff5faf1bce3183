import Foundation
import InspectCore
import Postgres

@testable import Callbacks

/// Dispatchers' machines against the real `insp.callback_claim` and `insp.callback_settle`, under a clock of its own. Loops,
/// libcurl and partners are imitated; every order of events comes from the seed.
struct DispatchSimulation {
    /// A rule that is broken on purpose, to check that this is detected.
    enum Fault: CaseIterable { case sendsMoreThanItMay, settlesFailuresAsDelivered, namesEachAttempt }

    private struct Dispatcher {
        var machine: DispatchMachine
        let holder: Int64
        let known = CallbackEndpoints()
        var floors = CallbackFloors()
        var running: [WaitingCallback] = []
    }

    private let outbox: Outbox
    /// Whose open transaction holds rows.
    private let other: PostgresConnection
    private let fault: Fault?
    private let inFlight: Int
    private var random: SplitMix64
    private var now = ContinuousClock.now
    private var dispatchers: [Dispatcher] = []
    private var holders: Int64 = 0
    private var isHolding = false
    private var isHealing = false
    private var endpoints: [Int64] = []
    private(set) var problems: Set<String> = []
    /// What the partners got and confirmed, and under which names they got what.
    private var delivered: Set<Int64> = []
    private var names: [Int64: String] = [:]
    private var sent = 0

    init(_ outbox: Outbox, seed: UInt64, inFlight: Int = 3, fault: Fault? = nil) async throws {
        self.outbox = outbox
        self.other = try await outbox.database.connect()
        self.inFlight = inFlight
        self.fault = fault
        self.random = SplitMix64(seed: seed)
    }

    mutating func run(endpoints: Int, callbacks: Int, steps: Int) async throws {
        for _ in 0..<endpoints {
            let endpoint = try await self.outbox.endpoint(
                secret: WebhookSecret.generate().text, inFlight: self.inFlight)
            try await self.outbox.add(callbacks, endpoint: endpoint, url: "https://partner.example/")
            self.endpoints.append(endpoint)
        }
        for _ in 0..<2 { self.dispatchers.append(self.dispatcher()) }
        for _ in 0..<steps { try await self.step() }
        // All goes well from now on, and everything must arrive.
        self.isHealing = true
        try await self.release()
        for endpoint in self.endpoints { try await self.enable(endpoint) }
        self.dispatchers = [self.dispatcher()]
        try await self.lapse(all: true)
        for _ in 0..<400 {
            if try await self.outbox.count("state <> 'delivered'") == 0 { break }
            for endpoint in self.endpoints { try await self.enable(endpoint) }
            try await self.outbox.hurry()
            for _ in 0..<20 { try await self.turn(0) }
            self.now += .seconds(5)
        }
        if try await self.outbox.count("state <> 'delivered'") > 0 { self.problems.insert("not settled in the end") }
        if self.delivered.count < endpoints * callbacks { self.problems.insert("lost") }
    }

    private mutating func dispatcher() -> Dispatcher {
        self.holders += 1
        var configuration = CallbackConfiguration(databaseURL: "", listenURL: nil, worker: "test")
        configuration.maximumInFlight = 16
        configuration.batch = 12
        return Dispatcher(machine: DispatchMachine(configuration), holder: self.holders)
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &self.random) == 0 }

    private mutating func step() async throws {
        self.now += .milliseconds(Int.random(in: 1...400, using: &self.random))
        let endpoint = self.endpoints.randomElement(using: &self.random)!
        switch Int.random(in: 0..<60, using: &self.random) {
        case 0:
            // Killed: what it was sending ends with it, and its claims lapse later.
            self.dispatchers[Int.random(in: 0..<self.dispatchers.count, using: &self.random)] = self.dispatcher()
        case 1: try await self.lapse(all: false)
        case 2 where !self.isHolding: try await self.query("SELECT insp.callback_disable($1)", endpoint)
        case 3, 4: try await self.enable(endpoint)
        case 5 where !self.isHolding:
            self.isHolding = true
            try await self.other.execute("BEGIN")
            _ = try await self.other.query(
                "SELECT FROM insp.callback_lease WHERE endpoint_id = $1 FOR UPDATE SKIP LOCKED", [.int(endpoint)])
        case 6, 7: try await self.release()
        case 8: try await self.outbox.hurry()
        default: try await self.turn(Int.random(in: 0..<self.dispatchers.count, using: &self.random))
        }
    }

    private func query(_ sql: String, _ endpoint: Int64) async throws {
        _ = try await self.outbox.connection.query(sql, [.int(endpoint)])
    }

    private mutating func enable(_ endpoint: Int64) async throws {
        // Not against an open transaction: an operator would wait, and so would this.
        guard !self.isHolding else { return }
        try await self.query("SELECT insp.callback_enable($1)", endpoint)
        try await self.query("SELECT insp.callback_breaker_reset($1)", endpoint)
    }

    private mutating func release() async throws {
        if self.isHolding { try await self.other.execute("ROLLBACK") }
        self.isHolding = false
    }

    /// The claims of the dead lapse.
    private func lapse(all: Bool) async throws {
        let alive = self.dispatchers.map(\.holder)
        _ = try await self.outbox.connection.query(
            """
            UPDATE insp.callback_lease l SET lease_until = now() - interval '1 second' WHERE l.ctid = ANY (ARRAY(
                SELECT x.ctid FROM insp.callback_lease x WHERE $2 OR x.holder <> ALL ($1) FOR UPDATE SKIP LOCKED))
            """, [.intArray(alive), .bool(all)])
    }

    /// One turn of one loop of a dispatcher, or an answer from a partner.
    private mutating func turn(_ index: Int) async throws {
        let store = CallbackStore(
            connection: self.outbox.connection, worker: "test", lease: .seconds(600),
            holder: self.dispatchers[index].holder, endpoints: self.dispatchers[index].known)
        switch Int.random(in: 0..<4, using: &self.random) {
        case 0: try await self.claim(index, store)
        case 1: self.send(index)
        case 2: self.end(index)
        default: try await self.settle(index, store)
        }
    }

    private mutating func claim(_ index: Int, _ store: CallbackStore) async throws {
        guard case .claim(let order) = self.dispatchers[index].machine.claimTurn(at: self.now) else { return }
        do {
            let floors = self.dispatchers[index].floors
            var claim = try await store.claim(
                order.limit, retries: order.retries,
                above: order.isSweep ? CallbackFloors(claims: floors.claims) : floors)
            if !self.isHealing, self.chance(12) {
                // The answer was lost: nobody knows of these claims.
                _ = self.dispatchers[index].machine.claimFailed(at: self.now, retryAfter: .milliseconds(100))
                return
            }
            self.dispatchers[index].floors = claim.floors
            if self.fault == .sendsMoreThanItMay { claim.permits = claim.permits.mapValues { $0 + 3 } }
            _ = self.dispatchers[index].machine.claimed(claim, of: order, at: self.now)
        } catch let error as PostgresError where error.isHeldRow {
            _ = self.dispatchers[index].machine.claimFailed(at: self.now, retryAfter: nil)
        }
    }

    private mutating func send(_ index: Int) {
        guard case .begin(let entries, _) = self.dispatchers[index].machine.sendTurn(at: self.now) else { return }
        for entry in entries {
            self.sent += 1
            let callback = entry.callback
            let name = self.fault == .namesEachAttempt ? "\(callback.webhookID) \(self.sent)" : callback.webhookID
            if let first = self.names.updateValue(name, forKey: callback.id), first != name {
                self.problems.insert("another webhook-id")
            }
            self.dispatchers[index].running.append(entry)
        }
        for endpoint in self.endpoints {
            let atOnce = self.dispatchers.reduce(0) { count, dispatcher in
                count + dispatcher.running.count { $0.callback.endpoint.id == endpoint }
            }
            if atOnce > self.inFlight { self.problems.insert("too many at once") }
        }
    }

    private mutating func end(_ index: Int) {
        let count = self.dispatchers[index].running.count
        guard count > 0 else { return }
        let entry = self.dispatchers[index].running.remove(at: Int.random(in: 0..<count, using: &self.random))
        var outcome = CallbackRetryPolicy.Outcome.delivered
        if !self.isHealing {
            switch Int.random(in: 0..<8, using: &self.random) {
            case 0: outcome = .retry(after: .zero)
            case 1: outcome = .release(after: .zero, isCounted: true)
            default: break
            }
        }
        if outcome == .delivered { self.delivered.insert(entry.callback.id) }
        if self.fault == .settlesFailuresAsDelivered { outcome = .delivered }
        _ = self.dispatchers[index].machine.ended(
            CallbackSettlement(
                callback: entry.callback, outcome: outcome, started: Date(), milliseconds: 1,
                status: outcome == .delivered ? 200 : 500, code: outcome == .delivered ? nil : .statusNotSuccess,
                error: outcome == .delivered ? nil : "HTTP status 500", trace: nil, deadline: entry.deadline, sent: nil,
                claimed: entry.claimed))
    }

    private mutating func settle(_ index: Int, _ store: CallbackStore) async throws {
        guard case .settle(let order, _) = self.dispatchers[index].machine.settleTurn(at: self.now) else { return }
        var batch = SettledBatch()
        let isLost = !self.isHealing && self.chance(10)
        if !isLost || self.chance(2) {
            batch = await store.settle(order.pending, held: order.held)
            if let failure = batch.failure { throw failure }
        }
        if isLost {
            // Lost on the way there, or on the way back.
            batch = SettledBatch()
            batch.failure = PostgresError(.connectionLost, "lost")
            batch.unsettled = order.pending
            batch.held = order.held
        }
        _ = self.dispatchers[index].machine.settled(
            batch, of: order, at: self.now, retryAfter: isLost ? .milliseconds(100) : nil)
    }
}

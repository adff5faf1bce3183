import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Each row of ``DispatchMachine``'s tables, and the whole against the database.
@Suite struct DispatchMachineTests {
    private let outbox: Outbox
    private let start = ContinuousClock.now

    init() async throws { self.outbox = try await Outbox() }

    private func machine(_ change: (inout CallbackConfiguration) -> Void = { _ in }) -> DispatchMachine {
        DispatchMachine(self.outbox.configuration(change))
    }

    private func claim(_ count: Int, inFlight: Int = 4) async throws -> CallbackClaim {
        let endpoint = try await self.outbox.endpoint(secret: WebhookSecret.generate().text, inFlight: inFlight)
        try await self.outbox.add(count, endpoint: endpoint, url: "https://partner.example/")
        return try await CallbackStore(
            connection: self.outbox.connection, worker: "test", lease: .seconds(60), holder: 1
        ).claim(max(64, count))
    }

    private func order(_ machine: inout DispatchMachine, at now: ContinuousClock.Instant) -> DispatchMachine.ClaimOrder?
    {
        if case .claim(let order) = machine.claimTurn(at: now) { order } else { nil }
    }

    private func begin(_ machine: inout DispatchMachine, at now: ContinuousClock.Instant) -> [WaitingCallback] {
        if case .begin(let entries, _) = machine.sendTurn(at: now) { entries } else { [] }
    }

    private func settleOrder(
        _ machine: inout DispatchMachine, at now: ContinuousClock.Instant
    ) -> DispatchMachine.SettleOrder? {
        if case .settle(let order, _) = machine.settleTurn(at: now) { order } else { nil }
    }

    private func settlement(
        _ entry: WaitingCallback, _ outcome: CallbackRetryPolicy.Outcome = .delivered
    ) -> CallbackSettlement {
        CallbackSettlement(
            callback: entry.callback, outcome: outcome, started: Date(), milliseconds: 1, status: 200, code: nil,
            error: nil, trace: nil, deadline: entry.deadline, sent: nil, claimed: entry.claimed)
    }

    /// A machine that has claimed at the start.
    private func claimed(
        _ count: Int, inFlight: Int = 4, _ change: (inout CallbackConfiguration) -> Void = { _ in }
    ) async throws -> DispatchMachine {
        let claim = try await self.claim(count, inFlight: inFlight)
        var machine = self.machine(change)
        let order = try #require(self.order(&machine, at: self.start))
        #expect(order.isSweep && order.isIdle)
        #expect(machine.claimed(claim, of: order, at: self.start).wakes == .send)
        return machine
    }

    private func isOver(_ machine: inout DispatchMachine, at now: ContinuousClock.Instant) -> Bool {
        if case .over = machine.settleTurn(at: now), case .over = machine.sendTurn(at: now) { true } else { false }
    }

    @Test func `A callback goes from its claim to its settlement`() async throws {
        var machine = try await self.claimed(3, inFlight: 2)
        let begun = self.begin(&machine, at: self.start)
        #expect(begun.count == 2 && machine.load == (3, 2))
        #expect(machine.ended(self.settlement(begun[0])).isSuperset(of: [.send, .settle]))
        #expect(self.begin(&machine, at: self.start).count == 1)
        let order = try #require(self.settleOrder(&machine, at: self.start))
        #expect(order.pending.count == 1 && machine.load == (2, 2))
        let effects = machine.settled(
            SettledBatch(settled: order.pending), of: order, at: self.start, retryAfter: nil)
        #expect(effects.wakes == .claim)
        #expect(self.settleOrder(&machine, at: self.start + .seconds(1)) == nil)
    }

    @Test func `What is too late to be sent is released`() async throws {
        var machine = try await self.claimed(2)
        guard case .begin(let entries, let wakes) = machine.sendTurn(at: self.start + .seconds(50)) else {
            return #expect(Bool(false), "no turn")
        }
        #expect(entries.isEmpty && wakes == .settle)
        let order = try #require(self.settleOrder(&machine, at: self.start + .seconds(50)))
        #expect(order.pending.count == 2 && order.pending.allSatisfy { !$0.outcome.isAttempt && $0.started == nil })
    }

    @Test func `What others may send is released`() async throws {
        let claim = try await self.claim(4, inFlight: 2)
        var machine = self.machine()
        let first = try #require(self.order(&machine, at: self.start))
        _ = machine.claimed(claim, of: first, at: self.start)
        #expect(self.begin(&machine, at: self.start).count == 2)
        // Its next claim finds every permit with others.
        var next = CallbackClaim(floors: claim.floors)
        next.permits = claim.permits.mapValues { _ in 0 }
        let second = try #require(self.order(&machine, at: self.start))
        #expect(machine.claimed(next, of: second, at: self.start).wakes.contains(.settle))
        let order = try #require(self.settleOrder(&machine, at: self.start))
        #expect(order.pending.count == 2 && order.pending.allSatisfy { !$0.outcome.isAttempt })
        #expect(machine.load == (2, 2))
    }

    @Test func `After a failure nothing is begun until it is settled, and nothing at all where it disables`()
        async throws
    {
        for kind in [nil, "disabled"] {
            var machine = try await self.claimed(4, inFlight: 2)
            let begun = self.begin(&machine, at: self.start)
            _ = machine.ended(self.settlement(begun[0], .retry(after: .seconds(5))))
            #expect(self.begin(&machine, at: self.start).isEmpty)
            let order = try #require(self.settleOrder(&machine, at: self.start))
            var batch = SettledBatch(settled: order.pending)
            if let kind { batch.record.changes = [(begun[0].callback.endpoint.id, kind)] }
            #expect(machine.settled(batch, of: order, at: self.start, retryAfter: nil).wakes.contains(.send))
            #expect(self.begin(&machine, at: self.start).count == (kind == nil ? 1 : 0))
            #expect(self.settleOrder(&machine, at: self.start)?.pending.count == (kind == nil ? nil : 2))
        }
    }

    @Test func `Held rows are tried again now and then until their claims lapse`() async throws {
        var machine = try await self.claimed(1)
        let begun = self.begin(&machine, at: self.start)
        _ = machine.ended(self.settlement(begun[0], .retry(after: .seconds(5))))
        var now = self.start
        var tries = 0
        while now < self.start + .seconds(70) {
            if let order = self.settleOrder(&machine, at: now) {
                tries += 1
                now += .milliseconds(200)
                let held = order.pending + order.held
                #expect(held.count == 1)
                let effects = machine.settled(
                    SettledBatch(held: held), of: order, at: now, retryAfter: nil)
                #expect(!effects.isUnavailable)
            }
            now += .milliseconds(100)
        }
        // A twentieth of the time, and the first two at once.
        #expect((10...18).contains(tries), "\(tries)")
        #expect(machine.vitals(at: now).isConnected)
    }

    @Test func `A database that fails is asked after the back-off, and what lapses is dropped`() async throws {
        var machine = try await self.claimed(1)
        let begun = self.begin(&machine, at: self.start)
        _ = machine.ended(self.settlement(begun[0]))
        func failed(_ pending: [CallbackSettlement]) -> SettledBatch {
            SettledBatch(unsettled: pending, failure: PostgresError(.connectionLost, "lost"))
        }
        let order = try #require(self.settleOrder(&machine, at: self.start))
        var effects = machine.settled(failed(order.pending), of: order, at: self.start, retryAfter: .seconds(2))
        #expect(effects.isUnavailable && !machine.vitals(at: self.start).isConnected)
        #expect(self.settleOrder(&machine, at: self.start + .seconds(1)) == nil)
        let again = try #require(self.settleOrder(&machine, at: self.start + .seconds(2)))
        #expect(again.pending.count == 1)
        let late = self.start + .seconds(61)
        effects = machine.settled(failed(again.pending), of: again, at: late, retryAfter: .seconds(2))
        #expect(!effects.isUnavailable && effects.isRestored && effects.wakes.contains(.claim))
        #expect(self.settleOrder(&machine, at: late + .seconds(5)) == nil)
    }

    @Test func `Claims wait for the back-off, sweep after a failure, and stay within the permits`() async throws {
        var machine = self.machine { ($0.maximumInFlight, $0.batch) = (4, 10) }
        let first = try #require(self.order(&machine, at: self.start))
        #expect(first.limit == 10 && first.retries == 2)
        let failed = machine.claimFailed(at: self.start, retryAfter: .seconds(1))
        #expect(failed.isUnavailable && failed.goesOn)
        #expect(self.order(&machine, at: self.start) == nil)
        let second = try #require(self.order(&machine, at: self.start + .seconds(1)))
        #expect(second.isSweep)
        var claim = try await self.claim(12)
        claim.callbacks.removeLast(2)
        let effects = machine.claimed(claim, of: second, at: self.start + .seconds(1))
        #expect(effects.isRestored && effects.goesOn)
        let third = try #require(self.order(&machine, at: self.start + .seconds(1)))
        #expect(third.limit == 2 && !third.isSweep && !third.isIdle)
        // A held row is no failure of the database.
        #expect(!machine.claimFailed(at: self.start + .seconds(1), retryAfter: nil).isUnavailable)
    }

    @Test func `It drains`() async throws {
        var machine = try await self.claimed(1)
        #expect(machine.drain() == .claim)
        let busy = try #require(self.order(&machine, at: self.start))
        let nothing = CallbackClaim(floors: CallbackFloors())
        #expect(!machine.claimed(nothing, of: busy, at: self.start).goesOn && !machine.isClaimOver)
        _ = machine.ended(self.settlement(self.begin(&machine, at: self.start)[0]))
        let order = try #require(self.settleOrder(&machine, at: self.start))
        _ = machine.settled(SettledBatch(settled: order.pending), of: order, at: self.start, retryAfter: nil)
        let idle = try #require(self.order(&machine, at: self.start))
        #expect(machine.claimed(nothing, of: idle, at: self.start).wakes == .settle && machine.isClaimOver)
        #expect(self.isOver(&machine, at: self.start))
    }

    @Test func `It stops, releases what waits after the grace and ends a little later`() async throws {
        var machine = try await self.claimed(3, inFlight: 1) { $0.grace = .seconds(10) }
        #expect(self.begin(&machine, at: self.start).count == 1)
        #expect(machine.stop(at: self.start) == [.claim, .send, .settle])
        #expect(self.order(&machine, at: self.start) == nil && machine.isClaimOver)
        #expect(!self.isOver(&machine, at: self.start + .seconds(9)))
        let end = self.start + .seconds(10)
        let order = try #require(self.settleOrder(&machine, at: end))
        #expect(order.pending.count == 2 && order.pending.allSatisfy { !$0.outcome.isAttempt })
        _ = machine.settled(SettledBatch(settled: order.pending), of: order, at: end, retryAfter: nil)
        #expect(!self.isOver(&machine, at: end + .seconds(3)))
        // What cannot be broken off is left to lapse.
        #expect(self.isOver(&machine, at: end + .seconds(4)))
    }

    @Test func `While much is under way a loop is woken on a crossing alone`() async throws {
        var machine = try await self.claimed(200, inFlight: 1000) { ($0.maximumInFlight, $0.batch) = (100, 300) }
        var running = self.begin(&machine, at: self.start)
        running += self.begin(&machine, at: self.start)
        #expect(machine.ended(self.settlement(running.removeLast())).contains(.settle))
        let order = try #require(self.settleOrder(&machine, at: self.start))
        _ = machine.settled(SettledBatch(settled: order.pending), of: order, at: self.start, retryAfter: nil)
        #expect(machine.ended(self.settlement(running.removeLast())).contains(.settle))
        // Not again before enough of them have come together, or the pause is over.
        #expect(machine.ended(self.settlement(running.removeLast())).isEmpty)
        #expect(self.settleOrder(&machine, at: self.start + .milliseconds(24)) == nil)
        #expect(self.settleOrder(&machine, at: self.start + .milliseconds(25)) != nil)
    }

    // MARK: - Against the database

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `Nothing is lost, renamed or sent too often at once`(_ seed: UInt64) async throws {
        var simulation = try await DispatchSimulation(self.outbox, seed: seed)
        try await simulation.run(endpoints: 3, callbacks: 25, steps: 600)
        #expect(simulation.problems.isEmpty, "seed \(seed): \(simulation.problems)")
    }

    @Test(arguments: DispatchSimulation.Fault.allCases)
    func `A rule that is broken on purpose is found`(_ fault: DispatchSimulation.Fault) async throws {
        var simulation = try await DispatchSimulation(self.outbox, seed: 7, fault: fault)
        try await simulation.run(endpoints: 3, callbacks: 25, steps: 600)
        #expect(!simulation.problems.isEmpty)
    }
}

import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// A run of several workers, a producer, maintenance and an operator over one queue, each on connections of their own, in
/// an order and with accidents that a seed decides. After every action the committed state must keep the rules.
///
/// What the actors say is the product's own SQL, and what a worker does is the product's own ``WorkerMachine``. The loops around
/// it are imitated, so that between any two of their steps others may act, and the process may be killed or frozen.
struct Simulation {
    let world: SimulatedDatabase
    let seed: UInt64
    var random: SplitMix64
    var workers: [SimulatedWorker] = []
    var producers: [SimulatedSession] = []
    var maintenance = SimulatedSession()
    var operators = SimulatedSession()
    /// Writes under fences of the past, which no machine would.
    var ghost = SimulatedSession()
    /// Every claim that was ever made, for writes under fences of the past.
    var claimed: [ClaimedJob] = []
    /// Fences that were ever given out, also in histories that are lost: never again.
    var given: Set<Int64> = []
    /// Stages that were written.
    var told: [QueueWrite] = []
    let fault: SimulatedWorker.Fault?
    /// Maintenance has scanned since the clock was set.
    var clockWasSeen = true
    /// The workers' clock.
    var now = ContinuousClock.now
    /// Nobody is in another's way, and no answer is lost.
    var isCalm = false
    /// Whether the next round trips are left open; `nil`: as lots decide.
    var leavesOpen: Bool?
    /// Jobs that a worker has reported as finished since the last look at the database.
    var finished: [SimulatedDatabase.Lease] = []
    /// Leases that a heartbeat has said to be lost since then.
    var lost: Set<Int64> = []
    var jobs: [String] = []
    var keys: [Int: String] = [:]
    /// What was done, newest last.
    private(set) var trace: [String] = []
    var violations: [String] = []

    init(_ world: SimulatedDatabase, seed: UInt64, fault: SimulatedWorker.Fault? = nil) {
        self.fault = fault
        self.world = world
        self.seed = seed
        self.random = SplitMix64(seed: seed)
    }

    struct Failed: Error, CustomStringConvertible {
        var seed: UInt64
        var violations: [String]
        var trace: [String]
        var description: String {
            // What came before the end, then the end.
            let end = self.trace.firstIndex { $0.hasPrefix("--") } ?? self.trace.count
            let last = self.trace[..<end].suffix(40) + self.trace[end...].suffix(12)
            return """
                SIMULATION_SEED=\(self.seed) fails: \(self.violations.joined(separator: "; "))
                the last actions:
                  \(last.joined(separator: "\n  "))
                """
        }
    }

    /// Plays so many actions, then lets everything run dry.
    ///
    /// - Throws: ``Failed`` at the first broken rule.
    mutating func run(actions: Int) async throws {
        try await self.world.reset()
        for _ in 0..<3 { self.workers.append(self.worker()) }
        for _ in 0..<2 { self.producers.append(SimulatedSession()) }
        do {
            // What was brought about lies soon under what comes after, so some runs with an opening are short.
            let begun = try await self.begin()
            let actions =
                begun == .nothing ? actions : [actions / 8, actions / 2, actions][self.random.below(3)]
            for _ in 0..<actions {
                // An action that nobody can take now, nobody takes.
                let done = self.trace.count
                for _ in 0..<20 where self.trace.count == done { try await self.act() }
                try await self.check()
            }
            try await self.runDry()
        } catch let error as PostgresError {
            self.violations.append("unexpected: \(error)")
            await self.close()
            throw Failed(seed: self.seed, violations: self.violations, trace: self.trace)
        } catch {
            await self.close()
            throw error
        }
        await self.close()
    }

    mutating func note(_ text: String) { self.trace.append(text) }

    mutating func check() async throws {
        self.violations += try await self.world.violations()
        for (index, worker) in self.workers.enumerated() {
            self.violations += worker.violations.map { "worker \(index) has \($0)" }
        }
        if !self.finished.isEmpty {
            let unfinished = try await self.world.unfinished(self.finished)
            if !unfinished.isEmpty { self.violations.append("jobs \(unfinished) were reported as finished") }
            self.finished = []
        }
        if !self.lost.isEmpty {
            let held = self.lost.intersection(try await self.world.snapshot().leases.map(\.fence))
            if !held.isEmpty { self.violations.append("leases \(held.sorted()) were taken for lost") }
            self.lost = []
        }
        if !self.violations.isEmpty {
            throw Failed(seed: self.seed, violations: self.violations, trace: self.trace)
        }
    }

    private mutating func close() async {
        for index in self.workers.indices { await self.workers[index].drop(self.world) }
        for index in self.producers.indices { await self.producers[index].drop(self.world) }
        await self.maintenance.drop(self.world)
        await self.operators.drop(self.world)
        await self.ghost.drop(self.world)
    }

    mutating func worker() -> SimulatedWorker {
        SimulatedWorker(slots: 2 + self.random.below(4), drains: self.random.chance(10), at: self.now)
    }

    /// Time passes, for the database and for the workers.
    mutating func pass(_ time: Duration) async throws {
        self.now += time
        try await self.world.advance(seconds: time / .seconds(1))
    }

    // MARK: Choosing

    private enum Action: CaseIterable {
        case enqueue, pump, work, stale, heartbeat, tick, retry, freeze, crash, resolve, maintain, cancel, review,
            pause, drain, wait, pass,
            restart, hold, erase, keep, goBack, setClock

        var weight: Int {
            switch self {
            case .enqueue: 12
            case .pump: 34
            case .work: 22
            case .tick: 4
            case .retry: 4
            case .freeze: 3
            case .stale: 4
            case .heartbeat: 9
            case .crash: 3
            case .resolve: 10
            case .maintain: 14
            case .cancel: 3
            case .review: 2
            case .pause: 2
            case .drain: 1
            case .wait: 11
            case .pass: 2
            case .restart: 1
            case .hold: 2
            case .erase: 2
            case .keep: 3
            case .goBack: 2
            case .setClock: 1
            }
        }
    }

    private mutating func act() async throws {
        var lot = self.random.below(Action.allCases.reduce(0) { $0 + $1.weight })
        let action = Action.allCases.first { action in
            lot -= action.weight
            return lot < 0
        }!
        let worker = self.random.below(self.workers.count)
        let isFrozen = self.workers[worker].isFrozen
        if isFrozen && [.pump, .work, .heartbeat, .tick, .retry].contains(action) { return }
        if self.workers[worker].beatsAtOnce && !isFrozen && self.random.chance(50) {
            return try await self.heartbeat(worker)
        }
        switch action {
        case .enqueue: try await self.enqueue()
        case .pump: try await self.pump(worker, self.random.below(self.workers[worker].pumps.count))
        case .work: self.work(worker)
        case .stale: try await self.writeStale()
        case .heartbeat: try await self.heartbeat(worker)
        case .tick: self.tick(worker)
        case .retry: try await self.retryParked(worker)
        case .freeze:
            self.workers[worker].isFrozen = !isFrozen
            self.note("worker \(worker) \(isFrozen ? "goes on" : "is frozen")")
        case .crash:
            self.note("worker \(worker) is killed")
            await self.workers[worker].drop(self.world)
            self.workers[worker] = self.worker()
        case .resolve: try await self.resolve()
        case .maintain: try await self.maintain()
        case .cancel: try await self.cancel()
        case .review: try await self.review()
        case .pause: try await self.pause()
        case .drain: try await self.drain(worker)
        case .wait:
            let seconds = [0.3, 2, 4, 9, 16, 40, 400][self.random.below(7)]
            self.note("\(seconds) s pass")
            try await self.pass(.seconds(seconds))
            // The others look at the time later, as one would that was stopped and continued.
            for worker in self.workers.indices where !self.workers[worker].isFrozen {
                let choice = self.random.below(3)
                if choice == 2 { try await self.heartbeat(worker) }
                if choice > 0 { self.tick(worker) }
            }
        case .pass:
            self.note("thirty thousand jobs of others pass")
            try await self.world.pass(jobs: 30_000)
        case .restart: try await self.restart()
        case .hold: try await self.hold()
        case .erase: try await self.erase()
        case .keep:
            self.note("a copy is kept")
            try await self.world.keep()
        case .goBack: try await self.goBack()
        case .setClock:
            // The fleet scans twice a second: no clock is set twice between two scans.
            if !self.clockWasSeen { return }
            self.clockWasSeen = false
            let seconds: Double = [20, 400, -600][self.random.below(3)]
            self.note("the clock is set by \(seconds) s")
            try await self.world.setClock(by: seconds)
        }
    }

    /// The server restarts: every connection breaks, and what was not committed is gone.
    private mutating func restart() async throws {
        self.note("the database restarts")
        await self.disconnect()
        try await self.world.restart()
    }

    // MARK: The end

    /// Everybody lets go, and one worker finishes what is left: nothing may stay behind.
    private mutating func runDry() async throws {
        self.note("-- let run dry")
        for index in self.producers.indices { try await self.producers[index].end(commit: true) }
        try await self.maintenance.end(commit: true)
        try await self.operators.end(commit: true)
        for (index, number) in self.openPumps {
            try await self.end(index, number, commit: self.random.chance(50), breaks: false)
        }
        for index in self.workers.indices.dropFirst() { await self.workers[index].drop(self.world) }
        try await self.check()
        try await self.repeatStages()
        self.isCalm = true
        // Half the time one that has been there for long, and no longer looks below its floors.
        let isNew = self.workers[0].isDraining || self.workers[0].machine.isStopping || self.random.chance(50)
        if isNew { await self.workers[0].drop(self.world) }
        self.workers = [isNew ? self.worker() : self.workers[0]]
        self.workers[0].isFrozen = false
        _ = try await self.operators.run(
            self.world, PostgresStatement("SELECT insp.resume(l) FROM unnest('{urgent,normal,bulk}'::text[]) l"),
            PostgresStatement("UPDATE insp.partner SET paused = false WHERE paused"))
        for _ in 0..<60 {
            if try await self.world.left() == 0, self.workers[0].isIdle { break }
            try await self.pass(.seconds(30))
            for duty in Duty.allCases {
                try await self.heartbeat(0)
                _ = try await self.maintenance.run(self.world, duty.statement)
                try await self.check()
            }
            self.tick(0)
            try await self.review()
            try await self.operators.end(commit: true)
            try await self.finish(0)
            try await self.check()
        }
        let left = try await self.world.left()
        if left > 0 {
            self.violations.append("\(left) jobs are stuck: \(try await self.world.whereabouts())")
            let machine = self.workers[0].machine
            self.note("floors \(machine.floors.reported), fence floor \(machine.fenceFloor)")
        } else if !self.workers[0].isIdle {
            self.violations.append("the worker never comes to an end")
        }
        try await self.check()
    }
}

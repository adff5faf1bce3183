import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// A run of several workers, a producer, maintenance and an operator over one queue, each on connections of their own, in
/// an order and with accidents that a seed decides. After every action the committed state must keep the rules.
///
/// What the actors say is the product's own SQL; how a worker takes the answers follows `JobWorker`. They are harsher than
/// it in one thing: a worker that was silent for long goes on writing, as one that was stopped and continued would.
struct Simulation {
    let world: SimulatedDatabase
    let seed: UInt64
    var random: SeededRandom
    var workers: [SimulatedWorker] = []
    var producers: [SimulatedSession] = []
    var maintenance = SimulatedSession()
    var operators = SimulatedSession()
    /// Every claim that was ever made, for writes under fences of the past.
    var claimed: [ClaimedJob] = []
    /// What was ever given out, also in histories that are lost: never again.
    var given: Set<SimulatedDatabase.Lease> = []
    /// A worker's rule that is broken on purpose: it forgets nothing when the database is another one.
    let keepsFloors: Bool
    var jobs: [String] = []
    var keys: [Int: String] = [:]
    /// What was done, newest last.
    private(set) var trace: [String] = []
    var violations: [String] = []

    init(_ world: SimulatedDatabase, seed: UInt64, keepsFloors: Bool = false) {
        self.keepsFloors = keepsFloors
        self.world = world
        self.seed = seed
        self.random = SeededRandom(seed)
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
        for _ in 0..<3 { self.workers.append(SimulatedWorker()) }
        for _ in 0..<2 { self.producers.append(SimulatedSession()) }
        do {
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
        if !self.violations.isEmpty {
            throw Failed(seed: self.seed, violations: self.violations, trace: self.trace)
        }
    }

    private mutating func close() async {
        for index in self.workers.indices { await self.workers[index].drop(self.world) }
        for index in self.producers.indices { await self.producers[index].drop(self.world) }
        await self.maintenance.drop(self.world)
        await self.operators.drop(self.world)
    }

    // MARK: Choosing

    private enum Action: CaseIterable {
        case enqueue, claim, work, stale, heartbeat, crash, resolve, maintain, cancel, review, pause, drain, wait, pass,
            restart, hold, erase, keep, goBack, setClock

        var weight: Int {
            switch self {
            case .enqueue: 12
            case .claim: 14
            case .work: 26
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
        switch action {
        case .enqueue: try await self.enqueue()
        case .claim: try await self.claim(worker)
        case .work: try await self.work(worker)
        case .stale: try await self.writeStale(worker)
        case .heartbeat: try await self.heartbeat(worker)
        case .crash:
            self.note("worker \(worker) is killed")
            await self.workers[worker].drop(self.world)
            self.workers[worker] = SimulatedWorker()
        case .resolve: try await self.resolve()
        case .maintain: try await self.maintain()
        case .cancel: try await self.cancel()
        case .review: try await self.review()
        case .pause: try await self.pause()
        case .drain: try await self.drain(worker)
        case .wait:
            let seconds = [0.3, 2, 4, 9, 16, 40, 400][self.random.below(7)]
            self.note("\(seconds) s pass")
            try await self.world.advance(seconds: seconds)
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
        for index in self.workers.indices {
            try await self.end(of: index, commit: self.random.chance(50))
            if index > 0 { await self.workers[index].drop(self.world) }
        }
        try await self.check()
        // Half the time one that has been there for long, and no longer looks below its floors.
        let isNew = self.workers[0].isDraining || self.random.chance(50)
        if isNew { await self.workers[0].drop(self.world) }
        self.workers = [isNew ? SimulatedWorker() : self.workers[0]]
        // Until it is done: a commit with notifications may wait too long for those of other databases.
        while case .blocked = try await self.operators.run(
            self.world, PostgresStatement("SELECT insp.resume(l) FROM unnest('{urgent,normal,bulk}'::text[]) l"),
            PostgresStatement("UPDATE insp.partner SET paused = false WHERE paused"))
        {}
        for _ in 0..<60 where try await self.world.left() > 0 {
            try await self.world.advance(seconds: 30)
            for duty in Duty.allCases {
                try await self.heartbeat(0)
                _ = try await self.maintenance.run(self.world, duty.statement)
                try await self.check()
            }
            try await self.review()
            try await self.operators.end(commit: true)
            try await self.claim(0, plainly: true)
            try await self.check()
            while !self.workers[0].held.isEmpty || !self.workers[0].unanswered.isEmpty {
                try await self.finish(0)
                try await self.check()
            }
        }
        let left = try await self.world.left()
        if left > 0 {
            self.violations.append("\(left) jobs are stuck: \(try await self.world.whereabouts())")
            self.note("floors \(self.workers[0].floors.reported), fence floor \(self.workers[0].fenceFloor)")
        }
        try await self.check()
    }
}

/// Numbers that follow from a seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// A number from 0 to below the bound.
    mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(bound)) }

    mutating func chance(_ percent: Int) -> Bool { self.below(100) < percent }
}

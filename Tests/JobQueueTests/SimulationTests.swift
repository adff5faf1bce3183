import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Seeded runs of the real rules under a clock of their own; `Tests/faults.sh` plays thousands of them.
///
/// `SIMULATION_SEED` plays one seed alone, `SIMULATION_SEEDS` so many, `SIMULATION_FIRST` from another first one on.
@Suite struct SimulationTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    private static let actions = 60

    /// Plays seeds in one world, and says how many it played.
    private static func play(_ seeds: [UInt64], in world: SimulatedDatabase) async throws {
        for (count, seed) in seeds.enumerated() {
            var simulation = Simulation(world, seed: seed)
            try await simulation.run(actions: self.actions)
            // What the seeds before have deleted would otherwise be looked at again and again.
            if count % 50 == 49 { try await world.control.execute("VACUUM", timeout: .seconds(120)) }
        }
        await world.close()
    }

    @Test(.timeLimit(.minutes(60)))
    func `Whatever happens in whatever order, every job reaches 128 once and nothing is written under a stale fence`()
        async throws
    {
        if let seed = Self.number("SIMULATION_SEED") {
            return try await Self.play([seed], in: try await SimulatedDatabase())
        }
        let first = Self.number("SIMULATION_FIRST") ?? 1
        let seeds = Array(first..<(first + (Self.number("SIMULATION_SEEDS") ?? 120)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<2 {
                let mine = seeds.enumerated().filter { $0.offset % 2 == share }.map(\.element)
                group.addTask { try await Self.play(mine, in: try await SimulatedDatabase()) }
            }
            try await group.waitForAll()
        }
    }

    static let faults: [SimulatedDatabase.Fault] = [
        .init(
            function: "settle", rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            function: "hand_back", rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            function: "hold_for_review", rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(function: "store_steps", rule: "AND j.status < i.status", replacement: ""),
        .init(function: "promote", rule: "d.run_at <= moment", replacement: "true"),
        .init(function: "rescue", rule: "w.id = ANY (dead) OR", replacement: "true OR"),
        .init(function: "sweep", rule: "x.seq < f.seq", replacement: "false"),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: faults)
    func `A rule that is broken on purpose is noticed`(_ fault: SimulatedDatabase.Fault) async throws {
        let world = try await SimulatedDatabase(breaking: fault)
        var found: Simulation.Failed?
        for seed in UInt64(1)...300 where found == nil {
            var simulation = Simulation(world, seed: seed)
            do {
                try await simulation.run(actions: Self.actions)
            } catch let failure as Simulation.Failed {
                found = failure
            }
        }
        await world.close()
        #expect(found != nil, "\(fault) went unnoticed")
    }
}

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
            foundBy: 113, function: "settle", rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 75, function: "release", rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 196, function: "hold_for_review", rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""
        ),
        .init(foundBy: 20, function: "store_steps", rule: "AND j.status < i.status", replacement: ""),
        .init(foundBy: 7, function: "promote", rule: "d.run_at <= moment", replacement: "true"),
        .init(foundBy: 3, function: "rescue", rule: "w.id = ANY (dead) OR", replacement: "true OR"),
        .init(function: "sweep", rule: "x.seq < f.seq", replacement: "false"),
        .init(foundBy: 10, function: "claim", rule: "IF NOT is_same THEN", replacement: "IF false THEN"),
        .init(foundBy: 9, function: "begin_epoch", rule: "PERFORM setval('insp.fence', fence);", replacement: ""),
        .init(
            foundBy: 82, function: "the worker", rule: "floors forgotten in a new epoch", replacement: "",
            keepsFloors: true),
        .init(
            foundBy: 227, function: "watch", rule: "greatest(0, least(passed, measured, ",
            replacement: "greatest(0, greatest(passed, "),
        .init(foundBy: 70, function: "watch", rule: "IF step IS NULL THEN RETURN; END IF;", replacement: "RETURN;"),
        .init(
            foundBy: 5, function: "erase", rule: "the stages' removal", replacement: "",
            statement: """
                CREATE FUNCTION public.stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                CREATE TRIGGER stay BEFORE DELETE ON insp.step FOR EACH ROW EXECUTE FUNCTION public.stay();
                """),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: faults)
    func `A rule that is broken on purpose is noticed`(_ fault: SimulatedDatabase.Fault) async throws {
        let world = try await SimulatedDatabase(breaking: fault)
        var found: Simulation.Failed?
        // First the seed that is known to find it; the search for one took most of the time.
        for seed in (fault.foundBy.map { [$0] } ?? []) + Array(1...600) where found == nil {
            var simulation = Simulation(world, seed: seed, keepsFloors: fault.keepsFloors)
            do {
                try await simulation.run(actions: Self.actions)
            } catch let failure as Simulation.Failed {
                found = failure
            }
        }
        await world.close()
        print("\(fault): seed \(found.map { "\($0.seed)" } ?? "none")")
        #expect(found != nil, "\(fault) went unnoticed")
    }
}

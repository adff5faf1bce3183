import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Seeded runs of the real rules under a clock of their own; `Tests/faults.sh` plays thousands of them.
///
/// `TEST_SEED` plays one seed alone, `SIMULATION_SEEDS` so many, `SIMULATION_FIRST` from another first one on.
@Suite struct SimulationTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    private static let actions = 80

    private static var seeds: [UInt64] {
        if let seed = Self.number("TEST_SEED") { return [seed] }
        let first = Self.number("SIMULATION_FIRST") ?? 1
        let range = first..<(first + (Self.number("SIMULATION_SEEDS") ?? 120))
        // Those that find faults as well: without a fault they must find nothing.
        return Set(range).union(Self.faults.compactMap(\.foundBy)).sorted()
    }

    /// Plays seeds in one world until five have failed.
    private static func play(
        _ seeds: [UInt64], in world: SimulatedDatabase, fault: SimulatedWorker.Fault? = nil,
        failed: (Simulation.Failed) -> Void
    ) async throws {
        var failures = 0
        for (count, seed) in seeds.enumerated() where failures < 5 {
            var simulation = Simulation(world, seed: seed, fault: fault)
            do {
                try await simulation.run(actions: Self.actions)
            } catch let failure as Simulation.Failed {
                failures += 1
                failed(failure)
            }
            // What the seeds before have deleted would otherwise be looked at again and again.
            if count % 50 == 49 { try await world.control.execute("VACUUM", timeout: .seconds(120)) }
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `Whatever happens in whatever order, every job reaches 128 once and nothing is written under a stale fence`()
        async throws
    {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<2 {
                let mine = Self.seeds.enumerated().filter { $0.offset % 2 == share }.map(\.element)
                group.addTask {
                    let world = try await SimulatedDatabase()
                    try await Self.play(mine, in: world) { Issue.record($0) }
                    await world.close()
                }
            }
            try await group.waitForAll()
        }
    }

    static let faults: [SimulatedDatabase.Fault] = [
        .init(
            foundBy: 15, noticed: "was answered with", function: "settle",
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 26, noticed: "was answered with", function: "release",
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 52, noticed: "was answered with", function: "hold_for_review",
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence",
            replacement: ""
        ),
        .init(function: "store_steps", rule: "AND j.status < i.status", replacement: ""),
        .init(
            foundBy: 3, noticed: "was to wait until", function: "promote", rule: "d.run_at <= moment",
            replacement: "true"),
        .init(
            foundBy: 3, noticed: "which lives", function: "rescue", rule: "w.id = ANY (dead) OR", replacement: "true OR"
        ),
        .init(
            function: "allowance", rule: "limited.max_running - count(*)",
            replacement: "limited.max_running - 0 * count(*)"),
        .init(function: "allowance", rule: "FOR UPDATE SKIP LOCKED", replacement: ""),
        .init(function: "sweep", rule: "x.seq < f.seq", replacement: "false"),
        .init(
            foundBy: 1, noticed: "given out twice", function: "claim", rule: "IF NOT is_same THEN",
            replacement: "IF false THEN"),
        .init(
            foundBy: 1, noticed: "was answered with", function: "begin_epoch",
            rule: "PERFORM setval('insp.fence', fence);", replacement: ""),
        .around(.hidesEpochs),
        .around(.startsTwice, foundBy: 1, noticed: "slots"),
        .around(.startsNothing, foundBy: 1, noticed: "nobody works on"),
        .around(.keepsLostLeases),
        .around(.forgetsFailedWrites),
        .around(.forgetsFailedClaims),
        .around(.forgetsWaiters),
        .around(.comparesLate),
        .init(
            function: "watch", rule: "greatest(0, least(passed, measured, ",
            replacement: "greatest(0, greatest(passed, "),
        .init(function: "watch", rule: "IF step IS NULL THEN RETURN; END IF;", replacement: "RETURN;"),
        .init(
            function: "erase", rule: "the stages' removal", replacement: "",
            statement: """
                CREATE FUNCTION public.stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                CREATE TRIGGER stay BEFORE DELETE ON insp.step FOR EACH ROW EXECUTE FUNCTION public.stay();
                """),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: faults)
    func `A rule that is broken on purpose is noticed`(_ fault: SimulatedDatabase.Fault) async throws {
        let world = try await SimulatedDatabase(breaking: fault)
        // First the seed that is known to find it: to search for one takes most of the time.
        var found: Simulation.Failed?
        for seed in (fault.foundBy.map { [$0] } ?? []) + Self.seeds where found == nil {
            try await Self.play([seed], in: world, fault: fault.worker) { failure in
                print("\(fault): seed \(seed): \(failure.violations.joined(separator: "; "))")
                if failure.violations.contains(where: fault.isNoticed) { found = failure }
            }
        }
        await world.close()
        #expect(found != nil, "\(fault) went unnoticed")
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Seeded runs of the real rules and the worker's own decisions under a clock of their own; `Tests/faults.sh` plays thousands
/// of them.
///
/// `SIMULATION_SEED` plays one seed alone, `SIMULATION_SEEDS` so many, `SIMULATION_FIRST` from another first one on.
@Suite struct SimulationTests {
    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    static let actions = 80

    private static var seeds: [UInt64] {
        if let seed = Self.number("SIMULATION_SEED") { return [seed] }
        if let count = Self.number("SIMULATION_SEEDS") {
            let first = Self.number("SIMULATION_FIRST") ?? 1
            return Array(first..<(first + count))
        }
        // Those that find faults as well: without a fault they must find nothing.
        return Set(1...40).union(Self.faults.map(\.foundBy)).sorted()
    }

    /// Plays a seed.
    ///
    /// - Returns: What is wrong.
    static func play(
        _ seed: UInt64, in world: SimulatedDatabase, fault: SimulatedWorker.Fault? = nil
    ) async throws -> Simulation.Failed? {
        var simulation = Simulation(world, seed: seed, fault: fault)
        do {
            try await simulation.run(actions: Self.actions)
            return nil
        } catch let failure as Simulation.Failed {
            return failure
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `Whatever happens in whatever order, every job reaches 128 once and nothing is written under a stale fence`()
        async throws
    {
        let seeds = Self.seeds
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<2 {
                let mine = seeds.enumerated().filter { $0.offset % 2 == share }.map(\.element)
                group.addTask {
                    let world = try await SimulatedDatabase()
                    for (count, seed) in mine.enumerated() {
                        if let failure = try await Self.play(seed, in: world) { Issue.record(failure) }
                        // What the seeds before have deleted would otherwise be looked at again and again.
                        if count % 10 == 9 { try await world.control.execute("VACUUM", timeout: .seconds(120)) }
                    }
                    await world.close()
                }
            }
            try await group.waitForAll()
        }
    }

    static let faults: [SimulatedDatabase.Fault] = [
        .init(
            foundBy: 13, noticed: "was answered with", function: "settle",
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 6, noticed: "was answered with", function: "release",
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 22, noticed: "was answered with", function: "hold_for_review",
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 52, noticed: "its status fell", function: "store_steps", rule: "AND j.status < i.status",
            replacement: ""),
        .init(
            foundBy: 1, noticed: "was to wait until", function: "promote", rule: "d.run_at <= moment",
            replacement: "true"),
        .init(
            foundBy: 3, noticed: "which lives", function: "rescue", rule: "w.id = ANY (dead) OR", replacement: "true OR"
        ),
        .init(
            foundBy: 24, noticed: "jobs are stuck", function: "sweep", rule: "x.seq < f.seq", replacement: "false"),
        .init(
            foundBy: 6, noticed: "given out twice", function: "claim", rule: "IF NOT is_same THEN",
            replacement: "IF false THEN"),
        .init(
            foundBy: 6, noticed: "given out twice", function: "begin_epoch",
            rule: "PERFORM setval('insp.fence', fence);", replacement: ""),
        .init(
            foundBy: 11, noticed: "which lives", function: "watch",
            rule: "greatest(0, least(passed_microseconds, measured_microseconds, ",
            replacement: "greatest(0, greatest(passed_microseconds, "),
        .init(
            foundBy: 11, noticed: "which lives", function: "watch", rule: "IF step IS NULL THEN RETURN; END IF;",
            replacement: "RETURN;"),
        .init(
            foundBy: 17, noticed: "is erased and has stage", function: "erase", rule: "the stages' removal",
            replacement: "",
            statement: """
                CREATE FUNCTION public.stay() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
                CREATE TRIGGER stay BEFORE DELETE ON insp.step FOR EACH ROW EXECUTE FUNCTION public.stay();
                """),
        .init(
            foundBy: 1, noticed: "runs more than", function: "within_limits", rule: "limited.max_running - count(*)",
            replacement: "limited.max_running - 0 * count(*)"),
        .init(
            foundBy: 5, noticed: "runs more than", function: "within_limits", rule: "FOR UPDATE SKIP LOCKED",
            replacement: ""),
        .around(.hidesEpochs, foundBy: 41, noticed: "jobs are stuck"),
        .around(.startsTwice, foundBy: 1, noticed: "slots"),
        .around(.startsNothing, foundBy: 1, noticed: "nobody works on"),
        .around(.keepsLostLeases, foundBy: 5, noticed: "were reported as finished"),
        .around(.forgetsFailedWrites, foundBy: 17, noticed: "that nobody writes"),
        .around(.forgetsFailedClaims, foundBy: 3, noticed: "slots kept for claims"),
        .around(.forgetsWaiters, foundBy: 12, noticed: "that wait for a slot, and knows of"),
        .around(.comparesLate, foundBy: 8, noticed: "were taken for lost"),
    ]

    @Test(.serialized, .timeLimit(.minutes(5)), arguments: faults)
    func `A rule that is broken on purpose is noticed`(_ fault: SimulatedDatabase.Fault) async throws {
        let world = try await SimulatedDatabase(breaking: fault)
        let found = try await Self.play(fault.foundBy, in: world, fault: fault.worker)?.violations ?? []
        await world.close()
        #expect(found.contains(where: fault.isNoticed), "\(fault): seed \(fault.foundBy) found \(found)")
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Has the worker's own ``WorkerMachine`` decide what its processes do, where `SimulationTests` imitates it.
///
/// It adds pumps whose answers come late or never, frozen processes, places outside the slots and writes that are refused.
/// `SIMULATION_SEED` plays one seed alone.
@Suite struct WorkerSimulationTests {
    private static let actions = 80

    private static var seeds: [UInt64] {
        if let seed = ProcessInfo.processInfo.environment["SIMULATION_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        // Those that find faults as well: without a fault they must find nothing.
        return Set(1...20).union(Self.faults.compactMap(\.foundBy)).sorted()
    }

    /// Plays a seed.
    ///
    /// - Returns: What is wrong.
    private static func play(
        _ seed: UInt64, in world: SimulatedDatabase, fault: WorkerSimulation.Worker.Fault? = nil
    ) async throws -> WorkerSimulation.Failed? {
        var simulation = WorkerSimulation(world, seed: seed, fault: fault)
        do {
            try await simulation.run(actions: Self.actions)
            return nil
        } catch let failure as WorkerSimulation.Failed {
            return failure
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `A worker's machine ends every job once, whatever is late, lost, frozen or refused`() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<2 {
                let mine = Self.seeds.enumerated().filter { $0.offset % 2 == share }.map(\.element)
                group.addTask {
                    let world = try await SimulatedDatabase()
                    for seed in mine {
                        if let failure = try await Self.play(seed, in: world) { Issue.record(failure) }
                    }
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
            rule: "AND l.fence IS NOT DISTINCT FROM u.fence", replacement: ""),
        .init(
            foundBy: 3, noticed: "was to wait until", function: "promote", rule: "d.run_at <= moment",
            replacement: "true"),
        .init(
            foundBy: 3, noticed: "which lives", function: "rescue", rule: "w.id = ANY (dead) OR", replacement: "true OR"
        ),
        .init(
            foundBy: 1, noticed: "given out twice", function: "claim", rule: "IF NOT is_same THEN",
            replacement: "IF false THEN"),
        .around(.startsTwice, foundBy: 1, noticed: "slots"),
        .around(.startsNothing, foundBy: 1, noticed: "nobody works on"),
    ]

    @Test(.serialized, .timeLimit(.minutes(5)), arguments: faults)
    func `A rule that is broken on purpose is noticed`(_ fault: SimulatedDatabase.Fault) async throws {
        let seed = try #require(fault.foundBy)
        var found: [String] = []
        // A seed repeats itself to the letter while nobody else uses the server. A commit with notifications may wait too
        // long for those of other databases; it fails then, and the run goes another way.
        for _ in 0..<5 where !found.contains(where: fault.isNoticed) {
            let world = try await SimulatedDatabase(breaking: fault)
            found += try await Self.play(seed, in: world, fault: fault.worker)?.violations ?? []
            await world.close()
        }
        #expect(found.contains(where: fault.isNoticed), "\(fault): seed \(seed) found \(found)")
    }
}

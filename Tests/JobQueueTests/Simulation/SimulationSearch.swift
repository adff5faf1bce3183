import Foundation
import TestSupport
import Testing

@testable import JobQueue

@Suite struct SimulationSearch {
    static func number(_ name: String, _ other: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? other
    }

    @Test func `search`() async throws {
        let only = ProcessInfo.processInfo.environment["SEARCH_ONLY"]
        let names = only.map { $0.split(separator: ",") }
        let chosen = SimulationTests.faults.filter { fault in
            names.map { $0.contains { "\(fault)".contains($0) } } ?? true
        }
        let (first, last) = (UInt64(Self.number("SEARCH_FIRST", 1)), UInt64(Self.number("SEARCH_LAST", 60)))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for share in 0..<3 {
                let mine = chosen.enumerated().filter { $0.offset % 3 == share }.map(\.element)
                group.addTask {
                    for fault in mine {
                        let start = ContinuousClock.now
                        var others: [String: Int] = [:]
                        var found: UInt64?
                        for seed in first...last where found == nil {
                            let world = try await SimulatedDatabase(breaking: fault)
                            let violations =
                                try await SimulationTests.play(seed, in: world, fault: fault.worker)?.violations ?? []
                            await world.close()
                            if violations.contains(where: fault.isNoticed) {
                                found = seed
                                print("FOUND \(fault): \(seed): \(violations.joined(separator: "; ").prefix(300))")
                            } else if let other = violations.first {
                                others["\(other.prefix(120)) [\(seed)]", default: 0] += 1
                            }
                        }
                        print(
                            "SEARCH \(fault): \(found.map { "\($0)" } ?? "NONE") in \(ContinuousClock.now - start); others \(others.count): \(others.keys.sorted().prefix(4).joined(separator: " | "))"
                        )
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Time of each seed, and whether a second world repeats it.
    @Test func `repeat`() async throws {
        let world = try await SimulatedDatabase()
        for seed in UInt64(1)...UInt64(Self.number("REPEAT_LAST", 10)) {
            let start = ContinuousClock.now
            var first = Simulation(world, seed: seed)
            var problem = ""
            do { try await first.run(actions: SimulationTests.actions) } catch { problem = "\(error)" }
            let time = ContinuousClock.now - start
            let fresh = try await SimulatedDatabase()
            var second = Simulation(fresh, seed: seed)
            do { try await second.run(actions: SimulationTests.actions) } catch {}
            await fresh.close()
            let differs = zip(first.trace, second.trace).enumerated().first { $0.element.0 != $0.element.1 }
            print(
                "SEED \(seed): \(time), \(first.trace.count) entries \(second.trace.count), differs \(differs.map { "\($0.offset): \($0.element)" } ?? "no") \(problem)"
            )
        }
        await world.close()
    }
}

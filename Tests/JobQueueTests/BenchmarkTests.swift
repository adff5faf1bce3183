import Foundation
import JobQueue
import TestSupport
import Testing

/// Every benchmark at its smallest: that it runs to its end, says what it promises, and leaves every job whole.
@Suite struct BenchmarkTests {
    /// The members of a report as the command prints them.
    private func members(_ report: some Encodable) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any] ?? [:]
    }

    @Test(arguments: [false, true])
    func `Throughput is measured on jobs that are whole`(storesStages: Bool) async throws {
        var benchmark = QueueBenchmark.Throughput(databaseURL: try await ScratchDatabase.migrated().url)
        benchmark.jobs = 300
        benchmark.workers = 2
        benchmark.slots = 32
        benchmark.batch = 50
        benchmark.storesStages = storesStages
        let report = try await benchmark.run()
        #expect(report.violations == 0)
        #expect(report.stepsPerJob == (storesStages ? 3 : 1))
        #expect(report.enqueueRate > 0)
        #expect(report.drainRate > 0)
        #expect(report.endToEndRate > 0)
        #expect(report.roundTripP50 > 0)
        #expect(report.roundTripP99 >= report.roundTripP50)
        #expect(report.jobsPerRoundTrip > 1)
        #expect(report.cpuMicrosecondsPerJob > 0)
        let names = Set(try self.members(report).keys)
        #expect(names.isSuperset(of: ["enqueueRate", "drainRate", "endToEndRate", "roundTripP50", "violations"]))
    }

    @Test func `Pickup is measured from the commit and from the call`() async throws {
        var benchmark = QueueBenchmark.Pickup(databaseURL: try await ScratchDatabase.migrated().url)
        benchmark.jobs = 20
        benchmark.pause = 0.05...0.08
        let report = try await benchmark.run()
        #expect(report.violations == 0)
        #expect(report.jobs == 20)
        #expect(report.callToStartP50Ms > 0)
        #expect(report.callToStartP50Ms > report.p50Ms)
        #expect(report.maxMs >= report.p99Ms)
        #expect(report.p50Ms < 500)
        #expect(Set(try self.members(report).keys).isSuperset(of: ["p50Ms", "p99Ms", "violations"]))
    }

    @Test func `A queue that holds other work is left alone`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        await #expect(throws: (any Error).self) {
            try await QueueBenchmark.Throughput(databaseURL: fixture.database.url).run()
        }
        #expect(try await fixture.count("insp.ready") == 1)
    }
}

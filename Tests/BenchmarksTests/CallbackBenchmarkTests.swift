import Benchmarks
import TestSupport
import Testing

/// `inspectd bench callbacks`: that it measures the product's own code, not how fast that is.
struct CallbackBenchmarkTests {
    private let database: ScratchDatabase

    init() async throws { self.database = try await ScratchDatabase.migrated() }

    @Test func `The benchmark reports rate, processor time and delay`() async throws {
        var benchmark = CallbackBenchmark(databaseURL: self.database.url)
        benchmark.callbacks = 200
        benchmark.endpoints = 4
        benchmark.program = BuiltProducts.inspectd
        let report = try await benchmark.run()
        #expect(report.callbacks == 600 && report.perSecond > 0 && report.cpuMicrosPerPost > 0)
        #expect(report.p99ClaimToSendMs > 0 && report.floorPerSecond > 0)
    }

    @Test(arguments: ["tcp", "tls", "dns", "drip"])
    func `Other partners get their callbacks while one hangs`(_ mode: String) async throws {
        var benchmark = CallbackBenchmark(databaseURL: self.database.url)
        benchmark.callbacks = 90
        benchmark.endpoints = 4
        benchmark.rounds = 1
        benchmark.hung = mode
        // That it ends at all says that the others were delivered while the partner hung; the figure is for quiet machines.
        let report = try await benchmark.runHung()
        #expect(report.callbacks == 90 && report.besidePerSecond > 0 && report.alonePerSecond > 0)
    }
}

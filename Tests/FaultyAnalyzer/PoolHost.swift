import Analyzer
import Dispatch
import Foundation

/// Owns a pool, all of whose analyzers have a job, until it is killed, and tells the processes' pids on stdout, the parent's first.
func ownPool(analyzers: Int) -> Never {
    Task {
        let pool = AnalyzerPool(configuration: ownConfiguration(analyzers: analyzers))
        do {
            // As the real worker does: a pool must also work from a process that is not dumpable.
            try CoreDumps.disable()
            try await pool.start()
            // Sessions within sessions, so that each has its process.
            try await hold(pool, analyzers, [pool.parentPID.map { "\($0)" } ?? ""])
        } catch {
            usage("\(error)")
        }
    }
    dispatchMain()
}

private func hold(_ pool: AnalyzerPool, _ analyzers: Int, _ pids: [String]) async throws {
    guard analyzers > 0 else {
        FileHandle.standardOutput.write(Data((pids.joined(separator: " ") + "\n").utf8))
        while true { try await Task.sleep(for: .seconds(3600)) }
    }
    try await pool.withAnalyzer(parts: []) { session in
        let reply = try await session.perform(stage: "pid", request: Data(), deadline: .seconds(60))
        try await hold(pool, analyzers - 1, pids + [String(decoding: reply, as: UTF8.self)])
    }
}

private func ownConfiguration(analyzers: Int) -> AnalyzerConfiguration {
    var configuration = AnalyzerConfiguration(count: analyzers)
    configuration.arguments = []
    return configuration
}

/// Prints medians and 99th percentiles in microseconds.
func measure() -> Never {
    Task {
        do {
            let loads = try await measureStarts()
            let forks = Samples()
            let pool = AnalyzerPool(configuration: ownConfiguration(analyzers: 1)) { event in
                if case .processStarted(let time) = event { forks.add(time) }
            }
            try await pool.start()
            for _ in 0..<100 {
                try await pool.withAnalyzer(parts: []) { session in
                    _ = try? await session.perform(stage: "exit", request: Data(), deadline: .seconds(10))
                }
            }
            let pings = try await time(pool, parts: [], calls: 2000)
            let jobs = try await timeJobs(pool, parts: [], count: 500)
            let image = Data((0..<(2 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            let payloads = try await timeJobs(pool, parts: [("FRONT", image)], count: 300)
            await pool.stop()
            print(
                """
                {"parent_start":\(loads.json),"fork_to_hello":\(forks.json),"ping":\(pings.json),\
                "job_without_parts":\(jobs.json),"job_of_2_MiB":\(payloads.json)}
                """)
            exit(0)
        } catch {
            usage("\(error)")
        }
    }
    dispatchMain()
}

private func measureStarts() async throws -> Samples {
    let loads = Samples()
    for _ in 0..<5 {
        let pool = AnalyzerPool(configuration: ownConfiguration(analyzers: 1))
        let begun = ContinuousClock.now
        try await pool.start()
        loads.add(.now - begun)
        await pool.stop()
    }
    return loads
}

/// Requests within one job.
private func time(_ pool: AnalyzerPool, parts: [(kind: String, bytes: Data)], calls: Int) async throws -> Samples {
    let samples = Samples()
    try await pool.withAnalyzer(parts: parts) { session in
        for _ in 0..<calls {
            let begun = ContinuousClock.now
            _ = try await session.perform(stage: "echo", request: Data([1]), deadline: .seconds(10))
            samples.add(.now - begun)
        }
    }
    return samples
}

/// Whole jobs: the parts written, one request that reads every byte of them, the end.
private func timeJobs(_ pool: AnalyzerPool, parts: [(kind: String, bytes: Data)], count: Int) async throws -> Samples {
    let samples = Samples()
    for _ in 0..<count {
        let begun = ContinuousClock.now
        try await pool.withAnalyzer(parts: parts) { session in
            _ = try await session.perform(stage: "parts", request: Data(), deadline: .seconds(10))
        }
        samples.add(.now - begun)
    }
    return samples
}

/// `@unchecked Sendable`: the lock guards the array.
private final class Samples: @unchecked Sendable {
    private let lock = NSLock()
    private var microseconds: [Double] = []

    func add(_ duration: Duration) { self.lock.withLock { self.microseconds.append(duration / .microseconds(1)) } }

    var json: String {
        let sorted = self.lock.withLock { self.microseconds.sorted() }
        func rank(_ share: Double) -> Int { Int(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) }
        return "{\"p50\":\(rank(0.5)),\"p99\":\(rank(0.99))}"
    }
}

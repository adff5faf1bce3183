internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Synchronization

/// Workers of the product in this process, and their measurements.
final class BenchmarkWorkers: Sendable {
    /// Measurements since the last call; times are in seconds.
    struct Measured: Sendable {
        /// Round trips of the claiming connections that carried a job or a write.
        var roundTrips: [Double] = []
        /// From the claim to the stored 128.
        var jobs: [Double] = []
        /// Jobs that those round trips claimed.
        var claimed = 0
        var firstStart: ContinuousClock.Instant?
        var lastFinish: ContinuousClock.Instant?

        var seconds: Double {
            guard let firstStart, let lastFinish else { return 0 }
            return (lastFinish - firstStart).seconds
        }

        /// Jobs a second, from the first one's start to the last one's end.
        var rate: Double { self.seconds > 0 ? Double(self.jobs.count) / self.seconds : 0 }

        var jobsPerRoundTrip: Double {
            QueueBenchmark.rounded(Double(self.jobs.count) / Double(max(1, self.roundTrips.count)))
        }
    }

    private struct State {
        var measured = Measured()
        var finished = 0
        /// Stop once this many are finished.
        var target: Int?
        var workers: [JobWorker] = []
    }

    private let configuration: JobWorkerConfiguration
    private let count: Int
    private let handler: BenchmarkHandler
    private let state = Mutex(State())
    /// Time without a finished job after which the benchmark fails.
    private static let patienceSeconds = 120.0

    init(_ url: String, count: Int = 1, slots: Int, _ handler: BenchmarkHandler = BenchmarkHandler()) {
        self.configuration = JobWorkerConfiguration(
            databaseURL: url, host: "benchmark", version: "benchmark", slots: slots)
        self.count = count
        self.handler = handler
    }

    /// Jobs finished so far.
    var finished: Int { self.state.withLock { $0.finished } }

    /// Measurements since the last call.
    func take() -> Measured {
        self.state.withLock { state in
            defer { state.measured = Measured() }
            return state.measured
        }
    }

    /// Works until this many further jobs are finished.
    func finish(_ jobs: Int) async throws {
        self.state.withLock { $0.target = $0.finished + jobs }
        try await self.run { while true { try await Task.sleep(for: .seconds(3600)) } }
    }

    /// Works while `body` runs.
    func work<Result: Sendable>(_ body: @escaping @Sendable () async throws -> Result) async throws -> Result {
        self.state.withLock { $0.target = nil }
        let result = Mutex<Result?>(nil)
        try await self.run {
            let value = try await body()
            result.withLock { $0 = value }
        }
        guard let value = result.withLock({ $0 }) else {
            throw InspectError(.internalError, "the benchmark's workers stopped")
        }
        return value
    }

    /// Runs the workers until they stop by themselves or `body` returns.
    private func run(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let workers = (0..<self.count).map { _ in
            JobWorker(self.configuration, handler: self.handler) { [weak self] in self?.record($0) }
        }
        self.state.withLock { $0.workers = workers }
        defer { self.state.withLock { $0.workers = [] } }
        // Not in the group with the body: finished work must be written before the connections are closed.
        let running = Task {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for worker in workers { group.addTask { try await worker.run() } }
                try await group.waitForAll()
            }
        }
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                // Called before the group waits for its other tasks, the first of which ends only with the workers.
                defer { workers.forEach { $0.stop() } }
                group.addTask { try await running.value }
                group.addTask { try await self.watch() }
                group.addTask(operation: body)
                try await group.next()
                group.cancelAll()
            }
        } catch {
            _ = try? await running.value
            throw error
        }
        try await running.value
    }

    private func watch() async throws {
        var last = self.finished
        var since = ContinuousClock.now
        while !Task.isCancelled {
            try await Task.sleep(for: .seconds(1))
            let now = self.finished
            if now != last {
                last = now
                since = .now
            } else if (.now - since).seconds > Self.patienceSeconds {
                throw InspectError(.internalError, "no job was finished for \(Int(Self.patienceSeconds)) s")
            }
        }
    }

    private func record(_ event: JobQueueEvent) {
        switch event {
        case .roundTrip(let written, let claimed, let seconds) where written + claimed > 0:
            self.state.withLock { state in
                state.measured.roundTrips.append(seconds)
                state.measured.claimed += claimed
            }
        case .started:
            let now = ContinuousClock.now
            self.state.withLock { state in
                if state.measured.firstStart == nil { state.measured.firstStart = now }
            }
        case .finished(_, let seconds):
            let now = ContinuousClock.now
            let done = self.state.withLock { state -> [JobWorker] in
                state.measured.jobs.append(seconds)
                state.measured.lastFinish = now
                state.finished += 1
                return state.finished == state.target ? state.workers : []
            }
            done.forEach { $0.stop() }
        default: break
        }
    }
}

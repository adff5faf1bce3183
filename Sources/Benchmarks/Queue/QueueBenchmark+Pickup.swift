internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Postgres
internal import Synchronization

extension QueueBenchmark {
    /// Latency until an idle worker starts a job that another connection enqueues.
    package struct Pickup: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// Jobs that are measured.
        package var jobs = 300
        /// Bounds of the random pause before each of them.
        package var pauseSeconds = 0.05...0.25

        package init(databaseURL: String) { self.databaseURL = databaseURL }
    }
}

extension QueueBenchmark.Pickup {
    /// Measurements, in milliseconds.
    package struct Report: Codable, Sendable {
        /// Jobs that were timed.
        package var jobs: Int
        /// From the answer to the enqueueing call, and so the commit, to the start of the handler; below 0 if the worker
        /// was faster than the answer.
        package var p50Ms: Double
        /// The 99th percentile of the same.
        package var p99Ms: Double
        /// The longest of the same.
        package var maxMs: Double
        /// From the enqueueing call to the start of the handler.
        package var callToStartP50Ms: Double
        var callToStartP99Ms: Double
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    /// Records when jobs start.
    private final class Starts: Sendable {
        private let starts = Mutex<[String: ContinuousClock.Instant]>([:])

        func note(_ id: String) {
            let now = ContinuousClock.now
            self.starts.withLock { $0[id] = now }
        }

        /// Waits for a job's start.
        func of(_ id: String) async throws -> ContinuousClock.Instant {
            let deadline = ContinuousClock.now + .seconds(30)
            while .now < deadline {
                if let start = self.starts.withLock({ $0[id] }) { return start }
                try await Task.sleep(for: .milliseconds(1))
            }
            throw InspectError(.internalError, "no worker claimed the job within 30 s")
        }
    }

    /// - Throws: ``InspectError`` if the queue is not empty: the database should be the benchmark's own.
    package func run(_ progress: @escaping QueueBenchmark.Progress = { _ in }) async throws -> Report {
        try await BenchmarkDatabase.with(self.databaseURL) { try await self.run(in: $0, progress) }
    }

    private func run(
        in database: BenchmarkDatabase, _ progress: @escaping QueueBenchmark.Progress
    ) async throws -> Report {
        try await database.addPartners(["bench"])
        let starts = Starts()
        let workers = BenchmarkWorkers(
            database.url, slots: 16, BenchmarkHandler(onStart: { starts.note($0.publicID) }))
        let producer = try await PostgresConnection.connect(
            database.url, options: ConnectionOptions(name: "inspectd benchmark producer"))
        let request = PostgresValue.text(BenchmarkDatabase.request(partner: "bench"))
        let warmUp = 20
        let times = try await workers.work { () -> [(fromCallSeconds: Double, fromCommitSeconds: Double)] in
            var times: [(fromCallSeconds: Double, fromCommitSeconds: Double)] = []
            progress(
                "\(self.jobs) jobs at intervals of \(self.pauseSeconds.lowerBound) to \(self.pauseSeconds.upperBound) s"
            )
            // The first rounds connect, subscribe and prepare.
            for round in 1...(self.jobs + warmUp) {
                try await Task.sleep(for: .seconds(Double.random(in: self.pauseSeconds)))
                let call = ContinuousClock.now
                let id = try await producer.query("SELECT insp.enqueue($1)", [request])[0].string(0)
                let commit = ContinuousClock.now
                // Checked only after a while, so that the check does not disturb the worker.
                try await Task.sleep(for: .milliseconds(20))
                let start = try await starts.of(id)
                if round > warmUp { times.append(((start - call).seconds, (start - commit).seconds)) }
            }
            return times
        }
        await producer.close()
        let missing = self.jobs + warmUp - (try await database.finished())
        let commits = times.map(\.fromCommitSeconds)
        let calls = times.map(\.fromCallSeconds)
        return Report(
            jobs: times.count, p50Ms: QueueBenchmark.milliseconds(commits, 0.5),
            p99Ms: QueueBenchmark.milliseconds(commits, 0.99), maxMs: QueueBenchmark.milliseconds(commits, 1),
            callToStartP50Ms: QueueBenchmark.milliseconds(calls, 0.5),
            callToStartP99Ms: QueueBenchmark.milliseconds(calls, 0.99),
            violations: try await database.violations() + missing)
    }
}

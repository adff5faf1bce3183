internal import Foundation
package import InspectCore
internal import JobQueue

extension QueueBenchmark {
    /// Jobs a second: enqueue alone, drain alone, and both at once.
    package struct Throughput: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// Jobs for each of the two measurements.
        package var jobs = 50_000
        /// Workers in this process.
        package var workers = 1
        /// Jobs that each worker has at once.
        package var slots = 256
        /// Connections that enqueue at once.
        package var producers = 2
        /// Jobs in one call of `insp.enqueue_many`.
        package var batch = 500
        /// The workflow of the jobs, whose parts by URL are also rows.
        package var workflow: Workflow = .id
        /// Whether each stage of the workflow is stored with its own result, or only the job's result is stored.
        package var storesStages = false

        package init(databaseURL: String) { self.databaseURL = databaseURL }
    }
}

extension QueueBenchmark.Throughput {
    /// Measurements. Rates are in jobs per second, times in milliseconds.
    package struct Report: Codable, Sendable {
        /// Jobs in all.
        package var jobs: Int
        /// Workers in this process.
        package var workers: Int
        /// Jobs that each worker had at once.
        package var slots: Int
        /// Connections that enqueued.
        package var producers: Int
        /// Jobs of one enqueueing call.
        package var batch: Int
        /// The workflow that the requests named; no image is analysed.
        package var workflow: String
        /// Rows stored for each job's results, the final one included.
        package var stepsPerJob: Int
        var synchronousCommit: String
        /// Enqueue alone, the queue growing.
        package var enqueueRate: Double
        /// Drain alone, from a full queue: first start to the last stored 128.
        package var drainRate: Double
        /// Enqueue and drain at the same time: first call of enqueue to the last stored 128.
        package var endToEndRate: Double
        /// Round trips of the claiming connections while draining: each writes results and claims the next jobs.
        package var roundTripP50: Double
        /// The 99th percentile of the same.
        package var roundTripP99: Double
        /// Mean number of jobs that a round trip settles and claims.
        package var jobsPerRoundTrip: Double
        /// Time from the claim to the stored 128, while draining.
        var jobP50: Double
        var jobP99: Double
        /// CPU time of this process for each job while draining, in microseconds; the server's is not in it.
        package var cpuMicrosecondsPerJob: Double
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    /// - Throws: ``InspectError`` if the queue is not empty: the database should be the benchmark's own.
    package func run(_ progress: @escaping QueueBenchmark.Progress = { _ in }) async throws -> Report {
        try await BenchmarkDatabase.with(self.databaseURL) { try await self.run(in: $0, progress) }
    }

    private func run(in database: BenchmarkDatabase, _ progress: QueueBenchmark.Progress) async throws -> Report {
        try await database.addPartners(["bench"])
        let producers = BenchmarkProducers(
            database.url, BenchmarkDatabase.request(partner: "bench", workflow: self.workflow),
            connections: self.producers, batch: self.batch)
        let handler = BenchmarkHandler(stages: self.storesStages ? self.workflow.stages : [])
        func makeWorkers() -> BenchmarkWorkers {
            BenchmarkWorkers(database.url, count: self.workers, slots: self.slots, handler)
        }

        // First the two halves, one after the other.
        progress("enqueue")
        let enqueueTime = try await producers.send(self.jobs)
        progress("drain")
        let draining = makeWorkers()
        let cpu = QueueBenchmark.cpuSeconds()
        try await draining.finish(self.jobs)
        let used = QueueBenchmark.cpuSeconds() - cpu
        let drained = draining.take()

        // Then both at once.
        progress("enqueue and drain")
        let both = makeWorkers()
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await producers.send(self.jobs) }
            group.addTask { try await both.finish(self.jobs) }
            try await group.waitForAll()
        }
        let bothTime = both.take().lastFinish.map { ($0 - start).seconds } ?? 0

        progress("check")
        let steps = handler.stages.count + 1
        let missing = 2 * self.jobs - (try await database.finished())
        return Report(
            jobs: self.jobs, workers: self.workers, slots: self.slots, producers: self.producers, batch: self.batch,
            workflow: self.workflow.rawValue, stepsPerJob: steps,
            synchronousCommit: try await database.setting("synchronous_commit"),
            enqueueRate: (Double(self.jobs) / enqueueTime).rounded(), drainRate: drained.rate.rounded(),
            endToEndRate: (Double(self.jobs) / bothTime).rounded(),
            roundTripP50: QueueBenchmark.milliseconds(drained.roundTrips, 0.5),
            roundTripP99: QueueBenchmark.milliseconds(drained.roundTrips, 0.99),
            jobsPerRoundTrip: drained.jobsPerRoundTrip,
            jobP50: QueueBenchmark.milliseconds(drained.jobs, 0.5),
            jobP99: QueueBenchmark.milliseconds(drained.jobs, 0.99),
            cpuMicrosecondsPerJob: QueueBenchmark.rounded(used / Double(self.jobs) * 1e6),
            violations: try await database.violations(results: steps) + missing)
    }
}

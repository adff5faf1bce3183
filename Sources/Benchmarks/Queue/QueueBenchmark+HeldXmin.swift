internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Synchronization

extension QueueBenchmark {
    /// Throughput while an old transaction holds the xmin horizon, compared with a queue that has a state column.
    package struct HeldXmin: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// How long the transaction is held, in seconds.
        package var seconds: Double
        /// Jobs that the worker has at once.
        package var slots = 256
        /// Workers in this process.
        package var workers = 1
        /// Connections that enqueue.
        package var producers = 2
        /// Jobs that are kept waiting.
        package var depth = 20_000
        /// Whether the conventional queue is also measured.
        var comparesConventional = true

        package init(databaseURL: String, seconds: Double) {
            self.databaseURL = databaseURL
            self.seconds = seconds
        }
    }
}

extension QueueBenchmark.HeldXmin {
    /// Jobs a second up to a moment, given in seconds since the transaction was opened.
    package struct Sample: Codable, Sendable {
        /// The end of the sample, in seconds.
        package var second: Double
        /// Jobs per second.
        package var rate: Double
    }

    /// Measurements. Rates are in jobs per second, times in milliseconds.
    package struct Report: Codable, Sendable {
        var heldSeconds: Double
        /// Length of the windows that `before` and `after` are taken over.
        var windowSeconds: Double
        /// Jobs that each worker had at once.
        package var slots: Int
        /// Workers in this process.
        package var workers: Int
        /// Connections that enqueued.
        package var producers: Int
        /// Jobs that were kept waiting.
        package var depth: Int
        /// Before the transaction was opened, and before it ended.
        package var before: Double
        /// Before the transaction ended.
        package var after: Double
        /// `after` over `before`.
        package var ratio: Double
        /// Jobs that reached 128.
        package var finished: Int
        /// The worker's round trips before and at the end: results of the last jobs, claim of the next.
        var roundTripBeforeP50Ms: Double
        var roundTripBeforeP99Ms: Double
        /// The same at the end.
        package var roundTripAfterP50Ms: Double
        var roundTripAfterP99Ms: Double
        /// Claims of one job each, while the worker runs, in the last window.
        package var claims: Int
        /// Median of the claims.
        package var claimP50Ms: Double
        /// 99th percentile of the claims.
        package var claimP99Ms: Double
        /// A heartbeat every few seconds: in the last window, and the longest of all.
        package var heartbeatP50Ms: Double
        var heartbeatMaxMs: Double
        /// In order of time.
        package var series: [Sample]
        /// The same for the conventional queue, with the product's average batch size.
        var conventionalBatch: Int?
        /// As ``before``.
        package var conventionalBefore: Double?
        /// As ``after``.
        package var conventionalAfter: Double?
        /// As ``ratio``.
        package var conventionalRatio: Double?
        var conventionalRoundTripBeforeP50Ms: Double?
        var conventionalRoundTripAfterP50Ms: Double?
        /// As ``series``.
        package var conventionalSeries: [Sample]?
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    /// - Throws: ``InspectError`` if the queue is not empty: the database should be the benchmark's own.
    package func run(_ progress: @escaping QueueBenchmark.Progress = { _ in }) async throws -> Report {
        try await BenchmarkDatabase.with(self.databaseURL) { database in
            var report = try await self.runProduct(in: database, progress)
            if self.comparesConventional { try await self.runConventional(&report, in: database, progress) }
            return report
        }
    }

    /// Measurements in addition to the rates.
    private struct Latencies: Sendable {
        var before: [Double] = []
        var after: [Double] = []
        var claims: [Double] = []
        var heartbeats: [Double] = []
        var allHeartbeats: [Double] = []
        var jobsPerRoundTrip = 0.0
        var isLast = false
    }

    private func runProduct(
        in database: BenchmarkDatabase, _ progress: @escaping QueueBenchmark.Progress
    ) async throws -> Report {
        try await database.addPartners(["bench"])
        let timeline = ThroughputTimeline(holding: self.seconds)
        let workers = BenchmarkWorkers(database.url, count: self.workers, slots: self.slots)
        let producers = BenchmarkProducers(
            database.url, BenchmarkDatabase.request(partner: "bench"), connections: self.producers)
        let latencies = Mutex(Latencies())
        // The probe's jobs are not among the workers'.
        let probed = BenchmarkProducers.Counter(0)
        progress("the product's queue, transaction held for \(Int(self.seconds)) s")
        let outcome = try await workers.work { () -> ThroughputTimeline.Outcome in
            let filling = Task { try await producers.keep(self.depth) { workers.finished + probed.value } }
            defer { filling.cancel() }
            let probe = try await ClaimProbe.start(database.url)
            let held = Mutex<HeldSnapshot?>(nil)
            let outcome = try await timeline.run(finished: { workers.finished }) {
                let snapshot = try await HeldSnapshot.open(database.url)
                held.withLock { $0 = snapshot }
            } at: { moment in
                switch moment {
                case .before: _ = workers.take()
                case .opened:
                    let measured = workers.take()
                    latencies.withLock { state in
                        state.before = measured.roundTrips
                        state.jobsPerRoundTrip = measured.jobsPerRoundTrip
                    }
                case .last:
                    _ = workers.take()
                    latencies.withLock { $0.isLast = true }
                case .sample:
                    let beat = try await probe.beat()
                    // Too few to matter next to the worker's own claims.
                    let claims = try await probe.claim(20)
                    probed.add(claims.count)
                    latencies.withLock { state in
                        state.allHeartbeats.append(beat)
                        guard state.isLast else { return }
                        state.heartbeats.append(beat)
                        state.claims += claims
                    }
                }
            }
            let measured = workers.take()
            latencies.withLock { $0.after = measured.roundTrips }
            await probe.stop()
            try await held.withLock { $0 }?.close()
            filling.cancel()
            _ = try await filling.value
            return outcome
        }
        progress("check")
        return self.report(
            outcome, timeline, latencies.withLock { $0 }, finished: try await database.finished(),
            violations: try await database.violations())
    }

    private func report(
        _ outcome: ThroughputTimeline.Outcome, _ timeline: ThroughputTimeline, _ latencies: Latencies, finished: Int,
        violations: Int
    ) -> Report {
        Report(
            heldSeconds: self.seconds, windowSeconds: timeline.windowSeconds, slots: self.slots,
            workers: self.workers, producers: self.producers, depth: self.depth, before: outcome.before,
            after: outcome.after, ratio: QueueBenchmark.ratio(outcome.after, outcome.before), finished: finished,
            roundTripBeforeP50Ms: QueueBenchmark.milliseconds(latencies.before, 0.5),
            roundTripBeforeP99Ms: QueueBenchmark.milliseconds(latencies.before, 0.99),
            roundTripAfterP50Ms: QueueBenchmark.milliseconds(latencies.after, 0.5),
            roundTripAfterP99Ms: QueueBenchmark.milliseconds(latencies.after, 0.99), claims: latencies.claims.count,
            claimP50Ms: QueueBenchmark.milliseconds(latencies.claims, 0.5),
            claimP99Ms: QueueBenchmark.milliseconds(latencies.claims, 0.99),
            heartbeatP50Ms: QueueBenchmark.milliseconds(latencies.heartbeats, 0.5),
            heartbeatMaxMs: QueueBenchmark.milliseconds(latencies.allHeartbeats, 1),
            series: outcome.samples.map { Sample(second: $0.second, rate: $0.rate) },
            conventionalBatch: max(1, Int(latencies.jobsPerRoundTrip.rounded())), violations: violations)
    }

    private func runConventional(
        _ report: inout Report, in database: BenchmarkDatabase, _ progress: @escaping QueueBenchmark.Progress
    ) async throws {
        var queue = ConventionalQueue(url: database.url, payload: BenchmarkDatabase.request(partner: "bench"))
        queue.workers =
            self.workers
            * JobWorkerConfiguration(databaseURL: "", host: "", version: "", slots: self.slots).pumps
        queue.producers = self.producers
        queue.batch = report.conventionalBatch ?? queue.batch
        queue.depth = self.depth
        let timeline = ThroughputTimeline(holding: self.seconds)
        progress("a conventional queue, batches of \(queue.batch), transaction held for \(Int(self.seconds)) s")
        let (outcome, before, after) = try await queue.work { done in
            let held = Mutex<HeldSnapshot?>(nil)
            let before = Mutex<[Double]>([])
            let outcome = try await timeline.run(finished: { done.count }) {
                let snapshot = try await HeldSnapshot.open(database.url)
                held.withLock { $0 = snapshot }
            } at: { moment in
                switch moment {
                case .before, .last: _ = done.takeRoundTrips()
                case .opened:
                    let times = done.takeRoundTrips()
                    before.withLock { $0 = times }
                case .sample: break
                }
            }
            let after = done.takeRoundTrips()
            try await held.withLock { $0 }?.close()
            return (outcome, before.withLock { $0 }, after)
        }
        report.conventionalBefore = outcome.before
        report.conventionalAfter = outcome.after
        report.conventionalRatio = QueueBenchmark.ratio(outcome.after, outcome.before)
        report.conventionalRoundTripBeforeP50Ms = QueueBenchmark.milliseconds(before, 0.5)
        report.conventionalRoundTripAfterP50Ms = QueueBenchmark.milliseconds(after, 0.5)
        report.conventionalSeries = outcome.samples.map { Sample(second: $0.second, rate: $0.rate) }
    }
}

internal import Foundation
internal import InspectCore
internal import JobQueue

extension QueueBenchmark {
    /// The cost of a claim at different queue lengths.
    package struct Backlog: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// Waiting jobs; measured from the shortest queue to the longest.
        package var backlogs: [Int]
        /// Single claims that are timed for each of them.
        package var claims = 5_000
        /// How long a worker drains the queue, in seconds.
        package var seconds = 20.0
        /// Jobs that the worker has at once.
        package var slots = 256
        /// Number of partners, to which the jobs belong in turn.
        package var partners = 8

        package init(databaseURL: String, backlogs: [Int]) {
            self.databaseURL = databaseURL
            self.backlogs = backlogs
        }
    }
}

extension QueueBenchmark.Backlog {
    /// Measurements at one length; times are in milliseconds.
    package struct Report: Codable, Sendable {
        /// Jobs waiting when the measurement began.
        package var backlog: Int
        /// Partners, to which the jobs belong in turn.
        package var partners: Int
        var fillSeconds: Double
        /// Claims of one job each, one after the other, on a queue without other workers.
        package var claims: Int
        /// Median of the claims.
        package var claimP50Ms: Double
        /// 99th percentile of the claims.
        package var claimP99Ms: Double
        var claimMaxMs: Double
        /// The median of the 99th percentiles of ten runs of claims, which a short disturbance of the machine does not
        /// affect.
        package var claimSteadyP99Ms: Double
        /// The ratio of these figures to those of the shortest queue.
        var claimP50Ratio: Double
        /// Of ``claimP99Ms``.
        package var claimP99Ratio: Double
        var claimSteadyP99Ratio: Double
        /// Claims of one job each while a worker drains the queue.
        package var loadedClaims: Int
        var loadedClaimP50Ms: Double
        /// 99th percentile of the same.
        package var loadedClaimP99Ms: Double
        /// The draining worker's round trips: results of the last jobs, claim of the next.
        package var roundTripP50Ms: Double
        var roundTripP99Ms: Double
        /// Mean number of jobs that a round trip settles and claims.
        package var jobsPerRoundTrip: Double
        /// Of the draining worker.
        package var jobsPerSecond: Double
        /// How long the draining took; a short queue is empty before the time is over.
        var drainSeconds: Double
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    /// Measures one length after the other; jobs that wait from an earlier run count towards the first.
    ///
    /// - Parameter each: Receives each report as soon as it is ready.
    package func run(
        _ progress: @escaping QueueBenchmark.Progress = { _ in }, each: @escaping @Sendable (Report) -> Void
    ) async throws {
        try await BenchmarkDatabase.with(self.databaseURL, allowingWaiting: true) {
            try await self.run(in: $0, progress, each)
        }
    }

    private func run(
        in database: BenchmarkDatabase, _ progress: QueueBenchmark.Progress, _ each: (Report) -> Void
    ) async throws {
        let partners = (1...self.partners).map { "bench-\($0)" }
        try await database.addPartners(partners)
        let requests = partners.map { BenchmarkDatabase.request(partner: $0) }
        var shortest: Report?
        for backlog in self.backlogs.sorted() {
            let waiting = try await database.waiting()
            guard waiting <= backlog else {
                throw InspectError(.internalError, "\(waiting) jobs are already waiting, more than \(backlog)")
            }
            let start = ContinuousClock.now
            try await BacklogFill(database).add(backlog - waiting, like: requests, progress)
            let fillSeconds = QueueBenchmark.rounded((.now - start).seconds)
            progress("single claims over \(backlog) jobs")
            let probe = try await ClaimProbe.start(database.url)
            let claims: [Double]
            do {
                // The first ones prepare and fill caches.
                _ = try await probe.claim(min(200, backlog / 10))
                claims = try await probe.claim(min(self.claims, backlog / 2))
            } catch {
                await probe.stop()
                throw error
            }
            await probe.stop()
            progress("draining from \(backlog) jobs")
            let (drained, loaded) = try await self.drain(database, jobs: try await database.waiting())
            let p50 = QueueBenchmark.milliseconds(claims, 0.5)
            let p99 = QueueBenchmark.milliseconds(claims, 0.99)
            let steady = Self.steadyP99(claims)
            let report = Report(
                backlog: backlog, partners: self.partners, fillSeconds: fillSeconds, claims: claims.count,
                claimP50Ms: p50, claimP99Ms: p99, claimMaxMs: QueueBenchmark.milliseconds(claims, 1),
                claimSteadyP99Ms: steady,
                claimP50Ratio: QueueBenchmark.ratio(p50, shortest?.claimP50Ms ?? p50),
                claimP99Ratio: QueueBenchmark.ratio(p99, shortest?.claimP99Ms ?? p99),
                claimSteadyP99Ratio: QueueBenchmark.ratio(steady, shortest?.claimSteadyP99Ms ?? steady),
                loadedClaims: loaded.count, loadedClaimP50Ms: QueueBenchmark.milliseconds(loaded, 0.5),
                loadedClaimP99Ms: QueueBenchmark.milliseconds(loaded, 0.99),
                roundTripP50Ms: QueueBenchmark.milliseconds(drained.roundTrips, 0.5),
                roundTripP99Ms: QueueBenchmark.milliseconds(drained.roundTrips, 0.99),
                jobsPerRoundTrip: drained.jobsPerRoundTrip, jobsPerSecond: drained.rate.rounded(),
                drainSeconds: QueueBenchmark.rounded(drained.seconds),
                violations: try await database.violations())
            if shortest == nil { shortest = report }
            each(report)
        }
    }

    private static func steadyP99(_ claims: [Double]) -> Double {
        let length = max(1, claims.count / 10)
        let blocks = stride(from: 0, to: claims.count - length + 1, by: length).map { claims[$0..<($0 + length)] }
        return QueueBenchmark.milliseconds(blocks.map { QueueBenchmark.percentile(Array($0), 0.99) }, 0.5)
    }

    /// Lets a worker drain the queue for a while, and claims single jobs at the same time.
    private func drain(
        _ database: BenchmarkDatabase, jobs: Int
    ) async throws -> (BenchmarkWorkers.Measured, loaded: [Double]) {
        let workers = BenchmarkWorkers(database.url, slots: self.slots)
        let loaded = try await workers.work { () -> [Double] in
            let probe = try await ClaimProbe.start(database.url)
            let probing = Task { try await probe.claim(.max, pause: .milliseconds(5)) }
            let end = ContinuousClock.now + .seconds(self.seconds)
            // The workers do not count the probe's jobs, so the end is near when few are left.
            while .now < end, workers.finished < jobs - jobs / 10 - self.slots {
                try await Task.sleep(for: .milliseconds(10))
            }
            probing.cancel()
            let times = try await probing.value
            await probe.stop()
            return times
        }
        return (workers.take(), loaded)
    }
}

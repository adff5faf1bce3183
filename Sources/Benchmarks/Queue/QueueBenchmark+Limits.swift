internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Postgres

extension QueueBenchmark {
    /// The cost of exact limits: a partner with limits far above its load, compared with one without limits.
    package struct Limits: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// Jobs drained in each round.
        package var jobs = 20_000
        /// Rounds of each kind, in turn.
        package var rounds = 5
        /// Workers in this process.
        package var workers = 1
        /// Jobs that each worker has at once.
        package var slots = 256

        package init(databaseURL: String) { self.databaseURL = databaseURL }
    }
}

extension QueueBenchmark.Limits {
    /// Medians of the rounds, in jobs a second.
    package struct Report: Codable, Sendable {
        /// Jobs in each round.
        package var jobs: Int
        /// Rounds of each kind.
        package var rounds: Int
        /// Workers in this process.
        package var workers: Int
        /// Jobs that each worker had at once.
        package var slots: Int
        /// Without limits.
        package var unlimitedRate: Double
        /// With exact limits that are never reached.
        package var limitedRate: Double
        /// `limitedRate` over `unlimitedRate`.
        package var ratio: Double
        /// Of each round.
        package var unlimitedRates: [Double]
        /// Of each round.
        package var limitedRates: [Double]
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    /// - Throws: ``InspectError`` if the queue is not empty: the database should be the benchmark's own.
    package func run(_ progress: @escaping QueueBenchmark.Progress = { _ in }) async throws -> Report {
        try await BenchmarkDatabase.with(self.databaseURL) { try await self.run(in: $0, progress) }
    }

    private func run(in database: BenchmarkDatabase, _ progress: QueueBenchmark.Progress) async throws -> Report {
        try await database.addPartners(["bench-unlimited", "bench-limited"])
        _ = try await database.admin.query("SELECT insp.limit_partner('bench-limited', 1000000, 1000000, 1000000)")
        var rates: [String: [Double]] = [:]
        // One uncounted round to fill caches.
        for round in 0...self.rounds {
            // Alternately, each first equally often, so that the order favours neither.
            let partners = ["bench-unlimited", "bench-limited"]
            for partner in round % 2 == 0 ? partners : partners.reversed() {
                progress("round \(round) of \(self.rounds), \(partner)")
                try await BenchmarkProducers(database.url, BenchmarkDatabase.request(partner: partner)).send(self.jobs)
                let draining = BenchmarkWorkers(database.url, count: self.workers, slots: self.slots)
                try await draining.finish(self.jobs)
                if round > 0 { rates[partner, default: []].append(draining.take().rate.rounded()) }
            }
        }
        let unlimited = rates["bench-unlimited"] ?? []
        let limited = rates["bench-limited"] ?? []
        let medians = (QueueBenchmark.percentile(unlimited, 0.5), QueueBenchmark.percentile(limited, 0.5))
        let missing = 2 * (self.rounds + 1) * self.jobs - (try await database.finished())
        return Report(
            jobs: self.jobs, rounds: self.rounds, workers: self.workers, slots: self.slots, unlimitedRate: medians.0,
            limitedRate: medians.1, ratio: QueueBenchmark.ratio(medians.1, medians.0), unlimitedRates: unlimited,
            limitedRates: limited, violations: try await database.violations() + missing)
    }
}

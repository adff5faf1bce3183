internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Synchronization

extension QueueBenchmark {
    /// How long a small partner's jobs wait next to a large partner's backlog, and the bulk lane's share next to an endless
    /// stream of urgent jobs.
    package struct Fairness: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// Waiting jobs of the large partner.
        package var big = 1_000_000
        /// Jobs of the small partner, enqueued at once.
        package var small = 100
        /// Number of rounds, alone and next to it.
        package var rounds = 10
        /// Jobs that the worker has at once, and how long each takes.
        package var slots = 16
        /// How long a job holds its slot.
        package var duration: Duration = .milliseconds(5)
        /// How long the lanes are watched, in seconds.
        package var laneSeconds = 10.0

        package init(databaseURL: String) { self.databaseURL = databaseURL }
    }
}

extension QueueBenchmark.Fairness {
    /// Measurements, in milliseconds.
    package struct Report: Codable, Sendable {
        /// Waiting jobs of the large partner.
        package var big: Int
        /// Jobs of the small partner in each round.
        package var small: Int
        /// Rounds of each kind.
        package var rounds: Int
        /// Jobs that the worker had at once.
        package var slots: Int
        /// From the enqueueing call to the start of each of the small partner's jobs, while no other jobs wait.
        var aloneP50Ms: Double
        /// The 95th percentile of the same.
        package var aloneP95Ms: Double
        /// The same next to the large partner's backlog.
        var besideP50Ms: Double
        /// The 95th percentile of the same.
        package var besideP95Ms: Double
        /// `besideP95Ms` over `aloneP95Ms`.
        package var ratio: Double
        /// Jobs of the large partner that were started in the meantime.
        package var bigStarted: Int
        /// Share of the bulk lane among the jobs that were started while both lanes always had some.
        package var bulkShare: Double
        /// Jobs of both lanes that were started meanwhile.
        package var laneJobs: Int
        /// Longest time without a bulk job.
        var bulkLongestGapMs: Double
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    /// When jobs of each partner were started.
    private final class Starts: Sendable {
        private let starts = Mutex<[String: [ContinuousClock.Instant]]>([:])

        private struct Request: Decodable { var partner: String }

        func note(_ job: ClaimedJob) {
            let now = ContinuousClock.now
            guard let request = try? JSONDecoder().decode(Request.self, from: job.payload) else { return }
            self.starts.withLock { $0[request.partner, default: []].append(now) }
        }

        func count(_ partner: String) -> Int { self.starts.withLock { $0[partner]?.count ?? 0 } }

        func take(_ partner: String) -> [ContinuousClock.Instant] {
            self.starts.withLock { $0.removeValue(forKey: partner) ?? [] }
        }
    }

    private static let small = "bench-small"
    private static let big = "bench-big"
    private static let urgent = "bench-urgent"
    private static let bulk = "bench-bulk"

    /// - Throws: ``InspectError`` if the queue is not empty: the database should be the benchmark's own.
    package func run(_ progress: @escaping QueueBenchmark.Progress = { _ in }) async throws -> Report {
        try await BenchmarkDatabase.with(self.databaseURL) { try await self.run(in: $0, progress) }
    }

    private func run(
        in database: BenchmarkDatabase, _ progress: @escaping QueueBenchmark.Progress
    ) async throws -> Report {
        try await database.addPartners([Self.small, Self.big, Self.urgent, Self.bulk])
        let starts = Starts()
        let workers = BenchmarkWorkers(
            database.url, slots: self.slots,
            BenchmarkHandler(duration: self.duration, onStart: { starts.note($0) }))
        progress("\(self.rounds) rounds of \(self.small) jobs alone")
        let alone = try await workers.work { try await self.waits(database, starts) }
        try await BacklogFill(database).add(
            self.big, like: [BenchmarkDatabase.request(partner: Self.big)], progress)
        progress("\(self.rounds) rounds of \(self.small) jobs beside \(self.big)")
        _ = starts.take(Self.big)
        let beside = try await workers.work { try await self.waits(database, starts) }
        let bigStarted = starts.count(Self.big)
        guard bigStarted < self.big else {
            throw InspectError(.internalError, "the large partner's backlog was too short")
        }
        // The large partner's jobs are in the lane between the two.
        _ = try await database.admin.query("SELECT insp.pause('normal', reason => 'benchmark')")
        let lanes: (share: Double, jobs: Int, gap: Double)
        do {
            lanes = try await self.lanes(database, workers, starts, progress)
        } catch {
            _ = try? await database.admin.query("SELECT insp.resume('normal')")
            throw error
        }
        _ = try await database.admin.query("SELECT insp.resume('normal')")
        let aloneP95 = QueueBenchmark.milliseconds(alone, 0.95)
        let besideP95 = QueueBenchmark.milliseconds(beside, 0.95)
        return Report(
            big: self.big, small: self.small, rounds: self.rounds, slots: self.slots,
            aloneP50Ms: QueueBenchmark.milliseconds(alone, 0.5), aloneP95Ms: aloneP95,
            besideP50Ms: QueueBenchmark.milliseconds(beside, 0.5), besideP95Ms: besideP95,
            ratio: QueueBenchmark.ratio(besideP95, aloneP95), bigStarted: bigStarted, bulkShare: lanes.share,
            laneJobs: lanes.jobs, bulkLongestGapMs: lanes.gap, violations: try await database.violations())
    }

    /// The waits of the small partner's jobs, in seconds from the call that enqueued them.
    private func waits(_ database: BenchmarkDatabase, _ starts: Starts) async throws -> [Double] {
        let requests = Array(repeating: BenchmarkDatabase.request(partner: Self.small), count: self.small)
        func round() async throws -> [Double] {
            let call = ContinuousClock.now
            _ = try await database.admin.query(
                "SELECT count(*) FROM insp.enqueue_many($1)", [.jsonbs(requests)])
            let deadline = ContinuousClock.now + .seconds(300)
            while starts.count(Self.small) < self.small {
                guard .now < deadline else {
                    throw InspectError(.internalError, "no worker claimed the small partner's jobs within 300 s")
                }
                try await Task.sleep(for: .milliseconds(5))
            }
            return starts.take(Self.small).map { ($0 - call).seconds }
        }
        // The first round connects and prepares.
        _ = try await round()
        var waitsSeconds: [Double] = []
        for _ in 0..<self.rounds {
            try await Task.sleep(for: .milliseconds(Int.random(in: 50...150)))
            waitsSeconds += try await round()
        }
        return waitsSeconds
    }

    /// The bulk lane's share while the urgent lane always has jobs.
    private func lanes(
        _ database: BenchmarkDatabase, _ workers: BenchmarkWorkers, _ starts: Starts,
        _ progress: QueueBenchmark.Progress
    ) async throws -> (share: Double, jobs: Int, gap: Double) {
        // More than that many slots can process in the time.
        let needed = Int(Double(self.slots) * self.laneSeconds / (self.duration.seconds)) + 1_000
        for (partner, lane) in [(Self.urgent, "urgent"), (Self.bulk, "bulk")] {
            try await BacklogFill(database).add(
                needed, like: [BenchmarkDatabase.request(partner: partner, lane: lane)], progress)
        }
        progress("bulk jobs beside urgent ones")
        try await workers.work {
            try await Task.sleep(for: .seconds(self.laneSeconds))
        }
        let urgent = starts.take(Self.urgent)
        let bulk = starts.take(Self.bulk)
        guard let first = urgent.first, let last = urgent.last, urgent.count < needed, bulk.count < needed else {
            throw InspectError(.internalError, "a lane ran dry")
        }
        let moments = [first] + bulk + [last]
        let gaps = zip(moments, moments.dropFirst()).map { ($1 - $0).seconds }
        return (
            QueueBenchmark.ratio(Double(bulk.count), Double(urgent.count + bulk.count)), urgent.count + bulk.count,
            QueueBenchmark.milliseconds(gaps, 1)
        )
    }
}

internal import Foundation
public import InspectCore
internal import Postgres
internal import Synchronization

/// Measures the queue alone, on the product's own path: `insp.enqueue_many`, then a ``JobWorker`` whose handler analyses
/// nothing but stores every stage's result of the workflow, then 128 with result, terminal event and outbox row.
public enum QueueBenchmark {
    /// What was measured. Rates are in jobs per second, times in milliseconds.
    public struct Report: Codable, Sendable {
        public var jobs: Int
        public var slots: Int
        public var producers: Int
        public var batch: Int
        public var workflow: String
        /// Rows stored for each job's results, the final one included.
        public var stepsPerJob: Int
        public var synchronousCommit: String
        /// Enqueue alone, the queue growing.
        public var enqueueRate: Double
        /// Drain alone, from a full queue.
        public var drainRate: Double
        /// Enqueue and drain at the same time: first call of enqueue to the last 128.
        public var endToEndRate: Double
        /// Round trips of the claiming connection while draining: each writes results and claims the next jobs.
        public var roundTripP50: Double
        public var roundTripP99: Double
        public var jobsPerRoundTrip: Double
        /// Time from the claim to the stored 128, while draining.
        public var jobP50: Double
        public var jobP99: Double
        /// Jobs without exactly one terminal event, result and callback: must be 0.
        public var violations: Int
    }

    /// Runs the benchmark in the database's own queue, which must be empty; what it made stays there.
    ///
    /// - Parameters:
    ///   - jobs: Jobs for each of the two measurements.
    ///   - slots: Jobs that the worker has at once.
    ///   - producers: Connections that enqueue at once.
    ///   - batch: Jobs in one call of `insp.enqueue_many`.
    public static func run(
        databaseURL: String, jobs: Int = 50_000, slots: Int = 256, producers: Int = 2, batch: Int = 500,
        workflow: Workflow = .idIdentity
    ) async throws -> Report {
        let admin = try await PostgresConnection.connect(databaseURL)
        let partner = "bench"
        _ = try await admin.query(
            """
            SELECT insp.create_partner($1, 'https://hooks.example.com/bench')
            WHERE NOT EXISTS (SELECT FROM insp.partner WHERE name = $1)
            """, [.text(partner)])
        guard try await admin.query("SELECT NOT EXISTS (SELECT FROM insp.ready)")[0].bool(0) else {
            throw InspectError(.internalError, "the queue is not empty; give the benchmark a database of its own")
        }
        let payload = Self.payload(partner: partner, workflow: workflow)
        let first = try await admin.query("SELECT last_value FROM insp.job_id")[0].int(0)

        // First the two halves, one after the other.
        var start = ContinuousClock.now
        try await self.enqueue(jobs, payload, databaseURL, producers: producers, batch: batch)
        let enqueueTime = (.now - start).seconds
        let recorder = Recorder()
        start = .now
        try await self.drain(databaseURL, slots: slots, workflow: workflow, expecting: jobs, recorder)
        let drainTime = (.now - start).seconds

        // Then both at once.
        start = .now
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.enqueue(jobs, payload, databaseURL, producers: producers, batch: batch)
            }
            group.addTask {
                try await self.drain(databaseURL, slots: slots, workflow: workflow, expecting: jobs, Recorder())
            }
            try await group.waitForAll()
        }
        let bothTime = (.now - start).seconds

        let violations = try await admin.query(
            """
            SELECT count(*) FROM insp.job j WHERE j.id > $1 AND NOT (j.status = 128
                AND (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') = 1
                AND (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id) = $2
                AND (SELECT count(*) FROM insp.callback c WHERE c.job_id = j.id) = 1)
            """, [.int(first), .int(Int64(workflow.stages.count + 1))], timeout: .seconds(600))[0].int(0)
        let commit = try await admin.query("SELECT current_setting('synchronous_commit')")[0].string(0)
        await admin.close()
        let measured = recorder.measured.withLock { $0 }
        return Report(
            jobs: jobs, slots: slots, producers: producers, batch: batch, workflow: workflow.rawValue,
            stepsPerJob: workflow.stages.count + 1, synchronousCommit: commit,
            enqueueRate: (Double(jobs) / enqueueTime).rounded(), drainRate: (Double(jobs) / drainTime).rounded(),
            endToEndRate: (Double(jobs) / bothTime).rounded(),
            roundTripP50: self.percentile(measured.roundTrips, 0.5),
            roundTripP99: self.percentile(measured.roundTrips, 0.99),
            jobsPerRoundTrip: (Double(jobs) / Double(max(1, measured.roundTrips.count)) * 10).rounded() / 10,
            jobP50: self.percentile(measured.jobs, 0.5), jobP99: self.percentile(measured.jobs, 0.99),
            violations: Int(violations))
    }

    private static func payload(partner: String, workflow: Workflow) -> String {
        let digest = String(repeating: "0", count: 64)
        let parts = (workflow.requiredParts.first ?? []).map {
            #""\#($0.rawValue)":{"url":"https://images.example.com/bench/front.jpg","sha256":"\#(digest)"}"#
        }.sorted().joined(separator: ",")
        return #"{"partner":"\#(partner)","workflow":"\#(workflow.rawValue)","customerInternalReference":"bench","#
            + #""userReference":"bench-user","parts":{\#(parts)}}"#
    }

    private static func enqueue(
        _ jobs: Int, _ payload: String, _ url: String, producers: Int, batch: Int
    ) async throws {
        let left = Counter(jobs)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<producers {
                group.addTask {
                    let connection = try await PostgresConnection.connect(url)
                    while true {
                        let count = left.take(batch)
                        if count == 0 { break }
                        _ = try await connection.query(
                            "SELECT count(*) FROM insp.enqueue_many($1)",
                            [.textArray(Array(repeating: payload, count: count))])
                    }
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
    }

    /// Runs a worker until so many jobs are finished.
    private static func drain(
        _ url: String, slots: Int, workflow: Workflow, expecting jobs: Int, _ recorder: Recorder
    ) async throws {
        let configuration = JobWorkerConfiguration(
            databaseURL: url, host: "benchmark", version: "benchmark", slots: slots)
        let stop = Mutex<JobWorker?>(nil)
        let left = Counter(jobs)
        let worker = JobWorker(configuration, handler: StageHandler(workflow: workflow)) { event in
            recorder.record(event)
            if case .finished = event, left.take(1) == 1, left.isEmpty { stop.withLock { $0 }?.stop() }
        }
        stop.withLock { $0 = worker }
        defer { stop.withLock { $0 = nil } }
        try await worker.run()
    }

    private static func percentile(_ values: [Double], _ share: Double) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        let value = sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        return (value * 1e5).rounded() / 100
    }

    /// Stores a small result for each stage of the workflow; analyses nothing.
    private struct StageHandler: JobHandler {
        let workflow: Workflow
        static let output = Data(#"{"timingsMs":{"total":0}}"#.utf8)
        static let result = Data(
            #"{"decision":{"type":"PASSED","details":{"label":"OK"},"risk":{"score":0}},"capabilities":{},"rejectReasons":[]}"#
                .utf8)

        func run(_ job: ClaimedJob, _ context: JobContext) async throws -> Data {
            for stage in self.workflow.stages { try await context.complete(stage, output: Self.output) }
            return Self.result
        }
    }

    private final class Counter: Sendable {
        private let left: Mutex<Int>

        init(_ count: Int) { self.left = Mutex(count) }

        func take(_ count: Int) -> Int {
            self.left.withLock { left in
                let taken = min(left, count)
                left -= taken
                return taken
            }
        }

        var isEmpty: Bool { self.left.withLock { $0 == 0 } }
    }

    private final class Recorder: Sendable {
        let measured = Mutex((roundTrips: [Double](), jobs: [Double]()))

        func record(_ event: JobQueueEvent) {
            switch event {
            case .roundTrip(_, _, let seconds): self.measured.withLock { $0.roundTrips.append(seconds) }
            case .finished(_, let seconds): self.measured.withLock { $0.jobs.append(seconds) }
            default: break
            }
        }
    }
}

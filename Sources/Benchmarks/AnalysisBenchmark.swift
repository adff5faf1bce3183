package import Analyzer
package import Custody
package import Foundation
package import InspectCore
internal import Inspection
internal import JobQueue
internal import Synchronization

/// Complete inspections through the queue, with a breakdown of their time.
package struct AnalysisBenchmark: Sendable {
    /// Measurements; stages by name.
    package struct Report: Encodable {
        /// One stage over all jobs.
        package struct Stage: Encodable {
            var count: Int
            /// Milliseconds of wall time, from the request to an analyzer to its answer.
            var medianMs: Double
            var meanMs: Double
            /// Share (0–1) of the slots' time.
            var share: Double
        }

        var benchmark = "analysis"
        var jobs: Int
        var slots: Int
        var seconds: Double
        var jobsPerMinute: Double
        /// Processor time of the analyzers for one job, in milliseconds.
        var cpuMsPerJob: Double
        var stages: [String: Stage]
        /// Share (0–1) of the slots' time outside of any stage: fetching, waiting for writes, deciding, starting.
        var otherShare: Double
        var decisions: [String: Int]
    }

    let databaseURL: String
    let partner: String
    /// The files that each job has a copy of.
    let parts: [PartKind: [Data]]
    let jobs: Int
    let slots: Int
    /// Seals the jobs; `nil`: they are plain.
    let keys: KeyStore?
    private let stageDeadline = Duration.seconds(120)

    package init(
        databaseURL: String, partner: String, parts: [PartKind: [Data]], jobs: Int, slots: Int, keys: KeyStore? = nil
    ) {
        self.databaseURL = databaseURL
        self.partner = partner
        self.parts = parts
        self.jobs = jobs
        self.slots = slots
        self.keys = keys
    }

    /// Enqueues the jobs, runs them and reads their results.
    ///
    /// - Parameter withPool: Runs its closure while the analyzers run.
    package func run(
        _ withPool: (@Sendable (AnalyzerPool, FaceCalibration) async throws -> Double) async throws -> Double
    ) async throws -> Report {
        let client = JobClient(databaseURL: self.databaseURL, keys: self.keys)
        let payload = Data(#"{"partner":"\#(self.partner)","workflow":"id_identity"}"#.utf8)
        var ids: [String] = []
        for _ in 0..<self.jobs { ids.append(try await client.enqueue(payload: payload, parts: self.parts)) }

        let stages = Mutex<[String: [Double]]>([:])
        let seconds = try await withPool { pool, calibration in
            try await self.drain(pool, calibration) { job, duration in
                stages.withLock { $0[job.stage.stageName, default: []].append(duration.milliseconds) }
            }
        }
        var cpuMs = 0.0
        var decisions: [String: Int] = [:]
        for id in ids {
            let result = try JSONDecoder().decode(ResultDocument.self, from: try await client.result(of: id))
            cpuMs += result.engine.timingsMs["cpu"] ?? 0
            decisions[result.decision.type.rawValue, default: 0] += 1
        }
        await client.close()
        let available = seconds * 1000 * Double(self.slots)
        let measured = stages.withLock { $0 }.mapValues { times in
            let sum = times.reduce(0, +)
            return Report.Stage(
                count: times.count, medianMs: times.sorted()[times.count / 2], meanMs: sum / Double(times.count),
                share: sum / available)
        }
        return Report(
            jobs: self.jobs, slots: self.slots, seconds: seconds, jobsPerMinute: Double(self.jobs) * 60 / seconds,
            cpuMsPerJob: cpuMs / Double(self.jobs), stages: measured,
            otherShare: 1 - measured.values.reduce(0) { $0 + $1.share }, decisions: decisions)
    }

    /// - Returns: How long the worker took, in seconds.
    private func drain(
        _ pool: AnalyzerPool, _ calibration: FaceCalibration,
        onStage: @escaping @Sendable (JobReference, Duration) -> Void
    ) async throws -> Double {
        var runner = InspectionRunner(pool: pool)
        runner.stageDeadline = self.stageDeadline
        runner.calibration = calibration
        var pipeline = InspectionPipeline(
            runner: runner, fetcher: PartFetcher(), decryption: try PartDecryption(keys: []), onStage: onStage)
        pipeline.keys = self.keys
        var queue = JobWorkerConfiguration(
            databaseURL: self.databaseURL, host: ProcessInfo.processInfo.hostName, version: Version.current,
            slots: self.slots)
        queue.drains = true
        let start = ContinuousClock.now
        try await JobWorker(queue, handler: pipeline).run()
        return start.duration(to: .now).seconds
    }
}

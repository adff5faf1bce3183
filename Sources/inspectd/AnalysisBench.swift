import Callbacks
import Foundation
import InspectCore
import JobQueue
import Synchronization

/// `inspectd bench analysis`: whole inspections through the queue, and where their time goes.
enum AnalysisBench {
    static let options: [Arguments.Option] = [
        .value("partner", "NAME", "analysis: the partner that owns the jobs"),
        .value("front", "FILE", "analysis: front of the document; likewise --back, --face and --frames DIR"),
        .value("back", "FILE", "analysis: see --front"),
        .value("face", "FILE", "analysis: see --front"),
        .value("frames", "DIR", "analysis: see --front"),
    ]

    private struct Report: Encodable {
        struct Stage: Encodable {
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

    static func run(_ arguments: Arguments, _ configuration: Configuration) async throws {
        guard let partner = arguments["partner"] else { throw UsageError("bench analysis needs --partner") }
        var parts: [PartKind: [Data]] = [:]
        for (kind, option) in [(PartKind.front, "front"), (.back, "back"), (.face, "face")] {
            if let path = arguments[option] { parts[kind] = [try PartFile.read(path, as: kind)] }
        }
        if let folder = arguments["frames"] {
            parts[.frames] = try PartFile.list(folder).map { try PartFile.read($0, as: .frames) }
        }
        guard parts[.front] != nil, parts[.face] != nil else {
            throw UsageError("bench analysis needs --front and --face, of which each job has a copy")
        }
        let jobs = try arguments.integer("jobs", in: 1...100_000) ?? 60
        let payload = Data(#"{"partner":"\#(partner)","workflow":"id_identity"}"#.utf8)
        let client = JobClient(databaseURL: configuration.databaseURL)
        var ids: [String] = []
        for _ in 0..<jobs { ids.append(try await client.enqueue(payload: payload, parts: parts)) }

        let analyzers = try configuration.analyzerConfiguration(arguments)
        var queue = JobWorkerConfiguration(
            databaseURL: configuration.databaseURL, host: ProcessInfo.processInfo.hostName, version: Version.current,
            slots: analyzers.slots)
        queue.drains = true
        let stages = Mutex<[String: [Double]]>([:])
        let (settings, deadline) = (queue, Duration.seconds(120))
        let seconds = try await configuration.withAnalyzers(analyzers) { pool in
            var runner = InspectionRunner(pool: pool)
            runner.stageDeadline = deadline
            runner.calibration = try configuration.faces.calibration()
            let pipeline = InspectionPipeline(
                runner: runner, fetcher: PartFetcher(), decryption: try PartDecryption(keys: [])
            ) { job, duration in
                stages.withLock { $0[job.stage.stageName, default: []].append(duration.milliseconds) }
            }
            let start = ContinuousClock.now
            try await JobWorker(settings, handler: pipeline).run()
            return start.duration(to: .now).milliseconds / 1000
        }

        var cpu = 0.0
        var decisions: [String: Int] = [:]
        for id in ids {
            let result = try JSONDecoder().decode(ResultDocument.self, from: try await client.result(of: id))
            cpu += result.engine.timingsMs["cpu"] ?? 0
            decisions[result.decision.type.rawValue, default: 0] += 1
        }
        await client.close()
        let available = seconds * 1000 * Double(analyzers.slots)
        let measured = stages.withLock { $0 }.mapValues { times in
            let sum = times.reduce(0, +)
            return Report.Stage(
                count: times.count, medianMs: times.sorted()[times.count / 2], meanMs: sum / Double(times.count),
                share: sum / available)
        }
        Output.line(
            ResultEnvelope.json(
                Report(
                    jobs: jobs, slots: analyzers.slots, seconds: seconds, jobsPerMinute: Double(jobs) * 60 / seconds,
                    cpuMsPerJob: cpu / Double(jobs), stages: measured,
                    otherShare: 1 - measured.values.reduce(0) { $0 + $1.share }, decisions: decisions)))
    }
}

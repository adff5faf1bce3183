import Benchmarks
import Foundation
import InspectCore
import JobQueue
import Synchronization

/// The benchmark that the options of `inspectd bench queue` select.
enum QueueBench {
    static let options: [Arguments.Option] = [
        .flag("noop", "jobs/s of jobs that store only their result (the default)"),
        .flag("stages", "jobs/s of jobs that store every stage's result"),
        .flag("pickup", "latency until an idle worker starts a job"),
        .list("backlog", "N", "latency of claims over N waiting jobs; may be repeated, to compare"),
        .flag("held-xmin", "jobs/s while an old transaction holds the xmin horizon, and of a state-column queue"),
        .flag("fairness", "waits behind a large partner's backlog; the bulk lane's share"),
        .flag("sealed", "jobs/s and WAL of plain jobs, and of sealed ones with a key each or with their person's"),
        .flag("limits", "jobs/s of a partner with limits that it never reaches, and of one without"),
        .value(
            "jobs", "N", "jobs for each measurement [50000; --pickup 300, --limits 20000, --sealed 5000; analysis 60]"
        ).of("queue", "analysis"),
        .value("slots", "N", "jobs that a worker runs at once [256; --fairness 16]").of("queue", "analysis"),
        .value("workers", "N", "workers in this process [1]; not with --backlog, --pickup, --fairness"),
        .value("producers", "N", "connections that enqueue [2]"),
        .value("batch", "N", "jobs in one call of enqueue_many [500]"),
        .value("workflow", "W", "workflow of the jobs [id; --stages id_identity]"),
        .value("claims", "N", "--backlog: single claims that are timed [5000]"),
        .value("seconds", "S", "--backlog: how long a worker drains [20]; --fairness: how long lanes are watched [10]"),
        .value("minutes", "M", "--held-xmin: how long the transaction is held [30]; a fraction for short trials"),
        .value("plot", "FILE", "--held-xmin: writes jobs/s over time as SVG"),
        .value("big", "N", "--fairness: waiting jobs of the large partner [1000000]"),
        .value("rounds", "N", "--fairness [10], --limits and --sealed [5]: rounds of measurement"),
    ].map { $0.words.isEmpty ? $0.of("queue") : $0 }

    private static let modes = ["noop", "stages", "pickup", "backlog", "held-xmin", "fairness", "limits", "sealed"]

    static func run(_ arguments: Arguments, _ configuration: Configuration) async throws {
        let given = Self.modes.filter(arguments.has)
        guard given.count <= 1 else {
            throw UsageError("only one of \(given.map { "--\($0)" }.joined(separator: ", ")) at a time")
        }
        let url = configuration.databaseURL
        let log = configuration.log
        let progress: QueueBenchmark.Progress = { log.info("benchmark", ["doing": .string($0)]) }
        switch given.first {
        case "pickup":
            var benchmark = QueueBenchmark.Pickup(databaseURL: url)
            benchmark.jobs = try arguments.integer("jobs", in: 10...100_000) ?? benchmark.jobs
            let report = try await benchmark.run(progress)
            try Self.finish(report, violations: report.violations)
        case "backlog":
            let violations = Mutex(0)
            try await Self.backlog(arguments, url).run(progress) { report in
                Output.line(ResultEnvelope.json(report))
                violations.withLock { $0 += report.violations }
            }
            if violations.withLock({ $0 }) > 0 { throw Failure() }
        case "held-xmin":
            let benchmark = try Self.heldXmin(arguments, url)
            // Checked now instead of after half an hour.
            if let path = arguments["plot"], !FileManager.default.createFile(atPath: path, contents: nil) {
                throw UsageError("--plot cannot write \(path)")
            }
            let report = try await benchmark.run(progress)
            if let path = arguments["plot"] { try report.plot.write(to: URL(fileURLWithPath: path)) }
            try Self.finish(report, violations: report.violations)
        case "fairness":
            let report = try await Self.fairness(arguments, url).run(progress)
            try Self.finish(report, violations: report.violations)
        case "sealed":
            guard let keys = try configuration.openKeyStore() else { throw UsageError("--sealed needs a key store") }
            var benchmark = QueueBenchmark.Sealed(databaseURL: url, keys: keys, keysURL: configuration.keysURL)
            benchmark.jobs = try arguments.integer("jobs", in: 100...1_000_000) ?? benchmark.jobs
            benchmark.slots = try arguments.integer("slots", in: 1...10_000) ?? benchmark.slots
            benchmark.rounds = try arguments.integer("rounds", in: 1...100) ?? benchmark.rounds
            let report = try await benchmark.run(progress)
            try Self.finish(report, violations: report.violations)
        case "limits":
            let report = try await Self.limits(arguments, url).run(progress)
            try Self.finish(report, violations: report.violations)
        default:
            let report = try await Self.throughput(arguments, url).run(progress)
            try Self.finish(report, violations: report.violations)
        }
    }

    private static func throughput(_ arguments: Arguments, _ url: String) throws -> QueueBenchmark.Throughput {
        var benchmark = QueueBenchmark.Throughput(databaseURL: url)
        benchmark.storesStages = arguments.has("stages")
        let name = arguments["workflow"] ?? (benchmark.storesStages ? Workflow.idIdentity : .id).rawValue
        guard let workflow = Workflow(name: name) else { throw InspectError(.workflowUnknown, name) }
        benchmark.workflow = workflow
        benchmark.jobs = try arguments.integer("jobs", in: 100...10_000_000) ?? benchmark.jobs
        benchmark.slots = try arguments.integer("slots", in: 1...10_000) ?? benchmark.slots
        benchmark.workers = try arguments.integer("workers", in: 1...100) ?? benchmark.workers
        benchmark.producers = try arguments.integer("producers", in: 1...100) ?? benchmark.producers
        benchmark.batch = try arguments.integer("batch", in: 1...10_000) ?? benchmark.batch
        return benchmark
    }

    private static func backlog(_ arguments: Arguments, _ url: String) throws -> QueueBenchmark.Backlog {
        let backlogs = try arguments.all("backlog").map { text throws(UsageError) in
            guard let number = Int(text), (1_000...100_000_000).contains(number) else {
                throw UsageError("--backlog takes a whole number from 1000 to 100000000, not \(text)")
            }
            return number
        }
        var benchmark = QueueBenchmark.Backlog(databaseURL: url, backlogs: backlogs)
        benchmark.claims = try arguments.integer("claims", in: 100...1_000_000) ?? benchmark.claims
        benchmark.seconds = try arguments.integer("seconds", in: 1...3600).map(Double.init) ?? benchmark.seconds
        benchmark.slots = try arguments.integer("slots", in: 1...10_000) ?? benchmark.slots
        return benchmark
    }

    private static func heldXmin(_ arguments: Arguments, _ url: String) throws -> QueueBenchmark.HeldXmin {
        let text = arguments["minutes"] ?? "30"
        guard let minutes = Double(text), (0.1...1440).contains(minutes) else {
            throw UsageError("--minutes takes a number from 0.1 to 1440, not \(text)")
        }
        var benchmark = QueueBenchmark.HeldXmin(databaseURL: url, seconds: minutes * 60)
        benchmark.slots = try arguments.integer("slots", in: 1...10_000) ?? benchmark.slots
        benchmark.workers = try arguments.integer("workers", in: 1...100) ?? benchmark.workers
        benchmark.producers = try arguments.integer("producers", in: 1...100) ?? benchmark.producers
        return benchmark
    }

    private static func fairness(_ arguments: Arguments, _ url: String) throws -> QueueBenchmark.Fairness {
        var benchmark = QueueBenchmark.Fairness(databaseURL: url)
        benchmark.big = try arguments.integer("big", in: 1_000...100_000_000) ?? benchmark.big
        benchmark.rounds = try arguments.integer("rounds", in: 1...1_000) ?? benchmark.rounds
        benchmark.slots = try arguments.integer("slots", in: 1...10_000) ?? benchmark.slots
        benchmark.laneSeconds =
            try arguments.integer("seconds", in: 1...3600).map(Double.init) ?? benchmark.laneSeconds
        return benchmark
    }

    private static func limits(_ arguments: Arguments, _ url: String) throws -> QueueBenchmark.Limits {
        var benchmark = QueueBenchmark.Limits(databaseURL: url)
        benchmark.jobs = try arguments.integer("jobs", in: 100...10_000_000) ?? benchmark.jobs
        benchmark.rounds = try arguments.integer("rounds", in: 1...1_000) ?? benchmark.rounds
        benchmark.workers = try arguments.integer("workers", in: 1...100) ?? benchmark.workers
        benchmark.slots = try arguments.integer("slots", in: 1...10_000) ?? benchmark.slots
        return benchmark
    }

    private static func finish(_ report: some Encodable, violations: Int) throws {
        Output.line(ResultEnvelope.json(report))
        if violations > 0 { throw Failure() }
    }
}

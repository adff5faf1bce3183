import Foundation
import InspectCore
import JobQueue

/// `inspectd bench queue`: which benchmark the options ask for.
enum QueueBench {
    static let options: [Arguments.Option] = [
        .flag("noop", "queue: throughput of jobs that store their result alone (the default)"),
        .flag("stages", "queue: throughput of jobs that store every stage's result"),
        .flag("pickup", "queue: how soon an idle worker begins with a job"),
        .value("jobs", "N", "queue: jobs for each measurement [50000; --pickup 300]"),
        .value("slots", "N", "queue: jobs that a worker has at once [256]"),
        .value("workers", "N", "queue: workers in this process [1]"),
        .value("producers", "N", "queue: connections that enqueue [2]"),
        .value("batch", "N", "queue: jobs in one call of enqueue_many [500]"),
        .value("workflow", "W", "queue: what the jobs are [id; --stages id_identity]"),
    ]

    private static let modes = ["noop", "stages", "pickup"]

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

    private static func finish(_ report: some Encodable, violations: Int) throws {
        Output.line(ResultEnvelope.json(report))
        if violations > 0 { throw Failure() }
    }
}

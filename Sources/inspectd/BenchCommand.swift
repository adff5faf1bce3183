import Callbacks
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let bench = Command(
        name: "bench",
        summary: "measures the product's own path and prints one JSON line: queue, callbacks",
        synopsis: "queue [--jobs N] [--slots N] | callbacks [--count N]",
        options: [
            .value("jobs", "N", "queue: jobs for each of the two measurements [50000]"),
            .value("slots", "N", "queue: jobs that the worker has at once [256]"),
            .value("workflow", "W", "queue: whose stages are stored for each job [id_identity]"),
            .value("count", "N", "callbacks: how many are delivered [20000]"),
        ] + Configuration.databaseOptions + Configuration.commonOptions,
        run: { arguments in
            let url = try Configuration(arguments).databaseURL
            switch arguments.operands.first {
            case "queue":
                let name = arguments["workflow"] ?? Workflow.idIdentity.rawValue
                guard let workflow = Workflow(name: name) else { throw InspectError(.workflowUnknown, name) }
                let report = try await QueueBenchmark.run(
                    databaseURL: url, jobs: arguments.integer("jobs", in: 100...10_000_000) ?? 50_000,
                    slots: arguments.integer("slots", in: 1...10_000) ?? 256, workflow: workflow)
                Output.line(ResultEnvelope.json(report))
                if report.violations > 0 { throw Failure() }
            case "callbacks":
                var benchmark = CallbackBenchmark(databaseURL: url)
                benchmark.callbacks = try arguments.integer("count", in: 100...1_000_000) ?? benchmark.callbacks
                Output.line(ResultEnvelope.json(try await benchmark.run()))
            default: throw UsageError("bench measures queue or callbacks")
            }
        }
    )
}

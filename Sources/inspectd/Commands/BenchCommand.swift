import Benchmarks
import Callbacks
import Foundation
import InspectCore
import JobQueue

extension Command {
    static let bench = Command(
        name: "bench",
        summary: "measures inspectd itself and prints JSON lines: queue, callbacks, analysis, liveness, record",
        synopsis: "queue [MODE] [OPTION...] | callbacks [--count N] [--hung MODE]\n"
            + "       inspectd bench analysis --partner P --front F --face F | liveness [--runs N] | record [--rows N]",
        words: ["queue", "callbacks", "analysis", "liveness", "record"],
        takesOperands: true,
        options: QueueBench.options + LivenessBench.options + [
            .value("count", "N", "callbacks delivered in each round [60000]").of("callbacks"),
            .value("hung", "MODE", "cost of one hanging partner (tcp, tls, dns, drip) for the others").of("callbacks"),
            .value("rows", "N", "accesses recorded in each round [100000]").of("record"),
        ] + AnalysisBench.options + Configuration.analyzerOptions
            + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            switch arguments.operands.first {
            case "queue": try await QueueBench.run(arguments, configuration)
            case "callbacks":
                var benchmark = CallbackBenchmark(databaseURL: configuration.databaseURL)
                benchmark.callbacks = try arguments.integer("count", in: 100...1_000_000) ?? benchmark.callbacks
                benchmark.hung = arguments["hung"]
                if let mode = benchmark.hung {
                    guard ["tcp", "tls", "dns", "drip"].contains(mode) else {
                        throw UsageError("--hung takes tcp, tls, dns or drip, not \(mode)")
                    }
                    Output.line(ResultEnvelope.json(try await benchmark.runHung()))
                } else {
                    Output.line(ResultEnvelope.json(try await benchmark.run()))
                }
            // The process that `callbacks` starts.
            case "bare-loop":
                guard arguments.operands.count == 2 else { throw UsageError("'bench bare-loop' needs a loop as JSON") }
                Output.line(ResultEnvelope.json(try BareLoop.run(arguments.operands[1])))
            case "analysis": try await AnalysisBench.run(arguments, configuration)
            case "liveness": try LivenessBench.run(arguments)
            case "record":
                var benchmark = RecordBenchmark(databaseURL: configuration.databaseURL)
                benchmark.accesses = try arguments.integer("rows", in: 1000...10_000_000) ?? benchmark.accesses
                Output.line(ResultEnvelope.json(try await benchmark.run()))
            default: throw UsageError("'bench' needs queue, callbacks, analysis, liveness or record")
            }
        }
    )
}

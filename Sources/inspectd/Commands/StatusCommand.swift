import Foundation
import InspectCore
import JobQueue

extension Command {
    static let status = Command(
        name: "status",
        summary: "prints a job's result document, or explains where the job is and why",
        synopsis: "ID [--purpose P | --explain]",
        takesOperands: true,
        options: [
            .flag("explain", "explains in sentences where the job is, why it waits and what to do (operators)"),
            .purpose,
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        // It names no person, so it needs no purpose.
        excluded: ["explain": ["purpose"]],
        body: { arguments in
            guard arguments.operands.count == 1 else {
                throw UsageError("'status' needs one job id; operators may shorten it to the last twelve digits")
            }
            let configuration = try Configuration(arguments)
            let client = JobClient(databaseURL: configuration.databaseURL, keys: try configuration.openKeyStore())
            let id = arguments.operands[0]
            guard arguments.has("explain") else {
                let whole = id.count == Self.idEnd ? try await client.find(id) : id
                return Output.line(try await client.result(of: whole, purpose: arguments["purpose"]))
            }
            let rows = try await client.explanation(of: id)
            let width = rows.map(\.aspect.count).max() ?? 0
            for row in rows {
                let aspect = row.aspect.padding(toLength: width, withPad: " ", startingAt: 0)
                Output.line(Terminal.harmless("\(aspect)  \(row.text)"))
            }
        }
    )

    /// Number of final digits that identify a job.
    private static let idEnd = 12
}

import Foundation
import InspectCore
import JobQueue

extension Command {
    static let status = Command(
        name: "status",
        summary: "prints a job's result document",
        synopsis: "ID",
        options: Configuration.databaseOptions + Configuration.commonOptions,
        run: { arguments in
            guard arguments.operands.count == 1 else { throw UsageError("status takes one job id") }
            let client = JobClient(databaseURL: try Configuration(arguments).databaseURL)
            Output.line(try await client.result(of: arguments.operands[0]))
        }
    )
}

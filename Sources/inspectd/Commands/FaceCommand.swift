import Foundation
import JobQueue

extension Command {
    static let face = Command(
        name: "face",
        summary: "lists or deletes the templates of a face id",
        synopsis:
            "list --partner NAME --face-id ID [--purpose P]\n       inspectd face delete --partner NAME --face-id ID",
        words: ["list", "delete"],
        takesOperands: true,
        options: [
            .value("partner", "NAME", "the partner that owns the face id"),
            .value("face-id", "ID", "the partner's name for the face"),
            .purpose.of("list"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        body: { arguments in
            let configuration = try Configuration(arguments)
            guard let partner = arguments["partner"], let face = arguments["face-id"],
                ["list", "delete"].contains(arguments.operands.first), arguments.operands.count == 1
            else { throw UsageError("'face' needs list or delete, --partner and --face-id") }
            try await configuration.withClient { client, _ in
                if arguments.operands == ["delete"] {
                    Output.line(try await client.deleteFace(face, of: partner))
                } else {
                    Output.line(try await client.templates(of: face, partner: partner, purpose: arguments["purpose"]))
                }
            }
        }
    )
}

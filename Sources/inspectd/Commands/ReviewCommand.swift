import Foundation
import InspectCore
import JobQueue

extension Command {
    static let review = Command(
        name: "review",
        summary: "shows a job that waits for review, or records the decision; a sealed job's note is sealed",
        synopsis: "ID [--purpose P]\n       inspectd review ID --decision D [--label L] [--note FILE]",
        takesOperands: true,
        options: [
            .value("decision", "D", "PASSED, WARNING or REJECTED"),
            .value("label", "L", "the label, such as MANIPULATED_DOCUMENT [OK, or the decision]"),
            .value("note", "FILE", "the reason, for the record and not for the partner; - is standard input"),
            .value("purpose", "P", "why it is read; recorded [review]"),
        ] + Configuration.databaseOptions + Configuration.keyOptions + Configuration.logOptions,
        excluded: ["decision": ["purpose"]],
        body: { arguments in
            guard arguments.operands.count == 1 else { throw UsageError("'review' needs one job id") }
            let id = arguments.operands[0]
            let decision = arguments["decision"]
            guard decision != nil || !arguments.has("label") && !arguments.has("note") else {
                throw UsageError("--label and --note need --decision")
            }
            let configuration = try Configuration(arguments)
            let note = try arguments["note"].map { path in
                String(decoding: try InputFile.readOrInput(path, of: "--note"), as: UTF8.self)
                    .trimmingCharacters(in: .whitespacesAndNewlines)
            }
            try await configuration.withClient { client, _ in
                if let decision {
                    return Output.line(try await client.decide(id, as: decision, label: arguments["label"], note: note))
                }
                let review = try await client.review(of: id, purpose: arguments["purpose"] ?? "review")
                // Joined as text, so that every number stays as it was stored.
                Output.line(
                    Data("{\"decided\":".utf8) + review.document + Data(",\"notes\":".utf8)
                        + ResultEnvelope.json(review.notes) + Data("}".utf8))
            }
        }
    )
}

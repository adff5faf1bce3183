package import Foundation

/// Result documents as JSON lines.
package enum ResultEnvelope {
    private struct Envelope: Encodable {
        struct WorkflowRecord: Encodable {
            var key: String
            var definitionKey: String
        }

        var schemaVersion = ResultDocument.schemaVersion
        var id: String?
        var status: Int16
        var workflow: WorkflowRecord?
        var document: ResultDocument

        enum CodingKeys: CodingKey { case schemaVersion, id, status, workflow }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(self.schemaVersion, forKey: .schemaVersion)
            try container.encodeIfPresent(self.id, forKey: .id)
            try container.encode(self.status, forKey: .status)
            try container.encodeIfPresent(self.workflow, forKey: .workflow)
            try self.document.encode(to: encoder)
        }
    }

    /// The document that `inspectd inspect` prints: what a partner retrieves, without the job's ids and times.
    package static func encode(id: String?, workflow: Workflow?, _ document: ResultDocument) -> Data {
        let record = workflow.map {
            Envelope.WorkflowRecord(key: $0.rawValue, definitionKey: $0.row.definitionKey)
        }
        let envelope = Envelope(
            id: id, status: JobStatus.finished.rawValue, workflow: record, document: document)
        return Self.json(envelope)
    }

    /// The document of an inspection that could not be carried out.
    package static func failed(id: String?, _ error: InspectError) -> Data {
        self.encode(id: id, workflow: nil, .notExecuted(error))
    }

    /// JSON with sorted keys on one line.
    package static func json(_ value: some Encodable) -> Data {
        let encoder = JSONEncoder.ordered
        // Facts hold no NaN or infinity by construction. If one occurs nevertheless, it is written as a word rather than
        // dropped.
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        guard let data = try? encoder.encode(value) else {
            return Data(#"{"error":{"code":"INTERNAL_ERROR"}}"#.utf8)
        }
        return data
    }
}

extension JSONEncoder {
    /// A new one for JSON with sorted keys on one line.
    package static var ordered: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

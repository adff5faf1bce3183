package import Custody
package import Foundation
package import InspectCore
package import ObjectStore
internal import Postgres

/// The queue's interface for Swift callers: the same SQL functions that every other language calls.
package actor JobClient {
    private let connection: ReconnectingConnection
    /// `nil`: nothing is sealed here, and nothing opened.
    let keys: KeyStore?
    /// `nil`: parts go to the database.
    private let objects: ObjectStore?

    /// - Parameters:
    ///   - databaseURL: A libpq connection string or URL. Never logged.
    ///   - keys: Seals what is enqueued, and opens results.
    ///   - objects: Gets the sealed parts.
    package init(databaseURL: String, keys: KeyStore? = nil, objects: ObjectStore? = nil) {
        self.keys = keys
        self.objects = objects
        var options = ConnectionOptions(name: "inspectd client")
        options.timeout = .seconds(60)
        self.connection = ReconnectingConnection(databaseURL, options: options)
    }

    /// Accepts a job.
    ///
    /// - Parameters:
    ///   - payload: A JSON object, as `insp.enqueue_parts` describes it.
    ///   - parts: The inputs' bytes.
    /// - Returns: The job's id.
    /// - Throws: ``InspectError`` with the code of the database's refusal.
    package func enqueue(payload: Data, parts: [PartKind: [Data]] = [:]) async throws -> String {
        if let none = parts.first(where: \.value.isEmpty) {
            throw InspectError(.partEmpty, none.key.rawValue, field: none.key.rawValue)
        }
        guard let keys else { return try await self.enqueue(payload, parts, nil) }
        // The partner must be known first: without a number, the database says what is wrong.
        let names = (try? JSONSerialization.jsonObject(with: payload)) as? [String: Any]
        let partner = try await self.number(of: names?["partner"] as? String ?? "")
        let sealer = RequestSealer(keys)
        let draft = try await sealer.draft(payload: payload, parts: parts, partner: partner)
        // Refused before a key is created, which would otherwise stay.
        let check: [PostgresValue] = [
            .text(try PostgresValue.json(draft.payload)), .texts(draft.kinds.map(\.rawValue)),
        ]
        try await self.translating { _ = try await $0.query("SELECT insp.try_request($1, $2)", check) }
        let request = try await sealer.seal(draft)
        return try await self.enqueue(request.payload, request.parts, request)
    }

    private func enqueue(_ payload: Data, _ parts: [PartKind: [Data]], _ seal: SealedRequest?) async throws -> String {
        let start = PostgresValue.text(try PostgresValue.json(payload))
        return try await PlacedParts.place(parts, of: seal, in: self.objects) { parts in
            let parameters =
                [start] + parts.contents + [.optional(seal?.sealed), .optional(seal?.hmac)] + parts.places
            return try await self.translating { connection in
                try await connection.query("SELECT insp.enqueue_parts($1, $2, $3, $4, $5, $6, $7, $8)", parameters)
                    .single().string(0)
            }
        }
    }

    /// The number of a partner, for keys and what they seal.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/partnerUnknown``.
    package func number(of partner: String) async throws -> Int64 {
        try await self.translating { try await KeyUse.number(of: partner, on: $0) }
    }

    /// The result document of a job, as JSON; valid results are in it once `status` is 128.
    ///
    /// - Parameters:
    ///   - purpose: What an operator or reviewer reads it for: review, support, export or delivery. Without one they get what names no
    ///     person.
    ///   - marksMissingKey: Whether a document whose key is missing comes without what is sealed, with the code as `unreadable`.
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown`` or, without `marksMissingKey`, ``ErrorCode/keyUnknown``.
    package func result(of id: String, purpose: String? = nil, marksMissingKey: Bool = false) async throws -> Data {
        guard UUID(uuidString: id) != nil else {
            throw InspectError(.jobUnknown, hint: "An id is a UUID, or its last twelve digits.")
        }
        let row = try await self.translating { connection in
            try await connection.query(
                "SELECT document, sealed, body, partner_id FROM insp.sealed_result($1, $2)",
                [.text(id), purpose.map { .text($0) } ?? .null]
            ).single()
        }
        let result = try SealedResult(row)
        do {
            return try await result.document(opening: self.keys)
        } catch {
            guard [.keyUnknown, .keyDestroyed].contains(error.code), marksMissingKey,
                var members = (try? JSONSerialization.jsonObject(with: result.document)) as? [String: Any]
            else { throw error }
            members["unreadable"] = error.code.rawValue
            return try JSONSerialization.data(withJSONObject: members, options: [.sortedKeys, .withoutEscapingSlashes])
        }
    }

    /// The id of a job whose last twelve digits, or all of them, are given, as `insp.find_job` finds it for operators.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown`` or ``ErrorCode/jobAmbiguous``.
    package func find(_ id: String) async throws -> String {
        try await self.translating { connection in
            try await connection.query("SELECT insp.find_job($1)", [.text(id)]).single().string(0)
        }
    }

    /// Where a job is, why it waits and what can be done, for operators: sentences, each with its topic.
    ///
    /// - Parameter id: The job's id, or its last twelve digits.
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown`` or ``ErrorCode/jobAmbiguous``.
    package func explanation(of id: String) async throws -> [(aspect: String, text: String)] {
        try await self.translating { connection in
            try await connection.query("SELECT aspect, explanation FROM insp.explain_job($1)", [.text(id)])
                .map { (try $0.string(0), try $0.string(1)) }
        }
    }

    /// Finishes a job as cancelled.
    ///
    /// - Returns: False if it was finished before.
    package func cancel(_ id: String) async throws -> Bool {
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        return try await self.translating { connection in
            try await connection.query("SELECT insp.cancel($1)", [.text(id)]).single().bool(0)
        }
    }

    /// Ids of a person's jobs, newest first.
    ///
    /// - Parameters:
    ///   - index: Of the reference as the database has it.
    ///   - purpose: What an operator reads them for: review, support, export or delivery.
    package func jobs(of index: Data, partner: String, purpose: String?) async throws -> [String] {
        try await self.translating { connection in
            try await connection.query(
                "SELECT insp.jobs_by_index($1, $2, $3)::text", [.text(partner), .bytes(index), .optional(purpose)]
            ).map { try $0.string(0) }
        }
    }

    /// Deletes a face id with its templates, those of sealed jobs as well, and ends its jobs. Their keys follow (`insp.key_gone`);
    /// the face's own stays as long as results of its finished jobs open with those below it (`insp.person_gone`).
    ///
    /// - Returns: How many templates and jobs, and when, as JSON.
    package func deleteFace(_ faceID: String, of partner: String) async throws -> Data {
        guard let hidden = try await self.hidden(faceID, partner) else {
            return try await self.translating { connection in
                try await connection.query("SELECT insp.face_delete($1, $2)", [.text(partner), .text(faceID)])
                    .single().data(0)
            }
        }
        return try await self.translating { connection in
            try await connection.query("SELECT insp.sealed_face_delete($1, $2, $3)", [.text(partner)] + hidden)
                .single().data(0)
        }
    }

    /// The templates of a face id as JSON, without their embeddings.
    ///
    /// - Parameter purpose: What an operator reads them for: review, support, export or delivery.
    package func templates(of faceID: String, partner: String, purpose: String? = nil) async throws -> Data {
        let hidden = try await self.hidden(faceID, partner)
        let call = hidden == nil ? "face_templates($1, $3, $2)" : "sealed_face_templates($1, $3, $4, $2)"
        return try await self.translating { connection in
            try await connection.query(
                "SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM insp.\(call) AS t",
                [.text(partner), .optional(purpose)] + (hidden ?? [.text(faceID)])
            ).single().data(0)
        }
    }

    /// A face id as sealed jobs have it, and the index that finds it in plain ones; `nil`: nothing is sealed. The id itself would be
    /// in the server's log.
    private func hidden(_ faceID: String, _ partner: String) async throws -> [PostgresValue]? {
        guard let keys else { return nil }
        let index = BlindIndex(try await keys.partnerKey(try await self.number(of: partner)))
        return [.text(index.pseudonym(faceID, use: "face")), .bytes(BlindIndex.ofStored(faceID))]
    }

    /// Closes the connection; a later call connects again.
    package func close() async {
        await self.connection.close()
    }

    func translating<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        do {
            return try await body(try await self.connection.open())
        } catch let error as PostgresError {
            throw error.meaning
        }
    }
}

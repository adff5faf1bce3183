package import Custody
package import Foundation
package import InspectCore
package import ObjectStore
internal import Postgres

/// The queue's interface for callers in Swift: the same SQL functions that every other language calls.
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
        if let none = parts.first(where: \.value.isEmpty) { throw InspectError(.partEmpty, none.key.rawValue) }
        guard let keys else { return try await self.enqueue(payload, parts, nil) }
        // Whose job it is must be known first: without a number, the database says what is wrong.
        let names = (try? JSONSerialization.jsonObject(with: payload)) as? [String: Any]
        let partner = try await self.number(of: names?["partner"] as? String ?? "")
        let request = try await RequestSealer(keys).seal(payload: payload, parts: parts, partner: partner)
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
        try await self.translating { connection in
            try await connection.query("SELECT insp.custody_partner($1)", [.text(partner)]).single().int(0)
        }
    }

    /// The result document of a job, as JSON; valid results are in it once `status` is 128.
    ///
    /// - Parameter purpose: What an operator or reviewer reads it for: review, support, export or delivery. Without one they get
    ///   what names no person.
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown``.
    package func result(of id: String, purpose: String? = nil) async throws -> Data {
        guard UUID(uuidString: id) != nil else {
            throw InspectError(.jobUnknown, hint: "An id is a UUID, or its last twelve digits.")
        }
        let row = try await self.translating { connection in
            try await connection.query(
                "SELECT document, sealed, body, partner_id FROM insp.sealed_result($1, $2)",
                [.text(id), purpose.map { .text($0) } ?? .null]
            ).single()
        }
        return try await SealedResult(row).document(opening: self.keys)
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
    ///   - reference: As the database has it.
    ///   - purpose: What an operator reads them for: review, support, export or delivery.
    package func jobs(of reference: String, partner: String, purpose: String?) async throws -> [String] {
        try await self.translating { connection in
            try await connection.query(
                "SELECT id::text FROM insp.jobs_by_reference($1, user_reference => $2, purpose => $3)",
                [.text(partner), .text(reference), .optional(purpose)]
            ).map { try $0.string(0) }
        }
    }

    /// Deletes a face id with its templates, those of sealed jobs as well, and ends its jobs. Their keys follow (`insp.key_gone`);
    /// the face's own stays, as results of its finished jobs open with those below it.
    ///
    /// - Returns: How many templates and jobs, and when, as JSON.
    package func deleteFace(_ faceID: String, of partner: String) async throws -> Data {
        let names = try await self.spellings(of: faceID, partner: partner)
        let row = try await self.translating { connection in
            try await connection.query(
                """
                SELECT jsonb_build_object('templates', sum((d ->> 'templates')::int), 'jobs', sum((d ->> 'jobs')::int),
                    'deletedAt', max(d ->> 'deletedAt'))
                FROM unnest($2::text[]) AS n, LATERAL insp.face_delete($1, n) AS d
                """, [.text(partner), .textArray(names)]
            ).single()
        }
        return try row.data(0)
    }

    /// The templates of a face id as JSON, without their embeddings.
    ///
    /// - Parameter purpose: What an operator reads them for: review, support, export or delivery.
    package func templates(of faceID: String, partner: String, purpose: String? = nil) async throws -> Data {
        let names = try await self.spellings(of: faceID, partner: partner)
        return try await self.translating { connection in
            try await connection.query(
                """
                SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]')
                FROM unnest($2::text[]) AS n, LATERAL insp.face_templates($1, n, $3) AS t
                """, [.text(partner), .textArray(names), purpose.map { .text($0) } ?? .null]
            ).single().data(0)
        }
    }

    /// A face id as plain and as sealed jobs have it.
    private func spellings(of faceID: String, partner: String) async throws -> [String] {
        guard let keys else { return [faceID] }
        let index = BlindIndex(try await keys.partnerKey(try await self.number(of: partner)))
        return [faceID, index.pseudonym(faceID, use: "face")]
    }

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

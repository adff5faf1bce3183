internal import Custody
package import Foundation
internal import InspectCore
internal import Postgres

extension JobClient {
    /// What a reviewer sees of a job.
    package struct Review: Sendable {
        /// An entry of the record with a note on the job.
        package struct Note: Codable, Sendable {
            /// ISO 8601, in UTC.
            package var at: String
            /// The login or database role that wrote it.
            package var who: String
            /// The entry's action, such as `review`.
            package var action: String
            /// Plain text, once opened.
            package var note: String
        }

        /// The decision that waited, with its sealed data, as JSON.
        package var document: Data
        /// Oldest first.
        package var notes: [Note]
        /// What seals a note; `nil`: the job is not sealed.
        fileprivate var seal: JobSeal?
    }

    /// The decision that waits for a review, or waited for one, and the notes on it.
    ///
    /// - Parameter purpose: Recorded: review, support, export or delivery.
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown``, or the error for a missing key.
    package func review(of id: String, purpose: String) async throws -> Review {
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        let row = try await self.translating { connection in
            try await connection.query(
                "SELECT document, sealed, body, partner_id, notes FROM insp.sealed_review($1, $2)",
                [.text(id), .text(purpose)]
            ).single()
        }
        let result = try SealedResult(row)
        var notes = try JSONDecoder().decode([Review.Note].self, from: try row.data("notes"))
        guard let any = result.sealed ?? result.body else {
            return Review(document: result.document, notes: notes)
        }
        guard let keys else { throw InspectError(.keyMissing, "the job is sealed") }
        let seal = try JobSeal(try await keys.key(try Seal.keyID(of: any)), partner: result.partner)
        for place in notes.indices { notes[place].note = try seal.open(note: notes[place].note) }
        return Review(
            document: try seal.document(result.document, sealed: result.sealed, body: result.body), notes: notes,
            seal: seal)
    }

    /// Decides a job that waits for a review. The note of a sealed job is sealed.
    ///
    /// - Returns: The result's record of the review, as JSON.
    /// - Throws: ``InspectError`` with the code of the database's refusal.
    package func decide(_ id: String, as decision: String, label: String?, note: String?) async throws -> Data {
        var text = note
        if let note { text = try await self.review(of: id, purpose: "review").seal?.seal(note: note) ?? note }
        let parameters: [PostgresValue] = [.text(id), .text(decision), .optional(label), .optional(text)]
        return try await self.translating { connection in
            try await connection.query("SELECT insp.review($1, $2, $3, $4)", parameters).single().data(0)
        }
    }

    /// Whether this is the consent with which a job was accepted, sealed or plain, even after the job was erased.
    ///
    /// - Parameter consent: As the request had it: a JSON object.
    package func holds(_ consent: Data, of id: String, partner: String) async throws -> Bool {
        var text = try PostgresValue.json(consent)
        if let keys {
            let number = try await self.number(of: partner)
            let isSealed = try await self.translating { connection in
                try await connection.query("SELECT insp.is_sealed($1)", [.text(id)]).single().optionalBool(0)
            }
            // The database has a plain job's consent as it is, and compares that.
            if isSealed == true {
                text = try PostgresValue.json(try await RequestSealer(keys).consent(consent, partner: number))
            }
        }
        return try await self.translating { [text] connection in
            try await connection.query("SELECT insp.consent_holds($1, $2::jsonb)", [.text(id), .text(text)])
                .single().bool(0)
        }
    }
}

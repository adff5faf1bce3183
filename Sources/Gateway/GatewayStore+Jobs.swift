internal import Custody
internal import Foundation
internal import HTTPServer
internal import InspectCore
internal import ObjectStore
internal import Postgres

/// Calls about jobs that exist, and about what precedes them.
extension GatewayStore {
    /// A page of the partner's jobs with these references.
    func jobs(_ credential: GatewayCredential, _ search: JobSearch) async throws -> JobPage {
        // Searches by the most selective reference first.
        let kinds = JobSearch.Reference.allCases.compactMap { kind in
            search.references[kind].map { (key: kind, value: $0) }
        }
        // Sealed jobs have pseudonyms instead of references, jobs of producers that do not seal the references themselves. The
        // database gets digests of both: what it gets may be logged.
        var sealed: [String] = []
        if let keys = try self.keys {
            let index = BlindIndex(try await keys.partnerKey(credential.partnerID))
            sealed = kinds.map { index.pseudonym($0.value, use: $0.key.rawValue) }
        }
        let rows = try await self.ask(
            "SELECT * FROM insp.gateway_jobs($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .texts(kinds.map(\.key.rawValue)),
                .byteas(kinds.map { BlindIndex.ofStored($0.value) }), .byteas(sealed.map(BlindIndex.ofStored)),
                .optional(search.status.map(Int64.init)),
                .optional(search.after), .int(Int64(search.limit)),
            ])
        var page = JobPage(jobs: [])
        for row in rows {
            let id = try row.string("id")
            guard let status = try row.optionalInt("status") else {
                page.next = id
                break
            }
            page.jobs.append(
                JobPage.Job(
                    id: id, status: Int(status), workflow: try row.string("workflow"),
                    createdAt: try row.string("created_at"), completedAt: try row.optionalString("completed_at"),
                    test: credential.isTest ? true : nil))
        }
        return page
    }

    /// The advice for each reason in a language, or else in English.
    func advice(_ credential: GatewayCredential, _ language: String) async throws -> [String: String] {
        let rows = try await self.ask(
            "SELECT code, advice FROM insp.gateway_usability($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(language)])
        var advice: [String: String] = [:]
        for row in rows { advice[try row.string("code")] = try row.string("advice") }
        return advice
    }

    /// Cancels a job.
    ///
    /// - Returns: False: it was finished already.
    func cancel(_ credential: GatewayCredential, id: String) async throws -> Bool {
        try await self.ask(
            "SELECT insp.gateway_cancel($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(id)]
        ).single().bool(0)
    }

    /// Runs a finished job again.
    ///
    /// - Parameter key: The idempotency key.
    /// - Returns: The new job's id and status, and whether it is that of an earlier call under the same key.
    func rerun(
        _ credential: GatewayCredential, id: String, key: String?
    ) async throws -> (id: String, status: Int, isRepeated: Bool) {
        var key = key
        if let given = key, let keys = try self.keys {
            key = BlindIndex(try await keys.partnerKey(credential.partnerID)).pseudonym(given, use: "idempotency")
        }
        let row = try await self.ask(
            "SELECT id, status, repeated FROM insp.gateway_rerun($1, $2, $3, $4)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(id), .optional(key)]
        ).single()
        return (try row.string("id"), Int(try row.int("status")), try row.bool("repeated"))
    }

    /// The bytes of a part as they were received.
    ///
    /// - Parameter purpose: The purpose of the report that needs the part; `nil`: the credential requested the part itself.
    func part(
        _ credential: GatewayCredential, id: String, kind: PartKind, ordinal: Int, purpose: String? = nil
    ) async throws -> Data {
        let row = try await self.ask(
            "SELECT bytes, is_sealed, location, size FROM insp.gateway_part($1, $2, $3, $4, $5, $6)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .text(id), .text(kind.rawValue),
                .int(Int64(ordinal)), .optional(purpose),
            ]
        ).single()
        return try await StoredPart(row).open(
            kind, ordinal, partner: credential.partnerID, in: self.objects, opening: self.keys)
    }

    /// Issues a liveness challenge.
    ///
    /// - Parameter options: A JSON object, as `insp.gateway_challenge` describes it.
    /// - Returns: A JSON object.
    func challenge(_ credential: GatewayCredential, _ options: Data) async throws -> Data {
        try await self.ask(
            "SELECT insp.gateway_challenge($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(try PostgresValue.json(options))]
        ).single().data(0)
    }

    /// A token for these scopes.
    func token(_ credential: GatewayCredential, _ scopes: [String]) async throws -> (text: String, seconds: Int) {
        let row = try await self.ask(
            "SELECT token, seconds FROM insp.gateway_token($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .texts(scopes)]
        ).single()
        return (try row.string("token"), Int(try row.int("seconds")))
    }
}

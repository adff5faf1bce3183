internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

extension GatewayStore {
    /// A session that waits for its next blob.
    private struct OpenSession {
        var id: String
        var blobs: Int
        /// `nil`: it is not sealed.
        var key: KeyID?
        /// The job's internal number, if it has this blob already, under the same idempotency key.
        var repeated: Int64?
        /// The request's idempotency key, with its digest; `nil`: it has none.
        var idempotency: (key: String, digest: Data)?
    }

    /// A session's job, to which a blob was added.
    struct SessionJob {
        /// The public id.
        var id: String
        var number: Int64
        /// Whether the blob had been accepted before, under the same idempotency key.
        var isRepeated: Bool
    }

    /// Accepts a blob: as the next one of its session, or as the first one of a new session.
    func session(
        _ credential: GatewayCredential, _ request: SessionRequest, traceparent: String?
    ) async throws -> SessionJob {
        do {
            if let session = try await self.openSession(credential, request) {
                if let number = session.repeated { return SessionJob(id: session.id, number: number, isRepeated: true) }
                return try await self.add(request.blob, to: session, credential)
            }
        } catch let error as InspectError
            where request.sessionID == nil && (error.code == .sessionBusy || error.code == .sessionEnded)
        {
            // Another blob of the user came first: this one belongs to another session.
        }
        let job = try await self.create(
            credential, .session, payload: request.payload, parts: [.sessionBlob: [request.blob]],
            traceparent: traceparent, scansDocument: request.scansDocument)
        guard let number = job.number else { throw InspectError(.jobUnknown) }
        return SessionJob(id: job.id, number: number, isRepeated: job.isRepeated)
    }

    private func openSession(
        _ credential: GatewayCredential, _ request: SessionRequest
    ) async throws -> OpenSession? {
        guard request.sessionID != nil || request.namesUser else { return nil }
        var payload = request.payload
        var digest: Data? = request.hasKey ? Data(SHA256.digest([UInt8](request.blob))) : nil
        if request.namesUser || request.hasKey, let keys = try self.keys {
            // The database knows a sealed session by its user's pseudonym, and the request by a keyed digest.
            let draft = try await RequestSealer(keys).draft(
                payload: payload, parts: [.sessionBlob: [request.blob]], partner: credential.partnerID)
            payload = draft.payload
            if request.hasKey { digest = draft.hmac }
        }
        return try await self.ask(
            "SELECT id, blobs, key_id, repeated, idempotency_key, request_sha256 FROM insp.gateway_session_find($1, $2, $3, $4, $5)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .optional(request.sessionID),
                .text(try PostgresValue.json(payload)), .optional(digest),
            ]
        ).first.map { row in
            let known = (try row.optionalString("idempotency_key"), try row.optionalData("request_sha256"))
            return OpenSession(
                id: try row.string("id"), blobs: Int(try row.optionalInt("blobs") ?? 0),
                key: try row.optionalString("key_id").flatMap { KeyID($0) }, repeated: try row.optionalInt("repeated"),
                idempotency: known.0.flatMap { key in known.1.map { (key, $0) } })
        }
    }

    private func add(
        _ blob: Data, to session: OpenSession, _ credential: GatewayCredential
    ) async throws -> SessionJob {
        var content = blob
        if let key = session.key {
            guard let keys = try self.keys else { throw InspectError(.keyMissing) }
            let seal = try JobSeal(try await keys.key(key), partner: credential.partnerID)
            content = seal.seal(blob, part: .sessionBlob, session.blobs)
        }
        let row = try await self.ask(
            "SELECT id, job, repeated FROM insp.gateway_session_add($1, $2, $3, $4, $5, $6, $7)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .text(session.id), .int(Int64(session.blobs)),
                .bytes(content), .optional(session.idempotency?.key), .optional(session.idempotency?.digest),
            ]
        ).single()
        return SessionJob(
            id: try row.string("id"), number: try row.int("job"), isRepeated: try row.bool("repeated"))
    }

    /// The answer to a session that waits for its next blob; `nil`: it does not wait.
    func sessionFacts(_ credential: GatewayCredential, id: String) async throws -> LivenessStageFacts? {
        guard
            let row = try await self.ask(
                "SELECT body, key_id, partner_id FROM insp.gateway_session_answer($1, $2, $3)",
                [.int(credential.id), .bytes(credential.secretSHA256), .text(id)]
            ).first, var body = try row.optionalData("body")
        else { return nil }
        if let key = try row.optionalString("key_id").flatMap({ KeyID($0) }) {
            guard let keys = try self.keys else { throw InspectError(.keyMissing) }
            let seal = try JobSeal(try await keys.key(key), partner: try row.int("partner_id"))
            body = try seal.open(body, of: .liveness)
        }
        return try JSONDecoder().decode(LivenessStageFacts.self, from: body)
    }

    /// Which of these sessions wait for their next blob.
    func answered(_ numbers: [Int64]) async throws -> [Int64] {
        try await self.ask("SELECT insp.gateway_answered($1)", [.intArray(numbers)], on: self.looker)
            .map { try $0.int(0) }
    }
}

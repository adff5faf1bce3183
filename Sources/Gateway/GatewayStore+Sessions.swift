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
    }

    /// Accepts a blob: as the next one of its session, or as the first one of a new session.
    ///
    /// - Returns: The session's job, with its public id.
    func session(
        _ credential: GatewayCredential, _ request: SessionRequest, traceparent: String?
    ) async throws -> (id: String, number: Int64) {
        do {
            if let session = try await self.openSession(credential, request) {
                return (session.id, try await self.add(request.blob, to: session, credential))
            }
        } catch let error as InspectError
            where request.sessionID == nil && (error.code == .sessionBusy || error.code == .sessionEnded)
        {
            // Another blob of the user came first: this one belongs to another session.
        }
        let job = try await self.create(
            credential, .session, payload: request.payload, parts: [.sessionBlob: [request.blob]],
            traceparent: traceparent)
        guard let number = job.number else { throw InspectError(.jobUnknown) }
        return (job.id, number)
    }

    private func openSession(
        _ credential: GatewayCredential, _ request: SessionRequest
    ) async throws -> OpenSession? {
        guard request.sessionID != nil || request.namesUser else { return nil }
        var payload = request.payload
        if request.sessionID == nil, let keys = try self.keys {
            // The database finds a sealed session by its user's pseudonym.
            payload = try await RequestSealer(keys).draft(
                payload: payload, parts: [.sessionBlob: [request.blob]], partner: credential.partnerID
            ).payload
        }
        return try await self.ask(
            "SELECT id, blobs, key_id FROM insp.gateway_session_find($1, $2, $3, $4)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .optional(request.sessionID),
                .text(try PostgresValue.json(payload)),
            ]
        ).first.map { row in
            OpenSession(
                id: try row.string("id"), blobs: Int(try row.int("blobs")),
                key: try row.optionalString("key_id").flatMap { KeyID($0) })
        }
    }

    /// - Returns: The job's internal number.
    private func add(
        _ blob: Data, to session: OpenSession, _ credential: GatewayCredential
    ) async throws -> Int64 {
        var content = blob
        if let key = session.key {
            guard let keys = try self.keys else { throw InspectError(.keyMissing) }
            let seal = try JobSeal(try await keys.key(key), partner: credential.partnerID)
            content = seal.seal(blob, part: .sessionBlob, session.blobs)
        }
        return try await self.ask(
            "SELECT insp.gateway_session_add($1, $2, $3, $4, $5)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .text(session.id), .int(Int64(session.blobs)),
                .bytes(content),
            ]
        ).single().int(0)
    }

    /// What a session has been answered that waits for its next blob; `nil`: it does not wait.
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

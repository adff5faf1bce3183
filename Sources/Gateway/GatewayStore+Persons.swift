internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

/// Calls about faces and persons.
extension GatewayStore {
    /// The indexes by which a person is found: of the reference in plain jobs, and of that in sealed ones. The database never sees the reference.
    private func indexes(of reference: String, _ credential: GatewayCredential) async throws -> PostgresValue {
        var spellings = [reference]
        if let keys = try self.keys {
            let index = BlindIndex(try await keys.partnerKey(credential.partnerID))
            spellings.append(index.pseudonym(reference, use: "user"))
        }
        return .byteas(spellings.map(BlindIndex.ofStored))
    }

    private func call(
        _ function: String, _ credential: GatewayCredential, face id: String
    ) async throws -> PostgresRow {
        var face: [PostgresValue] = [.text(id), .null]
        if let keys = try self.keys {
            let index = BlindIndex(try await keys.partnerKey(credential.partnerID))
            face = [.text(index.pseudonym(id, use: "face")), .bytes(BlindIndex.ofStored(id))]
        }
        return try await self.ask(
            "SELECT insp.\(function)($1, $2, $3, $4)",
            [.int(credential.id), .bytes(credential.secretSHA256)] + face
        ).single()
    }

    /// The templates of a face id, a JSON array.
    func face(_ credential: GatewayCredential, _ id: String) async throws -> Data {
        try await self.call("gateway_face", credential, face: id).data(0)
    }

    /// Deletes a face id with its templates.
    ///
    /// - Returns: How many templates and jobs, a JSON object.
    func deleteFace(_ credential: GatewayCredential, _ id: String) async throws -> Data {
        try await self.call("gateway_face_delete", credential, face: id).data(0)
    }

    /// Erases a person. The keys of what was sealed follow (`insp.key_gone`).
    ///
    /// - Returns: How many jobs.
    func erase(_ credential: GatewayCredential, person reference: String) async throws -> Int {
        let indexes = try await self.indexes(of: reference, credential)
        return Int(
            try await self.ask(
                "SELECT insp.gateway_erase($1, $2, $3)",
                [.int(credential.id), .bytes(credential.secretSHA256), indexes]
            ).single().int(0))
    }

    /// Withdraws a person's consents: stops the jobs that are not finished, and erases. The keys of what was sealed follow.
    ///
    /// - Returns: How many jobs were stopped and erased.
    func withdraw(_ credential: GatewayCredential, person reference: String) async throws -> (stopped: Int, erased: Int)
    {
        let indexes = try await self.indexes(of: reference, credential)
        let row = try await self.ask(
            "SELECT cancelled, erased FROM insp.gateway_withdraw($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), indexes]
        ).single()
        return (Int(try row.int(0)), Int(try row.int(1)))
    }

    /// Withdraws the consent of a job.
    ///
    /// - Returns: False: there was nothing to stop and nothing to erase.
    func withdraw(_ credential: GatewayCredential, job id: String) async throws -> Bool {
        try await self.ask(
            "SELECT insp.gateway_withdraw_job($1, $2, $3)",
            [.int(credential.id), .bytes(credential.secretSHA256), .text(id)]
        ).single().bool(0)
    }

    /// A page of everything stored about a person, a JSON object.
    func export(
        _ credential: GatewayCredential, person reference: String, after: String?, limit: Int
    ) async throws -> Data {
        let start: [PostgresValue] = [
            .int(credential.id), .bytes(credential.secretSHA256), try await self.indexes(of: reference, credential),
        ]
        let rows = try await self.ask(
            "SELECT * FROM insp.gateway_export($1, $2, $3, $4, $5)", start + [.optional(after), .int(Int64(limit))])
        var jobs: [Data] = []
        for row in rows { jobs.append(try await self.entry(row)) }
        var members = [Data(#""jobs":["#.utf8) + Data(jobs.joined(separator: Data(",".utf8))) + Data("]".utf8)]
        if after == nil {
            let faces = try await self.ask("SELECT insp.gateway_person_faces($1, $2, $3)", start).single().data(0)
            members.append(Data(#""faces":"#.utf8) + faces)
        }
        if rows.count == limit, let last = try rows.last?.string("id") {
            members.append(Data(#""next":"\#(last)""#.utf8))
        }
        return Data("{".utf8) + Data(members.joined(separator: Data(",".utf8))) + Data("}".utf8)
    }

    /// One job of an export. A job whose key is missing is marked, and does not prevent the export of the others.
    private func entry(_ row: PostgresRow) async throws -> Data {
        let result = try SealedResult(row)
        var seal: JobSeal?
        var missing: ErrorCode?
        do {
            seal = try await result.seal(opening: self.keys)
        } catch {
            guard [.keyUnknown, .keyDestroyed].contains(error.code) else { throw error }
            missing = error.code
        }
        let document = try seal?.document(result.document, sealed: result.sealed, body: result.body) ?? result.document
        var members = [#""result":"# + String(decoding: document, as: UTF8.self)]
        if let missing { members.append(#""unreadable":"\#(missing.rawValue)""#) }
        if let seal, let sealed = result.sealed {
            members.append(#""request":"# + String(decoding: try seal.request(sealed), as: UTF8.self))
        } else if let request = try row.optionalString("personal") {
            members.append(#""request":"# + request)
        }
        if let parts = try row.optionalString("parts") { members.append(#""parts":"# + parts) }
        if let notes = try row.optionalData("notes") {
            struct Note: Codable {
                var at: String
                var text: String
            }
            var read = try JSONDecoder().decode([Note].self, from: notes)
            for index in read.indices {
                read[index].text = try seal?.open(note: read[index].text) ?? read[index].text
            }
            members.append(#""notes":"# + String(decoding: try JSONEncoder().encode(read), as: UTF8.self))
        }
        return Data(("{" + members.joined(separator: ",") + "}").utf8)
    }
}

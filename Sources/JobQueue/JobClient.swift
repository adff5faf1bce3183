public import Foundation
public import InspectCore
internal import Postgres

/// What callers of the queue do, from Swift: the same SQL functions that every other language calls.
public actor JobClient {
    private let connection: ReconnectingConnection

    /// - Parameter databaseURL: A libpq connection string or URL. Never logged.
    public init(databaseURL: String) {
        var configuration = JobWorkerConfiguration(databaseURL: databaseURL, host: "", version: "", slots: 1)
        configuration.connection.timeout = .seconds(60)
        self.connection = ReconnectingConnection(configuration, role: "client")
    }

    /// Accepts a job.
    ///
    /// - Parameters:
    ///   - payload: A JSON object, as `insp.enqueue` describes it.
    ///   - parts: The inputs' bytes; several for ``PartKind/frames`` alone.
    /// - Returns: The job's id.
    /// - Throws: ``InspectError`` with the code that the database refused the request with.
    public func enqueue(payload: Data, parts: [PartKind: [Data]] = [:]) async throws -> String {
        func single(_ kind: PartKind) throws -> PostgresValue {
            guard let values = parts[kind] else { return .null }
            guard values.count == 1 else { throw InspectError(.partUnexpected, "\(kind.rawValue): more than one") }
            return .bytes(values[0])
        }
        let parameters: [PostgresValue] = [
            .text(try Self.text(of: payload)), try single(.front), try single(.back), try single(.face),
            parts[.frames].map { .bytesArray($0) } ?? .null, try single(.dg1), try single(.dg2), try single(.sod),
            try single(.sessionBlob),
        ]
        return try await self.translating { connection in
            try await connection.query(
                "SELECT insp.enqueue($1, $2, $3, $4, $5, $6, $7, $8, $9)", parameters)[0].string(0)
        }
    }

    /// Accepts many jobs whose parts are given by URL: all of them or, after an error, none.
    public func enqueue(many payloads: [Data]) async throws -> [String] {
        let texts = try payloads.map { try Self.text(of: $0) }
        return try await self.translating { connection in
            try await connection.query("SELECT * FROM insp.enqueue_many($1)", [.jsonbs(texts)])
                .map { try $0.string(0) }
        }
    }

    /// The result document of a job, as JSON; valid results are in it once `status` is 128.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown``.
    public func result(of id: String) async throws -> Data {
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        return try await self.translating { connection in
            try await connection.query("SELECT insp.job_result($1)", [.text(id)])[0].data(0)
        }
    }

    /// The id of a job whose last twelve digits, or all of them, are given, as `insp.find_job` finds it for operators.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown`` or ``ErrorCode/jobAmbiguous``.
    public func find(_ id: String) async throws -> String {
        try await self.translating { connection in
            try await connection.query("SELECT insp.find_job($1)", [.text(id)])[0].string(0)
        }
    }

    /// Where a job is, why it waits and what can be done, for operators: sentences, each with what it is about.
    ///
    /// - Parameter id: The job's id, or its last twelve digits.
    /// - Throws: ``InspectError`` with ``ErrorCode/jobUnknown`` or ``ErrorCode/jobAmbiguous``.
    public func explanation(of id: String) async throws -> [(aspect: String, text: String)] {
        try await self.translating { connection in
            try await connection.query("SELECT aspect, explanation FROM insp.explain_job($1)", [.text(id)])
                .map { (try $0.string(0), try $0.string(1)) }
        }
    }

    /// Finishes a job as cancelled.
    ///
    /// - Returns: False if it was finished before.
    public func cancel(_ id: String) async throws -> Bool {
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        return try await self.translating { connection in
            try await connection.query("SELECT insp.cancel($1)", [.text(id)])[0].bool(0)
        }
    }

    /// Deletes a face id with its templates and ends its jobs.
    ///
    /// - Returns: How many templates and jobs, and when, as JSON.
    public func deleteFace(_ faceID: String, of partner: String) async throws -> Data {
        try await self.translating { connection in
            try await connection.query("SELECT insp.face_delete($1, $2)", [.text(partner), .text(faceID)])[0].data(0)
        }
    }

    /// What is enrolled under a face id, without the features, as JSON.
    public func templates(of faceID: String, partner: String) async throws -> Data {
        try await self.translating { connection in
            try await connection.query(
                "SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM insp.face_templates($1, $2) t",
                [.text(partner), .text(faceID)])[0].data(0)
        }
    }

    public func close() async {
        await self.connection.close()
    }

    /// `jsonb` cannot hold U+0000, and libpq would cut a text at a zero byte.
    static func text(of payload: Data) throws -> String {
        guard !payload.contains(0), let text = String(data: payload, encoding: .utf8) else {
            throw InspectError(.payloadInvalid, "not UTF-8, or a zero byte")
        }
        return text
    }

    private func translating<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        do {
            return try await body(try await self.connection.open())
        } catch let error as PostgresError {
            throw Self.translate(error)
        }
    }

    /// The SQLSTATE of an error that is none of ours.
    public static func sqlState(of error: any Error) -> String? {
        (error as? PostgresError).map { $0.sqlState ?? $0.code.rawValue }
    }

    /// What an error of the database means to whoever asked.
    static func translate(_ error: PostgresError) -> any Error {
        if let refusal = error.refusal { return refusal }
        switch error.sqlState {
        // The payload is no JSON, or holds \u0000 or half a surrogate pair.
        case "22P02", "22P05", "22021": return InspectError(.payloadInvalid, "not JSON that can be stored")
        case _ where error.isTransient: return InspectError(.databaseUnavailable, error.reason)
        default: return error
        }
    }
}

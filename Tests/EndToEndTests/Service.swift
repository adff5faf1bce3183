import Foundation
import Postgres
import TestSupport

/// A migrated database with a partner and a receiver: what a worker serves.
struct Service {
    let database: ScratchDatabase
    let connection: PostgresConnection
    let receiver: CallbackReceiver
    /// Files that the receiver serves at `/image?file=…`.
    let files: URL

    static func start(path: String = "/ok") async throws -> Service {
        let database = try await ScratchDatabase.migrated()
        let connection = try await database.connect()
        let files = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: true)
        let secret = try await connection.query("SELECT insp.new_secret()")[0].string(0)
        let receiver = try CallbackReceiver(secrets: [secret], files: files)
        _ = try await connection.query(
            "SELECT insp.create_partner('bank', $1, true, true)", [.text(receiver.url(path))])
        _ = try await connection.query(
            "SELECT insp.callback_rotate_secret(id, '0', $1) FROM insp.endpoint", [.text(secret)])
        return Service(database: database, connection: connection, receiver: receiver, files: files)
    }

    var environment: [String: String] { ["INSPECTD_DATABASE_URL": self.database.url] }

    func worker(_ arguments: [String] = []) throws -> Program {
        try Program(["worker"] + arguments, environment: self.environment)
    }

    /// Accepts a job and returns its id.
    func enqueue(_ payload: [String: Any], front: Data? = nil, back: Data? = nil, face: Data? = nil) async throws
        -> String
    {
        var payload = payload
        payload["partner"] = "bank"
        let text = String(decoding: try JSONSerialization.data(withJSONObject: payload), as: UTF8.self)
        return try await self.connection.query(
            "SELECT insp.enqueue($1, front => $2, back => $3, face => $4)",
            [.text(text), .optional(front), .optional(back), .optional(face)])[0].string(0)
    }

    /// Waits until all jobs are finished. Retries come at once: their back-off is other tests' subject.
    func finishAll(within limit: Duration = .seconds(60)) async throws {
        try await waitUntil("all jobs are finished", within: limit, every: .milliseconds(100)) {
            try await self.connection.execute("UPDATE insp.delayed SET run_at = now() WHERE run_at > now()")
            return try await self.connection.query("SELECT count(*) FROM insp.job WHERE status < 128")[0].int(0) == 0
        }
    }

    /// Waits until a job is at 128 and returns its result document.
    func result(of id: String, within limit: Duration = .seconds(120)) async throws -> [String: Any] {
        let deadline = ContinuousClock.now + limit
        while true {
            let row = try await self.connection.query("SELECT insp.job_result($1)", [.text(id)])[0]
            let document = try members(row.data(0))
            if document["status"] as? Int == 128 || ContinuousClock.now > deadline { return document }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Waits until a count is 0.
    func waitForNone(_ sql: String, within limit: Duration) async throws -> Bool {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if try await self.connection.query(sql)[0].int(0) == 0 { return true }
            try await Task.sleep(for: .milliseconds(250))
        }
        return false
    }
}

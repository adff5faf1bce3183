import Custody
import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport

/// A database and a key store, a partner with a receiver, and a client that seals: what workers with keys serve.
struct SealedService {
    let setting: KeySetting
    let connection: PostgresConnection
    let receiver: CallbackReceiver
    let client: JobClient

    init(_ setting: KeySetting) async throws {
        self.setting = setting
        self.connection = try await setting.main.connect()
        let secret = try await self.connection.query("SELECT insp.new_secret()")[0].string(0)
        self.receiver = try CallbackReceiver(secrets: [secret])
        self.client = JobClient(databaseURL: setting.main.url, keys: try setting.client())
        try await self.addPartner("bank", secret)
    }

    func addPartner(_ name: String, _ secret: String? = nil) async throws {
        _ = try await self.connection.query(
            "SELECT insp.create_partner($1, $2, true, true)", [.text(name), .text(self.receiver.url("/ok"))])
        if let secret {
            _ = try await self.connection.query(
                "SELECT insp.callback_rotate_secret(id, '0', $1) FROM insp.endpoint", [.text(secret)])
        }
    }

    /// Jobs of a face without a face, each of a person of its own.
    func enqueue(_ count: Int, partner: String = "bank", _ more: [String: String] = [:]) async throws -> [String] {
        var ids: [String] = []
        for number in 0..<count {
            let request = ["partner": partner, "workflow": "liveness", "userReference": "person \(number)"]
            let payload = try JSONSerialization.data(withJSONObject: request.merging(more) { $1 })
            ids.append(
                try await self.patiently {
                    try await self.client.enqueue(payload: payload, parts: [.face: [PNG.noise(width: 64, height: 64)]])
                })
        }
        return ids
    }

    func worker(_ words: [String] = [], keys: String? = nil, delayMs: Int = 0) throws -> Program {
        var environment = self.setting.environment
        if let keys { environment["INSPECTD_WRAPPING_KEYS"] = "file:" + keys }
        let analyzer = try FaultyAnalyzer.script("--delay \(delayMs)", facts: FaultyAnalyzer.noFace)
        return try Program(["worker", "--analyzer", analyzer] + words, environment: environment)
    }

    func count(_ rows: String) async throws -> Int {
        Int(try await self.connection.query("SELECT count(*) FROM \(rows)")[0].int(0))
    }

    /// A job's whole result, opened.
    func result(of id: String) async throws -> [String: Any] {
        try members(try await self.patiently { try await self.client.result(of: id, purpose: "support") })
    }

    /// As callers do: the first calls after the key store was unavailable meet connections that it has closed.
    private func patiently<Answer>(_ call: () async throws -> Answer) async throws -> Answer {
        for _ in 0..<20 {
            do { return try await call() } catch let error as InspectError where error.code == .keysUnavailable {
                try await Task.sleep(for: .milliseconds(200))
            }
        }
        return try await call()
    }

    /// The lines of a worker's log with this message.
    static func lines(_ worker: Program, _ message: String) -> [[String: Any]] {
        worker.standardError.split(separator: "\n").compactMap { try? members(Data($0.utf8)) }
            .filter { $0["message"] as? String == message }
    }
}

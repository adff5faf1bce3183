import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// A service whose jobs are sealed: a database with a partner and a receiver, a key store, and a wrapping key in a file.
struct SealedSite {
    let service: Service
    let keys: KeyStore
    /// As a superuser.
    let store: PostgresConnection
    let environment: [String: String]
    private let folder: URL

    init() async throws {
        self.service = try await .start()
        let store = try await ScratchDatabase.empty()
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("sealed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let file = self.folder.appendingPathComponent("keys").path
        self.environment = [
            "INSPECTD_DATABASE_URL": self.service.database.url, "INSPECTD_KEYS_URL": store.url,
            "INSPECTD_WRAPPING_KEYS": "file:" + file,
        ]
        for words in [["make", "--key-file", file], ["init", "--roles"], ["init"]] {
            let done = try await Program.run(["keys"] + words, environment: self.environment)
            #expect(done.status == 0, "\(done.errors)")
        }
        self.store = try await store.connect()
        self.keys = KeyStore(store.url, wrappingKeys: try WrappingKeySource.open("file:" + file))
    }

    var connection: PostgresConnection { self.service.connection }

    func file(_ name: String) -> String { self.folder.appendingPathComponent(name).path }

    func worker(_ arguments: [String] = []) throws -> Program {
        try Program(["worker"] + arguments, environment: self.environment)
    }

    /// What a command prints; it must succeed.
    func run(_ words: String...) async throws -> Data {
        let done = try await Program.run(words, environment: self.environment)
        #expect(done.status == 0, "\(words): \(done.errors)")
        return done.output
    }

    func enqueue(_ words: String...) async throws -> String {
        let done = try await Program.run(["enqueue", "--partner", "bank"] + words, environment: self.environment)
        #expect(done.status == 0, "\(words): \(done.errors)")
        return String(decoding: done.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func wait(for condition: String, within limit: Duration = .seconds(120)) async throws {
        try await waitUntil(condition, within: limit, every: .milliseconds(100)) {
            try await self.connection.query("SELECT \(condition)")[0].bool(0)
        }
    }

    /// Waits until every job has ended.
    func waitForJobs() async throws { try await self.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)") }

    /// Waits until the keys of everything that was removed are destroyed.
    func waitForKeys() async throws { try await self.wait(for: "NOT EXISTS (SELECT FROM insp.key_gone)") }

    func count(_ sql: String) async throws -> Int {
        Int(try await self.connection.query("SELECT count(*) FROM \(sql)")[0].int(0))
    }

    func partner(_ name: String = "bank") async throws -> Int64 {
        try await self.connection.query("SELECT id FROM insp.partner WHERE name = $1", [.text(name)])[0].int(0)
    }

    /// The templates, as an old backup has them.
    func templates() async throws -> [FaceEmbedding] {
        try await self.connection.query("SELECT engine, model_sha256, embedding FROM insp.face_template ORDER BY id")
            .map {
                FaceEmbedding(engine: try $0.string(0), modelSHA256: try $0.string(1), hex: try $0.string(2))
            }
    }

    /// Whether a template from an old backup opens.
    func opens(_ template: FaceEmbedding) async throws -> Bool {
        do {
            return try await self.keys.open([template], of: try await self.partner()) != [template]
        } catch {
            #expect([.keyUnknown, .keyDestroyed].contains((error as? InspectError)?.code))
            return false
        }
    }

    /// Whether a row of a job from an old backup opens.
    func opens(_ sealed: Data) async throws -> Bool {
        do {
            _ = try await self.keys.key(try Seal.keyID(of: sealed))
            return true
        } catch {
            #expect([.keyUnknown, .keyDestroyed].contains(error.code))
            return false
        }
    }
}

import Custody
import Foundation
import Postgres
import TestSupport
import Testing

/// A main database, a key store and a file with two wrapping keys, of which the first one wraps.
struct KeySetting {
    let store: ScratchDatabase
    let main: ScratchDatabase
    let admin: PostgresConnection
    let folder: URL

    /// - Parameter store: Where the key store is; `nil`: a further database of the same server.
    init(begins: Bool = true, store: ScratchDatabase? = nil) async throws {
        if let store { self.store = store } else { self.store = try await .empty() }
        self.main = try await .migrated()
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        self.admin = try await self.store.connect()
        for name in ["one", "two"] {
            _ = try await Program.run(["keys", "make", "--key-file", self.file("keys"), "--name", name])
        }
        guard begins else { return }
        #expect(try await self.run("init", "--roles").status == 0)
        let done = try await self.run("init", "--to", "one")
        #expect(done.status == 0, "\(done.errors)")
    }

    func file(_ name: String) -> String { self.folder.appendingPathComponent(name).path }

    var environment: [String: String] {
        [
            "INSPECTD_DATABASE_URL": self.main.url, "INSPECTD_KEYS_URL": self.store.url,
            "INSPECTD_WRAPPING_KEYS": "file:" + self.file("keys"),
        ]
    }

    func run(_ words: String...) async throws -> (status: Int32, output: Data, errors: String) {
        try await Program.run(["keys"] + words, environment: self.environment)
    }

    /// A process's client of the key store.
    func client() throws -> KeyStore {
        KeyStore(
            self.store.url, wrappingKeys: try WrappingKeySource.open(self.environment["INSPECTD_WRAPPING_KEYS"]!))
    }

    func count(under key: String) async throws -> Int {
        Int(
            try await self.admin.query("SELECT count(*) FROM insp.key WHERE wrapping_key = $1", [.text(key)])[0]
                .int(0))
    }
}

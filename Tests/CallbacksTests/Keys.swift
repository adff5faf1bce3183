import Custody
import Foundation
import Postgres
import TestSupport

@testable import Callbacks

/// A key store with a wrapping key in a file, as a deployment has it.
struct Keys: Sendable {
    private let database: ScratchDatabase
    private let source: String

    init() async throws {
        self.database = try await .empty()
        let admin = try await self.database.connect()
        let migrator = Migrator(directory: ScratchDatabase.migrations + "/keys")
        try await migrator.createRoles(on: admin)
        try await migrator.run(on: admin)
        await admin.close()
        self.source = try Self.file()
        let store = try self.store()
        _ = try await store.begin("one", for: UUID().uuidString.lowercased())
        await store.close()
    }

    /// A file with a new wrapping key of the one name that these tests use.
    static func file() throws -> String {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString)").path
        _ = try KeyFile.add(to: path, name: "one")
        return "file:" + path
    }

    /// A process's client, which has opened no key yet.
    func store(wrappingKeys: String? = nil) throws -> KeyStore {
        KeyStore(self.database.url, wrappingKeys: try WrappingKeySource.open(wrappingKeys ?? self.source))
    }

    /// Ends every connection, and lets nobody in until it is called again.
    func set(isAway: Bool, by server: PostgresConnection) async throws {
        let name = URLComponents(string: self.database.url)!.path.dropFirst()
        try await server.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS \(!isAway)")
        if isAway {
            _ = try await server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(String(name))])
        }
    }

    /// As if every partner had been deleted.
    func destroyAll() async throws {
        let admin = try await self.database.connect()
        try await admin.execute("DELETE FROM insp.key")
        await admin.close()
    }
}

extension Outbox {
    /// What seals an endpoint's secrets.
    func seal(_ endpoint: Int64, _ keys: KeyStore) async throws -> SecretSeal {
        let partner = try await self.connection.query("SELECT insp.endpoint_partner($1)", [.int(endpoint)])[0].int(0)
        return SecretSeal(try await keys.partnerKey(partner), endpoint: endpoint)
    }

    /// Replaces an endpoint's signing secret by a sealed one.
    func rotate(
        _ endpoint: Int64, to secret: WebhookSecret, _ seal: SecretSeal, overlap: String = "0"
    ) async throws {
        _ = try await self.connection.query(
            "SELECT insp.callback_rotate_secret($1, $2::interval, $3)",
            [.int(endpoint), .text(overlap), .text(seal.seal(secret.text, for: .signingSecret))])
    }

    /// The texts in `insp.secret`, each with how it is sealed.
    func secrets() async throws -> [(purpose: String, text: String, seal: Int64)] {
        try await self.connection.query(
            "SELECT purpose, convert_from(value, 'UTF8'), seal FROM insp.secret ORDER BY id"
        )
        .map { (try $0.string(0), try $0.string(1), try $0.int(2)) }
    }
}

/// Takes connections and never answers.
final class SilentServer: Sendable {
    let port: UInt16
    private let descriptor: CInt

    init() throws {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = self.descriptor
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, count) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, $0, &count) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRNOTAVAIL) }
        self.port = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(self.descriptor) }
}

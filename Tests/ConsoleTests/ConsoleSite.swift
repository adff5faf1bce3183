import Console
import Foundation
import HTTPServer
import InspectCore
import Postgres
import Synchronization
import TestSupport

/// A console before a database of its own with the partners `bank` and `shop`, whose every job waits for a review. Its login has the
/// console's role and no other.
struct ConsoleSite: Sendable {
    let database: ScratchDatabase
    let admin: PostgresConnection
    let store: ConsoleStore
    let service: ConsoleService
    let server: HTTPServer
    let login: String

    var origin: String { "http://127.0.0.1:\(self.server.port)" }

    /// What a document may carry.
    static let script = "<script>alert('zqmark')</script>"

    init(
        provider: OpenIDProvider? = nil, link: SignInLink? = nil, show: ConsoleService.Show? = nil,
        providerFailed: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        self.database = try await ScratchDatabase.migrated()
        self.admin = try await self.database.connect()
        self.login = "console_\(UUID().uuidString.prefix(8).lowercased())"
        try await self.admin.execute("CREATE ROLE \(self.login) LOGIN IN ROLE insp_console")
        for partner in ["bank", "shop"] {
            _ = try await self.admin.query("SELECT insp.create_partner($1)", [.text(partner)])
            _ = try await self.admin.query("SELECT insp.set_partner($1, review => 'always')", [.text(partner)])
        }
        let name = String(URLComponents(string: self.database.url)!.path.dropFirst())
        let store = ConsoleStore(
            databaseURL: self.database.database(name, role: self.login).url, keys: nil, connections: 4)
        self.store = store
        let gate = Gate()
        self.server = try HTTPServer(
            ListenAddress("127.0.0.1:0")!, refusal: { gate.refusal($0, status: $1) }, admit: gate.admit)
        self.service = ConsoleService(
            store, ConsoleConfiguration(origins: ["http://127.0.0.1:\(self.server.port)"]), link: link,
            provider: provider, show: show, providerFailed: providerFailed)
        gate.open(self.service)
    }

    /// The service needs the port, and the server the service.
    private final class Gate: Sendable {
        private let service = Mutex<ConsoleService?>(nil)

        func open(_ service: ConsoleService) { self.service.withLock { $0 = service } }

        func refusal(_ error: InspectError, status: Int) -> HTTPResponse {
            self.service.withLock { $0 }?.refusal(error, status: status) ?? .problem(error, status: status)
        }

        func admit(_ request: HTTPRequest) async -> HTTPAdmission {
            guard let service = self.service.withLock({ $0 }) else { return .refuse(.problem(.databaseUnavailable)) }
            return await service.admit(request)
        }
    }

    func close() async throws {
        await self.server.stop(within: .zero)
        await self.store.close()
        try await self.admin.execute("DROP ROLE \(self.login)")
        await self.admin.close()
    }

    static let issuer = "https://id.example"

    /// A person who is signed in.
    ///
    /// - Parameter subject: Who it is at the provider, whatever the name; `nil`: the name.
    func person(
        _ name: String, _ grants: String..., subject: String? = nil, issuer: String = Self.issuer
    ) async throws -> Browser {
        let secret = ConsoleSecret()
        _ = try await self.admin.query(
            "SELECT insp.console_sign_in($1, $2, 'oidc', $3, $4, $5)",
            [.bytes(secret.sha256), .text(name), .texts(grants), .text(issuer), .text(subject ?? name)])
        return Browser(port: self.server.port, secret: secret)
    }

    /// Jobs of a partner that wait for a review.
    func cases(_ partner: String, count: Int = 1) async throws -> [String] {
        var ids: [String] = []
        for _ in 0..<count {
            ids.append(
                try await self.admin.query(
                    "SELECT insp.enqueue(jsonb_build_object('partner', $1::text, 'workflow', 'id'), front => 'x')",
                    [.text(partner)])[0].string(0))
        }
        let body = """
            {"capabilities":{},"reasons":[],"rejectReasons":[{"code":2001,"message":"\(Self.script)","part":"FRONT"}],"faces":[],
            "engine":{"versions":{"\(Self.script)":"1"},"models":{},"timingsMs":{}}}
            """
        _ = try await self.admin.query(
            """
            WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), registered AS MATERIALIZED (
                SELECT w.incarnation, r.worker_id FROM worker w,
                    LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 64) r), claimed AS MATERIALIZED (
                SELECT c.job_id, c.fence FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 64,
                    ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                    ARRAY(SELECT 64 FROM insp.queue q), 2147483647, 0, 0, false) c WHERE c.job_id IS NOT NULL)
            SELECT insp.hold_for_review(array_agg(c.job_id), array_agg(c.fence), array_agg(
                '{"decision":{"type":"WARNING","details":{"label":"BLURRY"}},"labels":[{"capability":"usability","label":"BLURRY"}]}'::text),
                array_agg($1::bytea), '{}', '{}', '{}', '{}') FROM claimed c
            """, [.bytes(Data(body.utf8))])
        return ids
    }

    /// Works off the open tasks, as a console does.
    func finishTasks() async throws {
        try await repeatWhile("a batch is left") { try await self.store.step() }
    }

    func count(_ sql: String) async throws -> Int {
        Int(try await self.admin.query("SELECT count(*) FROM \(sql)")[0].int(0))
    }
}

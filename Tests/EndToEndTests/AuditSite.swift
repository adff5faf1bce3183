import Foundation
import Postgres
import TestSupport
import Testing

/// A database with a record, a signing key, and `inspectd audit` as its users run it.
struct AuditSite {
    /// A fault as `inspectd audit verify` prints it.
    struct Fault: Equatable, CustomStringConvertible {
        var kind: String
        var chain: String?
        var place: Int?
        var description: String { "\(self.kind) \(self.chain ?? "-") \(self.place.map(String.init) ?? "-")" }
    }

    let database: ScratchDatabase
    let admin: PostgresConnection
    let folder: URL

    static func start() async throws -> AuditSite {
        let database = try await ScratchDatabase.migrated()
        let admin = try await database.connect()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("audit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let site = AuditSite(database: database, admin: admin, folder: folder)
        _ = try await admin.query("SELECT insp.create_partner('acme', 'https://hooks.example.com/x')")
        let key = try await site.run(["key", "--new"])
        try key.output.write(to: site.file("public.pem"))
        return site
    }

    func end() { try? FileManager.default.removeItem(at: self.folder) }

    func file(_ name: String) -> URL { self.folder.appendingPathComponent(name) }
    func path(_ name: String) -> String { self.file(name).path }

    /// Runs `inspectd audit` with the site's database and key.
    func run(
        _ arguments: [String], key: String = "key.pem", input: Data? = nil
    ) async throws -> (status: Int32, output: Data, errors: String) {
        try await Program.run(
            ["audit"] + arguments,
            environment: ["INSPECTD_DATABASE_URL": self.database.url, "INSPECTD_AUDIT_KEY_FILE": self.path(key)],
            input: input)
    }

    /// Writes rows of operators, and gives all rows their places.
    func write(_ count: Int) async throws {
        for number in 0..<count {
            _ = try await self.admin.query(
                "SELECT insp.record('pause', $1, '{\"reason\": \"a \\\"why\\\" {[\"}')", [.text("lane \(number)")])
        }
        try await self.link()
    }

    func link() async throws { _ = try await self.admin.query("SELECT insp.link_record()") }

    /// Signs one checkpoint, and returns its line.
    @discardableResult
    func sign(_ more: [String] = []) async throws -> Data {
        let done = try await self.run(["sign", "--once"] + more)
        #expect(done.status == 0 && !done.errors.contains("stranger"), "\(done.errors)")
        return done.output
    }

    /// An export, line by line.
    func export(_ more: [String] = []) async throws -> [String] {
        let done = try await self.run(["export"] + more)
        #expect(done.status == 0, "\(done.errors)")
        return String(decoding: done.output, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Verifies lines offline, with the public key; there is no doubt.
    func verify(_ lines: [String], _ more: [String] = []) async throws -> [Fault] {
        let (faults, doubts) = try await self.judge(lines, more)
        if faults.isEmpty { #expect(doubts == []) }
        return faults
    }

    /// Verifies lines offline, with the public key.
    func judge(_ lines: [String], _ more: [String] = []) async throws -> (faults: [Fault], doubts: [Fault]) {
        try (lines.joined(separator: "\n") + "\n").write(to: self.file("export"), atomically: false, encoding: .utf8)
        return try await self.judge(
            arguments: [self.path("export"), "--public-key", self.path("public.pem")] + more)
    }

    /// A place with its hash, as `--head` takes it.
    func head(_ chain: String, _ place: Int) async throws -> String {
        let hash = try await self.admin.query("SELECT insp.record_hash_at($1, \(place))", [.text(chain)])[0].string(0)
        return "\(chain):\(place):\(hash)"
    }

    /// Verifies what the arguments say; there is no doubt.
    func verdict(_ arguments: [String]) async throws -> [Fault] {
        let (faults, doubts) = try await self.judge(arguments: arguments)
        if faults.isEmpty { #expect(doubts == []) }
        return faults
    }

    /// Verifies what the arguments say.
    func judge(arguments: [String]) async throws -> (faults: [Fault], doubts: [Fault]) {
        let done = try await self.run(["verify"] + arguments)
        #expect(!done.output.isEmpty, "\(done.errors)")
        let report = try members(done.output)
        func list(_ name: String) throws -> [Fault] {
            try #require(report[name] as? [[String: Any]]).map {
                Fault(kind: $0["kind"] as? String ?? "", chain: $0["chain"] as? String, place: $0["place"] as? Int)
            }
        }
        let (faults, doubts) = (try list("faults"), try list("doubts"))
        #expect(done.status == (faults.isEmpty ? doubts.isEmpty ? 0 : 3 : 1), "\(done.errors)")
        #expect(
            report["outcome"] as? String == (faults.isEmpty ? doubts.isEmpty ? "whole" : "inconclusive" : "broken"))
        return (faults, doubts)
    }

    /// What somebody does who may do anything, the triggers included.
    func tamper(_ sql: String) async throws {
        try await self.admin.execute("BEGIN; SET LOCAL session_replication_role = replica; \(sql); COMMIT")
    }

    /// Rewrites a chain's hashes from a place on, as the owner can.
    static func rebuilt(from place: Int) -> String {
        """
        DO $$
        DECLARE
            r insp.record;
            h bytea := (SELECT hash FROM insp.record WHERE chain = 'operator' AND seq = \(place - 1));
        BEGIN
            FOR r IN SELECT * FROM insp.record WHERE chain = 'operator' AND seq >= \(place) ORDER BY seq LOOP
                UPDATE insp.record x SET prev = h, hash = insp.record_hash(r, r.seq, h) WHERE (x.chain, x.id) = (r.chain, r.id)
                RETURNING x.hash INTO h;
            END LOOP;
            UPDATE insp.record_chain c SET hash = h WHERE c.chain = 'operator';
        END
        $$
        """
    }
}

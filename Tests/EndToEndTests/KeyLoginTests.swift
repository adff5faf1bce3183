import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// The key store's logins as deploy/DEPLOYING.md sets them up, on a server of its own.
@Suite struct KeyLoginTests {
    /// The statements of a section's SQL blocks. The servers' superuser has the name that the manual gives the owner.
    private static func manual(_ section: String) throws -> [String] {
        let text = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/DEPLOYING.md", encoding: .utf8)
        let body = try #require(text.components(separatedBy: "\n## \(section)\n").dropFirst().first)
            .components(separatedBy: "\n## ")[0]
        let blocks = body.components(separatedBy: "```sql\n").dropFirst().map { $0.components(separatedBy: "```")[0] }
        return blocks.joined().split(separator: "\n").map { $0.components(separatedBy: " --")[0] }.joined()
            .split(separator: ";").map { String($0).replacing(/\b(inspectd)\b/, with: "schema_owner") }
    }

    @Test(.timeLimit(.minutes(5)))
    func `The manual's logins seal, process, erase and rotate, each with the rights of its groups`() async throws {
        let (main, keys) = (try ScratchDatabase.ownServer(), try ScratchDatabase.ownServer())
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("logins-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appendingPathComponent("keys").path
        for name in ["one", "two"] {
            _ = try await Program.run(["keys", "make", "--key-file", file, "--name", name])
        }
        func run(_ login: String, _ other: String, _ words: [String]) throws -> Program {
            try Program(
                words,
                environment: [
                    "INSPECTD_DATABASE_URL": main.database("schema_owner", role: login).url,
                    "INSPECTD_KEYS_URL": keys.database("inspectd_keys", role: other).url,
                    "INSPECTD_WRAPPING_KEYS": "file:" + file,
                ])
        }
        func done(_ login: String, _ other: String, _ words: [String]) async throws -> String {
            let program = try run(login, other, words)
            let status = try await program.wait()
            #expect(status == 0, "\(words): \(program.standardError)")
            return String(decoding: program.standardOutput, as: UTF8.self)
        }
        let (superuser, keeper) = (try await main.connect(), try await keys.connect())
        let roles = try await Program.run(
            ["migrate", "--roles"], environment: ["INSPECTD_DATABASE_URL": main.url, "INSPECTD_KEYS_URL": keys.url])
        #expect(roles.status == 0, "\(roles.errors)")
        for statement in try Self.manual("Roles") { try await superuser.execute(statement) }
        for statement in try Self.manual("Keys") { try await keeper.execute(statement) }
        try await superuser.execute("CREATE ROLE producer LOGIN IN ROLE insp_producer")
        try await superuser.execute("CREATE ROLE operator LOGIN IN ROLE insp_operator")

        _ = try await done("schema_owner", "schema_owner", ["migrate"])
        _ = try await done("schema_owner", "schema_owner", ["keys", "init", "--to", "one"])
        let owner = try await main.database("schema_owner", role: "schema_owner").connect()
        _ = try await owner.query("SELECT insp.create_partner('bank')")
        let image = folder.appendingPathComponent("face.png")
        try PNG.noise(width: 64, height: 64).write(to: image)
        let id = try await done(
            "producer", "gateway",
            ["enqueue", "--partner", "bank", "--face", image.path, "--workflow", "liveness", "--user-reference", "x"]
        ).trimmingCharacters(in: .whitespacesAndNewlines)
        let analyzer = try FaultyAnalyzer.script("", facts: FaultyAnalyzer.noFace)
        let worker = try run("worker", "worker", ["worker", "--slots", "1", "--analyzer", analyzer])
        defer { worker.send(SIGKILL) }
        try await waitUntil("the job is finished") {
            try await owner.query("SELECT insp.job_result($1) ->> 'status' = '128'", [.text(id)]).single().bool(0)
        }
        let gateway = try run("gateway", "gateway", ["gateway", "--listen", "0"])
        defer { gateway.send(SIGKILL) }
        try await waitUntil("the gateway serves") { gateway.standardError.contains("gateway open") }
        let read = try await done("operator", "gateway", ["status", id, "--purpose", "support"])
        #expect(try members(Data(read.utf8))["userReference"] as? String == "x")

        for words in [["rotate", "--to", "two"], ["rewrap"], ["verify"], ["list"]] {
            _ = try await done("operator", "locksmith", ["keys"] + words)
        }
        let findings = try await done("operator", "locksmith", ["doctor"])
        let rotation = try #require(findings.split(separator: "\n").first { $0.contains("rotation") })
        #expect(try members(Data(rotation.utf8))["outcome"] as? String == "pass")
        let log = try #require(findings.split(separator: "\n").first { $0.contains("keyStoreLog") })
        #expect(try members(Data(log.utf8))["outcome"] as? String == "pass")
        for words in [["keys", "sweep"], ["person", "erase", "--partner", "bank", "--reference", "nobody"]] {
            _ = try await done("operator", "keeper", words)
        }
        // Each can do no more: only a keeper destroys any key, only a locksmith lists them.
        for (login, call) in [
            ("gateway", "destroy_partner_key(1)"), ("gateway", "all_keys(NULL, 1)"), ("worker", "all_keys(NULL, 1)"),
            ("worker", "destroy_partner_key(1)"), ("worker", "old_job_keys(NULL, '0', 1)"),
            ("locksmith", "destroy_partner_key(1)"),
        ] {
            let connection = try await keys.database("inspectd_keys", role: login).connect()
            let error = await #expect(throws: PostgresError.self) {
                _ = try await connection.query("SELECT insp.\(call)")
            }
            #expect(error?.isForbidden == true, "\(login) \(call)")
            await connection.close()
        }

        _ = try await owner.query("SELECT insp.erase($1)", [.text(id)])
        try await waitUntil("the worker has destroyed the key") {
            try await owner.query("SELECT count(*) FROM insp.key_gone").single().int(0) == 0
        }
        for program in [worker, gateway] {
            program.send(SIGTERM)
            #expect(try await program.wait() == 0)
            for fault in ["denied", "KEYS_UNAVAILABLE"] { #expect(!program.standardError.contains(fault)) }
        }
    }
}

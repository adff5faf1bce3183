import Custody
import Foundation
import Postgres
import TestSupport
import Testing

/// What `inspectd doctor` says of keys.
@Suite struct KeyDoctorTests {
    private typealias Findings = [String: (outcome: String, detail: String, fix: String?)]

    /// Runs the doctor; the status follows from all findings, so it is compared with those.
    private static func findings(_ environment: [String: String], _ words: String...) async throws -> Findings {
        let done = try await Program.run(["doctor"] + words, environment: environment)
        var found: Findings = [:]
        for line in done.output.split(separator: 0x0A) {
            let object = try members(Data(line))
            found[object["check"] as? String ?? ""] = (
                object["outcome"] as? String ?? "", object["detail"] as? String ?? "", object["fix"] as? String
            )
        }
        #expect((done.status == 1) == found.values.contains { $0.outcome == "fail" }, "\(done.errors)")
        #expect(found["analyzer"]?.outcome == "pass" && found["database"]?.outcome != "fail", "\(found)")
        return found
    }

    @Test func `A key store beside the data warns, one on a server of its own does not`() async throws {
        let setting = try await KeySetting()
        let shared = try await Self.findings(setting.environment)
        #expect(shared["wrappingKeys"]?.outcome == "pass" && shared["wrappingKeys"]?.detail == "one, two")
        #expect(shared["keyStore"]?.outcome == "pass" && shared["keyStore"]?.detail.hasSuffix("key one") == true)
        #expect(shared["rotation"]?.outcome == "pass" && shared["keysToDestroy"]?.outcome == "pass")
        let warning = try #require(shared["keyStoreCluster"])
        #expect(warning.outcome == "warning" && warning.detail.contains("old backups"), "\(warning)")
        let own = try await KeySetting(store: try ScratchDatabase.ownServer())
        #expect(try await Self.findings(own.environment)["keyStoreCluster"]?.outcome == "pass")
    }

    @Test func `A process without keys is told whether it needs some`() async throws {
        let setting = try await KeySetting()
        let main = ["INSPECTD_DATABASE_URL": setting.main.url]
        let missing = try #require(try await Self.findings(main)["keyStore"])
        #expect(missing.outcome == "fail" && missing.fix?.contains("INSPECTD_KEYS_URL") == true)
        let plain = ["INSPECTD_DATABASE_URL": try await ScratchDatabase.migrated().url]
        #expect(try await Self.findings(plain)["keyStore"]?.outcome == "warning")
        // What the key store has and the database does not know.
        let strange = try await Self.findings(setting.environment.merging(plain) { $1 })
        #expect(strange["keyStore"]?.outcome == "fail" && strange["keyStore"]?.fix == "Run inspectd keys init.")
        var half = setting.environment
        half["INSPECTD_KEYS_URL"] = ""
        #expect(try await Self.findings(half)["keyStore"]?.outcome == "fail")
    }

    @Test func `A key file that others can read, is missing or has other keys is named`() async throws {
        let setting = try await KeySetting()
        let other = setting.file("other")
        _ = try await Program.run(["keys", "make", "--key-file", other, "--name", "three"])
        for (path, check, text) in [
            (other, "keyStore", "KEY_MISMATCH"), ("/nonexistent", "wrappingKeys", "KEY_MISSING"),
        ] {
            let environment = setting.environment.merging(["INSPECTD_WRAPPING_KEYS": "file:" + path]) { $1 }
            let found = try #require(try await Self.findings(environment)[check])
            #expect(found.outcome == "fail" && found.detail.contains(text), "\(found)")
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: setting.file("keys"))
        for words in [[], ["--no-database"]] {
            let done = try await Program.run(["doctor"] + words, environment: setting.environment)
            let text = String(decoding: done.output, as: UTF8.self)
            #expect(done.status == 1 && text.contains("KEY_FILE_INVALID") && text.contains("mode 640"), "\(text)")
        }
    }

    @Test func `A key store that is unavailable is said to be`() async throws {
        let setting = try await KeySetting()
        let away = setting.environment.merging(["INSPECTD_KEYS_URL": "postgresql://127.0.0.1:1/x"]) { $1 }
        let found = try #require(try await Self.findings(away)["keyStore"])
        #expect(found.outcome == "fail" && found.detail.contains("KEYS_UNAVAILABLE"), "\(found)")
    }

    @Test func `Keys under a former wrapping key are counted, and late destruction is a fault`() async throws {
        let setting = try await KeySetting()
        let client = try setting.client()
        _ = try await client.jobKeys((Int64(1)...3).map { KeyOwner(partner: $0) })
        _ = try await client.beginRotation(to: "two")
        _ = try await client.jobKeys([KeyOwner(partner: 4)])
        let main = try await setting.main.connect()
        func gone(_ age: String) async throws {
            _ = try await main.query(
                """
                INSERT INTO insp.key_gone (key_id, partner_id, since) VALUES (gen_random_uuid(), 1, now() - $1::interval)
                """, [.text(age)])
        }
        try await gone("5 s")
        let found = try await Self.findings(setting.environment)
        #expect(found["rotation"]?.outcome == "warning" && found["rotation"]?.detail.hasSuffix("3 by one") == true)
        #expect(found["rotation"]?.fix == "run inspectd keys rewrap")
        #expect(found["keysToDestroy"]?.outcome == "pass" && found["keysToDestroy"]?.detail.hasPrefix("1, ") == true)
        try await gone("20 min")
        #expect(try await setting.run("rewrap").status == 0)
        let late = try await Self.findings(setting.environment)
        #expect(late["rotation"]?.outcome == "pass" && late["keysToDestroy"]?.outcome == "fail")
        #expect(late["keysToDestroy"]?.detail.hasPrefix("2, the oldest for 12") == true)
    }

    @Test func `A trigger that no migration makes is a warning`() async throws {
        let setting = try await KeySetting()
        #expect(try await Self.findings(setting.environment)["migrations"]?.outcome == "pass")
        try await setting.main.connect().execute(
            """
            CREATE FUNCTION insp.swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
            CREATE TRIGGER a_swallow BEFORE INSERT ON insp.record FOR EACH ROW EXECUTE FUNCTION insp.swallow()
            """)
        let found = try #require(try await Self.findings(setting.environment)["migrations"])
        #expect(found.outcome == "warning" && found.detail.contains("a_swallow"), "\(found)")
    }

    @Test func `A login without the right to know says so, and is no fault`() async throws {
        let setting = try await KeySetting()
        let login = "d_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await setting.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE keys_custodian, insp_gateway")
        func url(_ database: ScratchDatabase) -> String {
            database.database(String(URLComponents(string: database.url)!.path.dropFirst()), role: login).url
        }
        var environment = setting.environment
        environment["INSPECTD_DATABASE_URL"] = url(setting.main)
        environment["INSPECTD_KEYS_URL"] = url(setting.store)
        let found = try await Self.findings(environment)
        #expect(found["migrations"]?.outcome == "inconclusive")
        #expect(found["keyStore"]?.outcome == "pass" && found["keyStoreCluster"]?.outcome == "warning")
        #expect(found["rotation"]?.outcome == "inconclusive" && found["keysToDestroy"]?.outcome == "inconclusive")
        _ = try await (try setting.client()).beginRotation(to: "two")
        #expect(try await Self.findings(environment)["rotation"]?.outcome == "warning")
        try await setting.admin.execute("DROP ROLE \(login)")
    }

    @Test func `Memory that cannot be locked is a warning`() async throws {
        let setting = try await KeySetting()
        #expect(try await Self.findings(setting.environment, "--no-database")["keyMemory"]?.outcome == "pass")
        // The limit does not count for root, unless it loses the capability.
        let output = setting.file("findings")
        let command = """
            ulimit -l 0
            confine=
            [ "$(id -u)" -ne 0 ] || confine="setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock"
            exec $confine '\(Program.inspectd)' doctor --no-database --wrapping-keys 'file:\(setting.file("keys"))' >'\(output)'
            """
        let process = try ChildProcess.spawn("/bin/sh", ["-c", command], isQuiet: true)
        #expect(try await process.exitStatus() == 0)
        let text = try String(contentsOfFile: output, encoding: .utf8)
        let finding = try #require(text.split(separator: "\n").first { $0.contains("keyMemory") })
        #expect(finding.contains("warning") && finding.contains("LimitMEMLOCK"), "\(finding)")
    }
}

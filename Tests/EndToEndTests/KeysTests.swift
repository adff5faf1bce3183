import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// `inspectd keys` as its users run it.
@Suite struct KeysTests {
    @Test func `A new key store gets its schema and wrapping key once, and the database notes them`() async throws {
        let setting = try await KeySetting(begins: false)
        #expect(try await setting.run("list").status == 1)
        #expect(try await setting.run("init", "--roles").status == 0)
        let unclear = try await setting.run("init")
        #expect(unclear.status == 2 && unclear.errors.contains("--to"))
        let first = try members(try await setting.run("init", "--to", "one").output)
        #expect((first["applied"] as? [String])?.first == "0001_keys")
        let again = try members(try await setting.run("init", "--to", "two").output)
        #expect(
            again["wrappingKey"] as? String == "one" && again["keyStore"] as? String == first["keyStore"] as? String)
        #expect((again["applied"] as? [String])?.isEmpty == true)
        let main = try await setting.main.connect()
        let noted = try await main.query("SELECT key_store::text, wrapping_key FROM insp.v_custody")[0]
        #expect(try noted.string(0) == first["keyStore"] as? String && noted.string(1) == "one")
        let list = try members(try await setting.run("list").output)
        #expect(list["configured"] as? [String] == ["one", "two"] && (list["keys"] as? [Any])?.isEmpty == true)
        let verified = try members(try await setting.run("verify").output)
        #expect(verified["opened"] as? Int == 0 && verified["unreadable"] as? Int == 0)
        // `migrate` does the same for the schema.
        let migrated = try await ScratchDatabase.empty()
        for words in [["migrate", "--roles"], ["migrate"]] {
            let environment = setting.environment.merging(["INSPECTD_KEYS_URL": migrated.url]) { $1 }
            let done = try await Program.run(words, environment: environment)
            #expect(done.status == 0, "\(done.errors)")
            if words.count == 1 { #expect((try members(done.output)["keyStore"] as? [String])?.first == "0001_keys") }
        }
        // Many at the same time, on another database.
        let racing = try await KeySetting(begins: false)
        let stores = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 {
                group.addTask { try members(try await racing.run("init", "--to", "one").output)["keyStore"] as? String }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(stores.count == 1 && !stores.contains(nil))
    }

    @Test func `Without keys, with a readable file or with others' keys nothing starts, and the code says why`()
        async throws
    {
        let setting = try await KeySetting()
        func errors(_ change: [String: String], _ words: String...) async throws -> String {
            let done = try await Program.run(["keys"] + words, environment: setting.environment.merging(change) { $1 })
            #expect(done.status == 1)
            return done.errors
        }
        #expect(try await errors(["INSPECTD_WRAPPING_KEYS": ""], "verify").contains("KEY_MISSING"))
        #expect(try await errors(["INSPECTD_KEYS_URL": ""], "verify").contains("KEY_MISSING"))
        #expect(try await errors(["INSPECTD_WRAPPING_KEYS": "file:/nonexistent"], "verify").contains("KEY_MISSING"))
        #expect(
            try await errors(["INSPECTD_KEYS_URL": "postgresql://127.0.0.1:1/x"], "list").contains("KEYS_UNAVAILABLE"))
        for name in ["one", "three"] {
            let path = setting.file("strange-\(name)")
            _ = try await Program.run(["keys", "make", "--key-file", path, "--name", name])
            let text = try await errors(["INSPECTD_WRAPPING_KEYS": "file:\(path)"], "verify")
            #expect(text.contains("KEY_MISMATCH"), "\(text)")
        }
        let other = try await KeySetting()
        #expect(
            try await errors(
                [
                    "INSPECTD_KEYS_URL": other.store.url,
                    "INSPECTD_WRAPPING_KEYS": other.environment["INSPECTD_WRAPPING_KEYS"]!,
                ], "verify"
            ).contains("KEY_MISMATCH"))
        // The main database is no key store, and the reverse.
        #expect(
            try await errors(["INSPECTD_KEYS_URL": setting.main.url], "init", "--to", "one").contains(
                "ahead of the folder"))
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: setting.file("keys"))
        let open = try await errors([:], "verify")
        #expect(open.contains("KEY_FILE_INVALID") && open.contains("640"), "\(open)")
    }

    @Test func `A second main database gets no keys of the first one's key store, unless it replaces it`() async throws
    {
        let setting = try await KeySetting()
        let second = try await KeySetting(begins: false, store: setting.store)
        try await second.main.becomeAnother()
        let environment = second.environment.merging(
            ["INSPECTD_WRAPPING_KEYS": "file:" + setting.file("keys")]) { $1 }
        func run(_ words: String...) async throws -> (status: Int32, output: Data, errors: String) {
            try await Program.run(words, environment: environment)
        }
        // Nothing ties it to the key store.
        for words in [["keys", "sweep"], ["person", "erase", "--partner", "bank", "--reference", "x"], ["worker"]] {
            let done = try await Program.run(words, environment: environment)
            #expect(done.status == 1 && done.errors.contains("KEY_MISSING"), "\(words): \(done.errors)")
        }
        let first = try await CustodyState.database(of: try await setting.main.connect())
        for words in [["keys", "init"], ["migrate"]] {
            let done = try await Program.run(words, environment: environment)
            #expect(done.status == 1 && done.errors.contains("KEY_MISMATCH"), "\(words): \(done.errors)")
            #expect(done.errors.contains(first), "\(done.errors)")
        }
        #expect(try await run("keys", "sweep").status == 1)
        let moved = try await run("keys", "init", "--in-place-of", first)
        #expect(moved.status == 0, "\(moved.errors)")
        #expect(try await run("keys", "sweep").status == 0)
        let former = try await setting.run("sweep")
        #expect(former.status == 1 && former.errors.contains("KEY_MISMATCH"), "\(former.errors)")
    }

    @Test func `A rubbish key of a partner that there is not keeps no rotation open after a sweep`() async throws {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        _ = try await main.query("SELECT insp.create_partner('bank')")
        let bank = try await main.query("SELECT insp.custody_partner('bank')")[0].int(0)
        _ = try await (try setting.client()).jobKeys([KeyOwner(partner: bank)])
        // As a stolen gateway's login can.
        _ = try await setting.admin.query(
            "SELECT insp.add_partner_key(99, gen_random_uuid(), 'one', '\\x00'::bytea)")
        let open = try await setting.run("rotate", "--to", "two")
        let rotated = try members(open.output)
        #expect(open.status == 1 && rotated["unreadable"] as? Int == 1)
        #expect(try members(try await setting.run("sweep").output)["partners"] as? Int == 0)
        try await setting.admin.execute("UPDATE insp.key SET created_at = now() - interval '2 hours'")
        let swept = try members(try await setting.run("sweep").output)
        #expect(swept["partners"] as? Int == 1, "\(swept)")
        #expect(try await setting.run("rewrap").status == 0)
        let verified = try members(try await setting.run("verify").output)
        #expect(verified["unreadable"] as? Int == 0)
        #expect(try await setting.count(under: "two") == 1)
    }

    @Test func `A key that a thief added for a partner to come is reported, and swept before the partner is there`()
        async throws
    {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        for name in ["bank", "club"] { _ = try await main.query("SELECT insp.create_partner($1)", [.text(name)]) }
        let numbers = try await main.query("SELECT insp.custody_partner(p) FROM unnest('{bank,club}'::text[]) AS p")
            .map { try $0.int(0) }
        // As a stolen host can, which has the wrapping key.
        let thief = try setting.client()
        let next = numbers[1] + 1
        for partner in [numbers[1], next] { _ = try await thief.partnerKey(partner) }
        let kept = try await thief.jobKeys([KeyOwner(partner: numbers[0])])[0]
        func suspects(_ words: [String]) async throws -> ([Int64]?, [String]?) {
            let done = try await Program.run(["keys"] + words, environment: setting.environment)
            #expect(done.status == 0, "\(words): \(done.errors)")
            let answer = try members(done.output)
            return ((answer["unknownPartners"] as? [Int])?.map { Int64($0) }, answer["idlePartners"] as? [String])
        }
        #expect(try await suspects(["verify"]) == ([next], ["club"]))
        #expect(try await suspects(["rewrap"]) == ([next], nil))
        #expect(try members(try await setting.run("sweep").output)["partners"] as? Int == 0)
        #expect(try members(try await setting.run("sweep", "--now").output)["partners"] as? Int == 1)
        let abandoned = try await setting.run(
            "abandon", "--partner", "club", "--confirm", "club", "--reason", "stolen")
        #expect(abandoned.status == 0, "\(abandoned.errors)")
        #expect(try await suspects(["verify"]) == (nil, nil))
        #expect(try await suspects(["rotate", "--to", "two"]) == (nil, nil))
        #expect(try await main.query("SELECT insp.create_partner('next')").count == 1)
        #expect(try await main.query("SELECT insp.custody_partner('next')")[0].int(0) == next)
        _ = try await (try setting.client()).partnerKey(next)
        let keys = try await setting.admin.query(
            "SELECT count(DISTINCT wrapping_key), min(wrapping_key) FROM insp.key WHERE kind = 'partner'")[0]
        #expect(try keys.int(0) == 1 && keys.string(1) == "two")
        _ = try await (try setting.client()).key(kept.id)
    }

    @Test func `No file of the key store has a destroyed key after a rewrite, which only the owner can do`()
        async throws
    {
        let setting = try await KeySetting()
        _ = try await (try setting.client()).jobKeys((0..<3).map { _ in KeyOwner(partner: 1) })
        let wrapped = try await setting.admin.query("SELECT wrapped FROM insp.key ORDER BY ctid").map {
            try $0.data(0)
        }
        // The last one of its page: the room of others is filled by those behind them.
        _ = try await setting.admin.query(
            "SELECT insp.destroy_keys(ARRAY(SELECT id FROM insp.key ORDER BY ctid DESC LIMIT 1))")
        /// Which of the keys the table's file has.
        func found() async throws -> [Bool] {
            for sql in ["VACUUM insp.key", "CHECKPOINT"] {
                try await setting.admin.execute(sql, timeout: .seconds(120))
            }
            let file = try await setting.admin.query("SELECT pg_read_binary_file(pg_relation_filepath('insp.key'))")[0]
                .data(0)
            return wrapped.map { file.range(of: $0) != nil }
        }
        #expect(try await found() == [true, true, true, true])
        let login = "s_" + UUID().uuidString.lowercased().replacing("-", with: "")
        try await setting.admin.execute("CREATE ROLE \(login) LOGIN IN ROLE keys_custodian, keys_sweeper")
        let name = String(URLComponents(string: setting.store.url)!.path.dropFirst())
        let environment = setting.environment.merging(
            ["INSPECTD_KEYS_URL": setting.store.database(name, role: login).url]) { $1 }
        let refused = try await Program.run(["keys", "sweep", "--rewrite"], environment: environment)
        #expect(refused.status != 0 && refused.errors.contains("does not own"), "\(refused.errors)")
        let done = try await setting.run("sweep", "--rewrite")
        #expect(done.status == 0, "\(done.errors)")
        #expect(try await found() == [true, true, true, false])
    }

    @Test func `Migrate makes a missing key file beside a local database, and the key store is ready`() async throws {
        let setting = try await KeySetting(begins: false)
        #expect(try await setting.run("init", "--roles").status == 0)
        let path = setting.file("made")
        let environment = setting.environment.merging(["INSPECTD_WRAPPING_KEYS": "file:" + path]) { $1 }
        for _ in 0..<2 {
            let done = try await Program.run(["migrate"], environment: environment)
            #expect(done.status == 0, "\(done.errors)")
        }
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let verified = try await Program.run(["keys", "verify"], environment: environment)
        #expect(verified.status == 0, "\(verified.errors)")
        let main = try await setting.main.connect()
        #expect(try await main.query("SELECT count(*) FROM insp.v_custody")[0].int(0) == 1)
        // Without its keys, a worker of a sealed database does not start.
        let bare = ["INSPECTD_DATABASE_URL": setting.main.url]
        for words in [
            ["worker", "--drain"], ["gateway", "--listen", "0"], ["enqueue", "--partner", "x", "--front", path],
        ] {
            let refused = try await Program.run(words, environment: bare)
            #expect(refused.status == 1 && refused.errors.contains("KEY_MISSING"), "\(words): \(refused.errors)")
        }
    }

    @Test(arguments: [
        ["keys"], ["keys", "turn"], ["keys", "list", "verify"], ["keys", "make"], ["keys", "rotate"],
        ["keys", "escrow"], ["keys", "restore", "--to", "x"], ["keys", "abandon"],
        ["keys", "abandon", "--lost", "x", "--partner", "y"], ["keys", "abandon", "--lost", "x", "--confirm", "y"],
        ["keys", "abandon", "--lost", "x", "--confirm", "x"],
    ])
    func `A command line that says too little ends with status 2`(words: [String]) async throws {
        #expect(try await Program.run(words).status == 2)
    }

    @Test func `A rotation that is killed at any moment is continued, and nothing is unreadable in between`()
        async throws
    {
        let setting = try await KeySetting()
        let client = try setting.client()
        let jobs = try await client.jobKeys(
            (Int64(1)...300).map { KeyOwner(partner: $0, $0 % 2 == 0 ? .user("x") : nil) })
        func check() async throws {
            // One that knows no key yet.
            let fresh = try setting.client()
            for result in try await fresh.keys(jobs.map(\.id)).values { _ = try result.get() }
            await fresh.close()
        }
        // It waits at a row in the middle, and is killed there.
        let holder = try await setting.store.connect()
        try await holder.execute("BEGIN")
        // OFFSET would lock what it skips.
        _ = try await holder.query(
            """
            SELECT FROM insp.key WHERE id = (SELECT k.id FROM insp.key k WHERE k.kind = 'partner' ORDER BY k.id OFFSET 220 LIMIT 1)
            FOR UPDATE
            """)
        let rotator = try Program(["keys", "rotate", "--to", "two"], environment: setting.environment)
        try await waitUntil("the rotation is at the held row") { try await setting.count(under: "two") == 200 }
        // Others go on meanwhile, also with new partners.
        let late = try await client.jobKeys([KeyOwner(partner: 1), KeyOwner(partner: 1_000)])
        try await check()
        rotator.send(SIGKILL)
        #expect(try await rotator.wait() == -SIGKILL)
        try await holder.execute("ROLLBACK")
        try await check()
        // The server may still finish the statement that waited, of 50 keys.
        let left = try await setting.count(under: "one")
        #expect([50, 100].contains(left))
        let list = try members(try await setting.run("list").output)
        #expect(list["wrappingKey"] as? String == "two" && list["formerKey"] as? String == "one")
        let done = try await setting.run("rewrap")
        let answer = try members(done.output)
        #expect(done.status == 0 && answer["unreadable"] as? Int == 0)
        #expect([left, left - 50].contains(answer["rewrapped"] as? Int), "\(left)")
        #expect(answer["formerKey"] == nil)
        #expect(try await setting.count(under: "one") == 0)
        try await check()
        // And at moments that nobody chose, there and back.
        var random = TestRandom("kills of the rotator")
        var target = "one"
        for _ in 0..<6 {
            let begun = try Program(["keys", "rotate", "--to", target], environment: setting.environment)
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...300, using: &random)))
            begun.send(SIGKILL)
            _ = try await begun.wait()
            try await check()
            #expect(try await setting.run("rewrap").status == 0)
            #expect(try await setting.run("rotate", "--to", target).status == 0)
            target = target == "one" ? "two" : "one"
        }
        let verified = try members(try await setting.run("verify").output)
        #expect(verified["unreadable"] as? Int == 0 && verified["opened"] as? Int == 301 + 150 + 302)
        let last = try setting.client()
        for key in late { _ = try await last.key(key.id) }
    }

    @Test func `An escrow replaces a lost wrapping key at the command line`() async throws {
        let setting = try await KeySetting()
        let jobs = try await (try setting.client()).jobKeys((Int64(1)...5).map { KeyOwner(partner: $0) })
        for words in [
            ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072", "-out", setting.file("safe.pem")],
            ["pkey", "-in", setting.file("safe.pem"), "-pubout", "-out", setting.file("safe.pub")],
        ] {
            let process = try ChildProcess.spawn("/usr/bin/openssl", words, isQuiet: true)
            #expect(try await process.exitStatus() == 0)
        }
        let escrow = try await setting.run("escrow", "--public-key", setting.file("safe.pub"))
        #expect(escrow.status == 0 && escrow.output.split(separator: 0x0A).count == 5)
        let record = try await setting.main.connect()
        let rows = try await record.query("SELECT action FROM insp.v_operator_events WHERE action LIKE 'keys%'")
        #expect(try rows.map { try $0.string(0) } == ["keys_escrow"])
        // Nothing leaves that cannot be recorded.
        try await record.execute("ALTER FUNCTION insp.record_keys RENAME TO absent")
        let unseen = try await setting.run("escrow", "--public-key", setting.file("safe.pub"))
        #expect(unseen.status == 1 && unseen.output.isEmpty)
        try await record.execute("ALTER FUNCTION insp.absent RENAME TO record_keys")
        try escrow.output.write(to: URL(fileURLWithPath: setting.file("escrow")))
        try FileManager.default.removeItem(atPath: setting.file("keys"))
        _ = try await Program.run(["keys", "make", "--key-file", setting.file("keys"), "--name", "new"])
        #expect(try await setting.run("verify").errors.contains("KEY_MISMATCH"))
        let done = try await setting.run(
            "restore", "--escrow", setting.file("escrow"), "--private-key", setting.file("safe.pem"), "--to", "new")
        #expect(done.status == 0, "\(done.errors)")
        #expect(try await setting.run("verify").status == 0)
        for result in try await (try setting.client()).keys(jobs.map(\.id)).values { _ = try result.get() }
    }
}

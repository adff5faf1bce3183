import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// `inspectd keys` where the main database or the key store was restored to an older state, or copied.
@Suite struct OlderDatabaseTests {
    /// A copy of a database of the same server, to which nobody may be connected.
    private static func copy(_ database: ScratchDatabase, by connection: PostgresConnection) async throws -> String {
        var parts = try #require(URLComponents(string: database.url))
        let name = String(parts.path.dropFirst())
        let copy = "copy_" + UUID().uuidString.lowercased().replacing("-", with: "_")
        _ = try await connection.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(name)])
        try await connection.execute("CREATE DATABASE \(copy) TEMPLATE \(name)", timeout: .seconds(120))
        parts.path = "/" + copy
        return try #require(parts.string)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Beside an older or copied main database, a sweep destroys nothing unless the loss is meant`() async throws {
        let setting = try await KeySetting()
        var main = try await setting.main.connect()
        _ = try await main.query("SELECT insp.create_partner('bank')")
        await main.close()
        let copy = try await Self.copy(setting.main, by: setting.admin)
        main = try await setting.main.connect()
        let photo = setting.file("face.png")
        try PNG.noise(width: 64, height: 64).write(to: URL(fileURLWithPath: photo))
        let sent = try await Program.run(
            ["enqueue", "--partner", "bank", "--workflow", "liveness", "--face", photo],
            environment: setting.environment)
        #expect(sent.status == 0, "\(sent.errors)")
        let key = try #require(
            KeyID(try await main.query("SELECT key_id::text FROM insp.job").single().string(0)))
        try await setting.admin.execute("UPDATE insp.key SET created_at = now() - interval '2 hours'")
        func sweep(_ words: String..., at url: String) async throws -> (status: Int32, errors: String) {
            let environment = setting.environment.merging(["INSPECTD_DATABASE_URL": url]) { $1 }
            let done = try await Program.run(["keys", "sweep"] + words, environment: environment)
            return (done.status, done.errors)
        }
        func isThere() async throws -> Bool {
            await errorCode(of: { _ = try await (try setting.client()).key(key) }) == nil
        }
        let copied = try await sweep(at: copy)
        #expect(copied.status == 1 && copied.errors.contains("KEY_MISMATCH"), "\(copied.errors)")
        #expect(copied.errors.contains("--accept-older"), "\(copied.errors)")
        #expect(try await isThere())
        let number = try await main.query("SELECT setval('insp.job_id', last_value + 5) FROM insp.job_id")[0].int(0)
        let present = try await sweep(at: setting.main.url)
        #expect(present.status == 0, "\(present.errors)")
        #expect(try await isThere())

        // A snapshot of the disk that was put back: the same history, and fewer jobs.
        _ = try await main.query("SELECT setval('insp.job_id', $1)", [.int(number - 1)])
        let older = try await sweep(at: setting.main.url)
        #expect(older.status == 1 && older.errors.contains("lacks jobs"), "\(older.errors)")
        // A worker notices it before new jobs have taken the numbers.
        try await (try setting.client()).follow(main)
        _ = try await main.query("SELECT setval('insp.job_id', $1)", [.int(number + 10)])
        #expect(try await sweep(at: setting.main.url).status == 1)
        let accepted = try await sweep("--accept-older", at: setting.main.url)
        #expect(accepted.status == 0, "\(accepted.errors)")
        #expect(try await isThere())
        // From here on it is followed again.
        _ = try await main.query("SELECT setval('insp.job_id', $1)", [.int(number + 20)])
        try await (try setting.client()).follow(main)
        let noted = try await setting.admin.query("SELECT job FROM insp.main_mark()")[0].int(0)
        #expect(noted == number + 20)
        #expect(try await sweep(at: setting.main.url).status == 0)

        // What the flag is for, and that it is on record.
        #expect(try await sweep("--accept-older", at: copy).status == 0)
        #expect(try await !isThere())
        let other = try await PostgresConnection.connect(copy)
        let rows = try await other.query(
            "SELECT action FROM insp.v_operator_events WHERE action LIKE 'keys_sweep%' ORDER BY at")
        #expect(try rows.map { try $0.string(0) } == ["keys_sweep_older", "keys_sweep"])
        await other.close()
        #expect(try await sweep(at: setting.main.url).status == 1)
    }

    @Test func `A sweep refuses a snapshot of the disk whose job numbers a surviving worker has moved ahead`()
        async throws
    {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        // A job that the snapshot lacks.
        let key = try await (try setting.client()).jobKeys([KeyOwner(partner: 1)])[0]
        try await setting.admin.execute(
            "UPDATE insp.key SET created_at = now() - interval '2 hours' WHERE kind <> 'partner'")
        _ = try await main.query("SELECT setval('insp.job_id', last_value + 5) FROM insp.job_id")
        try await (try setting.client()).follow(main)
        let noted = try await setting.admin.query("SELECT job FROM insp.main_mark()")[0].int(0)
        _ = try await main.query("SELECT setval('insp.job_id', $1)", [.int(noted - 5)])
        // It claims, and has seen a place that this database has not issued.
        try await main.execute("SELECT insp.begin_epoch(last_value + 1) FROM insp.fence")
        #expect(try await main.query("SELECT reason FROM insp.epoch")[0].string(0) == "numbers went back")
        _ = try await main.query("SELECT setval('insp.job_id', $1)", [.int(noted + 5)])
        try await (try setting.client()).follow(main)
        let refused = try await setting.run("sweep")
        #expect(refused.status == 1 && refused.errors.contains("KEY_MISMATCH"), "\(refused.errors)")
        _ = try await (try setting.client()).key(key.id)

        // A restart says nothing of what is missing, neither after it nor once the loss is accepted.
        let restart = "UPDATE insp.epoch SET started_at = started_at - interval '1 second'"
        try await main.execute(restart)
        #expect(try await setting.run("sweep").status == 1)
        #expect(try await main.query("SELECT reason FROM insp.epoch")[0].string(0) == "the server was started")
        #expect(try await setting.run("sweep", "--accept-older").status == 0)
        try await main.execute(restart)
        let later = try await setting.run("sweep")
        #expect(later.status == 0, "\(later.errors)")
        await main.close()
    }

    @Test func `A promotion that no worker has noticed yet is accepted once`() async throws {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        #expect(try await setting.run("sweep").status == 0)
        try await main.execute("UPDATE insp.epoch SET timeline = '00000000'")
        let refused = try await setting.run("sweep")
        #expect(refused.status == 1 && refused.errors.contains("KEY_MISMATCH"), "\(refused.errors)")
        #expect(try await setting.run("sweep", "--accept-older").status == 0)
        #expect(try await setting.run("sweep").status == 0)
        await main.close()
    }

    @Test func `A sweep keeps an unknown partner's key that has keys below until its number is confirmed`() async throws
    {
        let setting = try await KeySetting()
        let client = try setting.client()
        _ = try await client.jobKeys([KeyOwner(partner: 98), KeyOwner(partner: 99, .user("x"))])
        _ = try await client.partnerKey(97)
        let held = try await setting.run("sweep", "--now")
        let answer = try members(held.output)
        #expect(held.status == 1 && answer["heldBack"] as? [Int] == [98, 99], "\(held.errors)")
        #expect(answer["partners"] as? Int == 1)
        #expect(try await setting.run("sweep", "--now", "--confirm", "98,x").status == 2)
        let one = try await setting.run("sweep", "--now", "--confirm", "98")
        #expect(try one.status == 1 && members(one.output)["heldBack"] as? [Int] == [99])
        let both = try await setting.run("sweep", "--now", "--confirm", "98,99")
        #expect(try both.status == 0 && members(both.output)["partners"] as? Int == 1)
        #expect(try await setting.count(under: "one") == 0)
    }

    @Test func `A main database from before a finished rotation goes on after a rewrap that names the key`()
        async throws
    {
        let setting = try await KeySetting()
        let copy = try await Self.copy(setting.main, by: setting.admin)
        let job = try await (try setting.client()).jobKeys([KeyOwner(partner: 1)])[0]
        #expect(try await setting.run("rotate", "--to", "two").status == 0)
        func run(_ words: String...) async throws -> (status: Int32, output: Data, errors: String) {
            try await Program.run(
                ["keys"] + words, environment: setting.environment.merging(["INSPECTD_DATABASE_URL": copy]) { $1 })
        }
        for words in ["verify", "rewrap"] {
            let refused = try await run(words)
            #expect(refused.status == 1 && refused.errors.contains("KEY_MISMATCH"), "\(refused.errors)")
            #expect(refused.errors.contains("inspectd keys rewrap --to two"), "\(refused.errors)")
        }
        #expect(try await run("rewrap", "--to", "one").status == 1)
        let mended = try await run("rewrap", "--to", "two")
        #expect(mended.status == 0, "\(mended.errors)")
        #expect(try await run("verify").status == 0)
        _ = try await (try setting.client()).key(job.id)
    }

    @Test func `A rewrap beside an older key store brings no retired wrapping key back`() async throws {
        let setting = try await KeySetting()
        _ = try await (try setting.client()).jobKeys([KeyOwner(partner: 1)])
        let main = try await setting.main.connect()
        await setting.admin.close()
        let older = try await Self.copy(setting.store, by: main)
        #expect(try await setting.run("rotate", "--to", "two").status == 0)
        func run(_ words: String...) async throws -> (status: Int32, output: Data, errors: String) {
            try await Program.run(
                ["keys"] + words, environment: setting.environment.merging(["INSPECTD_KEYS_URL": older]) { $1 })
        }
        func noted() async throws -> String {
            try await main.query("SELECT wrapping_key FROM insp.v_custody")[0].string(0)
        }
        let refused = try await run("rewrap")
        #expect(refused.status == 1 && refused.errors.contains("KEY_MISMATCH"), "\(refused.errors)")
        #expect(refused.errors.contains("inspectd keys rotate --to two"), "\(refused.errors)")
        #expect(try await noted() == "two")
        #expect(try await run("rotate", "--to", "two").status == 0)
        #expect(try await run("verify").status == 0)
        #expect(try await noted() == "two")
    }

    @Test func `What is rewrapped or restored is on record before it begins, and a damaged line costs its key alone`()
        async throws
    {
        let setting = try await KeySetting()
        let jobs = try await (try setting.client()).jobKeys((Int64(1)...3).map { KeyOwner(partner: $0) })
        let main = try await setting.main.connect()
        func actions() async throws -> [String] {
            try await main.query("SELECT action FROM insp.v_operator_events WHERE action LIKE 'keys%' ORDER BY at")
                .map { try $0.string(0) }
        }
        #expect(try await setting.run("rewrap", "--all").status == 0)
        #expect(try await actions() == ["keys_rewrap_begin", "keys_rewrap"])
        for words in [
            ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072", "-out", setting.file("safe.pem")],
            ["pkey", "-in", setting.file("safe.pem"), "-pubout", "-out", setting.file("safe.pub")],
        ] {
            let process = try ChildProcess.spawn("/usr/bin/openssl", words, isQuiet: true)
            #expect(try await process.exitStatus() == 0)
        }
        let escrow = try await setting.run("escrow", "--public-key", setting.file("safe.pub"))
        let lines = escrow.output.split(separator: 0x0A)
        #expect(lines.count == 3)
        func restore(_ lines: [Data]) async throws -> (status: Int32, output: Data, errors: String) {
            try Data(lines.joined(separator: [0x0A])).write(to: URL(fileURLWithPath: setting.file("escrow")))
            return try await setting.run(
                "restore", "--escrow", setting.file("escrow"), "--private-key", setting.file("safe.pem"), "--to", "two")
        }
        let part = try await restore([Data(lines[0]), Data(lines[1].dropLast(9)), Data(lines[2])])
        let answer = try members(part.output)
        #expect(part.status == 1 && answer["rewrapped"] as? Int == 2 && answer["unreadable"] as? Int == 1)
        #expect(answer["damagedLines"] as? Int == 1)
        #expect(try await actions().suffix(2) == ["keys_restore_begin", "keys_restore"])
        let whole = try await restore(lines.map { Data($0) })
        #expect(whole.status == 0, "\(whole.errors)")
        for job in jobs { _ = try await (try setting.client()).key(job.id) }
    }

    /// The code of the error that a closure throws.
    private func errorCode(of body: () async throws -> Void) async -> ErrorCode? {
        do { try await body() } catch { return (error as? InspectError)?.code }
        return nil
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// What happens to a record over time: writers that roll back, retention, erasure, checkpoints that are thinned, a reader that
/// follows, and the file of the signing key.
@Suite struct AuditHistoryTests {
    @Test func `Transactions that are rolled back leave no gap, and those that commit late are behind a checkpoint`()
        async throws
    {
        let site = try await AuditSite.start()
        defer { site.end() }
        let late = try await site.database.connect()
        try await late.execute("BEGIN; SELECT insp.pause('bulk', reason => 'late')")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<6 {
                let connection = try await site.database.connect()
                group.addTask {
                    for number in 0..<20 {
                        try await connection.execute("BEGIN")
                        _ = try await connection.query("SELECT insp.record('test', $1)", [.text("\(writer) \(number)")])
                        try await connection.execute(number % 3 == writer % 3 ? "ROLLBACK" : "COMMIT")
                    }
                    await connection.close()
                }
            }
            group.addTask {
                for _ in 0..<10 {
                    try await site.link()
                    try await site.sign()
                }
            }
            try await group.waitForAll()
        }
        try await site.link()
        try await site.sign()
        #expect(try await site.verify(try await site.export()) == [])
        try await late.execute("COMMIT")
        try await site.link()
        try await site.sign()
        let lines = try await site.export()
        #expect(try await site.verify(lines) == [])
        // Ids have gaps, places have none.
        let row = try await site.admin.query(
            "SELECT count(*), max(seq), max(id) FROM insp.record WHERE chain = 'operator'")[0]
        #expect(try row.int(0) == row.int(1) && row.int(2) > row.int(1))
        #expect(try row.int(0) == 1 + 1 + 6 * 20 - 2 * (7 + 7 + 6))
        await late.close()
    }

    @Test func `A chain stays whole across erasure and retention, and a start that was cut too early is found`()
        async throws
    {
        let site = try await AuditSite.start()
        defer { site.end() }
        // Old rows, which go before the first checkpoint: by the signer's clock none of them is younger than a year.
        try await site.admin.execute(
            """
            INSERT INTO insp.record (chain, at, action, subject)
            SELECT 'session', now() - interval '3 years' + n * interval '1 second', 'session_begin', n::text
            FROM generate_series(1, 50) n
            """)
        try await site.link()
        try await waitUntil("nothing is left to purge", every: .zero) {
            try await !site.admin.query("SELECT more FROM insp.purge(20)")[0].bool(0)
        }
        let id = try await site.admin.query(
            """
            SELECT insp.enqueue(format('{"partner":"acme","workflow":"id","parts":{"FRONT":{"url":"https://i.example.com/a",
                "sha256":"%s"}}}', repeat('0', 64))::jsonb)
            """)[0].string(0)
        try await site.admin.execute(
            "SELECT insp.cancel('\(id)'); SELECT insp.record('resolve_dead', '\(id)', '{\"note\": \"Jane\"}')")
        try await site.link()
        try await site.sign()
        #expect(try await site.export(["--words"]).filter { $0.contains("Jane") }.count == 1)
        _ = try await site.admin.query("SELECT insp.erase('\(id)')")
        try await site.link()
        let lines = try await site.export(["--words"])
        #expect(!lines.contains { $0.contains("Jane") })
        #expect(try await site.verify(lines) == [])
        #expect(
            try members(try await site.run(["verify", site.path("export")]).output).at("chains.operator.erased") as? Int
                == 1)
        let anchor = "SELECT anchor_seq FROM insp.record_chain WHERE chain = 'session'"
        #expect(try await site.admin.query(anchor)[0].int(0) == 50)
        try await site.admin.execute(
            "INSERT INTO insp.record (chain, action, subject) SELECT 'session', 'session_begin', 'x' FROM generate_series(1, 5)"
        )
        try await site.link()
        try await site.sign()
        #expect(try await site.verify(try await site.export()) == [])
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [])
        // The next is no retention: rows that were written after the second checkpoint, less than a year ago.
        try await site.tamper(
            """
            UPDATE insp.record_chain c SET anchor_seq = r.seq, anchor_hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq) = ('session', 53) AND c.chain = 'session';
            DELETE FROM insp.record WHERE chain = 'session' AND seq <= 53
            """)
        #expect(
            try await site.verify(try await site.export()) == [.init(kind: "start", chain: "session", place: 51)])
    }

    @Test func `Checkpoints older than a day are thinned to one an hour, and nobody else removes any`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        for _ in 0..<3 {
            try await site.write(2)
            try await site.sign()
        }
        // As if two had been signed within an hour of two days ago: only whether they may go is asked.
        try await site.tamper(
            "UPDATE insp.record_checkpoint SET at = date_trunc('hour', now()) - interval '2 days' + number * interval '1 minute' WHERE number < 3"
        )
        for sql in [
            "DELETE FROM insp.record_checkpoint WHERE number = 1",
            "DELETE FROM insp.record_checkpoint WHERE number = 3",
            "UPDATE insp.record_checkpoint SET number = 9 WHERE number = 3", "TRUNCATE insp.record_checkpoint",
        ] {
            let error = await #expect(throws: PostgresError.self, "\(sql)") { try await site.admin.execute(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
        _ = try await site.admin.query("SELECT insp.purge()")
        let left = try await site.admin.query("SELECT number FROM insp.record_checkpoint ORDER BY number")
        #expect(try left.map { try $0.int(0) } == [1, 3])
    }

    @Test(.timeLimit(.minutes(5)))
    func `A reader that follows misses nothing, sees nothing twice, and goes on where it stopped`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(5)
        try await site.sign()
        let following = try Program(
            ["audit", "follow", "--from", "operator:2", "--seconds", "60"],
            environment: ["INSPECTD_DATABASE_URL": site.database.url])
        func lines(_ data: Data) -> [String] {
            String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        }
        try await waitUntil("the rows are followed", every: .milliseconds(50)) {
            lines(following.standardOutput).contains { $0.contains("\"seq\": 6,") }
        }
        try await site.write(3)
        try await site.sign()
        try await waitUntil("new rows and their checkpoint come", every: .milliseconds(50)) {
            lines(following.standardOutput).contains { $0.hasPrefix("{\"checkpoint\": 2") }
        }
        following.send(SIGTERM)
        #expect(try await following.wait() == 0, "\(following.standardError)")
        let first = lines(following.standardOutput)
        func places(_ lines: [String]) throws -> [Int] {
            try lines.compactMap { $0.hasPrefix("{\"chain\"") ? try members(Data($0.utf8))["seq"] as? Int : nil }
        }
        #expect(try places(first) == Array(3...9))
        #expect(try await site.verify(first, ["--head", try await site.head("operator", 2)]) == [])
        try await site.write(2)
        try await site.sign()
        let next = try await site.run(["follow", "--from", "operator:9", "--seconds", "2"])
        #expect(next.status == 0, "\(next.errors)")
        #expect(try places(lines(next.output)) == [10, 11])
        #expect(try await site.verify(lines(next.output), ["--head", try await site.head("operator", 9)]) == [])
        // A place that is not there.
        let none = try await site.run(["follow", "--from", "operator:99", "--seconds", "1"])
        #expect(none.status == 1 && none.errors.contains("has no row 99"), "\(none.errors)")
    }

    @Test func `The signer's key is a file of its owner's, is made once, and may come from elsewhere`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        let key = site.path("key.pem")
        let mode = { try FileManager.default.attributesOfItem(atPath: key)[.posixPermissions] as? Int }
        #expect(try mode() == 0o600)
        let again = try await site.run(["key", "--new"])
        #expect(again.status == 1 && again.errors.contains("File exists"), "\(again.errors)")
        #expect(try await site.run(["key"]).output == Data(contentsOf: site.file("public.pem")))
        for (bits, isTaken) in [(0o644, false), (0o620, false), (0o604, false), (0o440, true), (0o400, true)] {
            try FileManager.default.setAttributes([.posixPermissions: bits], ofItemAtPath: key)
            let done = try await site.run(["key"])
            #expect((done.status == 0) == isTaken, "\(String(bits, radix: 8)): \(done.errors)")
            if !isTaken { #expect(done.errors.contains("chmod 600")) }
        }
        for text in ["", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"] {
            try Data(text.utf8).write(to: site.file("bad.pem"))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: site.path("bad.pem"))
            let done = try await site.run(["key"], key: "bad.pem")
            #expect(done.status == 1 && done.errors.contains("no Ed25519 private key in PEM"), "\(done.errors)")
        }
        // RFC 8032, section 7.1, test 1.
        let seed = "nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
        let der =
            Data([0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20]) + Data(base64Encoded: seed)!
        let pem = "-----BEGIN PRIVATE KEY-----\n\(der.base64EncodedString())\n-----END PRIVATE KEY-----\n"
        try Data(pem.utf8).write(to: site.file("rfc.pem"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: site.path("rfc.pem"))
        let done = try await site.run(["key"], key: "rfc.pem")
        let body = String(decoding: done.output, as: UTF8.self).split(separator: "\n")[1]
        #expect(
            Data(base64Encoded: String(body))?.suffix(32).hexadecimal
                == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
    }

    @Test func `Only a signer's login adds a checkpoint, and only over the ends of the chains`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(2)
        let session = try await site.database.connect()
        let call =
            "SELECT insp.add_checkpoint(1, 1, '0123456789abcdef', insp.record_heads()::text, decode(repeat('00', 64), 'hex'))"
        for role in [
            "insp_producer", "insp_worker", "insp_operator", "insp_reviewer", "insp_auditor", "insp_gateway",
        ] {
            try await session.execute("SET ROLE \(role)")
            let error = await #expect(throws: PostgresError.self, "\(role)") { try await session.query(call) }
            #expect(error?.sqlState == "42501", "\(role)")
            try await session.execute("RESET ROLE")
        }
        try await session.execute("SET ROLE insp_signer")
        for heads in [
            "'{}'", "'x'", "NULL", "(insp.record_heads() || '{\"x\": 1}')::text", "insp.record_heads()::text || ' '",
        ] {
            let error = await #expect(throws: PostgresError.self, "\(heads)") {
                try await session.query(call.replacing("insp.record_heads()::text", with: heads))
            }
            #expect(error?.refusal?.code == .parameterInvalid, "\(heads)")
        }
        #expect(try await session.query(call)[0].bool(0))
        #expect(try await !session.query(call)[0].bool(0))
        // It is not signed, and that is seen.
        #expect(
            try await site.verdict(["--public-key", site.path("public.pem")]) == [.init(kind: "signature", place: 1)])
        await session.close()
    }
}

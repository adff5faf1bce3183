import Foundation
import Postgres
import TestSupport
import Testing

/// What is left out of a record, by an attacker who has the database or an export: whole chains, starts, words; and what strangers add.
@Suite struct AuditOmissionTests {
    /// A site with three rows of accesses, and a checkpoint over all.
    private func site() async throws -> AuditSite {
        let site = try await AuditSite.start()
        try await site.write(4)
        try await site.admin.execute(
            """
            INSERT INTO insp.record (chain, action, subject)
            SELECT 'access', 'read', gen_random_uuid()::text FROM generate_series(1, 3)
            """)
        try await site.link()
        try await site.sign(["--state", site.path("state")]).write(to: site.file("kept"))
        return site
    }

    /// An export without a chain: neither its rows nor its name.
    private func without(_ chain: String, _ lines: [String]) throws -> [String] {
        try lines.filter { !$0.hasPrefix("{\"chain\": \"\(chain)\"") }.map { line in
            guard line.hasPrefix("{\"at\":") || line.hasPrefix("{\"checkpoints\":") else { return line }
            var frame = try members(Data(line.utf8))
            for name in ["chains", "end"] {
                guard var chains = frame[name] as? [String: Any] else { continue }
                chains[chain] = nil
                frame[name] = chains
            }
            return String(decoding: try JSONSerialization.data(withJSONObject: frame), as: UTF8.self)
        }
    }

    /// An export whose first line says that a chain begins later, without the rows before that.
    private func moved(_ site: AuditSite, _ lines: [String], isPartial: Bool) async throws -> [String] {
        var frame = try members(Data(lines[0].utf8))
        var chains = try #require(frame["chains"] as? [String: Any])
        chains["access"] = [3, String(try await site.head("access", 3).suffix(64))] as [Any]
        frame["chains"] = chains
        frame["partial"] = isPartial
        return [String(decoding: try JSONSerialization.data(withJSONObject: frame), as: UTF8.self)]
            + lines.dropFirst().filter { !$0.hasPrefix("{\"chain\": \"access\"") }
    }

    @Test func `A whole chain that is left out of an export is found`() async throws {
        let site = try await self.site()
        defer { site.end() }
        let lines = try await site.export()
        #expect(try await site.verify(lines) == [])
        let gone = AuditSite.Fault(kind: "truncated", chain: "access")
        #expect(try await site.verify(try self.without("access", lines)) == [gone])
        #expect(try await site.verify(try self.without("access", lines), ["--since", site.path("kept")]) == [gone])
        // Without a checkpoint that names it, and one that never had a row.
        let bare = try self.without("session", lines).filter { !$0.hasPrefix("{\"checkpoint\"") }
        #expect(try await site.verify(bare).contains(.init(kind: "truncated", chain: "session")))
        let names = ["access", "endpoint", "operator", "session"]
        let nothing =
            [#"{"record":"inspectd","version":1,"partial":false,"at":1,"chains":{}}"#]
            + lines.filter { $0.hasPrefix("{\"checkpoint\"") } + [#"{"end":{}}"#]
        #expect(try await site.verify(nothing) == names.map { .init(kind: "truncated", chain: $0) })
    }

    @Test func `A whole chain that is removed from the database is found, and is signed no more`() async throws {
        let site = try await self.site()
        defer { site.end() }
        try await site.tamper(
            "DELETE FROM insp.record WHERE chain = 'access'; DELETE FROM insp.record_chain WHERE chain = 'access'")
        try await site.write(1)
        #expect(
            try await site.verdict(["--public-key", site.path("public.pem")]) == [
                .init(kind: "truncated", chain: "access")
            ])
        let state = try Data(contentsOf: site.file("state"))
        for more in [["--state", site.path("state")], []] {
            let refused = try await site.run(["sign", "--once"] + more)
            #expect(refused.status == 1 && refused.errors.contains("chain access is not there"), "\(refused.errors)")
        }
        #expect(try Data(contentsOf: site.file("state")) == state)
        #expect(try await site.admin.query("SELECT insp.last_checkpoint()")[0].int(0) == 1)
    }

    @Test(arguments: [true, false])
    func `A start that nobody vouches for leaves the verdict open, whatever was noted before it`(isPartial: Bool)
        async throws
    {
        let site = try await self.site()
        defer { site.end() }
        let lines = try await self.moved(site, try await site.export(), isPartial: isPartial)
        let hidden = AuditSite.Fault(kind: "start", chain: "access", place: 1)
        let first = try await site.head("access", 1)
        for (more, doubts) in [
            ([], [hidden]), (["--since", site.path("kept")], [hidden]), (["--head", first], [hidden, hidden]),
        ] {
            let verdict = try await site.judge(lines, more)
            #expect(verdict.faults == [] && verdict.doubts == doubts, "\(more): \(verdict)")
        }
        // Who noted this very place knows what is before it.
        #expect(try await site.verify(lines, ["--head", try await site.head("access", 3)]) == [])
        #expect(
            try await site.judge(lines, ["--head", "access:3:" + String(repeating: "0", count: 64)]).faults
                == [.init(kind: "rewritten", chain: "access", place: 3)])
    }

    @Test func `An export from a place on is verified from there, by who noted the place`() async throws {
        let site = try await self.site()
        defer { site.end() }
        let lines = try await site.export(["--from", "operator:2"])
        let verdict = try await site.judge(lines)
        #expect(verdict.faults == [] && verdict.doubts == [.init(kind: "start", chain: "operator", place: 1)])
        #expect(try await site.verify(lines, ["--head", try await site.head("operator", 2)]) == [])
        // Retention is vouched for by the checkpoints.
        try await site.tamper(
            """
            UPDATE insp.record_chain c SET anchor_seq = 2, anchor_hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq, c.chain) = ('operator', 2, 'operator');
            DELETE FROM insp.record WHERE chain = 'operator' AND seq <= 2
            """)
        #expect(
            try await site.judge(arguments: ["--public-key", site.path("public.pem")]).doubts
                == [.init(kind: "start", chain: "operator", place: 1)])
        try await site.sign()
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [])
    }

    @Test func `A stranger's checkpoint is reported, and stops neither the signer nor the search for faults`()
        async throws
    {
        let site = try await self.site()
        defer { site.end() }
        let session = try await site.database.connect()
        try await session.execute("SET ROLE insp_signer")
        // None of a time to come, which would stay until then.
        for (ahead, isTaken) in [("10 min", false), ("73 years", false), ("1 min", true)] {
            let answer = try? await session.query(
                """
                SELECT insp.add_checkpoint(2, (extract(epoch FROM now() + interval '\(ahead)') * 1000000)::bigint,
                    repeat('a', 16), insp.record_heads()::text, decode(repeat('ab', 64), 'hex'))
                """)
            #expect((answer != nil) == isTaken, "\(ahead)")
        }
        #expect(
            try await session.query(
                """
                SELECT insp.add_checkpoint(3, (extract(epoch FROM now()) * 1000000)::bigint, repeat('a', 16),
                    insp.record_heads()::text, decode(repeat('ab', 64), 'hex'))
                """)[0].bool(0))
        await session.close()
        try await site.write(2)
        let done = try await site.run(["sign", "--once", "--state", site.path("state")])
        #expect(done.status == 0 && done.errors.contains("checkpoint of a stranger"), "\(done.errors)")
        #expect(done.output.starts(with: Data(#"{"checkpoint": 4, "#.utf8)))
        try await site.write(1)
        #expect(try await site.sign().starts(with: Data(#"{"checkpoint": 5, "#.utf8)))
        let strangers = [2, 3].map { AuditSite.Fault(kind: "signature", place: $0) }
        let lines = try await site.export()
        #expect(try await site.verify(lines) == strangers)
        // Its heads are no witness, and a fault is found beside it.
        let at = try #require(lines.firstIndex { $0.hasPrefix("{\"chain\": \"operator\", \"seq\": 5,") })
        var changed = lines
        changed[at] = changed[at].replacing("pause", with: "resume")
        #expect(
            try await site.verify(changed) == [.init(kind: "changed", chain: "operator", place: 5)] + strangers)
    }

    @Test func `Words that are gone without an erasure on record are reported`() async throws {
        let site = try await self.site()
        defer { site.end() }
        let id = try await site.admin.query(
            """
            SELECT insp.enqueue(format('{"partner":"acme","workflow":"id","parts":{"FRONT":{"url":"https://i.example.com/a",
                "sha256":"%s"}}}', repeat('0', 64))::jsonb)
            """)[0].string(0)
        try await site.admin.execute(
            "SELECT insp.cancel('\(id)'); SELECT insp.record('resolve_dead', '\(id)', '{\"note\": \"Jane\"}')")
        try await site.link()
        _ = try await site.admin.query("SELECT insp.erase('\(id)')")
        try await site.link()
        let outcome = "SELECT outcome || ' ' || erased FROM insp.verify_record('operator')"
        #expect(try await site.verify(try await site.export()) == [])
        #expect(try await site.admin.query(outcome)[0].string(0) == "whole 1")
        // The owner may do that: the trigger cannot know why.
        try await site.admin.execute(
            "UPDATE insp.record SET words = NULL, words_salt = NULL WHERE subject IN ('lane 1', 'lane 2')")
        let doubts = [AuditSite.Fault(kind: "erased", chain: "operator", place: 3)]
        #expect(try await site.judge(try await site.export()).doubts == doubts)
        #expect(try await site.judge(arguments: []).doubts == doubts)
        #expect(try await site.admin.query(outcome)[0].string(0) == "inconclusive 3")
    }

    @Test func `Rows that wait too long for their position are a doubt, and the signer warns of them`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(2)
        try await site.sign()
        _ = try await site.admin.query("SELECT insp.record('pause', 'lane 9', '{}')")
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [])
        try await site.tamper("UPDATE insp.record SET at = at - interval '1 min' WHERE seq IS NULL")
        let doubts = [AuditSite.Fault(kind: "waiting", chain: "operator", place: nil)]
        #expect(try await site.judge(arguments: ["--public-key", site.path("public.pem")]).doubts == doubts)
        let warned = try await site.run(["sign", "--once"])
        #expect(warned.status == 0 && warned.errors.contains("rows wait for their position"), "\(warned.errors)")
        try await site.link()
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [])
        #expect(try await !site.run(["sign", "--once"]).errors.contains("rows wait"))
    }

    @Test func `A start that moves over rows behind a checkpoint of this year is signed no more`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(2)
        try await site.sign(["--state", site.path("state")])
        try await site.write(5)
        try await site.tamper(
            """
            UPDATE insp.record_chain c SET anchor_seq = r.seq, anchor_hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq) = ('operator', 5) AND c.chain = 'operator';
            DELETE FROM insp.record WHERE chain = 'operator' AND seq <= 5
            """)
        for more in [["--state", site.path("state")], []] {
            let refused = try await site.run(["sign", "--once"] + more)
            #expect(
                refused.status == 1 && refused.errors.contains("rows 4 to 5 of chain operator were removed"),
                "\(refused.errors)")
        }
    }

    /// Cuts the operators' chain behind a place, as the owner can.
    private func cut(_ site: AuditSite, behind place: Int) async throws {
        try await site.tamper(
            """
            DELETE FROM insp.record WHERE chain = 'operator' AND (seq > \(place) OR seq IS NULL);
            UPDATE insp.record_chain c SET seq = r.seq, hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq, c.chain) = ('operator', \(place), 'operator')
            """)
    }

    @Test func `A chain that is shorter than at the last checkpoint is signed no more, however it grows again`()
        async throws
    {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(20)
        try await site.sign(["--state", site.path("state")])
        let end = try await site.admin.query("SELECT seq FROM insp.record_chain WHERE chain = 'operator'")[0].int(0)
        let running = try Program(
            ["audit", "sign", "--every", "1", "--seconds", "60"],
            environment: [
                "INSPECTD_DATABASE_URL": site.database.url, "INSPECTD_AUDIT_KEY_FILE": site.path("key.pem"),
            ])
        defer { running.send(SIGKILL) }
        try await site.write(1)
        try await waitUntil("the running signer has signed") {
            try await site.admin.query("SELECT insp.last_checkpoint()")[0].int(0) == 2
        }
        try await self.cut(site, behind: 4)
        let stopped = try await running.wait()
        #expect(stopped == 1 && running.standardError.contains("of chain operator were removed at the end"))
        // Shorter; shorter and grown, with other rows, to less than before, to as much, and to more.
        for more in [0, Int(end) - 6, 2, 3] {
            try await site.write(more)
            for state in [["--state", site.path("state")], []] {
                let refused = try await site.run(["sign", "--once"] + state)
                #expect(refused.status == 1, "\(more) more rows: \(refused.errors)")
            }
        }
        #expect(try await site.admin.query("SELECT insp.last_checkpoint()")[0].int(0) == 2)
    }

    @Test func `A start that moves back is signed no more, and an end before the start is a fault`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(5)
        let kept = "SELECT * FROM insp.record WHERE chain = 'operator' AND seq <= 2"
        try await site.admin.execute("CREATE TEMP TABLE kept AS \(kept)")
        try await site.tamper(
            """
            UPDATE insp.record_chain c SET anchor_seq = 2, anchor_hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq, c.chain) = ('operator', 2, 'operator');
            DELETE FROM insp.record WHERE chain = 'operator' AND seq <= 2
            """)
        try await site.sign(["--state", site.path("state")])
        try await site.write(1)
        try await site.tamper(
            """
            INSERT INTO insp.record OVERRIDING SYSTEM VALUE SELECT * FROM kept;
            UPDATE insp.record_chain SET anchor_seq = 0, anchor_hash = decode(repeat('00', 32), 'hex') WHERE chain = 'operator'
            """)
        for state in [["--state", site.path("state")], []] {
            let refused = try await site.run(["sign", "--once"] + state)
            #expect(
                refused.status == 1 && refused.errors.contains("chain operator begins behind row 0"),
                "\(refused.errors)")
        }
        try await site.tamper(
            """
            UPDATE insp.record_chain c SET anchor_seq = 4, anchor_hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq, c.chain) = ('operator', 4, 'operator');
            UPDATE insp.record_chain c SET seq = 3, hash = r.hash FROM insp.record r
            WHERE (r.chain, r.seq, c.chain) = ('operator', 3, 'operator');
            DELETE FROM insp.record WHERE chain = 'operator';
            DELETE FROM insp.record_checkpoint
            """)
        #expect(
            try await site.judge(arguments: ["--public-key", site.path("public.pem")]).faults == [
                .init(kind: "truncated", chain: "operator", place: 4)
            ])
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// `inspectd audit deletions`: a signed report of a partner's erased data, compared with the record that it was made from.
@Suite struct DeletionReportTests {
    private static let template = "repeat('0', 1024), 'e', repeat('0', 64)"

    /// Accepts and cancels jobs, and returns their ids.
    private func jobs(_ site: AuditSite, _ count: Int, _ more: String = "", partner: String = "acme") async throws
        -> [String]
    {
        var ids: [String] = []
        for _ in 0..<count {
            ids.append(
                try await site.admin.query(
                    "SELECT insp.enqueue($1, front => 'x')",
                    [.text(#"{"partner":"\#(partner)","workflow":"id","customerInternalReference":"c"\#(more)}"#)])[0]
                    .string(0))
            _ = try await site.admin.query("SELECT insp.cancel($1)", [.text(ids[ids.count - 1])])
        }
        return ids
    }

    /// Every way in which data is deleted, for two partners.
    private func erase(_ site: AuditSite) async throws {
        _ = try await site.admin.query("SELECT insp.create_partner('bank', 'https://hooks.example.com/b')")
        for partner in ["acme", "bank"] {
            let ids = try await self.jobs(site, 3, partner: partner)
            _ = try await self.jobs(site, 2, #","userReference":"ann""#, partner: partner)
            _ = try await site.admin.query("SELECT insp.rerun($1)", [.text(ids[0])])
            try await site.admin.execute("SELECT insp.cancel(public_id) FROM insp.job WHERE status < 128")
            _ = try await site.admin.query("SELECT insp.erase($1), insp.erase($2)", [.text(ids[0]), .text(ids[1])])
            try await site.admin.execute(
                """
                SELECT insp.face_import('\(partner)', f, \(Self.template), user_reference => u)
                FROM (VALUES ('f', NULL), ('g', 'ann'), ('h', NULL)) AS v (f, u);
                SELECT insp.erase_person('\(partner)', 'ann'), insp.face_delete('\(partner)', 'f'), insp.face_delete('\(partner)', 'f');
                INSERT INTO insp.key_gone (key_id, partner_id) SELECT gen_random_uuid(), id FROM insp.partner WHERE name = '\(partner)';
                SELECT insp.keys_destroyed(array_agg(key_id), array_agg(partner_id), '{t}') FROM insp.keys_gone(10)
                """)
        }
        try await site.admin.execute(
            """
            SELECT insp.set_face_limits('acme', keep => '1 day');
            UPDATE insp.face_template SET created_at = created_at - interval '2 days';
            SELECT insp.face_purge();
            UPDATE insp.job SET created_at = created_at - interval '31 days', completed_at = completed_at - interval '31 days';
            SELECT insp.purge()
            """)
        try await site.link()
    }

    private func report(_ site: AuditSite, _ more: [String] = []) async throws -> (
        line: Data, counts: [String: [String: Any]]
    ) {
        let done = try await site.run(["deletions"] + more)
        #expect(done.status == 0, "\(done.errors)")
        let list = try #require(try members(done.output).at("deletions.deletions") as? [[String: Any]])
        return (done.output, Dictionary(uniqueKeysWithValues: list.map { ($0["cause"] as! String, $0) }))
    }

    private func verify(_ site: AuditSite, _ line: Data, _ more: [String] = []) async throws -> [String] {
        try line.write(to: site.file("report"))
        let done = try await site.run(
            ["verify", "--deletions", site.path("report"), "--public-key", site.path("public.pem")] + more)
        let answer = try members(done.output)
        let faults = try #require(answer["faults"] as? [String])
        #expect(done.status == (faults.isEmpty ? 0 : 1))
        #expect(answer["outcome"] as? String == (faults.isEmpty ? "whole" : "broken"))
        return faults
    }

    @Test func `A report counts what went, of this partner alone, and says why`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await self.erase(site)
        let (line, counts) = try await self.report(site, ["--partner", "acme"])
        func count(_ cause: String, _ what: String) -> Int? { counts[cause]?[what] as? Int }
        #expect(count("job", "jobs") == 3 && count("job", "templates") == nil)
        #expect(count("person", "persons") == 1 && count("person", "jobs") == 2 && count("person", "templates") == 1)
        #expect(count("face", "faces") == 1 && count("face", "templates") == 1)
        #expect(count("retention", "parts") == 1 && count("retention", "references") == 1)
        #expect(count("retention", "results") == 1 && count("retention", "templates") == 1)
        #expect(count("keys", "keys") == 1 && count("partner", "jobs") == nil)
        #expect(try await self.report(site, ["--partner", "bank"]).counts["retention"]?["templates"] == nil)
        // Of a time in which nothing happened.
        let early = try await self.report(site, ["--partner", "acme", "--until", "2026-01-01"])
        #expect(early.counts.isEmpty)
        let text = try #require(try members(early.line)["deletions"] as? [String: Any])
        #expect(text["from"] as? String == "1970-01-01T00:00:00Z" && text["until"] as? String == "2026-01-01T00:00:00Z")
        // No reference, no id of a job or a face.
        #expect(!String(decoding: line, as: UTF8.self).contains("ann"))
        // Then the whole partner.
        _ = try await self.jobs(site, 2, #","userReference":"bob""#)
        // The keys of a person and of the partner are destroyed by commands; what only begins counts for nothing.
        try await site.admin.execute(
            """
            SELECT insp.record_keys('destroy_person_begin', 'acme', 8), insp.record_keys('destroy_person', 'acme', 2),
                insp.record_keys('destroy_partner', 'bank', 1);
            SELECT insp.erase_partner('acme');
            SELECT insp.record_keys('destroy_partner_begin', 'acme', 8), insp.record_keys('destroy_partner', 'acme', 1);
            SELECT insp.erase_partner_data('acme')
            """)
        try await site.link()
        let all = try await self.report(site, ["--partner", "acme"]).counts
        #expect(all["keys"]?["keys"] as? Int == 4)
        let last = all["partner"]
        #expect(last?["jobs"] as? Int == 2 && last?["endpoints"] as? Int == 1 && last?["secrets"] as? Int == 1)
    }

    @Test func `A report is verified offline, and with an export its counts are, too`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await self.erase(site)
        try await site.sign()
        let line = try await self.report(site, ["--partner", "acme"]).line
        #expect(try await self.verify(site, line) == [])
        // Rows that came later do not matter.
        try await site.write(3)
        try await site.sign()
        let lines = try await site.export()
        try (lines.joined(separator: "\n") + "\n").write(to: site.file("export"), atomically: false, encoding: .utf8)
        #expect(try await self.verify(site, line, [site.path("export")]) == [])

        let text = String(decoding: line, as: UTF8.self)
        for (old, new) in [
            ("\"jobs\": 3", "\"jobs\": 2"), ("\"acme\"", "\"bank\""), ("\"at\": 1", "\"at\": 2"),
            ("\"persons\": 1, ", ""),
        ] {
            #expect(text.contains(old))
            let forged = Data(text.replacing(old, with: new, maxReplacements: 1).utf8)
            #expect(try await self.verify(site, forged) != [], "\(new)")
        }
        // Times beyond what a report can have.
        for time in ["300000-01-01T00:00:00Z", "99999999999-01-01T00:00:00Z", "-1-01-01T00:00:00Z"] {
            let until = try #require(try members(line).at("deletions.until") as? String)
            try Data(text.replacing(until, with: time).utf8).write(to: site.file("report"))
            let done = try await site.run(
                ["verify", "--deletions", site.path("report"), "--public-key", site.path("public.pem")])
            #expect(done.status == 1 && done.errors.contains("is not a report of inspectd"), "\(time): \(done.errors)")
        }
        // A row that the report counted is changed, and the export is made to fit as far as one can without the key.
        try await site.tamper("UPDATE insp.record SET detail = detail || '{\"jobs\": 1}' WHERE action = 'erase'")
        let other = try await site.export()
        try (other.joined(separator: "\n") + "\n").write(to: site.file("export"), atomically: false, encoding: .utf8)
        let faults = try await self.verify(site, line, [site.path("export")])
        #expect(faults.contains("the report does not say what the record says") && faults.count == 2, "\(faults)")
        // The signer's own lie: a report of its key that says something else than the record.
        let honest = try await self.report(site, ["--partner", "bank"]).line
        try (lines.joined(separator: "\n") + "\n").write(to: site.file("export"), atomically: false, encoding: .utf8)
        #expect(
            try await self.verify(site, honest, [site.path("export")])
                == ["the report does not say what the record says"])
    }

    @Test func `A report is not silent about rows that are missing or have no place yet`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(5)
        let partial = try await site.export(["--from", "operator:3"])
        let line = try await self.report(site, ["--partner", "acme"]).line
        try (partial.joined(separator: "\n") + "\n").write(to: site.file("export"), atomically: false, encoding: .utf8)
        #expect(
            try await self.verify(site, line, [site.path("export")]).contains(
                "the export begins behind the rows of which the report was made"))
        // Retention removed the start.
        try await site.tamper(
            """
            UPDATE insp.record SET at = at - interval '3 years' WHERE seq < 4;
            UPDATE insp.record_chain c SET anchor_seq = 3, anchor_hash = r.hash FROM insp.record r
            WHERE r.chain = 'operator' AND r.seq = 3 AND c.chain = 'operator';
            DELETE FROM insp.record WHERE chain = 'operator' AND seq <= 3
            """)
        let refused = try await site.run(["deletions", "--partner", "acme"])
        #expect(refused.status == 1 && refused.errors.contains("retention removed the record from before"))
        let first = try await site.admin.query(
            "SELECT to_char(min(at) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') FROM insp.record")[0]
            .string(0)
        _ = try await self.report(site, ["--partner", "acme", "--begin", first])
        // A row without its place.
        _ = try await site.admin.query("SELECT insp.record('pause', 'lane x')")
        let waiting = try await site.run(["deletions", "--partner", "acme", "--begin", first])
        #expect(waiting.status == 1 && waiting.errors.contains("wait for their position"))
    }

    @Test(arguments: [
        ["audit", "deletions"], ["audit", "deletions", "--partner", "a\"b"],
        ["audit", "deletions", "--partner", "x", "--begin", "yesterday"],
        ["audit", "verify", "--deletions", "x", "--since", "y"], ["partner", "erase", "--partner", "x"],
        ["partner", "erase", "--partner", "x", "--confirm", "y"],
        ["partner", "list", "--partner", "x", "--confirm", "x"],
    ])
    func `A command line that says too little ends with status 2`(words: [String]) async throws {
        #expect(try await Program.run(words).status == 2)
    }
}

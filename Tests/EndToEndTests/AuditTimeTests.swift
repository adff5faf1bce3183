import Foundation
import Postgres
import TestSupport
import Testing

/// Rows that the schema's owner inserts with a time of their own choice, and exports without a witness.
@Suite struct AuditTimeTests {
    private func insert(_ at: String, _ site: AuditSite) async throws {
        try await site.admin.execute(
            "INSERT INTO insp.record (chain, at, action, subject) VALUES ('operator', now() + \(at), 'pause', 'lane x')"
        )
        try await site.link()
    }

    @Test func `A row that is dated after the checkpoint that covers it is a fault`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(3)
        try await site.sign()
        try await self.insert("interval '3 years'", site)
        try await site.write(2)
        try await site.sign()
        let fault = AuditSite.Fault(kind: "time", chain: "operator", place: 5)
        #expect(try await site.verify(try await site.export()) == [fault])
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [fault])
        let row = try await site.admin.query("SELECT outcome, broken_at FROM insp.verify_record('operator')")[0]
        #expect(try row.string(0) == "broken" && row.int(1) == 5)
    }

    @Test func `Rows that are dated long before the checkpoint that precedes them are a doubt`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(3)
        try await site.sign()
        // As of a transaction that was open for hours.
        try await self.insert("interval '-20 hours'", site)
        try await site.sign()
        #expect(try await site.verify(try await site.export()) == [])
        try await self.insert("interval '-10 days'", site)
        try await self.insert("interval '-9 days'", site)
        try await site.sign()
        let doubt = AuditSite.Fault(kind: "time", chain: "operator", place: 6)
        #expect(try await site.judge(try await site.export()).doubts == [doubt])
        #expect(try await site.judge(arguments: ["--public-key", site.path("public.pem")]).doubts == [doubt])
    }

    @Test func `An export without checkpoints and a key proves nothing, and says so`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(3)
        try await site.sign()
        let lines = try await site.export()
        let stripped = lines.filter { !$0.hasPrefix("{\"checkpoint\"") }
        #expect(stripped.count == lines.count - 1)
        try (stripped.joined(separator: "\n") + "\n").write(
            to: site.file("stripped"), atomically: false, encoding: .utf8)
        let doubts = try await site.judge(arguments: [site.path("stripped")])
        #expect(doubts.faults == [] && doubts.doubts == [.init(kind: "checkpoint")])
        // A witness of any kind is enough.
        let head = try await site.head("operator", 4)
        #expect(try await site.judge(arguments: [site.path("stripped"), "--head", head]).doubts == [])
        #expect(
            try await site.judge(arguments: [site.path("stripped"), "--public-key", site.path("public.pem")]).faults
                == [.init(kind: "checkpoint")])
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// The record that can be proved: `inspectd audit` over what an owner of the database, or of a copy, may do to it.
@Suite struct AuditTests {
    @Test func `A record is whole in the database and as an export, and the export says it without a database`()
        async throws
    {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(20)
        let line = try await site.sign()
        #expect(line.starts(with: Data(#"{"checkpoint": 1, "at": "#.utf8)))
        // Nothing new: nothing is signed.
        #expect(try await site.sign().isEmpty)
        try await site.write(3)
        let lines = try await site.export()
        #expect(try await site.verify(lines) == [])
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [])
        let done = try await Program.run(
            ["audit", "verify", site.path("export"), "--public-key", site.path("public.pem")])
        #expect(done.status == 0, "\(done.errors)")
        let report = try members(done.output)
        #expect(report.at("chains.operator.rows") as? Int == 24)
        #expect(report.at("chains.operator.unsigned") as? Int == 3)
        #expect(report.at("checkpoints.verified") as? Int == 1)
        #expect(report.at("checkpoints.last") as? Int == 1)
        // By standard input, and without a key: hashes alone.
        let piped = try await site.run(["verify", "-"], input: Data((lines.joined(separator: "\n") + "\n").utf8))
        #expect(piped.status == 0)
        #expect((try members(piped.output)["signatures"] as? String)?.hasPrefix("not verified") == true)
        // A row is what it says: nobody needs the program to read it.
        let row = try members(Data(try #require(lines.last { $0.contains("\"lane 19\"") }).utf8))
        #expect(row["action"] as? String == "pause" && row["actor"] as? String != nil && row["words"] == nil)
        // Texts of operators leave only if asked for.
        #expect(!lines.contains { $0.contains("why") })
        let words = try await site.export(["--words"])
        #expect(words.filter { $0.contains(#"a \"why\" {["#) }.count == 23)
        #expect(try await site.verify(words) == [])
        let other = words.map { $0.replacing("a \\\"why\\\" {[", with: "another") }
        #expect(try await site.verify(other) == [.init(kind: "changed", chain: "operator", place: 2)])
    }

    /// Places of rows of the operators' chain in an export.
    private static func place(_ seq: Int, in lines: [String]) throws -> Int {
        try #require(lines.firstIndex { $0.hasPrefix("{\"chain\": \"operator\", \"seq\": \(seq),") })
    }

    @Test(arguments: ["changed", "dropped", "reordered", "inserted", "renumbered", "repeated", "copied", "moved"])
    func `What somebody does to an export is found, and the first bad row is named`(_ what: String) async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(30)
        try await site.sign()
        var lines = try await site.export()
        let at = try Self.place(17, in: lines)
        let expected: AuditSite.Fault
        switch what {
        case "changed":
            lines[at] = lines[at].replacing("\"lane 15\"", with: "\"lane 99\"")
            expected = .init(kind: "changed", chain: "operator", place: 17)
        case "dropped":
            lines.remove(at: at)
            expected = .init(kind: "missing", chain: "operator", place: 17)
        case "reordered":
            lines.swapAt(at, at + 1)
            expected = .init(kind: "reordered", chain: "operator", place: 17)
        case "moved":
            lines.insert(lines.remove(at: at), at: at + 9)
            expected = .init(kind: "reordered", chain: "operator", place: 17)
        case "inserted":
            lines.insert(lines[at].replacing("\"lane 15\"", with: "\"lane 99\""), at: at + 1)
            expected = .init(kind: "inserted", chain: "operator", place: 17)
        case "repeated":
            lines.insert(lines[at], at: at + 5)
            expected = .init(kind: "inserted", chain: "operator", place: 17)
        case "renumbered":
            // The place is hashed as well.
            lines[at] = lines[at].replacing("\"seq\": 17,", with: "\"seq\": 18,")
            lines[at + 1] = lines[at + 1].replacing("\"seq\": 18,", with: "\"seq\": 17,")
            lines.swapAt(at, at + 1)
            expected = .init(kind: "changed", chain: "operator", place: 17)
        default:
            // A row of another place, with its own hash.
            lines[at] = lines[at - 5].replacing("\"seq\": 12,", with: "\"seq\": 17,")
            expected = .init(kind: "changed", chain: "operator", place: 17)
        }
        #expect(try await site.verify(lines) == [expected])
    }

    @Test func `An export that is cut, mixed or no JSON is refused, and says at which line`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(10)
        try await site.sign()
        let lines = try await site.export()
        #expect(try await site.verify(Array(lines.dropLast())) == [.init(kind: "cut")])
        // In the middle of a row.
        var torn = Array(lines.prefix(8))
        torn[7] = String(torn[7].prefix(100))
        let faults = try await site.verify(torn)
        #expect(faults.contains(.init(kind: "cut")) && faults.contains(.init(kind: "format")))
        // The last rows are gone and the last line is there.
        let at = try Self.place(9, in: lines)
        let short = Array(lines[..<at]) + [lines[lines.count - 1]]
        #expect(try await site.verify(short) == [.init(kind: "truncated", chain: "operator", place: 9)])
        for bad in [
            "{", "[]", "null", "", "\u{0}", #"{"chain": "operator"}"#, lines[at] + " ",
            lines[at].dropLast() + ", \"x\": 1}",
        ] {
            var mixed = lines
            mixed[at] = String(bad)
            let faults = try await site.verify(mixed)
            #expect(faults.contains(.init(kind: "format")), "\(bad): \(faults)")
        }
        #expect(try await site.verify([]).map(\.kind).contains("format"))
        try Data().write(to: site.file("empty"))
        #expect(try await site.verdict([site.path("empty")]) == [.init(kind: "cut")])
    }

    @Test func `A checkpoint that is forged, changed, by another key or missing is found`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(5)
        try await site.sign()
        try await site.write(5)
        try await site.sign()
        let lines = try await site.export()
        let at = try #require(lines.firstIndex { $0.hasPrefix("{\"checkpoint\": 2") })
        // Another digit of the signature, and another time.
        for (from, to) in [("\"signature\": \"", "\"signature\": \"00"), ("\"at\": 1", "\"at\": 2")] {
            var forged = lines
            let line = forged[at].replacing(from, with: to)
            forged[at] = to.hasSuffix("00") ? line.removing(2, before: "\"}") : line
            #expect(try await site.verify(forged) == [.init(kind: "signature", place: 2)], "\(to)")
        }
        // All rows rewritten, and no checkpoint.
        #expect(
            try await site.verify(lines.filter { !$0.hasPrefix("{\"checkpoint\"") }) == [.init(kind: "checkpoint")])
        let other = try await site.run(["key", "--new"], key: "other.pem")
        try other.output.write(to: site.file("other-public.pem"))
        #expect(
            try await site.verdict([site.path("export"), "--public-key", site.path("other-public.pem")]).map(\.kind)
                == ["checkpoint"])
        _ = try await site.verify(lines)
        #expect(
            try await site.verdict([site.path("export"), "--public-key", site.path("other-public.pem")])
                == [.init(kind: "signature", place: 1), .init(kind: "signature", place: 2)])
        // A rotation: both keys are known, and the new one continues only what a known key signed.
        try await site.write(1)
        let refused = try await site.run(["sign", "--once"], key: "other.pem")
        #expect(refused.status == 1 && refused.errors.contains("not signed by a known key"), "\(refused.errors)")
        let rotated = try await site.run(
            ["sign", "--once", "--public-key", site.path("public.pem")], key: "other.pem")
        #expect(rotated.status == 0, "\(rotated.errors)")
        let after = try await site.export()
        #expect(try await site.verify(after, ["--public-key", site.path("other-public.pem")]) == [])
        #expect(try await site.verify(after) == [.init(kind: "signature", place: 3)])
    }

    @Test func `The owner cannot rewrite what was signed, and the signer signs no more`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(9)
        try await site.sign()
        try await site.write(10)
        try await site.sign(["--state", site.path("state")])
        try await site.tamper(
            """
            UPDATE insp.record SET actor = 'nobody' WHERE chain = 'operator' AND seq = 14; \(AuditSite.rebuilt(from: 14))
            """)
        // By its hashes alone it is whole.
        #expect(
            try await site.admin.query("SELECT outcome FROM insp.verify_record('operator')")[0].string(0) == "whole")
        #expect(try await site.verdict([]) == [.init(kind: "rewritten", chain: "operator", place: 11)])
        #expect(
            try await site.verify(try await site.export())
                == [.init(kind: "rewritten", chain: "operator", place: 11)])
        try await site.write(1)
        let refused = try await site.run(["sign", "--once"])
        #expect(refused.status == 1 && refused.errors.contains("differs from what was signed"), "\(refused.errors)")
        // Without its checkpoint it passes for the past; a verifier that kept the checkpoint detects it.
        try await site.tamper("DELETE FROM insp.record_checkpoint WHERE number = 2")
        #expect(try await site.verdict(["--public-key", site.path("public.pem")]) == [])
        #expect(
            try await site.verdict(["--since", site.path("state")]) == [
                .init(kind: "rewritten", chain: "operator", place: 11), .init(kind: "checkpoint", place: 2),
            ])
        let gone = try await site.run(["sign", "--once", "--state", site.path("state")])
        #expect(gone.status == 1 && gone.errors.contains("not in the database any more"), "\(gone.errors)")
    }

    @Test func `A record that went back to a checkpoint is found by one that was kept, or a row that was noted`()
        async throws
    {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(4)
        try await site.sign()
        try await site.write(5)
        let kept = try await site.sign()
        try kept.write(to: site.file("kept"))
        let hash = try await site.admin.query("SELECT insp.record_hash_at('operator', 10)")[0].string(0)
        try await site.tamper(
            """
            DELETE FROM insp.record WHERE chain = 'operator' AND seq > 5; DELETE FROM insp.record_checkpoint WHERE number = 2;
            UPDATE insp.record_chain c SET seq = r.seq, hash = r.hash FROM insp.record r WHERE r.seq = 5 AND r.chain = c.chain
                AND c.chain = 'operator'
            """)
        let lines = try await site.export()
        #expect(try await site.verify(lines) == [])
        #expect(
            try await site.verify(lines, ["--since", site.path("kept")]) == [
                .init(kind: "truncated", chain: "operator", place: 6), .init(kind: "checkpoint", place: 2),
            ])
        #expect(
            try await site.verify(lines, ["--head", "operator:10:\(hash)"])
                == [.init(kind: "truncated", chain: "operator", place: 6)])
        #expect(try await site.verify(lines, ["--head", "operator:5:\(hash)"]).map(\.kind) == ["rewritten"])
    }

    @Test func `Rows written past their chain, or in none, are found`() async throws {
        let site = try await AuditSite.start()
        defer { site.end() }
        try await site.write(4)
        try await site.sign()
        let arguments = ["--public-key", site.path("public.pem")]
        #expect(try await site.verdict(arguments) == [])
        try await site.admin.execute(
            """
            INSERT INTO insp.record (chain, action, subject) VALUES ('operator', 'pause', 'x'), ('nowhere', 'pause', 'y');
            UPDATE insp.record SET seq = 1000000000, prev = '\\x00', hash = '\\x00' WHERE chain = 'operator' AND subject = 'x'
            """)
        #expect(
            try await site.verdict(arguments) == [
                .init(kind: "inserted", chain: "operator", place: 1_000_000_000),
                .init(kind: "inserted", chain: "nowhere"),
            ])
    }
}

extension String {
    /// Without so many characters before the last place of a text.
    fileprivate func removing(_ count: Int, before end: String) -> String {
        guard let place = self.range(of: end, options: .backwards)?.lowerBound else { return self }
        return String(self[..<self.index(place, offsetBy: -count)]) + self[place...]
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// Where marks of ``PersonalMarks`` are found.
extension QueueFixture {
    /// The mark as text, as the hexadecimal digits of its bytes, and as base64 wherever a group of three begins; digests of
    /// what was marked; and a time among a challenge's.
    func forms() async throws -> String {
        let mark = PersonalMarks.mark
        var forms = [mark, PersonalMarks.hex, "598877"]
        for shift in 0..<3 {
            let padded = Data((String(repeating: "x", count: shift) + mark + "xxx").utf8).base64EncodedString()
            forms.append(String(padded.dropFirst(4).prefix(shift == 0 ? 4 : 5)))
        }
        forms[3] = Data(mark.utf8).base64EncodedString()
        for value in [#"zqmark user ÄÖ "Jane""#, "zqmark customer", "zqmark face", "zqmark image"] {
            let row = try await self.admin.query(
                "SELECT encode(sha256(convert_to($1, 'UTF8')), 'hex')", [.text(value)])
            forms.append(try row[0].string(0))
        }
        return forms.joined(separator: "|")
    }

    /// Every column that can hold text or bytes, as table.column.
    func columns() async throws -> [(table: String, column: String)] {
        try await self.admin.query(
            """
            SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND a.attnum > 0 AND NOT a.attisdropped
                AND format_type(a.atttypid, NULL) ~ '^(text|json|bytea|character|name|xml|cidr|inet|hstore)'
            ORDER BY 1, 2
            """
        ).map { (try $0.string(0), try $0.string(1)) }
    }

    /// The columns that hold a mark.
    func holding() async throws -> Set<String> {
        let looks = try await self.columns().map { table, column in
            "SELECT '\(table).\(column)' WHERE EXISTS (SELECT FROM insp.\(table) t WHERE t.\(column)::text ~* $1)"
        }
        return Set(
            try await self.admin.query(looks.joined(separator: " UNION ALL "), [.text(try await self.forms())])
                .map { try $0.string(0) })
    }

    /// The rows of a dump, each with its table.
    func dumpedRows() async throws -> [(table: String, row: Substring)] {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
            + (15...18).map { "/usr/lib/postgresql/\($0)/bin" }
        let program = try #require(
            folders.map { $0 + "/pg_dump" }.first { FileManager.default.isExecutableFile(atPath: $0) })
        // It warns of endpoints that name one another.
        let (status, text, _) = try await ChildProcess.run(
            program, ["--data-only", "--schema=insp", "--dbname", self.database.url])
        #expect(status == 0)
        #expect(text.contains("COPY insp.job_p"))
        var table = ""
        return text.split(separator: "\n").map { line in
            if line.hasPrefix("COPY ") { table = String(line.prefix { $0 != "(" }.dropFirst(5).dropLast()) }
            return (table, line)
        }
    }

    /// What a dump says, and what the planner has sampled.
    func dump() async throws -> [String] {
        let pattern = try Regex(try await self.forms()).ignoresCase()
        var hits = try await self.dumpedRows().filter { $0.row.contains(pattern) }.map {
            $0.table + " … " + $0.row.prefix(400)
        }
        for row in try await self.admin.query(
            "SELECT s::text FROM pg_stats s WHERE s.schemaname = 'insp' AND s::text ~* $1",
            [.text(try await self.forms())])
        {
            hits.append("pg_stats … " + (try row.string(0)).prefix(400))
        }
        return hits
    }
}

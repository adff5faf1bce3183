import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

@testable import Custody

/// The destruction of keys by a worker that maintains.
@Suite struct KeyDutyTests {
    @Test(.timeLimit(.minutes(5)))
    func `A person whose key is held keeps no other key from being swept, and the duty says why it is delayed`()
        async throws
    {
        let site = try await ObjectSite()
        let owners = ["ann", "bob"].map { KeyOwner(partner: site.partner, .user($0)) }
        let jobs = try await site.keys.jobKeys(owners)
        let (holder, reader) = (try await site.keyDatabase.connect(), try await site.keyDatabase.connect())
        try await holder.execute("BEGIN")
        _ = try await holder.query(
            "SELECT FROM insp.key WHERE id = $1::uuid FOR KEY SHARE", [.text(try #require(jobs[0].parent).text)])
        try await site.keys.destroyPerson(.user("bob"), of: site.partner)
        let ann = BlindIndex(try await site.keys.partnerKey(site.partner)).pseudonym("ann", use: "user")
        _ = try await site.admin.query(
            "SELECT insp.list_persons($1, ARRAY[$2::bytea])",
            [.int(site.partner), .bytes(BlindIndex.ofStored(ann))])
        try await site.admin.execute(
            "UPDATE insp.person_gone SET since = since - interval '1 minute', due_at = due_at - interval '1 minute'")
        try await reader.execute("UPDATE insp.key SET created_at = now() - interval '1 hour' WHERE kind = 'job'")
        func count(_ sql: String, _ connection: PostgresConnection) async throws -> Int {
            Int(try await connection.query("SELECT count(*) FROM \(sql)")[0].int(0))
        }
        try await site.maintain(until: "the duty is delayed, and what is below another person is swept") {
            let isDelayed = try await count(
                "insp.duty WHERE name = 'keys' AND error LIKE 'another transaction holds a row%key store%'", site.admin)
            let left = try await count("insp.key WHERE id = '\(jobs[1].id.text)'", reader)
            return isDelayed == 1 && left == 0
        }
        #expect(try await count("insp.key WHERE id = '\(jobs[0].id.text)'", reader) == 1)
        try await holder.execute("COMMIT")
        try await site.maintain(until: "the person is destroyed") {
            try await count("insp.person_gone", site.admin) == 0
        }
        #expect(try await count("insp.key WHERE kind = 'person'", reader) == 0)
    }
}

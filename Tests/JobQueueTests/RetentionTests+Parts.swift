import InspectCore
import Postgres
import TestSupport
import Testing

extension RetentionTests {
    @Test func `Parts that a partner does not keep go with the job's end, in its transaction`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('archive', 'https://hooks.example.com/y')")
        _ = try await fixture.admin.query("SELECT insp.set_retention('acme', keep_parts => '0')")
        let ended = try await self.enqueue(fixture, 3)
        _ = try await self.enqueue(fixture, 2, partner: "archive")
        try await self.drain(fixture)
        // No round of maintenance has run.
        let left = "insp.part p JOIN insp.job j ON j.id = p.job_id JOIN insp.partner x ON x.id = j.partner_id"
        #expect(try await fixture.count("\(left) WHERE x.name = 'acme'") == 0)
        #expect(try await fixture.count("\(left) WHERE x.name = 'archive'") == 2)
        #expect(try await fixture.count("insp.content") == 2)
        for id in ended {
            let result = try await fixture.result(of: id)
            #expect(result["status"] as? Int == 128 && result["decision"] != nil && result["purgedAt"] == nil)
            let refused = await #expect(throws: PostgresError.self) {
                try await fixture.admin.query("SELECT insp.rerun($1)", [.text(id)])
            }
            #expect(refused?.sqlState == ErrorCode.partsPurged.sqlState)
        }
        // What is not finished keeps its parts, and is looked at once an hour at most.
        let open = try await self.enqueue(fixture, 2)
        try await self.age(fixture, "2 hours")
        #expect(try await self.purge(fixture) == Purged())
        let later = try await fixture.admin.query(
            "SELECT what || ' ' || count(*) || ' ' || bool_and(due_at > now() + interval '50 minutes') FROM insp.purge_later GROUP BY what"
        ).map { try $0.string(0) }
        #expect(later == ["parts 2 true"])
        #expect(try await fixture.count("\(left) WHERE x.name = 'acme'") == 2)
        // However it finishes; where nothing can be removed then, the next round of retention does it.
        #expect(try await fixture.client.cancel(open[0]))
        #expect(try await fixture.count("\(left) WHERE x.name = 'acme'") == 1)
        try await fixture.admin.execute(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT insp.cancel('\(open[1])'); COMMIT")
        #expect(try await fixture.count("\(left) WHERE x.name = 'acme'") == 1)
        #expect(try await self.purge(fixture) == Purged(parts: 1))
        #expect(try await fixture.count("\(left) WHERE x.name = 'acme'") == 0)
        // Jobs that had ended before the setting, too.
        _ = try await fixture.admin.query("SELECT insp.set_retention('archive', keep_parts => '0')")
        try await self.age(fixture, "2 hours", where: "status = 128")
        #expect(try await self.purge(fixture) == Purged(parts: 2))
        #expect(try await fixture.count("insp.part") == 0)
        #expect(try await fixture.count("insp.content") == 0)
    }
}

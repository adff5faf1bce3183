import Foundation
import Postgres
import Testing

/// What a partner's row decided by, and when.
@Suite struct PolicyTests {
    private func versions(_ fixture: QueueFixture) async throws -> [Int] {
        try await fixture.admin.query(
            "SELECT version FROM insp.v_partner_policy WHERE partner = 'acme' ORDER BY version"
        )
        .map { Int(try $0.int(0)) }
    }

    @Test func `Each change of the policy makes a version, whoever makes it, and nothing else does`() async throws {
        let fixture = try await QueueFixture()
        #expect(try await self.versions(fixture) == [1])
        for call in [
            "insp.pause(partner => 'acme')", "insp.resume(partner => 'acme')", "insp.limit_partner('acme', 20, 5, 10)",
            "insp.set_quota('acme', max_waiting => 5)", "insp.set_liveness_policy('acme', false)",
        ] { _ = try await fixture.admin.query("SELECT \(call)") }
        #expect(try await self.versions(fixture) == [1])
        for change in [
            "SELECT insp.set_retention('acme', '1 day')", "SELECT insp.set_liveness_policy('acme', true)",
            "SELECT insp.set_face_limits('acme', attempts => 3)",
            "SELECT insp.set_partner('acme', review => 'warning', job_lifetime => '36 hours')",
            "UPDATE insp.partner SET enabled = false WHERE name = 'acme'",
        ] { try await fixture.admin.execute(change) }
        #expect(try await self.versions(fixture) == [1, 2, 3, 4, 5, 6])
        let rows = try await fixture.admin.query(
            """
            SELECT p.version, p.policy ->> 'keep_parts' AS parts, p.policy ->> 'review' AS review,
                p.policy ->> 'job_lifetime' AS lifetime, p.valid_until IS NULL AS holds, p.changed_by = session_user AS mine
            FROM insp.v_partner_policy p WHERE p.partner = 'acme' AND p.version IN (1, 6) ORDER BY p.version
            """)
        #expect(try rows.map { try $0.string("parts") } == ["P30D", "P1D"])
        #expect(try rows.map { try $0.string("review") } == ["never", "warning"])
        #expect(try rows.map { try $0.string("lifetime") } == ["P7D", "PT36H"])
        #expect(try rows.map { try $0.bool("holds") } == [false, true])
        #expect(try rows.allSatisfy { try $0.bool("mine") })
    }

    @Test func `A job's policy is the one that held when it was accepted`() async throws {
        let fixture = try await QueueFixture()
        func policy(_ job: String) async throws -> (version: Int, review: String) {
            let row = try await fixture.admin.query(
                "SELECT version, policy ->> 'review' AS review FROM insp.policy_of($1)", [.text(job)])[0]
            return (Int(try row.int("version")), try row.string("review"))
        }
        let before = try await fixture.enqueue(1)[0]
        try await fixture.admin.execute("UPDATE insp.partner SET review = 'always'")
        let after = try await fixture.enqueue(1)[0]
        try await fixture.admin.execute("UPDATE insp.partner SET review = 'never'")
        #expect(try await policy(before) == (1, "never"))
        #expect(try await policy(after) == (2, "always"))
        // A partner and its first job in one transaction.
        let first = try await fixture.admin.query(
            """
            WITH made AS MATERIALIZED (SELECT insp.create_partner('new', 'https://hooks.example.com/x'))
            SELECT insp.enqueue(jsonb_set($1::jsonb, '{partner}', '"new"')) FROM made
            """, [.text(QueueFixture.byURL)])[0].string(0)
        #expect(try await policy(first).version == 1)
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT * FROM insp.policy_of($1)", [.text(UUID().uuidString)])
        }
        #expect(error?.sqlState == "IN024")
    }

    @Test func `Changes at once are numbered one after the other`() async throws {
        let fixture = try await QueueFixture()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for attempts in 20..<28 {
                group.addTask {
                    let connection = try await fixture.database.connect()
                    _ = try await connection.query("SELECT insp.set_face_limits('acme', attempts => \(attempts))")
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await self.versions(fixture) == Array(1...9))
    }
}

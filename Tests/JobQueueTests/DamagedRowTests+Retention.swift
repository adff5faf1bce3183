import Postgres
import TestSupport
import Testing

/// What retention and erasure make of damaged rows.
extension DamagedRowTests {
    @Test func `Retention and erasure remove what cannot be read, and all of the others`() async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture)
        try await fixture.admin.execute(
            """
            SELECT insp.cancel(public_id) FROM insp.job;
            UPDATE insp.job SET created_at = created_at - interval '60 days', completed_at = completed_at - interval '60 days';
            SELECT insp.purge()
            """)
        #expect(try await fixture.count("insp.job WHERE personal IS NOT NULL OR forgotten_at IS NULL") == 0)
        let second = try await QueueFixture()
        try await self.prepare(second)
        try await second.admin.execute(
            "SELECT insp.cancel(public_id) FROM insp.job; SELECT insp.erase_person('acme', 'u')")
        #expect(try await second.count("insp.job WHERE personal IS NOT NULL") == 0)
    }

    @Test(arguments: ["data_corrupted", "internal_error"])
    func `A row that retention cannot process is left for a day, and no other with it`(fault: String) async throws {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture)
        try await fixture.admin.execute(
            """
            SELECT insp.cancel(public_id) FROM insp.job;
            UPDATE insp.job SET created_at = created_at - interval '60 days', completed_at = completed_at - interval '60 days';
            \(Self.fault(fault, "BEFORE DELETE ON insp.part", "OLD.job_id = 2"))
            SELECT insp.purge()
            """)
        #expect(try await fixture.count("insp.part") == 1)
        #expect(
            try await fixture.count(
                "insp.purge_later WHERE what = 'parts' AND job_id = 2 AND due_at > now() + interval '23 hours'") == 1)
    }

    @Test(arguments: ["callbacks", "persons", "links"])
    func `A callback or person that retention cannot process is left for a day, and no other with it`(what: String)
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.prepare(fixture, damage: "")
        try await fixture.admin.execute(
            """
            SELECT insp.cancel(public_id) FROM insp.job;
            DELETE FROM insp.callback_waiting;
            UPDATE insp.callback SET created_at = created_at - interval '400 days';
            INSERT INTO insp.person (partner_id, reference_index) SELECT p.id, x::bytea FROM insp.partner p, unnest('{a,b,c}'::text[]) x;
            UPDATE insp.job SET person_id = NULL;
            INSERT INTO insp.purge_later (due_at, what, job_id)
            SELECT now(), 'persons', p.id FROM insp.person p UNION ALL SELECT now(), 'links', j.id FROM insp.job j
            ON CONFLICT DO NOTHING;
            CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE data_corrupted; END';
            CREATE TRIGGER callbacks BEFORE DELETE ON insp.callback FOR EACH ROW WHEN (OLD.job_id = 2) EXECUTE FUNCTION damaged();
            CREATE TRIGGER persons BEFORE UPDATE ON insp.person FOR EACH ROW WHEN (OLD.reference_index = 'b') EXECUTE FUNCTION damaged();
            CREATE TRIGGER links BEFORE UPDATE ON insp.job FOR EACH ROW WHEN (OLD.id = 2) EXECUTE FUNCTION damaged();
            SELECT insp.purge()
            """)
        #expect(
            try await fixture.count("insp.purge_later WHERE what = '\(what)' AND due_at > now() + interval '23 hours'")
                == 1)
        #expect(try await fixture.count("insp.callback") == 1)
        #expect(try await fixture.count("insp.person WHERE reference_index IN ('a', 'c')") == 0)
        #expect(try await fixture.count("insp.job WHERE person_id IS NULL") == 1)
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// Producers create partitions only if maintenance has not, and a table that somebody holds costs no job.
@Suite struct PartitionTests {
    @Test func `A producer with ids to spare creates no partition and leaves the duty to maintenance`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute("SELECT setval('insp.job_id', 9999998)")
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many(ARRAY[$1, $1, $1]::jsonb[])", [.text(QueueFixture.byURL)])
        #expect(try await fixture.admin.query("SELECT insp.duty_take('partitions', '10 minutes')")[0].bool(0))
        #expect(try await fixture.admin.query("SELECT insp.ensure_partitions()")[0].int(0) > 0)
        try await producer.execute("COMMIT")
        #expect(try await fixture.count("insp.job WHERE id = 10000000") == 1)
        await producer.close()
    }

    @Test func `A held table refuses no job, and the next million ids create the partition`() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.enqueue(1)[0]
        #expect(try await fixture.client.cancel(old))
        let holder = try await fixture.database.connect()
        // As VACUUM and CREATE INDEX CONCURRENTLY take it.
        try await holder.execute("BEGIN; LOCK TABLE insp.job IN SHARE UPDATE EXCLUSIVE MODE")
        let scheduled = QueueFixture.byURL.dropLast() + #","delaySeconds":60}"#
        let calls = [
            (15_000_000, "insp.enqueue_many(ARRAY['\(QueueFixture.byURL)'::jsonb])"),
            (16_000_000, "insp.enqueue_many(ARRAY['\(scheduled)'::jsonb])"),
            (17_000_000, "insp.rerun(public_id) FROM insp.job WHERE status = 128"),
        ]
        for (id, call) in calls {
            _ = try await fixture.admin.query("SELECT setval('insp.job_id', \(id - 1))")
            _ = try await fixture.admin.query("SELECT \(call)")
            #expect(try await fixture.count("insp.job WHERE id = \(id)") == 1, "\(call)")
        }
        #expect(try await fixture.count("pg_class WHERE relname = 'job_p000004'") == 0)
        try await holder.execute("ROLLBACK")
        await holder.close()
        _ = try await fixture.admin.query("SELECT setval('insp.job_id', 17999999)")
        _ = try await fixture.enqueue(1)
        #expect(try await fixture.count("pg_class WHERE relname ~ '^(job|part|content|step|event)_p000004$'") == 5)
    }
}

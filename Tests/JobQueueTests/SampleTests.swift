import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// The queue minute by minute.
@Suite struct SampleTests {
    @Test func `A sample has what waited, ran and ended, by region and lane, once a minute`() async throws {
        let fixture = try await QueueFixture()
        func enqueue(_ more: String) async throws {
            _ = try await fixture.client.enqueue(payload: Data((QueueFixture.byURL.dropLast() + more + "}").utf8))
        }
        // Four end, one of them dead-lettered; the others wait, one of them for its time.
        for _ in 1...4 { try await enqueue(#","lane":"urgent""#) }
        var configuration = fixture.configuration()
        configuration.drains = true
        let handler = ClosureHandler { job, _ in
            if job.id % 4 == 0 { throw InspectError(.corruptImage) }
            return ClosureHandler.passed
        }
        try await JobWorker(configuration, handler: handler).run()
        try await fixture.admin.execute("DELETE FROM insp.queue_sample")
        for _ in 1...3 { try await enqueue("") }
        try await enqueue(#","region":"EU","lane":"bulk""#)
        try await enqueue(#","region":"EU","lane":"bulk","delaySeconds":3600"#)
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = now() - interval '5 minutes' WHERE lane = 1;
            INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
            SELECT 1000000, 1, 1, now() + interval '1 hour', q.id, 1, 0 FROM insp.queue q WHERE q.region = 2
            """)
        // Not across the turn of a minute, or there are two.
        try await fixture.wait(for: "extract(second FROM clock_timestamp()) < 50", within: 15)
        #expect(try await fixture.admin.query("SELECT insp.sample_queue()")[0].int(0) == 1)
        #expect(try await fixture.admin.query("SELECT insp.sample_queue()")[0].int(0) == 0)
        let rows = try await fixture.admin.query(
            """
            SELECT concat_ws(' ', s.region, s.lane, s.waiting, s.running, s.delayed, s.finished, s.failed),
                s.oldest BETWEEN '5 minutes' AND '6 minutes', s.callbacks, s.at = date_trunc('minute', s.at)
            FROM insp.v_queue_sample s ORDER BY 1
            """)
        #expect(
            try rows.map { try $0.string(0) } == ["EU bulk 1 1 1 0 0", "any normal 3 0 0 0 0", "any urgent 0 0 0 4 1"])
        #expect(try rows.map { try $0.bool(1) } == [false, true, false])
        #expect(try rows.allSatisfy { try $0.int(2) == 4 && $0.bool(3) })
    }

    @Test func `Samples of partners are those of the busiest, and are kept for a week`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.partner_sample SELECT 1, date_trunc('minute', now()) - d * interval '1 day', 0, 0, 0, 0, 0, 0, 0
            FROM generate_series(5, 9) d;
            SELECT insp.create_partner(x) FROM unnest('{idle,some,many}'::text[]) x;
            SELECT insp.enqueue('{"partner":"some","workflow":"id"}', front => 'x');
            SELECT count(insp.enqueue('{"partner":"many","workflow":"id"}', front => 'x')) FROM generate_series(1, 3)
            """)
        // A minute of the queue says whether one of them was left out.
        _ = try await fixture.admin.query("SELECT insp.sample_queue()")
        #expect(try await fixture.count("insp.queue_sample WHERE NOT partners_cut") == 1)
        #expect(try await fixture.count("insp.partner_sample s JOIN insp.queue_sample q ON q.at = s.at") == 2)
        try await fixture.admin.execute("DELETE FROM insp.partner_sample WHERE at > now() - interval '1 day'")
        #expect(
            try await fixture.admin.query("SELECT insp.sample_partners(1, at) FROM insp.queue_sample")[0].int(0) == 1)
        #expect(try await fixture.count("insp.queue_sample WHERE partners_cut") == 1)
        #expect(try await fixture.count("insp.partner_sample WHERE at < now() - interval '7 days'") == 0)
        #expect(try await fixture.count("insp.partner_sample WHERE at < now() - interval '1 day'") == 2)
        let fresh = try await fixture.admin.query(
            """
            SELECT p.name, s.waiting FROM insp.partner_sample s JOIN insp.partner p ON p.id = s.partner_id
            WHERE s.at > now() - interval '1 day'
            """)
        #expect(try fresh.map { try $0.string(0) } == ["many"] && fresh[0].int(1) == 3)
        // A partner that goes takes its samples with it.
        try await fixture.admin.execute("SELECT insp.erase_partner('many')")
        #expect(try await fixture.count("insp.partner_sample WHERE waiting = 3") == 0)
    }

    @Test func `Workers sample, and remove expired samples`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.queue_sample SELECT date_trunc('minute', now()) - d * interval '1 day',
                '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', 0, 0, 0 FROM generate_series(85, 95) d
            """)
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(
                for: "EXISTS (SELECT FROM insp.queue_sample WHERE at > now() - interval '2 minutes')")
        }
        #expect(
            try await fixture.count(
                "insp.v_maintenance WHERE duty = 'samples' AND state = 'well' AND outcome IS NOT NULL")
                == 1)
        #expect(try await fixture.count("insp.v_queue_sample WHERE at < now() - interval '2 days'") == 5)
        _ = try await fixture.admin.query("SELECT insp.set_retention(what => 'samples', keep => '1 day')")
        try await fixture.admin.execute("SELECT insp.sample_queue()")
        #expect(try await fixture.count("insp.queue_sample WHERE at < now() - interval '2 days'") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A minute that has no sample gets one within seconds`() async throws {
        let fixture = try await QueueFixture()
        let sampled = "EXISTS (SELECT FROM insp.queue_sample)"
        var other = fixture.configuration()
        other.host = "other"
        try await withWorker(fixture.configuration(), ClosureHandler()) { [other] _ in
            try await withWorker(other, ClosureHandler()) { _ in
                try await fixture.wait(for: sampled)
                try await fixture.admin.execute("DELETE FROM insp.queue_sample")
                // As if the minute turned just after the fleet's last round.
                try await fixture.wait(for: sampled, within: 20)
            }
        }
        #expect(try await fixture.count("insp.queue_sample WHERE at <> date_trunc('minute', at)") == 0)
    }

    @Test func `Columns that ANALYZE leaves out are there`() async throws {
        let fixture = try await QueueFixture()
        let body = try await fixture.admin.query(
            "SELECT prosrc FROM pg_proc WHERE oid = 'insp.sample_nothing'::regproc")[0].string(0)
        let columns = body.matches(of: /\('([a-z_0-9]{2,})', '([a-z_0-9]+)'\)/).map { "\($0.1).\($0.2)" }
        #expect(columns.count > 25)
        #expect(!columns.contains("callback.body"), "what is stored there is of an endpoint")
        let known = try await fixture.admin.query(
            "SELECT table_name || '.' || column_name FROM information_schema.columns WHERE table_schema = 'insp'"
        ).map { try $0.string(0) }
        #expect(Set(columns).subtracting(known).isEmpty)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A sample of a long queue reads a bounded part of it`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        func pages() async throws -> Int {
            try await fixture.admin.execute("DELETE FROM insp.queue_sample")
            let plan = try await fixture.admin.query(
                "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT insp.sample_queue()", timeout: .seconds(30))[0].data(0)
            let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
            let top = try #require(document?.first?["Plan"] as? [String: Any])
            return ["Shared Hit Blocks", "Shared Read Blocks"].compactMap { top[$0] as? Int }.reduce(0, +)
        }
        try await fixture.admin.execute(
            """
            INSERT INTO insp.ready (queue, job_id) SELECT r.queue, r.job_id FROM insp.ready r, generate_series(1, 600000);
            INSERT INTO insp.delayed (run_at, job_id, queue)
            SELECT now() + interval '1 hour', 1000000 + n, q.id FROM insp.queue q, generate_series(1, 300000) n
            """, timeout: .seconds(120))
        // Both tables together have some 6,000 pages; of each 512 are read, and 20,000 entries of an index.
        _ = try await pages()
        let read = try await pages()
        print("a sample of 900,000 jobs reads \(read) pages")
        #expect(read < 3_000)
        let waiting = try await fixture.admin.query("SELECT waiting FROM insp.v_queue_sample WHERE lane = 'normal'")[0]
            .int(0)
        #expect((400_000...800_000).contains(waiting), "\(waiting)")
    }
}

import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// The order of events: none is missed and none comes twice, whatever others keep open.
@Suite struct EventTests {
    /// Reads on from where it was.
    private struct Reader {
        var epoch: Int64 = 0
        var position: Int64 = 0
        /// `finished` and the job's internal number, in the order in which they came.
        var seen: [String] = []

        mutating func read(_ connection: PostgresConnection, limit: Int64 = 1000) async throws -> [String] {
            let rows = try await connection.query(
                """
                SELECT e.epoch, e.position, e.kind || ' ' || coalesce(j.id::text, 'gone')
                FROM insp.events_after($1, $2, $3) e LEFT JOIN insp.job j ON j.public_id = e.job ORDER BY 1, 2
                """, [.int(self.epoch), .int(self.position), .int(limit)])
            for row in rows {
                let place = (try row.int(0), try row.int(1))
                #expect(place > (self.epoch, self.position))
                (self.epoch, self.position) = place
            }
            let events = try rows.map { try $0.string(2) }
            self.seen += events
            return events
        }
    }

    @discardableResult
    private func number(_ connection: PostgresConnection, _ limit: Int64 = 5000) async throws -> Int64 {
        try await connection.query("SELECT insp.number_events($1::integer)", [.int(limit)])[0].int(0)
    }

    private func all(_ fixture: QueueFixture) async throws -> [String] {
        try await fixture.admin.query("SELECT kind || ' ' || job_id FROM insp.event").map { try $0.string(0) }.sorted()
    }

    private func cancel(_ job: Int64) -> String {
        "SELECT insp.cancel(public_id) FROM insp.job WHERE id = \(job)"
    }

    @Test func `A worker numbers all events, a job's in their order, and pages go on where the last one ended`()
        async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(20)
        let handler = ClosureHandler { job, _ in
            if job.attempt == 1, job.id % 3 == 0 { throw InspectError(.analyzerTimeout) }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            try await fixture.wait(
                for: "NOT EXISTS (SELECT FROM insp.event_batch WHERE position IS NULL)", within: 10)
        }
        var reader = Reader()
        try await repeatWhile("an event is left") { try await !reader.read(fixture.admin, limit: 3).isEmpty }
        let all = try await self.all(fixture)
        #expect(all.count > 20 && reader.seen.sorted() == all)
        for event in reader.seen where event.hasPrefix("retry") {
            let job = event.dropFirst("retry ".count)
            let retried = try #require(reader.seen.firstIndex(of: event))
            let finished = try #require(reader.seen.firstIndex(of: "finished \(job)"))
            #expect(retried < finished)
        }
        #expect(try await fixture.count("insp.v_maintenance WHERE duty = 'events' AND state = 'well'") == 1)
        let row = try await fixture.admin.query(
            "SELECT count(*) FILTER (WHERE partner = 'acme' AND detail ? 'decision' AND job IS NOT NULL) FROM insp.events_after()"
        )
        #expect(try row[0].int(0) == 20)
    }

    @Test func `A transaction that stays open delays its own events alone`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(6)
        let (slow, held, snapshot) = (
            try await fixture.database.connect(), try await fixture.database.connect(),
            try await fixture.database.connect()
        )
        // Neither one that has written events, nor one that has written something else, nor one that only looks.
        try await slow.execute("BEGIN; \(self.cancel(1))")
        try await held.execute("BEGIN; SELECT insp.pause('bulk')")
        try await snapshot.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM insp.event")
        var reader = Reader()
        for job in Int64(2)...4 {
            try await fixture.admin.execute(self.cancel(job))
            #expect(try await self.number(fixture.admin) == 1)
            #expect(try await reader.read(fixture.admin) == ["finished \(job)"])
        }
        try await slow.execute("COMMIT")
        try await fixture.admin.execute(self.cancel(5))
        #expect(try await self.number(fixture.admin) == 2)
        #expect(try await reader.read(fixture.admin) == ["finished 1", "finished 5"])
        // One that began before all that, and writes only now.
        try await held.execute("\(self.cancel(6)); COMMIT")
        #expect(try await self.number(fixture.admin) == 1)
        #expect(try await reader.read(fixture.admin) == ["finished 6"])
        try await snapshot.execute("COMMIT")
        #expect(try await self.number(fixture.admin) == 0)
        #expect(try await reader.read(fixture.admin).isEmpty)
        for connection in [slow, held, snapshot] { await connection.close() }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A reader sees each event once while many write, some late, and places are given in pieces`()
        async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(240)
        let writers = 6
        // A task of a group takes no lock that is on the stack.
        final class Flag: Sendable { let state = Mutex(false) }
        let isOver = Flag()
        let seen = try await withThrowingTaskGroup(of: [String].self) { group in
            for writer in 0..<writers {
                let connection = try await fixture.database.connect()
                group.addTask {
                    for job in stride(from: Int64(writer + 1), through: 240, by: writers) {
                        try await connection.execute("BEGIN; SELECT insp.record('test', 'x'); \(self.cancel(job))")
                        if job % 11 == 0 { try await Task.sleep(for: .milliseconds(Int(job % 50))) }
                        try await connection.execute(job % 13 == 0 ? "ROLLBACK" : "COMMIT")
                    }
                    await connection.close()
                    return []
                }
            }
            let reading = try await fixture.database.connect()
            group.addTask {
                var reader = Reader()
                var last = false
                while true {
                    _ = try await reader.read(reading, limit: 7)
                    if last, try await reader.read(reading).isEmpty { break }
                    last = isOver.state.withLock { $0 }
                }
                await reading.close()
                return reader.seen
            }
            for _ in 0..<2 {
                let connection = try await fixture.database.connect()
                group.addTask {
                    while !isOver.state.withLock({ $0 }) { try await self.number(connection, 5) }
                    await connection.close()
                    return []
                }
            }
            for _ in 0..<writers { _ = try await group.next() }
            try await repeatWhile("an event has no number") { try await self.number(fixture.admin) > 0 }
            isOver.state.withLock { $0 = true }
            var seen: [String] = []
            for try await events in group { seen += events }
            return seen
        }
        let all = try await self.all(fixture)
        #expect(all.count == 240 - 18)
        #expect(seen.sorted() == all)
    }

    @Test func `After a promotion that lost the newest, places go on above all that were given out`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(6)
        var reader = Reader()
        for job in Int64(1)...3 { try await fixture.admin.execute(self.cancel(job)) }
        try await self.number(fixture.admin)
        // The standby's data, including a job's event that waits for its place.
        try await fixture.admin.execute("CREATE TABLE public.cursor AS TABLE insp.event_cursor; \(self.cancel(4))")
        try await fixture.admin.execute("CREATE TABLE public.batch AS TABLE insp.event_batch")
        _ = try await reader.read(fixture.admin)
        let before = reader
        try await fixture.admin.execute(self.cancel(5))
        try await self.number(fixture.admin)
        #expect(try await reader.read(fixture.admin) == ["finished 4", "finished 5"])
        try await fixture.admin.execute(
            """
            DELETE FROM insp.event WHERE job_id = 5; DELETE FROM insp.event_batch; DELETE FROM insp.event_cursor;
            UPDATE insp.job SET status = 1, completed_at = NULL WHERE id = 5; DELETE FROM insp.step WHERE job_id = 5;
            DELETE FROM insp.callback WHERE job_id = 5;
            INSERT INTO insp.event_batch OVERRIDING SYSTEM VALUE SELECT * FROM public.batch;
            INSERT INTO insp.event_cursor SELECT * FROM public.cursor; UPDATE insp.epoch SET timeline = '00000000';
            """)
        for job in Int64(5)...6 { try await fixture.admin.execute(self.cancel(job)) }
        #expect(try await self.number(fixture.admin) == 3)
        // The lost job's new event is another one; the other's number was lost, and it comes again with the new epoch.
        #expect(try await reader.read(fixture.admin) == ["finished 4", "finished 5", "finished 6"])
        #expect(reader.epoch > before.epoch + 4_294_967_296)
        // Who had read no further than the standby misses nothing and sees nothing twice.
        var other = before
        #expect(try await other.read(fixture.admin) == ["finished 4", "finished 5", "finished 6"])
        // A place that only a lost history can have given out is refused, and not taken for one at the end.
        var lost = reader
        lost.epoch += 1
        let error = await #expect(throws: PostgresError.self) { _ = try await lost.read(fixture.admin) }
        #expect(error?.sqlState == ErrorCode.parameterInvalid.sqlState)
    }

    @Test func `Under a held snapshot, numbering reads only what is new`() async throws {
        let fixture = try await QueueFixture()
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM insp.event")
        let writer = try await fixture.database.connect()
        try await writer.execute("BEGIN; SELECT insp.pause('bulk')")
        func add(_ count: Int) async throws {
            try await fixture.admin.execute(
                """
                INSERT INTO insp.event_batch (kind, jobs, fences)
                SELECT 'finished', ARRAY[n], '{0}' FROM generate_series(1, \(count)) n
                """)
        }
        for _ in 0..<40 {
            try await add(1000)
            #expect(try await self.number(fixture.admin) == 1000)
        }
        try await add(10)
        let plan = try await fixture.admin.query(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT insp.number_events()")[0].data(0)
        let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
        let top = try #require(document?.first?["Plan"] as? [String: Any])
        let pages = ["Shared Hit Blocks", "Shared Read Blocks"].compactMap { top[$0] as? Int }.reduce(0, +)
        #expect(pages < 300, "\(pages) pages for ten rows")
        await holder.close()
        await writer.close()
    }

    @Test func `Events that retention removed do not stop a reader`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(2)
        for job in Int64(1)...2 { try await fixture.admin.execute(self.cancel(job)) }
        try await self.number(fixture.admin)
        try await fixture.admin.execute("DELETE FROM insp.event WHERE job_id = 1; DELETE FROM insp.job WHERE id = 1")
        var reader = Reader()
        #expect(try await reader.read(fixture.admin, limit: 1) == ["finished gone"])
        #expect(try await reader.read(fixture.admin, limit: 1) == ["finished 2"])
        try await fixture.admin.execute("UPDATE insp.event_batch SET at = at - interval '91 days' WHERE jobs = '{1}'")
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.event_batch") == 2, "it is not counted yet (insp.usage)")
        _ = try await fixture.admin.query("SELECT insp.count_usage()")
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.event_batch") == 1)
    }
}

import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

@Suite(.serialized) struct FaultTests {
    /// Claims by hand, as a worker that then does nothing.
    private func claim(_ fixture: QueueFixture, limit: Int) async throws -> (
        hand: Hand, rows: [(job: Int64, fence: Int64)]
    ) {
        var hand = try await Hand(fixture.admin)
        let jobs = try await hand.claim(limit, on: fixture.admin).jobs.map(\.job)
        return (hand, jobs.map { ($0.id, $0.fence) })
    }

    @Test func `No job is claimed twice by many claimers at once`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(400)
        let jobs = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    let connection = try await fixture.database.connect()
                    var hand = try await Hand(connection)
                    var jobs: [Int64] = []
                    while true {
                        let claimed = try await hand.claim(7, on: connection).jobs
                        if claimed.isEmpty { break }
                        jobs += claimed.map(\.job.id)
                    }
                    await connection.close()
                    return jobs
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        // A claimer may see the end while another's rows are locked, never a row twice.
        #expect(jobs.count == 400)
        #expect(Set(jobs).count == 400)
        #expect(try await fixture.count("(SELECT DISTINCT fence FROM insp.lease) f") == 400)
    }

    @Test func `A stale worker can store, settle and release nothing`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let zombie = try await self.claim(fixture, limit: 1)
        let (job, stale) = zombie.rows[0]
        _ = try await fixture.admin.query(
            "SELECT insp.release(ARRAY[$1::bigint], ARRAY[$2::bigint])", [.int(job), .int(stale)])
        let fresh = try await self.claim(fixture, limit: 1)
        #expect(fresh.rows[0].fence > stale)
        let arrays: [PostgresValue] = [.intArray([job]), .intArray([stale])]
        let calls: [(String, [PostgresValue])] = [
            ("insp.store_steps($1, $2, '{4}', '{\"{}\"}')", arrays),
            ("insp.settle($1, $2, '{\"{}\"}', '{\"{}\"}', $1, $2, '{8}', '{\"{}\"}')", arrays),
            ("insp.dead_letter($1, $2, '{CANCELLED}', '{x}', '{f}')", arrays),
            ("insp.retry_later($1, $2, '{1}', '{PART_UNREACHABLE}', '{f}')", arrays),
            ("insp.release($1, $2)", arrays),
        ]
        for (call, parameters) in calls {
            #expect(try await fixture.admin.query("SELECT * FROM \(call)", parameters).isEmpty, "\(call)")
        }
        #expect(try await fixture.count("insp.step") == 0)
        #expect(try await fixture.count("insp.job WHERE status = 2") == 1)
        #expect(try await fixture.count("insp.lease WHERE fence = \(fresh.rows[0].fence)") == 1)
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.parts($1, $2, 1000000)", [.int(job), .int(stale)])
        }
        #expect(error?.sqlState == ErrorCode.leaseLost.sqlState)
        // The same calls under the right fence do work, so it is the fence that was refused.
        _ = try await fixture.admin.query(
            "SELECT * FROM insp.settle($1, $2, '{\"{}\"}', '{\"{}\"}', '{}', '{}', '{}', '{}')",
            [.intArray([job]), .intArray([fresh.rows[0].fence])])
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A stage of a lost claim is not written with the result of a later one`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let (job, stale) = try await self.claim(fixture, limit: 1).rows[0]
        _ = try await fixture.admin.query(
            "SELECT insp.release(ARRAY[$1::bigint], ARRAY[$2::bigint])", [.int(job), .int(stale)])
        let fence = try await self.claim(fixture, limit: 1).rows[0].fence
        _ = try await fixture.admin.query(
            "SELECT insp.settle($1, $2, '{\"{}\"}', '{\"{}\"}', $3, $4, '{4,8}', '{\"{}\",\"{}\"}')",
            [.intArray([job]), .intArray([fence]), .intArray([job, job]), .intArray([stale, fence])])
        #expect(try await fixture.count("insp.step WHERE fence = \(stale)") == 0)
        #expect(try await fixture.count("insp.step WHERE status = 8 AND fence = \(fence)") == 1)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `The status never falls, whatever is stored later`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let (job, fence) = try await self.claim(fixture, limit: 1).rows[0]
        for status in [16, 4, 8] {
            _ = try await fixture.admin.query(
                "SELECT insp.store_steps($1, $2, $3, '{\"{}\"}')",
                [.intArray([job]), .intArray([fence]), .intArray([Int64(status)])])
            #expect(try await fixture.count("insp.job WHERE status = 16") == 1)
        }
    }

    @Test func `A worker that falls silent is found dead and its jobs are run by another`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(3)
        _ = try await self.claim(fixture, limit: 2)
        var configuration = fixture.configuration()
        configuration.deadAfter = .seconds(5)
        let log = EventLog()
        let crashes = Mutex<[Int]>([])
        let handler = ClosureHandler { job, _ in
            crashes.withLock { $0.append(job.crashes) }
            return ClosureHandler.passed
        }
        try await withWorker(configuration, handler, log: log) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            try await fixture.wait(for: "(SELECT count(*) FROM insp.worker) = 1")
        }
        #expect(crashes.withLock { $0.sorted() } == [0, 1, 1])
        #expect(try await fixture.count("insp.event WHERE kind = 'rescued'") == 2)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A job whose workers die three times is dead-lettered as WORKER_LOST`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        for _ in 0..<3 {
            _ = try await self.claim(fixture, limit: 1)
            try await fixture.admin.execute(
                "UPDATE insp.worker SET beat_microseconds = beat_microseconds - 1000000")
            let rescued = try await fixture.admin.query("SELECT requeued + dead_lettered FROM insp.rescue('1 s')")
            #expect(try rescued[0].int(0) == 1)
        }
        #expect(try await fixture.errorCode(of: id) == "WORKER_LOST")
        #expect(try await fixture.count("insp.dead WHERE crashes = 3") == 1)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `Silence that is seen for the first time kills nobody`() async throws {
        let fixture = try await QueueFixture()
        var claimed = try await self.claim(fixture, limit: 1)
        try await fixture.admin.execute("UPDATE insp.worker SET heartbeat_at = now() - interval '1 hour'")
        _ = try await fixture.admin.query("SELECT insp.rescue()")
        #expect(try await fixture.count("insp.worker") == 1)
        #expect(try await claimed.hand.beat(on: fixture.admin).bool("alive"))
    }

    @Test func `A worker that was declared dead drops its work and starts again`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let runs = Mutex(0)
        let handler = ClosureHandler { _, _ in
            if runs.withLock({ value in
                value += 1; return value
            }) == 1 {
                try await Task.sleep(for: .seconds(60))
            }
            return ClosureHandler.passed
        }
        let log = EventLog()
        try await withWorker(fixture.configuration(), handler, log: log) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            try await fixture.admin.execute("DELETE FROM insp.worker")
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(log.count { if case .declaredDead = $0 { true } else { false } } == 1)
        #expect(log.count { if case .registered = $0 { true } else { false } } == 2)
        #expect(runs.withLock { $0 } == 2)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A job of a producer that commits very late is swept up, not lost`() async throws {
        let fixture = try await QueueFixture()
        let late = try await fixture.database.connect()
        try await late.execute("BEGIN")
        let id = try await late.query("SELECT insp.enqueue_many(ARRAY[$1::jsonb])", [.text(QueueFixture.byURL)])[0]
            .string(0)
        // As if a great many jobs had been enqueued and claimed since.
        try await fixture.admin.execute("SELECT setval('insp.ready_seq', 400000)")
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(
                for: "(SELECT count(*) FROM insp.worker WHERE 0 < ALL (floor_seqs) AND floor_seqs <> '{}') = 1")
            // Before the floors: only a sweep finds it.
            #expect(try await late.query("SELECT count(*) FROM insp.ready WHERE seq < 400000")[0].int(0) == 1)
            try await late.execute("COMMIT")
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(try await fixture.result(of: id)["status"] as? Int == 128)
    }

    @Test func `Terminated connections in the middle of everything lose and repeat nothing`() async throws {
        let fixture = try await QueueFixture()
        let count = 600
        _ = try await fixture.enqueue(count)
        let random = Mutex(TestRandom("terminated connections"))
        let handler = ClosureHandler { _, context in
            try await context.complete(.acquired, output: Data("{}".utf8))
            try await Task.sleep(for: .milliseconds(random.withLock { Int.random(in: 1...20, using: &$0) }))
            try await context.complete(.document, output: Data("{}".utf8))
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration(slots: 8)
        configuration.deadAfter = .seconds(5)
        let settings = configuration
        try await withWorker(settings, handler) { _ in
            try await withWorker(settings, handler) { _ in
                let killer = Task {
                    var victims = TestRandom("victims among connections")
                    var killed = 0
                    while !Task.isCancelled {
                        let first = Int.random(in: 0..<1000, using: &victims)
                        killed += try await fixture.admin.query(
                            """
                            WITH a AS (
                                SELECT pid, row_number() OVER (ORDER BY backend_start, pid) AS place, count(*) OVER () AS most
                                FROM pg_stat_activity
                                WHERE datname = current_database() AND application_name LIKE 'inspectd %')
                            SELECT pg_terminate_backend(pid) FROM a ORDER BY (place + $1) % most LIMIT 2
                            """, [.int(Int64(first))]
                        ).count
                        try? await Task.sleep(for: .milliseconds(80))
                    }
                    return killed
                }
                let watch = try await fixture.database.connect()
                for _ in 0..<1500
                where try await watch.query("SELECT EXISTS (SELECT FROM insp.job WHERE status < 128)")[0].bool(0) {
                    try await Task.sleep(for: .milliseconds(40))
                }
                killer.cancel()
                #expect(try await killer.value(within: .seconds(120)) > 10)
                try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)", within: 60)
                try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.lease)")
            }
        }
        #expect(try await fixture.violations() == [])
        #expect(try await fixture.count("insp.step WHERE status IN (4, 8)") == 2 * count)
        #expect(try await fixture.count("insp.dead") == 0)
    }

    @Test func `A worker waits for an unavailable database and then continues`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let name = try await fixture.admin.query("SELECT current_database()")[0].string(0)
        let other = try await ScratchDatabase.empty().connect()
        try await other.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        let log = EventLog()
        try await withWorker(fixture.configuration(), ClosureHandler(), log: log) { _ in
            try await fixture.wait { log.count { if case .databaseUnavailable = $0 { true } else { false } } > 0 }
            #expect(log.count { if case .registered = $0 { true } else { false } } == 0)
            try await other.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A lane is announced at most once in 50 ms`() async throws {
        let fixture = try await QueueFixture()
        let listener = try await fixture.database.connect()
        let stream = try await listener.listen("insp_ready")
        let received = Mutex<[String]>([])
        let reading = Task { for await one in stream { received.withLock { $0.append(one.payload) } } }
        let start = ContinuousClock.now
        for _ in 0..<100 { _ = try await fixture.enqueue(1) }
        let ticks = Int((ContinuousClock.now - start) / .milliseconds(50)) + 2
        // Notifications come in the order of the commits.
        try await fixture.admin.execute("NOTIFY insp_ready, 'the last'")
        try await fixture.wait { received.withLock { $0.last } == "the last" }
        await listener.close()
        try await reading.value(within: .seconds(120))
        let count = received.withLock { $0.count } - 1
        #expect(count >= 1)
        #expect(count <= ticks)
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct SteeringTests {
    /// Waits for a worker that listens, so that what follows is heard.
    private func awaitListener(_ fixture: QueueFixture) async throws {
        try await fixture.wait(
            for: """
                EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN insp_control%' AND state = 'idle'
                    AND datname = current_database())
                """)
    }

    private func sqlState(_ fixture: QueueFixture, _ sql: String) async -> String? {
        do {
            _ = try await fixture.admin.query(sql)
            return nil
        } catch {
            return (error as? PostgresError)?.sqlState
        }
    }

    // MARK: Pause and limits

    @Test func `A paused partner waits while others go on, and goes on at once when resumed`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('other', 'https://hooks.example.com/y')")
        _ = try await fixture.enqueue(3)
        let other = QueueFixture.byURL.replacing("acme", with: "other")
        _ = try await fixture.enqueue(many: [Data(other.utf8), Data(other.utf8)])
        _ = try await fixture.admin.query("SELECT insp.pause(partner => 'acme', reason => 'asked to')")
        var configuration = fixture.configuration()
        configuration.pollInterval = .seconds(600)
        try await withWorker(configuration, ClosureHandler()) { _ in
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 2")
            try await self.awaitListener(fixture)
            #expect(try await fixture.count("insp.ready") == 3)
            #expect(
                try await fixture.count("insp.v_partner WHERE name = 'acme' AND paused AND pause_reason = 'asked to'")
                    == 1)
            _ = try await fixture.admin.query("SELECT insp.resume(partner => 'acme')")
            // Without the notification it would poll after ten minutes.
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A paused lane is left alone and goes on after it is resumed`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(3)
        _ = try await fixture.admin.query("SELECT insp.pause('normal', reason => 'test')")
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            // Twice, as the first may have been claimed with what was known before the pause.
            for round in 1...2 {
                _ = try await fixture.enqueue(
                    many: [Data((QueueFixture.byURL.dropLast() + #","lane":"bulk"}"#).utf8)])
                try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = \(round)")
            }
            #expect(try await fixture.count("insp.ready") == 3)
            _ = try await fixture.admin.query("SELECT insp.resume('normal')")
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
    }

    @Test func `Everything can be paused and resumed; running jobs finish`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let isRunning = Mutex(false)
        let mayEnd = Mutex(false)
        let handler = ClosureHandler { _, _ in
            isRunning.withLock { $0 = true }
            try await waitUntil("the test lets it end", within: .seconds(300)) { mayEnd.withLock { $0 } }
            return ClosureHandler.passed
        }
        let log = EventLog()
        /// How often the worker looked for jobs and found none.
        @Sendable func scans() -> Int {
            log.count { if case .roundTrip(written: 0, claimed: 0, _) = $0 { true } else { false } }
        }
        try await withWorker(fixture.configuration(), handler, log: log) { _ in
            try await fixture.wait { isRunning.withLock { $0 } }
            _ = try await fixture.admin.query("SELECT insp.pause(reason => 'night')")
            for lane in ["urgent", "normal", "bulk"] {
                _ = try await fixture.enqueue(
                    many: [Data((QueueFixture.byURL.dropLast() + #","lane":"\#(lane)"}"#).utf8)])
            }
            mayEnd.withLock { $0 = true }
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 1")
            let before = scans()
            try await fixture.wait { scans() >= before + 3 }
            #expect(try await fixture.count("insp.ready") == 3)
            _ = try await fixture.admin.query("SELECT insp.resume()")
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `Steering calls refuse arguments that make no sense`() async throws {
        let fixture = try await QueueFixture()
        let refused: [(String, String)] = [
            ("insp.pause('bulk', 'acme')", "IN113"), ("insp.resume('bulk', 'acme')", "IN113"),
            ("insp.pause('slow')", "IN020"), ("insp.resume('slow')", "IN020"),
            ("insp.pause(partner => 'nobody')", "IN003"), ("insp.resume(partner => 'nobody')", "IN003"),
            ("insp.limit_partner('nobody', 1)", "IN003"),
            ("insp.limit_partner('acme', 0)", "IN113"), ("insp.limit_partner('acme', NULL, 0)", "IN113"),
            ("insp.limit_partner('acme', NULL, 'NaN')", "IN113"), ("insp.limit_partner('acme', NULL, 1, 0)", "IN113"),
            ("insp.limit_partner('acme', NULL, NULL, 5)", "IN113"), ("insp.set_lane_weight('bulk', 0)", "IN113"),
            ("insp.set_lane_weight('bulk', NULL)", "IN113"), ("insp.set_lane_weight('x', 1)", "IN020"),
            ("insp.cancel_partner('nobody')", "IN003"), ("insp.rerun(gen_random_uuid())", "IN024"),
            ("insp.resolve_dead(gen_random_uuid())", "IN024"),
        ]
        for (call, state) in refused {
            #expect(await self.sqlState(fixture, "SELECT \(call)") == state, "\(call)")
        }
        #expect(try await fixture.count("insp.v_operator_events WHERE action <> 'create_partner'") == 0)
    }

    @Test func `A partner's limit is stored, holds in a worker, and is lifted`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(8)
        _ = try await fixture.admin.query("SELECT insp.limit_partner('acme', 1)")
        let most = Mutex((now: 0, most: 0))
        let handler = ClosureHandler { _, _ in
            most.withLock { count in
                count.now += 1
                count.most = max(count.most, count.now)
            }
            try await Task.sleep(for: .milliseconds(30))
            most.withLock { $0.now -= 1 }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(slots: 4), handler) { _ in
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) >= 3")
            #expect(most.withLock { $0.most } == 1)
            _ = try await fixture.admin.query("SELECT insp.limit_partner('acme', NULL, 2.5)")
            #expect(try await fixture.count("insp.partner WHERE max_running IS NULL AND rate_burst = 3") == 1)
            _ = try await fixture.admin.query("SELECT insp.limit_partner('acme')")
            #expect(try await fixture.count("insp.partner WHERE rate_per_second IS NULL AND rate_burst IS NULL") == 1)
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.violations().isEmpty)
    }

    // MARK: The record

    @Test func `What operators do is recorded with their name, and nobody can change the record`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        try await fixture.admin.execute(
            """
            SELECT insp.pause('bulk', reason => 'why'); SELECT insp.resume('bulk');
            SELECT insp.limit_partner('acme', 3); SELECT insp.set_lane_weight('urgent', 7); SELECT insp.cancel('\(id)');
            """)
        let rows = try await fixture.admin.query(
            "SELECT action, subject, who = session_user AS mine FROM insp.v_operator_events")
        #expect(
            try rows.map { try "\($0.string("action")) \($0.string("subject"))" } == [
                "cancel \(id)", "set_lane_weight lane urgent", "limit_partner partner acme", "resume lane bulk",
                "pause lane bulk", "create_partner partner acme",
            ])
        #expect(try rows.allSatisfy { try $0.bool("mine") })
        #expect(try await !fixture.client.cancel(id))
        #expect(try await fixture.count("insp.v_operator_events") == 6)
        for sql in [
            "UPDATE insp.record SET actor = 'nobody'", "DELETE FROM insp.record", "TRUNCATE insp.record",
        ] {
            #expect(await self.sqlState(fixture, sql) == "42501", "\(sql)")
        }
    }

    @Test func `Each role may steer what it should, and no more`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"id"}"#.utf8), parts: [.front: [Data("x".utf8)]])
        #expect(try await fixture.client.cancel(id))
        let operatorOnly = [
            "insp.pause('bulk')", "insp.resume('bulk')", "insp.limit_partner('acme')",
            "insp.set_lane_weight('bulk', 1)", "insp.set_partner('acme', enabled => true)",
            "insp.create_partner('next')",
            "insp.cancel_partner('acme')", "insp.resolve_dead('\(id)')", "insp.review('\(id)', 'PASSED')",
            "insp.erase('\(id)')", "insp.set_retention('acme')", "insp.drain_worker(1)",
        ]
        let session = try await fixture.database.connect()
        for role in ["insp_producer", "insp_worker", "insp_auditor"] {
            try await session.execute("SET ROLE \(role)")
            for call in operatorOnly + (role == "insp_producer" ? [] : ["insp.rerun('\(id)')"]) {
                let error = await #expect(throws: PostgresError.self, "\(role): \(call)") {
                    try await session.query("SELECT \(call)")
                }
                #expect(error?.sqlState == "42501", "\(role): \(call)")
            }
            try await session.execute("RESET ROLE")
        }
        try await session.execute("SET ROLE insp_producer")
        _ = try await session.query("SELECT insp.rerun('\(id)')")
        await #expect(throws: PostgresError.self) { try await session.query("SELECT * FROM insp.v_operator_events") }
        try await session.execute("RESET ROLE; SET ROLE insp_auditor")
        for view in ["v_operator_events", "v_review", "v_partner", "v_dead"] {
            _ = try await session.query("SELECT * FROM insp.\(view)")
        }
        try await session.execute("RESET ROLE; SET ROLE insp_operator")
        for call in operatorOnly where !call.hasPrefix("insp.review") { _ = try await session.query("SELECT \(call)") }
    }

    // MARK: At once

    @Test(.timed) func `A cancelled job's worker stops it within a second, and one to be drained stops`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(2)
        let stopped = Mutex<[String: ContinuousClock.Instant]>([:])
        let handler = ClosureHandler { job, _ in
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                stopped.withLock { $0[job.publicID] = .now }
                throw error
            }
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration()
        configuration.heartbeatInterval = .seconds(5)
        configuration.heartbeatPatience = .seconds(12)
        configuration.shutdownDeadline = .seconds(0.2)
        let worker = JobWorker(configuration, handler: handler)
        let running = Task { try await worker.run() }
        try await fixture.wait(for: "(SELECT count(*) FROM insp.lease) = 2")
        try await self.awaitListener(fixture)
        let start = ContinuousClock.now
        #expect(try await fixture.client.cancel(ids[0]))
        try await fixture.wait { stopped.withLock { !$0.isEmpty } }
        let first = try #require(stopped.withLock { $0[ids[0]] })
        #expect(first - start < .seconds(1))
        #expect(stopped.withLock { $0.count } == 1)
        let drained = ContinuousClock.now
        #expect(try await fixture.count("insp.worker WHERE insp.drain_worker(id)") == 1)
        try await running.value(within: .seconds(120))
        #expect(ContinuousClock.now - drained < .seconds(3))
        #expect(try await fixture.errorCode(of: ids[0]) == "CANCELLED")
        #expect(try await fixture.count("insp.ready WHERE attempt = 0") == 1)
    }

    @Test func `An operator drains a worker`() async throws {
        let fixture = try await QueueFixture()
        let worker = JobWorker(fixture.configuration(), handler: ClosureHandler())
        let running = Task { try await worker.run() }
        try await fixture.wait(for: "EXISTS (SELECT FROM insp.worker)")
        _ = try await fixture.admin.query("SELECT insp.drain_worker(id) FROM insp.worker")
        try await running.value(within: .seconds(120))
        #expect(try await fixture.count("insp.worker") == 0)
    }

    @Test func `Repeated requests make a worker release nothing`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(300)
        var configuration = fixture.configuration(slots: 8)
        configuration.heartbeatInterval = .seconds(5)
        configuration.heartbeatPatience = .seconds(12)
        let log = EventLog()
        let handler = ClosureHandler { _, _ in
            try await Task.sleep(for: .milliseconds(5))
            return ClosureHandler.passed
        }
        try await withWorker(configuration, handler, log: log) { _ in
            try await waitUntil("all jobs are finished", every: .zero) {
                _ = try await fixture.admin.query("SELECT insp.tell(id) FROM insp.worker")
                return try await fixture.count("insp.job WHERE status < 128") == 0
            }
        }
        #expect(log.count { if case .released = $0 { true } else { false } } == 0)
        #expect(log.count { if case .leaseLost = $0 { true } else { false } } == 0)
        #expect(try await fixture.count("insp.event WHERE kind = 'released'") == 0)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A cancellation and a result at the same time leave one outcome`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(120)
        let random = Mutex(TestRandom("cancellations that meet results"))
        let handler = ClosureHandler { _, _ in
            try await Task.sleep(for: .milliseconds(random.withLock { Int.random(in: 0...20, using: &$0) }))
            return ClosureHandler.passed
        }
        let cancelled = try await withWorker(fixture.configuration(slots: 6), handler) { _ in
            var cancelled = Set<String>()
            for id in ids where try await fixture.client.cancel(id) { cancelled.insert(id) }
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            return cancelled
        }
        let violations = try await fixture.violations()
        #expect(violations.isEmpty, "\(violations)")
        for id in ids {
            #expect(try await fixture.errorCode(of: id) == (cancelled.contains(id) ? "CANCELLED" : nil))
        }
        #expect(try await fixture.count("insp.record WHERE action = 'cancel'") == cancelled.count)
    }

    @Test func `A partner's waiting jobs are cancelled in batches, others' and running ones are not`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('other', 'https://hooks.example.com/y')")
        let running = try await fixture.enqueue(1)[0]
        let mayEnd = Mutex(false)
        let handler = ClosureHandler { _, _ in
            try await waitUntil("the test lets it end", within: .seconds(300)) { mayEnd.withLock { $0 } }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(slots: 1), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            _ = try await fixture.enqueue(5)
            let later = QueueFixture.byURL.dropLast() + #","delaySeconds":3600}"#
            let other = QueueFixture.byURL.replacing("acme", with: "other")
            _ = try await fixture.enqueue(many: [Data(later.utf8), Data(other.utf8)])
            var counts: [Int] = []
            repeat {
                counts.append(
                    Int(
                        try await fixture.admin.query(
                            "SELECT cancelled FROM insp.cancel_partner('acme', 'left us', 4)")[0].int(0)))
            } while counts.last != 0 && counts.count < 10
            #expect(counts == [4, 2, 0])
            mayEnd.withLock { $0 = true }
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.errorCode(of: running) == nil)
        #expect(try await fixture.count("insp.step WHERE summary #>> '{error,code}' = 'CANCELLED'") == 6)
        #expect(
            try await fixture.count("insp.v_operator_events WHERE action = 'cancel_partner' AND detail ? 'reason'") == 2
        )
        #expect(try await fixture.violations().isEmpty)
    }
}

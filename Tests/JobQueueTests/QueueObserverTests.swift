import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// What is measured is true while little waits, close while much does, and cheap always.
@Suite struct QueueObserverTests {
    /// Rows in the queues of a second and a third partner, behind one real job each.
    private func backlog(_ fixture: QueueFixture, _ counts: [(partner: String, jobs: Int)]) async throws {
        for (partner, jobs) in counts {
            _ = try await fixture.admin.query(
                "SELECT insp.create_partner($1, 'https://hooks.example.com/x')", [.text(partner)])
            let request = QueueFixture.byURL.replacing("acme", with: partner)
            _ = try await fixture.client.enqueue(payload: Data(request.utf8))
            _ = try await fixture.admin.query(
                """
                INSERT INTO insp.ready (queue, job_id)
                SELECT q.id, r.job_id FROM insp.partner p JOIN insp.queue q ON q.partner_id = p.id
                    JOIN insp.ready r ON r.queue = q.id, generate_series(2, $2)
                WHERE p.name = $1
                """, [.text(partner), .int(Int64(jobs))], timeout: .seconds(120))
        }
    }

    @Test func `An empty queue has no depth and no ages`() async throws {
        let fixture = try await QueueFixture()
        let observer = QueueObserver(databaseURL: fixture.database.url)
        let depth = try await observer.depth()
        #expect(Set(depth.lanes.keys) == ["urgent", "normal", "bulk"])
        #expect(
            depth.lanes.values.allSatisfy {
                $0.waiting + $0.oldestSeconds + $0.running + $0.delayed == 0 && !$0.isPaused
            })
        let snapshot = try await observer.snapshot(rateOver: .seconds(10))
        #expect(snapshot.lanes.map(\.lane) == ["urgent", "normal", "bulk"])
        #expect(snapshot.lanes.allSatisfy { $0.oldestSeconds == nil })
        #expect(snapshot.finished.count == 0 && snapshot.finished.waitMedianSeconds == nil)
        #expect(snapshot.partners.isEmpty && snapshot.running.isEmpty && snapshot.workers.isEmpty)
        await observer.close()
    }

    @Test(.timed, .timeLimit(.minutes(10)))
    func `Much is estimated, little is counted, and neither takes long`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(3)
        try await self.backlog(fixture, [("big", 400_000), ("middle", 100_000)])
        let observer = QueueObserver(databaseURL: fixture.database.url)
        _ = try await observer.depth()
        let backend = Int32(
            try await fixture.admin.query(
                """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND application_name = 'inspectd observer'
                """)[0].int(0))
        let start = try ProcessorTime.of(backend)
        let full = try await observer.depth()
        let took = try ProcessorTime.of(backend) - start
        // Measured at 30 ms on a quiet machine; a count of all takes ten times that, and grows.
        #expect(took < .seconds(1), "\(took)")
        let waiting = try #require(full.lanes["normal"]?.waiting)
        #expect((375_000...625_000).contains(waiting), "\(waiting)")
        #expect(try #require(full.lanes["normal"]?.oldestSeconds) > 0)
        let snapshot = try await observer.snapshot(rateOver: .seconds(10))
        let partners = Dictionary(uniqueKeysWithValues: snapshot.partners.map { ($0.name, $0) })
        #expect(snapshot.partners.first?.name == "big")
        #expect((280_000...520_000).contains(try #require(partners["big"]).waiting))
        #expect((60_000...140_000).contains(try #require(partners["middle"]).waiting))
        #expect(partners["big"]?.isEstimate == true && partners["acme"] != nil)

        // The table stays as large, but hardly anything is in it: a sample would find nothing.
        _ = try await fixture.admin.query(
            "DELETE FROM insp.ready r USING insp.queue q JOIN insp.partner p ON p.id = q.partner_id WHERE q.id = r.queue AND p.name <> 'acme'",
            timeout: .seconds(120))
        let drained = try await observer.depth()
        #expect(drained.lanes["normal"]?.waiting == 3)
        #expect(try await observer.snapshot(rateOver: .seconds(10)).lanes[1].isEstimate == false)
        await observer.close()
    }

    @Test(.timeLimit(.minutes(5)))
    func `Recently finished jobs are found with their times`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(60)
        let handler = ClosureHandler { _, _ in
            try await Task.sleep(for: .milliseconds(100))
            return ClosureHandler.passed
        }
        let worker = JobWorker(fixture.configuration(slots: 20), handler: handler)
        let run = Task { try await worker.run() }
        let observer = QueueObserver(databaseURL: fixture.database.url)
        try await fixture.wait(for: "(SELECT count(*) > 0 FROM insp.lease)")
        let during = try await observer.snapshot(rateOver: .seconds(10))
        #expect(during.workers.map(\.state) == ["live"] && during.workers.first?.slots == 20)
        #expect(during.running.allSatisfy { $0.status >= 2 && $0.workflow == "id" && $0.partner == "acme" })
        try await fixture.wait(for: "(SELECT count(*) = 60 FROM insp.job WHERE status = 128)")
        #expect(worker.vitals.isRegistered && !worker.vitals.isSuspended && worker.vitals.slots == 20)
        #expect(try #require(worker.vitals.pumpAge) < .seconds(30))
        let after = try await observer.snapshot(rateOver: .seconds(60))
        #expect(after.finished.count == 60)
        #expect(after.finished.perSecond > 0 && after.finished.perSecond <= 60)
        let median = try #require(after.finished.runMedianSeconds)
        #expect(median > 0.09 && median < 30, "\(median)")
        #expect(try #require(after.finished.run95Seconds) >= median)
        // Of each three jobs two wait until a job before them has left its slot.
        #expect(try #require(after.finished.waitMedianSeconds) > 0.09)
        #expect(after.accepted >= 60)
        #expect(after.callbacks.pending == 60 && !after.callbacks.isMore && after.callbacks.retrying == 0)
        worker.stop()
        try await run.value(within: .seconds(120))
        await observer.close()
    }

    @Test(.timed)
    func `A new session sees every view of a small database at once, whatever it compiles`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(20)
        let views = try await fixture.admin.query(
            "SELECT relname::text FROM pg_class WHERE relnamespace = 'insp'::regnamespace AND relkind = 'v' ORDER BY 1")
        #expect(views.count > 20)
        for view in try views.map({ try $0.string(0) }) {
            var took: [Duration] = []
            // The better of two sessions: others work on the machine as well.
            for _ in 0..<2 {
                let session = try await fixture.database.connect()
                let start = try await ProcessorTime.of(session.backend)
                _ = try await session.query("SELECT count(v::text) FROM insp.\(view) v")
                took.append(try await ProcessorTime.of(session.backend) - start)
                await session.close()
            }
            #expect(try #require(took.min()) < .seconds(1), "\(view)")
        }
    }

    @Test func `Operators may read, and other logins may not`() async throws {
        let fixture = try await QueueFixture()
        for role in ["insp_operator", "insp_auditor", "insp_worker"] {
            _ = try await fixture.admin.query("SELECT set_config('role', $1, false)", [.text(role)])
            _ = try await fixture.admin.query("SELECT insp.snapshot()")
            _ = try await fixture.admin.query("SELECT count(*) FROM insp.depth()")
            _ = try await fixture.admin.query("RESET ROLE")
        }
        _ = try await fixture.admin.query("SET ROLE insp_producer")
        await #expect(throws: PostgresError.self) { try await fixture.admin.query("SELECT insp.snapshot()") }
        _ = try await fixture.admin.query("RESET ROLE")
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// A fleet is upgraded worker by worker, with jobs waiting, running and delayed.
@Suite(.serialized) struct UpgradeTests {
    /// A database with the schema of 0.1.0.
    private func previous() async throws -> (database: ScratchDatabase, admin: PostgresConnection) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("migrations-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for name in try FileManager.default.contentsOfDirectory(atPath: ScratchDatabase.migrations)
        where name < "0012" {
            try FileManager.default.copyItem(
                atPath: "\(ScratchDatabase.migrations)/\(name)", toPath: folder.appendingPathComponent(name).path)
        }
        let database = try await ScratchDatabase.empty()
        let admin = try await database.connect()
        try await Migrator(directory: folder.path).run(on: admin)
        for partner in ["acme", "bank", "club"] {
            _ = try await admin.query("SELECT insp.create_partner($1, 'https://hooks.example.com/x')", [.text(partner)])
        }
        return (database, admin)
    }

    private func payload(_ partner: String, _ more: String = "") -> String {
        #"{"partner":"\#(partner)","workflow":"id"\#(more),"parts":{"FRONT":{"url":"https://img.example.com/a","sha256":"\#(QueueFixture.digest)"}}}"#
    }

    @Test(.timeLimit(.minutes(5)))
    func `Jobs of the previous version and both versions' workers on one queue reach 128 once each`() async throws {
        let (database, admin) = try await self.previous()
        var old = try await PreviousWorker(try await database.connect(), name: "old")
        var ids: [String] = []
        for partner in ["acme", "bank", "club"] {
            for lane in ["urgent", "normal", "bulk"] {
                let text = self.payload(partner, #","lane":"\#(lane)""#)
                ids += try await PreviousWorker.enqueue(Array(repeating: text, count: 10), on: admin)
            }
            ids += try await PreviousWorker.enqueue([self.payload(partner, #","delaySeconds":2"#)], on: admin)
            ids += try await PreviousWorker.enqueue(
                [self.payload(partner, #","delaySeconds":3,"region":"EU""#)], on: admin)
        }
        // In every state at the time of the migration: leased, with a stage stored, failed and delayed, handed back,
        // finished, and held by a worker that will not come back.
        var held = try await old.claim(limit: 12)
        #expect(held.count == 12)
        #expect(try await old.store(held[0], stage: 4))
        #expect(try await old.settle(held.removeLast(), stages: [4, 8]))
        #expect(try await old.retry(held.removeLast(), after: 0.5))
        #expect(try await old.handBack(held.removeLast()))
        var lost = try await PreviousWorker(try await database.connect(), name: "lost")
        let orphans = try await lost.claim(limit: 5)
        #expect(orphans.count == 5)
        try await admin.execute("UPDATE insp.worker SET heartbeat_at = now() - interval '1 hour' WHERE host = 'lost'")
        let before = try await admin.query("SELECT status FROM insp.job ORDER BY id").map { try $0.int(0) }

        try await Migrator(directory: ScratchDatabase.migrations).run(on: try await database.connect())

        // Nothing has moved, and the old worker's leases hold as if nothing had been.
        #expect(try await admin.query("SELECT status FROM insp.job ORDER BY id").map { try $0.int(0) } == before)
        let leases = try #require(try await old.heartbeat(busy: held.count))
        #expect(leases == Dictionary(uniqueKeysWithValues: held.map { ($0.job, $0.fence) }))
        #expect(try await old.store(held[0], stage: 8))
        #expect(try await old.settle(held.removeFirst()))
        #expect(try await old.giveUp(held.removeFirst()))
        #expect(try await old.retry(held.removeFirst(), after: 0.1))
        #expect(try await old.handBack(held.removeFirst()))
        ids += try await PreviousWorker.enqueue([self.payload("bank")], on: admin)

        // From here on both work, and both look after the others.
        var configuration = JobWorkerConfiguration(
            databaseURL: database.url, host: "new", version: "next", slots: 2)
        configuration.pollInterval = 0.2
        configuration.maintenanceInterval = 0.1
        configuration.heartbeatInterval = 0.3
        configuration.region = "EU"
        let handler = ClosureHandler { _, context in
            try await context.complete(.acquired, output: Data("{}".utf8))
            // Slow enough to leave some to the other.
            try await Task.sleep(for: .milliseconds(30))
            return ClosureHandler.passed
        }
        let (previous, rest) = (old, held)
        let oldFinished = try await withWorker(configuration, handler) { _ in
            var worker = previous
            var mine = rest
            var finished = 0
            let deadline = ContinuousClock.now + .seconds(90)
            while ContinuousClock.now < deadline {
                #expect(try await worker.heartbeat(busy: mine.count) != nil)
                mine += try await worker.claim(limit: 2)
                for claimed in mine {
                    // What 0.1.0 does with a job that was cancelled or has expired while it waited.
                    if claimed.status == nil {
                        _ = try await worker.handBack(claimed)
                    } else {
                        finished += try await worker.settle(claimed, stages: [4]) ? 1 : 0
                    }
                }
                mine = []
                try await worker.maintain()
                if try await !admin.query("SELECT EXISTS (SELECT FROM insp.job WHERE status < 128)")[0].bool(0) {
                    break
                }
                try await Task.sleep(for: .milliseconds(20))
            }
            try await worker.stop()
            return finished
        }
        #expect(oldFinished > 5)
        let counts = try await admin.query(
            """
            SELECT count(*) FILTER (WHERE status = 128),
                (SELECT count(*) FROM insp.event WHERE kind = 'finished'),
                (SELECT count(DISTINCT job_id) FROM insp.callback), (SELECT count(*) FROM insp.callback),
                (SELECT count(*) FROM insp.ready) + (SELECT count(*) FROM insp.delayed) + (SELECT count(*) FROM insp.lease),
                (SELECT count(*) FROM insp.event WHERE kind = 'rescued'),
                (SELECT count(*) FROM insp.step WHERE status = 128 AND fence > 0 AND output ? 'decision')
            FROM insp.job
            """)[0]
        let total = Int64(ids.count)
        for column in 0..<4 { #expect(try counts.int(column) == total, "column \(column)") }
        #expect(try counts.int(4) == 0)
        #expect(try counts.int(5) == 5)
        #expect(try counts.int(6) == total)
        // Each version did some of the work; whatever the old one stored is there.
        #expect(Int64(oldFinished) < total - 20)
    }

    @Test func `The previous version's worker takes only what a pause and a limit leave it`() async throws {
        let database = try await ScratchDatabase.migrated()
        let admin = try await database.connect()
        for partner in ["acme", "bank"] {
            _ = try await admin.query("SELECT insp.create_partner($1, 'https://hooks.example.com/x')", [.text(partner)])
            _ = try await PreviousWorker.enqueue(Array(repeating: self.payload(partner), count: 5), on: admin)
        }
        try await admin.execute(
            "UPDATE insp.partner SET paused = true WHERE name = 'acme'; UPDATE insp.partner SET max_running = 2 WHERE name = 'bank'"
        )
        // As if a great many had passed: what is not looked at must not be left behind.
        try await admin.execute("SELECT setval('insp.ready_seq', 100000)")
        var worker = try await PreviousWorker(try await database.connect())
        let first = try await worker.claim(limit: 10)
        #expect(first.count == 2)
        #expect(try await worker.claim(limit: 10).isEmpty)
        for claimed in first { #expect(try await worker.settle(claimed)) }
        try await admin.execute("UPDATE insp.partner SET paused = false, max_running = NULL")
        #expect(try await worker.heartbeat(busy: 0) != nil)
        #expect(try await worker.claim(limit: 10).count == 8)
    }

    @Test func `Callbacks of the previous version keep how far they are`() async throws {
        let (database, admin) = try await self.previous()
        try await admin.execute(
            """
            INSERT INTO insp.callback (job_id, endpoint_id, url, body, state, attempts, claim_id, lease_until, delivered_at,
                last_http_status, last_error)
            SELECT n, 1, 'https://hooks.example.com/x', '{}', (ARRAY['pending', 'pending', 'held', 'dead', 'delivered'])[n], n,
                CASE n WHEN 2 THEN 7 END, CASE n WHEN 2 THEN now() + interval '1 hour' END,
                CASE n WHEN 5 THEN now() - interval '1 day' END, CASE n WHEN 5 THEN 204 END, CASE n WHEN 4 THEN 'no longer wanted' END
            FROM generate_series(1, 5) n;
            INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, http_status, error)
            SELECT c.id, 1, now() - interval '1 day', 40, CASE c.job_id WHEN 5 THEN 204 END, CASE WHEN c.job_id < 5 THEN 'timed out' END
            FROM insp.callback c WHERE c.job_id IN (1, 5);
            """)
        try await Migrator(directory: ScratchDatabase.migrations).run(on: try await database.connect())
        let rows = try await admin.query(
            """
            SELECT concat_ws(' ', state, attempts, CASE WHEN is_claimed THEN 'claimed' END,
                CASE WHEN delivered_at BETWEEN now() - interval '25 hours' AND now() - interval '23 hours' THEN 'a day ago' END,
                last_http_status, last_error)
            FROM insp.v_callback ORDER BY job_id
            """
        ).map { try $0.string(0) }
        #expect(
            rows == [
                "pending 1 timed out", "pending 2 claimed", "held 3", "dead 4 no longer wanted",
                "delivered 1 a day ago 204",
            ])
        #expect(try await admin.query("SELECT insp.pending_callbacks()").count == 1)
        // What is claimed and not settled lapses; the rest is claimed as ever.
        let claimed = try await admin.query(
            "SELECT id FROM insp.callback_take(10, '1 minute', 10) WHERE id IS NOT NULL")
        #expect(claimed.count == 1)
    }
}

import Foundation
import TestSupport
import Testing

/// Workers killed at any moment lose nothing and do nothing twice.
@Suite(.serialized) struct ChaosTests {
    /// Fifty jobs a second for twenty seconds, and every second one of four workers dies.
    @Test(.timeLimit(.minutes(8)))
    func `A thousand jobs survive twenty killed workers`() async throws {
        let service = try await Service.start()
        // Analysis that takes time but no processor, and starts at once: this tests everything around it.
        let arguments = [
            "--slots", "2", "--log-level", "warning", "--analyzer", try FaultyAnalyzer.script("--delay 60"),
        ]
        var workers = try (0..<4).map { _ in try service.worker(arguments) }
        defer { workers.forEach { $0.send(SIGKILL) } }
        let image = PNG.noise(width: 96, height: 96)

        var random = TestRandom("chaos")
        for second in 0..<20 {
            let tick = ContinuousClock.now + .seconds(1)
            _ = try await service.connection.query(
                """
                SELECT insp.enqueue(jsonb_build_object('partner', 'bank', 'workflow', 'liveness',
                    'customerInternalReference', $2::text || '-' || n), face => $1)
                FROM generate_series(1, 50) n
                """, [.bytes(image), .text("\(second)")])
            let victim = Int.random(in: 0..<4, using: &random)
            workers[victim].send(SIGKILL)
            #expect(try await workers[victim].wait() == -SIGKILL)
            workers[victim] = try service.worker(arguments)
            try await Task.sleep(until: tick)
        }
        #expect(
            try await service.waitForNone("SELECT count(*) FROM insp.job WHERE status <> 128", within: .seconds(240)))
        #expect(
            try await service.waitForNone(
                "SELECT count(*) FROM insp.v_callback WHERE state <> 'delivered'", within: .seconds(240)))

        let counts = try await service.connection.query(
            """
            SELECT (SELECT count(*) FROM insp.job) AS jobs,
                (SELECT count(*) FROM insp.step WHERE status = 128) AS results,
                (SELECT count(*) FROM insp.event WHERE kind = 'finished') AS finished,
                (SELECT count(DISTINCT job_id) FROM insp.event WHERE kind = 'finished') AS finished_jobs,
                (SELECT count(*) FROM insp.callback) AS callbacks,
                (SELECT count(*) FROM insp.lease) + (SELECT count(*) FROM insp.ready)
                    + (SELECT count(*) FROM insp.delayed) AS waiting,
                (SELECT count(*) FROM insp.event WHERE kind = 'rescued') AS rescued,
                -- Whoever was not dead-lettered has every stage of the workflow that an image without a face needs.
                (SELECT count(*) FROM insp.job j WHERE NOT EXISTS (SELECT FROM insp.dead d WHERE d.job_id = j.id)
                    AND (SELECT array_agg(s.status ORDER BY s.status) FROM insp.step s WHERE s.job_id = j.id)
                        <> ARRAY[4, 16, 128]::smallint[]) AS incomplete
            """)[0]
        #expect(try counts.int("jobs") == 1000)
        #expect(try counts.int("results") == 1000)
        #expect(try counts.int("finished") == 1000)
        #expect(try counts.int("finished_jobs") == 1000)
        #expect(try counts.int("callbacks") == 1000)
        #expect(try counts.int("waiting") == 0)
        #expect(try counts.int("incomplete") == 0)
        // Otherwise nothing was interrupted, and the test shows nothing.
        #expect(try counts.int("rescued") > 0)

        let received = try service.receiver.received()
        let bodies = Dictionary(grouping: received, by: \.webhookId)
        #expect(bodies.count == 1000)
        #expect(!received.contains { !$0.verified })
        #expect(bodies.values.allSatisfy { Set($0.map(\.body)).count == 1 })

        for worker in workers { worker.send(SIGTERM) }
        for worker in workers { #expect(try await worker.wait() == 0) }
    }

    @Test(.timed, .timeLimit(.minutes(5)))
    func `A killed worker's job is claimed again within twenty seconds`() async throws {
        let service = try await Service.start()
        let hung = try service.worker(
            ["--slots", "1", "--analyzer", FaultyAnalyzer.script("--fault face=sleep"), "--stage-deadline", "120"])
        defer { hung.send(SIGKILL) }
        let id = try await service.enqueue(["workflow": "liveness"], face: PNG.noise(width: 64, height: 64))
        #expect(
            try await service.waitForNone(
                "SELECT 1 - count(*) FROM insp.job WHERE status >= 4", within: .seconds(60)))
        let other = try service.worker(["--slots", "1"])
        defer { other.send(SIGKILL) }
        #expect(
            try await service.waitForNone(
                "SELECT 2 - count(*) FROM insp.worker WHERE heartbeat_at > now() - interval '10 s'",
                within: .seconds(60)))
        hung.send(SIGKILL)
        let death = ContinuousClock.now
        #expect(
            try await service.waitForNone(
                "SELECT count(*) FROM insp.job WHERE status < 128", within: .seconds(60)))
        #expect(death.duration(to: .now) < .seconds(20))
        #expect(try await service.result(of: id).at("error") == nil)
    }

    @Test(.timeLimit(.minutes(5)))
    func `On SIGTERM a worker releases jobs that take too long, with the attempt refunded`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--analyzer", FaultyAnalyzer.script("--fault face=sleep"), "--stage-deadline", "600",
            "--stop-after", "1",
        ])
        defer { worker.send(SIGKILL) }
        _ = try await service.enqueue(["workflow": "liveness"], face: PNG.noise(width: 64, height: 64))
        #expect(
            try await service.waitForNone(
                "SELECT 1 - count(*) FROM insp.job WHERE status >= 4", within: .seconds(60)))
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        let row = try await service.connection.query("SELECT attempt, crashes FROM insp.ready")[0]
        #expect(try row.int("attempt") == 0)
        #expect(try row.int("crashes") == 0)
        #expect(try await service.connection.query("SELECT count(*) FROM insp.lease")[0].int(0) == 0)
    }
}

import Foundation
import TestSupport
import Testing

/// Operators' actions reach a worker's processes.
@Suite(.serialized) struct ProcessSteeringTests {
    @Test(.timed, .timeLimit(.minutes(5)))
    func `A cancelled job's analyzer is gone within a second, and the worker continues`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--analyzer", FaultyAnalyzer.script("--fault face=spin --every 2"), "--stage-deadline",
            "120",
        ])
        defer { worker.send(SIGKILL) }
        let image = PNG.noise(width: 64, height: 64)
        let first = try await service.enqueue(["workflow": "liveness"], face: image)
        #expect(try await service.result(of: first)["status"] as? Int == 128)
        let id = try await service.enqueue(["workflow": "liveness"], face: image)
        #expect(
            try await service.waitForNone(
                "SELECT 1 - count(*) FROM insp.job WHERE status = 4", within: .seconds(60)))
        // The job's own, and the one that waits for the next.
        var analyzers: [Int32] = []
        try await waitUntil("both analyzers run") {
            analyzers = ProcessMemory.children(of: worker.pid).flatMap { ProcessMemory.children(of: $0) }
            return analyzers.count == 2
        }
        let start = ContinuousClock.now
        _ = try await service.connection.query("SELECT insp.cancel($1)", [.text(id)])
        while analyzers.allSatisfy(Program.isAlive), start.duration(to: .now) < .seconds(60) {
            try await Task.sleep(for: .milliseconds(10))
        }
        #expect(start.duration(to: .now) < .seconds(1))
        #expect(try await service.result(of: id).at("error.code") as? String == "CANCELLED")
        let next = try await service.enqueue(["workflow": "liveness"], face: image)
        #expect(try await service.result(of: next).at("error") == nil)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timeLimit(.minutes(4)))
    func `Jobs to be reviewed survive killed workers, each waiting once`() async throws {
        let service = try await Service.start()
        let arguments = [
            "--slots", "2", "--log-level", "warning", "--analyzer",
            try FaultyAnalyzer.script("--delay 40", facts: FaultyAnalyzer.noFace),
        ]
        var workers = try (0..<2).map { _ in try service.worker(arguments) }
        defer { workers.forEach { $0.send(SIGKILL) } }
        _ = try await service.connection.query("SELECT insp.set_partner('bank', review => 'rejected')")
        var random = TestRandom("reviews and killed workers")
        for _ in 0..<6 {
            _ = try await service.connection.query(
                """
                SELECT insp.enqueue('{"partner": "bank", "workflow": "liveness"}', face => $1) FROM generate_series(1, 25)
                """, [.bytes(PNG.noise(width: 96, height: 96))])
            try await Task.sleep(for: .milliseconds(Int.random(in: 300...900, using: &random)))
            let victim = Int.random(in: 0..<2, using: &random)
            workers[victim].send(SIGKILL)
            #expect(try await workers[victim].wait() == -SIGKILL)
            workers[victim] = try service.worker(arguments)
        }
        #expect(
            try await service.waitForNone("SELECT count(*) FROM insp.job WHERE status < 64", within: .seconds(180)))
        let waiting = try await service.connection.query(
            """
            SELECT (SELECT count(*) FROM insp.v_review) AS waiting,
                (SELECT count(*) FROM insp.dead) AS dead,
                (SELECT count(*) FROM insp.event WHERE kind = 'review_needed') AS events,
                (SELECT count(*) FROM insp.event WHERE kind = 'rescued') AS rescued,
                (SELECT count(*) FROM insp.callback) AS callbacks,
                (SELECT count(*) FROM insp.lease) AS leases
            """)[0]
        // A job whose worker died three times has been dead-lettered, as always.
        let dead = try waiting.int("dead")
        #expect(try waiting.int("waiting") == 150 - dead)
        #expect(try waiting.int("events") == 150 - dead)
        #expect(try waiting.int("callbacks") == dead)
        #expect(try waiting.int("leases") == 0)
        #expect(try waiting.int("rescued") > 0)
        for worker in workers { worker.send(SIGKILL) }
        _ = try await service.connection.query("SELECT insp.review(id, 'PASSED') FROM insp.v_review")
        let done = try await service.connection.query(
            """
            SELECT (SELECT count(*) FROM insp.job WHERE status = 128) AS jobs,
                (SELECT count(*) FROM insp.event WHERE kind = 'finished') AS finished,
                (SELECT count(*) FROM insp.callback) AS callbacks, (SELECT count(*) FROM insp.review_wait) AS waiting
            """)[0]
        #expect(
            try [done.int("jobs"), done.int("finished"), done.int("callbacks"), done.int("waiting")] == [
                150, 150, 150, 0,
            ])
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// What a job looks like that no worker finished, and what a held row costs the call that ends it.
@Suite struct CancellationTests {
    private static let expire = """
        UPDATE insp.job SET expires_at = now() - interval '1 s' WHERE status < 128;
        INSERT INTO insp.expiry (expires_at, job_id) SELECT expires_at, id FROM insp.job WHERE status < 128;
        SELECT insp.expire()
        """

    @Test(arguments: ["SELECT insp.cancel(public_id) FROM insp.job", expire])
    func `A job that ends in its first attempt started when it was claimed, and one never claimed did not start`(
        ending: String
    ) async throws {
        let fixture = try await QueueFixture()
        let claimed = try await fixture.enqueue(1)[0]
        var hand = try await Hand(fixture.admin)
        #expect(try await hand.claim(1, on: fixture.admin).jobs.count == 1)
        let waiting = try await fixture.enqueue(1)[0]
        let before = try await fixture.result(of: claimed)["startedAt"] as? String
        try await fixture.admin.execute("CREATE TABLE claims AS SELECT job_id, claimed_at FROM insp.lease")
        try await fixture.admin.execute(ending)
        #expect(try await fixture.count("insp.lease") == 0)
        #expect(
            try await fixture.count(
                "insp.job j JOIN claims c ON c.job_id = j.id WHERE j.status = 128 AND j.started_at = c.claimed_at")
                == 1)
        #expect(before != nil)
        #expect(try await fixture.result(of: claimed)["startedAt"] as? String == before)
        let result = try await fixture.result(of: waiting)
        #expect(result["startedAt"] == nil && result["completedAt"] != nil)
        let observer = QueueObserver(databaseURL: fixture.database.url)
        #expect(try await observer.snapshot(rateOver: .seconds(60)).finished.count == 1)
        await observer.close()
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A cancellation waits five seconds for a held row, and says that it is held`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.job FOR UPDATE")
        // If it waited for ever, this would time out.
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.cancel($1)", [.text(id)], timeout: .seconds(50))
        }
        #expect(error?.sqlState == ErrorCode.rowLocked.sqlState)
        try await holder.execute("ROLLBACK; BEGIN; LOCK TABLE insp.ready")
        let batch = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.cancel_partner('acme')", timeout: .seconds(50))
        }
        #expect(batch?.sqlState == ErrorCode.rowLocked.sqlState)
        try await holder.execute("ROLLBACK")
        await holder.close()
        #expect(try await fixture.client.cancel(id))
    }

    @Test func `Held jobs of a partner are kept and counted, and all others are cancelled in batches`() async throws {
        let fixture = try await QueueFixture()
        let later = QueueFixture.byURL.dropLast() + #","delaySeconds":3600}"#
        _ = try await fixture.enqueue(many: Array(repeating: Data(later.utf8), count: 2))
        let ids = try await fixture.enqueue(3)
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.job WHERE id IN (1, 3) FOR UPDATE")
        func cancel(_ batch: Int) async throws -> [Int64] {
            let row = try await fixture.admin.query(
                "SELECT * FROM insp.cancel_partner('acme', batch => \(batch))", timeout: .seconds(50))[0]
            return [try row.int("cancelled"), try row.int("kept")]
        }
        // The first of the queue is held, and the second is not.
        #expect(try await cancel(1) == [1, 0])
        #expect(try await cancel(10) == [2, 2])
        #expect(try await cancel(10) == [0, 2])
        #expect(try await fixture.count("insp.job WHERE status < 128 AND id IN (1, 3)") == 2)
        try await holder.execute("ROLLBACK")
        await holder.close()
        // They kept their places.
        #expect(
            try await fixture.count("insp.delayed WHERE job_id = 1 AND run_at > now() + interval '50 minutes'") == 1)
        #expect(try await fixture.count("insp.ready WHERE job_id = 3") == 1)
        #expect(try await cancel(10) == [2, 0])
        #expect(try await fixture.errorCode(of: ids[0]) == "CANCELLED")
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A worker that drains does not wait for a cancelled job's time`() async throws {
        let fixture = try await QueueFixture()
        let later = QueueFixture.byURL.dropLast() + #","delaySeconds":3600}"#
        let id = try await fixture.client.enqueue(payload: Data(later.utf8))
        _ = try await fixture.enqueue(3)
        #expect(try await fixture.admin.query("SELECT insp.cancel($1)", [.text(id)])[0].bool(0))
        #expect(try await fixture.count("insp.delayed") == 0)
        var configuration = fixture.configuration()
        configuration.drains = true
        let worker = JobWorker(configuration, handler: ClosureHandler())
        let running = Task { try await worker.run() }
        let limit = Task {
            try await Task.sleep(for: .seconds(300))
            worker.stop()
        }
        try await running.value(within: .seconds(120))
        limit.cancel()
        await #expect(throws: CancellationError.self, "the worker ended by itself") {
            try await limit.value(within: .seconds(120))
        }
        #expect(try await fixture.violations().isEmpty)
    }
}

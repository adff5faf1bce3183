import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// An operator's or producer's transaction that was left open holds a row: that costs the row's job, and no other.
@Suite(.serialized) struct HeldRowTests {
    /// Back-ends of the database that wait for a lock.
    private static let blocked =
        "pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    /// Ends when it is told to.
    private final class Gate: Sendable {
        private let isOpen = Mutex(false)
        func open() { self.isOpen.withLock { $0 = true } }
        func wait() async throws {
            try await waitUntil("the gate opens", within: .seconds(300)) { self.isOpen.withLock { $0 } }
        }
    }

    @Test(arguments: ["COMMIT", "ROLLBACK"])
    func `A locked row affects only its own job, and no backend is left behind`(end: String) async throws {
        _ = try await self.holdRow(end)
    }

    @Test(.timed) func `Beside a held row others take no longer, and what waits for it does so for a moment`()
        async throws
    {
        let (waits, samples) = try await self.holdRow("ROLLBACK")
        #expect(waits[waits.count * 9 / 10] < .seconds(1.5))
        #expect(waits.last! < .seconds(5))
        #expect(samples.max()! <= 1)
    }

    /// Holds a job's row while others come; how long those took, in order, and how many back-ends waited for a lock.
    private func holdRow(_ end: String) async throws -> (waits: [Duration], samples: [Int]) {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let gate = Gate()
        let handler = ClosureHandler { job, context in
            if job.publicID == id {
                try await gate.wait()
                try await context.complete(.acquired, output: Data("{}".utf8))
            }
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration()
        // Shorter than the row is held, so that a statement that waits is cancelled, more than once.
        configuration.connection.timeout = .milliseconds(500)
        let seen = try await withWorker(configuration, handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            let operate = try await fixture.database.connect()
            try await operate.execute("BEGIN")
            #expect(try await operate.query("SELECT insp.cancel($1)", [.text(id)])[0].bool(0))
            gate.open()
            var waits: [Duration] = []
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .seconds(2.5) || waits.count < 3 {
                let sent = ContinuousClock.now
                let other = try await fixture.enqueue(1)[0]
                try await fixture.wait(for: "(SELECT status = 128 FROM insp.job WHERE public_id = '\(other)')")
                waits.append(ContinuousClock.now - sent)
            }
            waits.sort()
            // What waits at all does so for a moment; nothing adds up.
            var samples: [Int] = []
            for _ in 0..<20 {
                samples.append(try await fixture.count(Self.blocked))
                // Between samples: a wait lasts 50 ms.
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(samples.min()! == 0)
            // The heartbeats keep the lease meanwhile, and the result is not lost.
            #expect(try await fixture.count("insp.lease") == 1)
            try await operate.execute(end)
            await operate.close()
            try await fixture.wait(
                for:
                    "(SELECT status = 128 FROM insp.job WHERE public_id = '\(id)') AND NOT EXISTS (SELECT FROM insp.lease)"
            )
            return (waits: waits, samples: samples)
        }
        #expect(try await fixture.errorCode(of: id) == (end == "COMMIT" ? "CANCELLED" : nil))
        #expect(try await fixture.count("insp.step WHERE status = 4") == (end == "COMMIT" ? 0 : 1))
        #expect(
            try await fixture.count(
                """
                insp.event e JOIN insp.job j ON j.id = e.job_id
                WHERE j.public_id = '\(id)' AND e.kind IN ('rescued', 'retry', 'released')
                """) == 0)
        #expect(try await fixture.violations().isEmpty)
        return seen
    }

    @Test func `Stages and the result of a held job are written in their order once it is free`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(12)
        let gate = Gate()
        let handler = ClosureHandler { _, context in
            try await gate.wait()
            // So that stages and result do not come in one batch of writes.
            try await context.complete(.acquired, output: Data("{}".utf8))
            try await Task.sleep(for: .milliseconds(100))
            try await context.complete(.document, output: Data("{}".utf8))
            try await Task.sleep(for: .milliseconds(100))
            return ClosureHandler.passed
        }
        let log = EventLog()
        try await withWorker(fixture.configuration(slots: 12), handler, log: log) { _ in
            try await fixture.wait(for: "(SELECT count(*) FROM insp.lease) = 12")
            let operate = try await fixture.database.connect()
            try await operate.execute("BEGIN")
            _ = try await operate.query(
                "SELECT FROM insp.job WHERE public_id = ANY ($1::uuid[]) FOR UPDATE", [.textArray(Array(ids[..<5]))])
            gate.open()
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 7")
            #expect(try await fixture.count("insp.lease") == 5)
            try await fixture.wait { log.count { if case .rowHeld = $0 { true } else { false } } == 5 }
            // Each of them finds leases that nobody works on.
            try await fixture.waitForHeartbeats(3)
            try await operate.execute("COMMIT")
            await operate.close()
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.count("insp.step WHERE status IN (4, 8)") == 24)
        #expect(try await fixture.count("insp.event WHERE kind <> 'finished'") == 0)
        #expect(log.count { if case .leaseLost = $0 { true } else { false } } == 0)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test(arguments: ["ends", "hangs"])
    func `The remains of a lost claim take nothing of the next one with them`(first: String) async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let attempts = Mutex(0)
        let (begin, end) = (Gate(), Gate())
        let handler = ClosureHandler { _, context in
            let isFirst = attempts.withLock { attempts in
                attempts += 1
                return attempts == 1
            }
            try await begin.wait()
            // What is not JSON is refused, and ends the job: of the claim that it was written for.
            let output = !isFirst && first == "hangs" ? "{" : "{}"
            try await context.complete(.acquired, output: Data(output.utf8))
            if !isFirst || first == "hangs" { try await end.wait() }
            return ClosureHandler.passed
        }
        let log = EventLog()
        try await withWorker(fixture.configuration(), handler, log: log) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            let holder = try await fixture.database.connect()
            try await holder.execute("BEGIN; SELECT FROM insp.job FOR UPDATE")
            begin.open()
            try await fixture.wait { log.count { if case .rowHeld = $0 { true } else { false } } > 0 }
            // As a rescue does; one would pass over the job that is held.
            try await fixture.admin.execute(
                """
                WITH lost AS (DELETE FROM insp.lease RETURNING *)
                INSERT INTO insp.ready (job_id, queue, attempt, crashes) SELECT job_id, queue, attempt, 1 FROM lost
                """)
            try await fixture.wait { attempts.withLock { $0 } >= 2 }
            // Until its stage, too, waits for the row; the rest holds in either order.
            try await fixture.waitForHeartbeats(2)
            try await holder.execute("ROLLBACK")
            await holder.close()
            if first == "ends" {
                try await fixture.wait(
                    for: "EXISTS (SELECT FROM insp.step s JOIN insp.lease l USING (job_id, fence) WHERE s.status = 4)")
                end.open()
            }
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(attempts.withLock { $0 } == 2)
        #expect(try await fixture.errorCode(of: id) == (first == "ends" ? nil : "INTERNAL_ERROR"))
        #expect(try await fixture.count("insp.event WHERE kind <> 'finished'") == 0)
        #expect(log.count { if case .finished = $0 { true } else { false } } == (first == "ends" ? 1 : 0))
        #expect(try await fixture.violations().isEmpty)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A worker that stops leaves a held job to the others`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let gate = Gate()
        let handler = ClosureHandler { _, _ in
            try await gate.wait()
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration()
        // Ten seconds less than the worker tries to write what it has.
        configuration.shutdownDeadline = .seconds(-8)
        configuration.deadAfter = .seconds(5)
        let operate = try await fixture.database.connect()
        let log = EventLog()
        try await withWorker(configuration, handler, log: log) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            try await operate.execute("BEGIN; SELECT FROM insp.job FOR UPDATE")
            gate.open()
            try await fixture.wait { log.count { if case .rowHeld = $0 { true } else { false } } > 0 }
        }
        #expect(try await fixture.count("insp.lease") == 1)
        try await operate.execute("COMMIT")
        await operate.close()
        try await withWorker(configuration, ClosureHandler()) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A face that is held costs the enrolment alone`() async throws {
        let fixture = try await QueueFixture()
        let other = try await fixture.enqueue(1)[0]
        let enrolment = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"enrollment","faceId":"f1"}"#.utf8),
            parts: [.face: [Data("face".utf8)]])
        let gate = Gate()
        let handler = ClosureHandler { job, context in
            if job.publicID == enrolment {
                try await context.hand(
                    over: FaceEmbedding(
                        engine: "e", modelSHA256: QueueFixture.digest, hex: String(repeating: "ab", count: 512)),
                    generation: 0)
            }
            try await gate.wait()
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.face_pending)")
            let operate = try await fixture.database.connect()
            try await operate.execute("BEGIN; SELECT FROM insp.face_pending FOR UPDATE")
            gate.open()
            try await fixture.wait(for: "(SELECT status = 128 FROM insp.job WHERE public_id = '\(other)')")
            // One that came later is settled, and the held one still is not.
            let later = try await fixture.enqueue(1)[0]
            try await fixture.wait(for: "(SELECT status = 128 FROM insp.job WHERE public_id = '\(later)')")
            #expect(try await fixture.count("insp.job WHERE status = 128") == 2)
            try await operate.execute("COMMIT")
            await operate.close()
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.count("insp.face_template") == 1)
        #expect(try await fixture.violations().isEmpty)
    }

    // MARK: Nothing is written for a job that is over

    @Test(arguments: ["settle", "store_steps", "session_end"])
    func `Nothing is left of a job that was cancelled and erased while its stages were written`(call: String)
        async throws
    {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let (job, fence) = try await self.claim(fixture, limit: 1)[0]
        let (holder, writer) = (try await fixture.database.connect(), try await fixture.database.connect())
        // Only to hold the window open.
        for function in [
            "settle(bigint[], bigint[], text[], bytea[], bigint[], bigint[], smallint[], bytea[])",
            "store_steps(bigint[], bigint[], smallint[], bytea[])",
            "session_end(bigint, bigint, text, integer, bytea, integer)",
        ] { try await holder.execute("ALTER FUNCTION insp.\(function) SET lock_timeout = 0") }
        _ = try await writer.query("SELECT insp.session_begin($1, $2)", [.int(job), .int(fence)])
        try await holder.execute("BEGIN; SELECT FROM insp.job FOR UPDATE")
        let secret = #"{"documentNumber":"P1234567","name":"ROE JANE"}"#
        let writing = Task {
            let arrays: [PostgresValue] = [
                .bigints([job]), .bigints([fence]), .intArray([8]), .byteas([Data(secret.utf8)]),
            ]
            switch call {
            case "settle":
                return try await writer.query(
                    "SELECT * FROM insp.settle($1, $2, $5, '{}', $1, $2, $3, $4)",
                    arrays + [.texts([#"{"decision":{"type":"PASSED"}}"#])])
            case "store_steps": return try await writer.query("SELECT * FROM insp.store_steps($1, $2, $3, $4)", arrays)
            default:
                _ = try await writer.query(
                    "SELECT insp.session_end($1, $2, 'answered', 200, $3)",
                    [.int(job), .int(fence), .bytes(Data(secret.utf8))])
                return []
            }
        }
        try await fixture.wait(for: "EXISTS (SELECT FROM \(Self.blocked))")
        #expect(try await holder.query("SELECT insp.cancel($1)", [.text(id)])[0].bool(0))
        #expect(try await holder.query("SELECT insp.erase($1)", [.text(id)])[0].bool(0))
        try await holder.execute("COMMIT")
        #expect(try await writing.value(within: .seconds(120)).isEmpty)
        #expect(try await fixture.count("insp.step WHERE status < 128") == 0)
        #expect(try await fixture.count("insp.step s WHERE insp.step_document(s)::text LIKE '%ROE%'") == 0)
        #expect(try await fixture.violations().filter { $0 != "a lease is left: 1" } == [])
        await holder.close()
        await writer.close()
    }

    // MARK: Deadlines

    @Test func `A locked job past its deadline keeps no other from expiring`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(3)
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET expires_at = now() - interval '1 s' WHERE status < 128;
            INSERT INTO insp.expiry (expires_at, job_id) SELECT expires_at, id FROM insp.job ORDER BY id LIMIT 2;
            """)
        let operate = try await fixture.database.connect()
        try await operate.execute("BEGIN")
        _ = try await operate.query("SELECT insp.cancel($1)", [.text(ids[0])])
        // A call that waits for the open transaction fails by this time-out.
        #expect(try await fixture.admin.query("SELECT insp.expire()", timeout: .seconds(60))[0].int(0) == 2)
        try await operate.execute("ROLLBACK")
        #expect(try await fixture.admin.query("SELECT insp.expire()")[0].int(0) == 1)
        for id in ids { #expect(try await fixture.errorCode(of: id) == "EXPIRED") }
        #expect(try await fixture.count("insp.ready") == 0)
        #expect(try await fixture.count("insp.expiry") == 0)
        #expect(try await fixture.violations().isEmpty)
        await operate.close()
    }

    @Test func `What waits and is not due is neither locked nor passed over by claims`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(40)
        let maintenance = try await fixture.database.connect()
        try await maintenance.execute("BEGIN; SELECT insp.expire()")
        #expect(try await self.claim(fixture, limit: 40).count == 40)
        try await maintenance.execute("COMMIT")
        await maintenance.close()
    }

    @Test func `A locked job keeps no other from being rescued`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(3)
        #expect(try await self.claim(fixture, limit: 3).count == 3)
        try await fixture.admin.execute("UPDATE insp.lease SET deadline = now() - interval '1 s'")
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.job WHERE id = (SELECT min(id) FROM insp.job) FOR UPDATE")
        let rescue = "SELECT requeued FROM insp.rescue(p_thorough => true)"
        #expect(try await fixture.admin.query(rescue, timeout: .seconds(60))[0].int(0) == 2)
        #expect(try await fixture.count("insp.lease") == 1)
        try await holder.execute("ROLLBACK")
        #expect(try await fixture.admin.query(rescue)[0].int(0) == 1)
        await holder.close()
    }

    // MARK: The end of a worker

    @Test(.timed) func `An operator's transaction that drains a worker does not hold up its heartbeats`() async throws {
        let fixture = try await QueueFixture()
        let log = EventLog()
        var configuration = fixture.configuration()
        configuration.heartbeatPatience = .seconds(1)
        try await withWorker(configuration, ClosureHandler(), log: log) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.worker)")
            let operate = try await fixture.database.connect()
            try await operate.execute("BEGIN; SELECT insp.drain_worker(id) FROM insp.worker")
            // Twice as long as the worker would bear without a heartbeat.
            let before = try await fixture.admin.query("SELECT max(heartbeat_at)::text FROM insp.worker")[0].string(0)
            try await fixture.wait(
                for: "(SELECT max(heartbeat_at) > '\(before)'::timestamptz + interval '2 s' FROM insp.worker)")
            #expect(log.count { if case .suspended = $0 { true } else { false } } == 0)
            #expect(log.count { if case .stopping = $0 { true } else { false } } == 0)
            try await operate.execute("COMMIT")
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.worker)")
        }
    }

    /// Claims by hand, as a worker that then does nothing.
    private func claim(_ fixture: QueueFixture, limit: Int) async throws -> [(job: Int64, fence: Int64)] {
        var hand = try await Hand(fixture.admin)
        return try await hand.claim(limit, on: fixture.admin).jobs.map { ($0.job.id, $0.job.fence) }
    }
}

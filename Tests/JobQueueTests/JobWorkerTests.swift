import Foundation
import InspectCore
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct JobWorkerTests {
    @Test func `Jobs run through their stages to 128, each exactly once`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(200)
        let runs = Mutex<[String: Int]>([:])
        let handler = ClosureHandler { job, context in
            runs.withLock { $0[job.publicID, default: 0] += 1 }
            #expect(try await context.parts().map(\.kind) == [.front])
            try await context.complete(.acquired, output: Data(#"{"parts":1}"#.utf8))
            try await context.complete(.document, output: Data("{}".utf8))
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration(slots: 16)
        configuration.drains = true
        try await JobWorker(configuration, handler: handler).run()
        #expect(try await fixture.violations().isEmpty)
        #expect(runs.withLock { $0 } == Dictionary(uniqueKeysWithValues: ids.map { ($0, 1) }))
        #expect(try await fixture.count("insp.step WHERE status = 4") == 200)
        #expect(try await fixture.count("insp.step WHERE status = 8") == 200)
        #expect(try await fixture.count("insp.worker") == 0)
        let result = try await fixture.result(of: ids[0])
        #expect(result["status"] as? Int == 128)
        #expect((result["decision"] as? [String: Any])?["type"] as? String == "PASSED")
    }

    @Test func `A stage that an earlier attempt stored is given to the next one`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let seen = Mutex<[[JobStatus: Data]]>([])
        let handler = ClosureHandler { job, context in
            seen.withLock { $0.append(job.steps) }
            guard job.steps.isEmpty else { return ClosureHandler.passed }
            try await context.complete(.acquired, output: Data(#"{"n":1}"#.utf8))
            throw InspectError(.partUnreachable)
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        let steps = seen.withLock { $0 }
        #expect(steps.count == 2)
        #expect(steps.last?[.acquired].flatMap { try? JSONDecoder().decode([String: Int].self, from: $0) } == ["n": 1])
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `An attempt that fails for lack of a key or the object store does not count`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let codes = ErrorCode.allCases.filter(\.isUncounted)
        let attempts = Mutex<[Int]>([])
        var configuration = fixture.configuration()
        configuration.retryPolicy.maxAttempts = 1
        configuration.retryPolicy.base = .milliseconds(10)
        configuration.retryPolicy.keyDelay = .milliseconds(10)
        configuration.retryPolicy.outageDelay = .milliseconds(10)
        let handler = ClosureHandler { job, _ in
            let tried = attempts.withLock { attempts in
                attempts.append(job.attempt)
                return attempts.count
            }
            if tried <= codes.count { throw InspectError(codes[tried - 1]) }
            return ClosureHandler.passed
        }
        try await withWorker(configuration, handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(attempts.withLock { $0 } == Array(repeating: 1, count: codes.count + 1) && codes.count == 5)
        #expect((try await fixture.result(of: id)["decision"] as? [String: Any])?["type"] as? String == "PASSED")
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A retryable error is tried again with back-off until the attempts are exhausted`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let attempts = Mutex<[Int]>([])
        var configuration = fixture.configuration()
        configuration.retryPolicy.maxAttempts = 4
        configuration.retryPolicy.base = .milliseconds(10)
        let handler = ClosureHandler { job, _ in
            attempts.withLock { $0.append(job.attempt) }
            throw InspectError(.partUnreachable, "HTTP 503")
        }
        try await withWorker(configuration, handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(attempts.withLock { $0 } == [1, 2, 3, 4])
        let error = try await fixture.result(of: id)["error"] as? [String: Any]
        #expect(error?["code"] as? String == "ATTEMPTS_EXHAUSTED")
        #expect((error?["message"] as? String)?.contains("PART_UNREACHABLE") == true)
        #expect(try await fixture.count("insp.dead WHERE code = 'ATTEMPTS_EXHAUSTED' AND attempts = 4") == 1)
        #expect(try await fixture.count("insp.event WHERE kind = 'retry'") == 3)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A permanent error finishes the job at once as NOT_EXECUTED`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        try await withWorker(fixture.configuration(), ClosureHandler { _, _ in throw InspectError(.corruptImage) }) {
            _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        let result = try await fixture.result(of: id)
        #expect(try await fixture.errorCode(of: id) == "CORRUPT_IMAGE")
        #expect((result["decision"] as? [String: Any])?["type"] as? String == "NOT_EXECUTED")
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `Three crashes end a job, whatever attempts it has left`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let attempts = Mutex(0)
        let handler = ClosureHandler { _, _ in
            attempts.withLock { $0 += 1 }
            throw InspectError(.analyzerCrashed)
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(attempts.withLock { $0 } == 3)
        #expect(try await fixture.errorCode(of: id) == "ANALYZER_CRASHED")
        #expect(try await fixture.count("insp.dead WHERE crashes = 3") == 1)
    }

    @Test(arguments: [
        #"{"decision":{"type":"PASSED"},"text":"a\u0000b"}"#, #"{"text":"\\u0000"}"#, "{\"text\":\"\u{0}\"}",
    ])
    func `A result with a NUL is stored without it`(_ output: String) async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        try await withWorker(fixture.configuration(), ClosureHandler { _, _ in Data(output.utf8) }) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(try await fixture.errorCode(of: id) == nil)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test(arguments: [
        Data("{".utf8), Data(), Data([0xFF, 0xFE]), Data(#"{"a":"\ud800"}"#.utf8), Data(#"{"a":1e999999}"#.utf8),
    ])
    func `A result that is not JSON ends its own job only`(_ output: Data) async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(20)
        let bad = ids[7]
        let handler = ClosureHandler { job, _ in job.publicID == bad ? output : ClosureHandler.passed }
        try await withWorker(fixture.configuration(slots: 20), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.errorCode(of: bad) == "INTERNAL_ERROR")
        #expect(try await fixture.count("insp.dead") == 1)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A stage's result that is not JSON ends its job`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let handler = ClosureHandler { _, context in
            try await context.complete(.acquired, output: Data("[".utf8))
            try await Task.sleep(for: .seconds(60))
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(try await fixture.errorCode(of: id) == "INTERNAL_ERROR")
    }

    @Test func `A job past its deadline is stopped and counts as a crash`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        var configuration = fixture.configuration()
        configuration.jobDeadline = .seconds(3)
        let attempts = Mutex(0)
        let handler = ClosureHandler { _, _ in
            if attempts.withLock({ value in
                value += 1; return value
            }) == 1 {
                try await Task.sleep(for: .seconds(60))
            }
            return ClosureHandler.passed
        }
        try await withWorker(configuration, handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(attempts.withLock { $0 } == 2)
        let detail = try await fixture.admin.query("SELECT detail->>'code' FROM insp.event WHERE kind = 'retry'")
        #expect(try detail[0].string(0) == "ANALYZER_TIMEOUT")
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A stopping worker finishes what it can and releases the rest with the attempt refunded`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(6)
        var configuration = fixture.configuration(slots: 4)
        configuration.shutdownDeadline = .seconds(6)
        let first = Mutex(0)
        let log = EventLog()
        let handler = ClosureHandler { _, _ in
            let number = first.withLock { value in
                value += 1; return value
            }
            guard number <= 2 else {
                try await Task.sleep(for: .seconds(600))
                return ClosureHandler.passed
            }
            try await waitUntil("the worker stops", within: .seconds(300)) {
                log.count { if case .stopping = $0 { true } else { false } } > 0
            }
            return ClosureHandler.passed
        }
        try await withWorker(configuration, handler, log: log) { _ in
            try await fixture.wait(for: "(SELECT count(*) FROM insp.lease) = 4")
        }
        #expect(try await fixture.count("insp.job WHERE status = 128") == 2)
        #expect(try await fixture.count("insp.lease") == 0)
        #expect(try await fixture.count("insp.ready WHERE attempt = 0 AND crashes = 0") == 4)
        #expect(try await fixture.count("insp.event WHERE kind = 'released'") == 2)
        #expect(try await fixture.count("insp.worker") == 0)
    }

    @Test func `A worker whose task is cancelled is heard until all its writes are done`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let isOpen = Mutex(false)
        let handler = ClosureHandler { _, _ in
            try await waitUntil("the test lets it end", within: .seconds(300)) { isOpen.withLock { $0 } }
            return ClosureHandler.passed
        }
        let worker = JobWorker(fixture.configuration(), handler: handler)
        let running = Task { try await worker.run() }
        try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
        running.cancel()
        try await fixture.wait(until: { worker.vitals.isStopping })
        let before = try await fixture.admin.query("SELECT beat_microseconds FROM insp.worker")[0].int(0)
        try await fixture.wait(for: "(SELECT beat_microseconds FROM insp.worker) > \(before)")
        isOpen.withLock { $0 = true }
        try await running.value(within: .seconds(120))
        #expect(try await fixture.count("insp.job WHERE status = 128") == 1)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test(arguments: [
        ("", "UPDATE insp.job SET personal = '\\xff', own_callback = true"),
        (
            #","review":"always""#,
            "INSERT INTO insp.review_wait (job_id, partner_id) SELECT id, partner_id FROM insp.job"
        ),
        (
            // As bytes that make no value: PostgreSQL has the same SQLSTATE, XX000, for them as for a broken function.
            #","callbackUrl":"https://hooks.example.com/own""#,
            """
            CREATE FUNCTION damaged() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE internal_error; END';
            CREATE TRIGGER damaged BEFORE INSERT ON insp.callback FOR EACH ROW WHEN (NEW.url LIKE '%own') EXECUTE FUNCTION damaged()
            """
        ),
    ])
    func `A job whose row cannot be processed is dead-lettered, not released for ever, and reported as what it is`(
        more: String, damage: String
    ) async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(many: [Data((QueueFixture.byURL.dropLast() + more + "}").utf8)])
        let isOpen = Mutex(false)
        let handler = ClosureHandler { _, _ in
            try await waitUntil("the test lets it end", within: .seconds(300)) { isOpen.withLock { $0 } }
            return ClosureHandler.passed
        }
        let log = EventLog()
        try await withWorker(fixture.configuration(), handler, log: log) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            try await fixture.admin.execute(damage)
            isOpen.withLock { $0 = true }
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.dead WHERE code = 'INTERNAL_ERROR')")
        }
        #expect(try await fixture.count("insp.job WHERE status = 128") == 1)
        #expect(try await fixture.count("insp.event WHERE kind = 'released'") == 0)
        let dead = log.count {
            if case .deadLettered(_, let error) = $0 { error.code == .internalError } else { false }
        }
        #expect(dead == 1)
        let others = log.count {
            switch $0 {
            case .finished, .heldForReview, .leaseLost: true
            default: false
            }
        }
        #expect(others == 0)
    }

    @Test func `A cancelled job that runs is stopped, and its worker can write nothing more`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let wasCancelled = Mutex(false)
        let handler = ClosureHandler { _, _ in
            do {
                try await Task.sleep(for: .seconds(60))
            } catch {
                wasCancelled.withLock { $0 = true }
            }
            return ClosureHandler.passed
        }
        let log = EventLog()
        try await withWorker(fixture.configuration(), handler, log: log) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            #expect(try await fixture.client.cancel(id))
            #expect(try await !fixture.client.cancel(id))
            try await fixture.wait { wasCancelled.withLock { $0 } }
        }
        #expect(wasCancelled.withLock { $0 })
        #expect(try await fixture.errorCode(of: id) == "CANCELLED")
        #expect(log.count { if case .leaseLost = $0 { true } else { false } } == 1)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A job that was cancelled or has expired while it waited is not run`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(2)
        #expect(try await fixture.client.cancel(ids[0]))
        try await fixture.admin.execute("UPDATE insp.job SET expires_at = now() - interval '1 s' WHERE status < 128")
        let runs = Mutex(0)
        let handler = ClosureHandler { _, _ in
            runs.withLock { $0 += 1 }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.ready) AND NOT EXISTS (SELECT FROM insp.lease)")
        }
        #expect(runs.withLock { $0 } == 0)
        #expect(try await fixture.errorCode(of: ids[0]) == "CANCELLED")
        #expect(try await fixture.errorCode(of: ids[1]) == "EXPIRED")
        #expect(try await fixture.count("insp.dead") == 0)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A worker of a region claims its region's jobs and those without one, no others`() async throws {
        let fixture = try await QueueFixture()
        let payload = QueueFixture.byURL
        let here = try await fixture.enqueue(
            many: ["EU", "US"].map { Data((payload.dropLast() + #","region":"\#($0)"}"#).utf8) })
        _ = try await fixture.enqueue(1)
        var configuration = fixture.configuration()
        configuration.region = "EU"
        configuration.drains = true
        try await JobWorker(configuration, handler: ClosureHandler()).run()
        #expect(try await fixture.count("insp.job WHERE status = 128") == 2)
        #expect(try await fixture.result(of: here[1])["status"] as? Int == 1)
        configuration.region = "MARS"
        let worker = JobWorker(configuration, handler: ClosureHandler())
        let error = await #expect(throws: InspectError.self) { try await worker.run() }
        #expect(error?.code == .regionInvalid)
    }

    @Test(.timed) func `A waiting worker hears of a new job at once`() async throws {
        let fixture = try await QueueFixture()
        var configuration = fixture.configuration()
        configuration.pollInterval = .seconds(600)
        let started = Mutex<ContinuousClock.Instant?>(nil)
        let handler = ClosureHandler { _, _ in
            started.withLock { $0 = .now }
            return ClosureHandler.passed
        }
        try await withWorker(configuration, handler) { _ in
            try await fixture.wait(
                for: """
                    EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND state = 'idle'
                        AND datname = current_database())
                    """)
            let before = ContinuousClock.now
            _ = try await fixture.enqueue(1)
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
            let wait = try #require(started.withLock { $0 }) - before
            #expect(wait < .seconds(1))
        }
    }
}

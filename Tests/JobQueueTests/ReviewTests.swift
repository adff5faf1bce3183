import Foundation
import InspectCore
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct ReviewTests {
    private static func output(_ decision: DecisionType) -> Data {
        Data(
            #"{"decision":{"type":"\#(decision.rawValue)","details":{"label":"X"},"risk":{"score":1}},"mark":7}"#.utf8)
    }

    private static func payload(_ review: ReviewPolicy?) -> Data {
        guard let review else { return Data(QueueFixture.byURL.utf8) }
        return Data((QueueFixture.byURL.dropLast() + #","review":"\#(review.rawValue)"}"#).utf8)
    }

    private func run(_ fixture: QueueFixture, _ decision: DecisionType, log: EventLog = EventLog()) async throws {
        var configuration = fixture.configuration(slots: 8)
        configuration.drains = true
        let handler = ClosureHandler { _, context in
            try await context.complete(.acquired, output: Data("{}".utf8))
            return Self.output(decision)
        }
        try await JobWorker(configuration, handler: handler) { log.record($0) }.run()
    }

    private func review(_ fixture: QueueFixture, _ arguments: String) async throws {
        _ = try await fixture.admin.query("SELECT insp.review(\(arguments))")
    }

    private func refusal(_ fixture: QueueFixture, _ arguments: String) async -> ErrorCode? {
        do {
            try await self.review(fixture, arguments)
            return nil
        } catch {
            return (error as? PostgresError)?.sqlState.flatMap(ErrorCode.init(sqlState:))
        }
    }

    @Test func `Exactly the decisions that a policy names wait at 64`() async throws {
        let fixture = try await QueueFixture()
        for decision in DecisionType.allCases {
            let policies: [ReviewPolicy?] = [nil] + ReviewPolicy.allCases
            let ids = try await fixture.enqueue(many: policies.map(Self.payload))
            try await self.run(fixture, decision)
            for (id, policy) in zip(ids, policies) {
                let status = try await fixture.result(of: id)["status"] as? Int
                let waits = (policy ?? .never).holds(decision)
                #expect(status == (waits ? 64 : 128), "\(String(describing: policy)) \(decision)")
                #expect(try await fixture.count("insp.v_review WHERE id = '\(id)'") == (waits ? 1 : 0))
            }
        }
        #expect(
            ReviewPolicy.allCases.map { policy in DecisionType.allCases.filter(policy.holds).count } == [0, 1, 2, 3])
        #expect(try await fixture.count("insp.job WHERE status = 64") == 6)
        #expect(try await fixture.count("insp.event WHERE kind = 'review_needed'") == 6)
        #expect(try await fixture.count("insp.lease") == 0)
        // The partner gets nothing before somebody has reviewed it.
        #expect(try await fixture.count("insp.callback") == 14)
        #expect(try await fixture.count("insp.step WHERE status = 4") == 20)
    }

    @Test func `A review finishes the job with its decision; the note stays inside`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute("SELECT insp.set_partner('acme', review => 'warning')")
        let log = EventLog()
        let id = try await fixture.enqueue(many: [Self.payload(nil)])[0]
        try await self.run(fixture, .rejected, log: log)
        #expect(
            log.count { if case .heldForReview(let job, _) = $0 { job.id == id && job.attempt == 1 } else { false } }
                == 1)
        let waiting = try await fixture.result(of: id)
        #expect(waiting["status"] as? Int == 64)
        #expect(waiting["decision"] == nil)
        #expect(waiting["completedAt"] == nil)
        #expect(try await fixture.count("insp.v_review WHERE decision = 'REJECTED' AND partner = 'acme'") == 1)

        try await self.review(fixture, "'\(id)', 'PASSED', note => 'the stamp is genuine'")
        let result = try await fixture.result(of: id)
        #expect(result["status"] as? Int == 128)
        #expect(result["mark"] as? Int == 7)
        let decision = try #require(result["decision"] as? [String: Any])
        #expect(decision["type"] as? String == "PASSED")
        #expect((decision["details"] as? [String: String])?["label"] == "OK")
        #expect((decision["risk"] as? [String: Int])?["score"] == 0)
        let review = try #require(result["review"] as? [String: Any])
        #expect(review["decision"] as? String == "PASSED")
        #expect(Set(review.keys) == ["at", "decision", "label"])
        let events = try await fixture.admin.query(
            "SELECT who, detail -> 'previous' FROM insp.v_operator_events WHERE action = 'review'")
        #expect(try events.map { try $0.string(0) } == ["inspectd"])
        #expect(try events[0].string(1) == #"{"label": "X", "decision": "REJECTED"}"#)
        #expect(try await fixture.violations().isEmpty)
        #expect(try await fixture.count("insp.review_wait") == 0)
        #expect(try await fixture.count("insp.callback WHERE decision = 'PASSED'") == 1)
        for place in ["insp.callback c WHERE c::text", "insp.step s WHERE insp.step_document(s)::text"] {
            #expect(try await fixture.count("\(place) LIKE '%genuine%'") == 0)
        }
        #expect(
            try await fixture.count(
                "insp.v_operator_events WHERE action = 'review' AND detail ->> 'note' LIKE '%genuine%'")
                == 1)
    }

    @Test func `Invalid reviews are refused`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(many: [Self.payload(.always), Self.payload(.never)])
        #expect(await self.refusal(fixture, "'\(ids[0])', 'PASSED'") == .reviewNotDue)
        try await self.run(fixture, .warning)
        #expect(await self.refusal(fixture, "'\(ids[1])', 'PASSED'") == .reviewNotDue)
        #expect(await self.refusal(fixture, "gen_random_uuid(), 'PASSED'") == .jobUnknown)
        for arguments in ["'NOT_EXECUTED'", "'passed'", "NULL", "'PASSED', 'Mr Smith'", "'PASSED', ''"] {
            #expect(await self.refusal(fixture, "'\(ids[0])', \(arguments)") == .reviewInvalid, "\(arguments)")
        }
        let error = await #expect(throws: InspectError.self) {
            try await fixture.enqueue(
                many: [Data((QueueFixture.byURL.dropLast() + #","review":"sometimes"}"#).utf8)])
        }
        #expect(error?.code == .payloadInvalid)
        #expect(try await fixture.count("insp.job WHERE status = 64") == 1)
        try await self.review(fixture, "'\(ids[0])', 'REJECTED', 'MANIPULATED_DOCUMENT'")
        #expect(await self.refusal(fixture, "'\(ids[0])', 'PASSED'") == .reviewNotDue)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `Of simultaneous reviews, cancellations and the deadline exactly one counts`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(many: Array(repeating: Self.payload(.always), count: 30))
        try await self.run(fixture, .passed)
        try await fixture.admin.execute("UPDATE insp.expiry SET expires_at = now()")
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for call in ["insp.review($1, 'REJECTED')", "insp.review($1, 'PASSED')", "insp.cancel($1)"] {
                group.addTask {
                    let connection = try await fixture.database.connect()
                    var won = 0
                    var random = TestRandom(call)
                    for id in ids.shuffled(using: &random) {
                        do {
                            let row = try await connection.query("SELECT \(call)::text", [.text(id)])[0]
                            if try row.string(0) != "false" { won += 1 }
                        } catch let error as PostgresError where error.sqlState == ErrorCode.reviewNotDue.sqlState {}
                    }
                    await connection.close()
                    return won
                }
            }
            group.addTask {
                let connection = try await fixture.database.connect()
                var won = 0
                for _ in 0..<15 { won += Int(try await connection.query("SELECT insp.expire(1)")[0].int(0)) }
                await connection.close()
                return won
            }
            return try await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(counts.reduce(0, +) == 30)
        #expect(try await fixture.count("insp.review_wait") == 0)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A job that nobody reviews expires`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute("SELECT insp.set_partner('acme', job_lifetime => '1 hour')")
        let id = try await fixture.enqueue(many: [Self.payload(.always)])[0]
        try await self.run(fixture, .passed)
        #expect(try await fixture.count("insp.v_review WHERE expires BETWEEN '30 minutes' AND '1 hour'") == 1)
        // As if the hour had passed.
        try await fixture.admin.execute(
            "UPDATE insp.expiry SET expires_at = now(); UPDATE insp.job SET expires_at = now()")
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(try await fixture.errorCode(of: id) == "EXPIRED")
        #expect(try await fixture.count("insp.review_wait") == 0)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A stale worker cannot have a job reviewed, nor can one twice`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(many: [Self.payload(.always)])
        let mayEnd = Mutex(false)
        let handler = ClosureHandler { _, _ in
            try await waitUntil("the test lets it end", within: .seconds(300)) { mayEnd.withLock { $0 } }
            return Self.output(.passed)
        }
        let hold =
            #"SELECT * FROM insp.hold_for_review($1, $2, '{"{\"decision\":{\"type\":\"WARNING\"}}"}', '{"{}"}', $1, $2, '{8}', '{"{}"}')"#
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.lease)")
            let lease = try await fixture.admin.query("SELECT job_id, fence FROM insp.lease")[0]
            let job = PostgresValue.intArray([try lease.int("job_id")])
            #expect(try await fixture.admin.query(hold, [job, .intArray([try lease.int("fence") - 1])]).isEmpty)
            #expect(try await fixture.count("insp.step") == 0)
            mayEnd.withLock { $0 = true }
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.v_review)")
            // The same write once more, as after an answer that was lost on its way.
            #expect(try await fixture.admin.query(hold, [job, .intArray([try lease.int("fence")])]).isEmpty)
        }
        #expect(try await fixture.count("insp.v_review WHERE decision = 'PASSED'") == 1)
        #expect(try await fixture.count("insp.event WHERE kind = 'review_needed'") == 1)
        #expect(try await fixture.count("insp.step WHERE status = 8") == 0)
    }
}

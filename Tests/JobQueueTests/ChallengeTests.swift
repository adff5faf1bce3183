import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

@Suite struct ChallengeTests {
    private static let frames: [PartKind: [Data]] = [.frames: [Data("a".utf8), Data("b".utf8)]]

    private func issue(_ fixture: QueueFixture, _ arguments: String = "'acme'") async throws -> [String: Any] {
        let row = try await fixture.admin.query("SELECT insp.challenge_issue(\(arguments))")[0]
        return try JSONSerialization.jsonObject(with: row.data(0)) as? [String: Any] ?? [:]
    }

    private func token(_ fixture: QueueFixture, _ arguments: String = "'acme'") async throws -> String {
        try #require(try await self.issue(fixture, arguments)["token"] as? String)
    }

    private func payload(_ token: String, partner: String = "acme", extra: [String: Any] = [:]) throws -> Data {
        try JSONSerialization.data(
            withJSONObject: [
                "partner": partner, "workflow": "liveness", "challenge": ["token": token, "frameTimes": [-66, 0.5]],
            ].merging(extra) { $1 })
    }

    private func code(_ fixture: QueueFixture, _ payload: Data) async throws -> ErrorCode? {
        do {
            _ = try await fixture.client.enqueue(payload: payload, parts: Self.frames)
            return nil
        } catch let error as InspectError {
            return error.code
        }
    }

    @Test func `The signature is HMAC with SHA-256`() async throws {
        let fixture = try await QueueFixture()
        // RFC 4231, test cases 1, 2 and 6.
        let cases = [
            ("repeat('0b', 20)", "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
            (
                "'4a656665'", "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                "repeat('aa', 131)", "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
        ]
        for (key, message, digest) in cases {
            let row = try await fixture.admin.query(
                "SELECT encode(insp.hmac_sha256(decode(\(key), 'hex'), convert_to($1, 'UTF8')), 'hex')",
                [.text(message)])
            #expect(try row[0].string(0) == digest)
        }
    }

    @Test func `Sequences are drawn evenly, and no two in a row are alike`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            "SELECT insp.draw(sha256(n::text::bytea), 'x', 6, 7) FROM generate_series(1, 1200) n")
        var counts = [Int: Int]()
        for row in rows {
            let drawn = try row.intArray(0).map { Int($0) }
            #expect(drawn.count == 7 && zip(drawn, drawn.dropFirst()).allSatisfy { $0 != $1 })
            for kind in drawn { counts[kind, default: 0] += 1 }
        }
        // 8,400 draws: 1,400 of each kind, standard deviation 34.
        #expect(counts.count == 6 && counts.values.allSatisfy { abs($0 - 1400) < 170 })
    }

    @Test func `Issued challenges stay within safe rates, and invalid arguments are refused`() async throws {
        let fixture = try await QueueFixture()
        let both = try await self.issue(fixture, "'acme', 'colour_flash+motion'")
        let challenge = try JSONDecoder().decode(
            LivenessChallenge.self, from: JSONSerialization.data(withJSONObject: both))
        #expect(challenge.colours.count == 7 && challenge.steps.count == 3)
        #expect(challenge.colourMs >= LivenessChallenge.leastColourMs)
        for arguments in [
            "'nobody'", "'acme', 'dance'", "'acme', colours => 5", "'acme', colour_ms => 200", "'acme', steps => 6",
            "'acme', motions => ARRAY['NOD']", "'acme', motions => ARRAY['NOD', 'JUMP']",
            "'acme', lifetime => '1 hour'",
        ] {
            await #expect(throws: PostgresError.self) { _ = try await self.issue(fixture, arguments) }
        }
    }

    @Test func `A challenge is used once, by the job that is accepted with it`() async throws {
        let fixture = try await QueueFixture()
        let token = try await self.token(fixture)
        // A call that is rolled back has used nothing.
        let other = try await fixture.database.connect()
        _ = try await other.query("BEGIN")
        _ = try await other.query(
            "SELECT insp.enqueue($1, frames => ARRAY['a', 'b']::bytea[])",
            [.text(String(decoding: try self.payload(token), as: UTF8.self))])
        _ = try await other.query("ROLLBACK")
        #expect(try await self.code(fixture, self.payload(token)) == nil)
        #expect(try await self.code(fixture, self.payload(token)) == .challengeUsed)
        #expect(
            try await fixture.count(
                "insp.challenge WHERE consumed_at IS NOT NULL AND job_id IN (SELECT id FROM insp.job)") == 1)
        // The token does not stay with the job; what was asked does.
        #expect(
            try await fixture.count(
                "insp.job WHERE request #> '{challenge,colours}' IS NOT NULL AND NOT request #> '{challenge}' ? 'token'"
            ) == 1)
    }

    @Test func `Of many jobs at once with one challenge exactly one is accepted`() async throws {
        let fixture = try await QueueFixture()
        let payload = try self.payload(try await self.token(fixture))
        let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                let client = JobClient(databaseURL: fixture.database.url)
                group.addTask {
                    do {
                        _ = try await client.enqueue(payload: payload, parts: Self.frames)
                        await client.close()
                        return true
                    } catch let error as InspectError where error.code == .challengeUsed {
                        await client.close()
                        return false
                    }
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(accepted == 1)
    }

    @Test func `Retries, reruns and repeated requests do not fail on their own challenge`() async throws {
        let fixture = try await QueueFixture()
        let payload = try self.payload(try await self.token(fixture), extra: ["idempotencyKey": "k"])
        let id = try await fixture.client.enqueue(payload: payload, parts: Self.frames)
        #expect(try await fixture.client.enqueue(payload: payload, parts: Self.frames) == id)
        let log = EventLog()
        let handler = ClosureHandler { job, _ in
            if job.attempt < 3 { throw InspectError(.analyzerTimeout) }
            let request = try JSONDecoder().decode(InspectionRequest.self, from: job.payload)
            guard let challenge = request.challenge, challenge.frameTimesMs == [-66, 0.5], challenge.colours.count == 7,
                challenge.ageMs != nil
            else { throw InspectError(.internalError) }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler, log: log) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            #expect(try await fixture.errorCode(of: id) == nil)
            let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(id)])[0].string(0)
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            #expect(try await fixture.errorCode(of: again) == nil)
        }
    }

    @Test func `Tampered, foreign and old challenges are refused, each with its code`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('other', 'https://hooks.example.com/y')")
        let token = try await self.token(fixture)
        #expect(token.wholeMatch(of: /[A-Za-z0-9_-]{43}/) != nil)
        for bad in [
            String(token.dropLast()) + (token.last == "0" ? "1" : "0"), token + "=", token.lowercased(), "x", "",
        ] {
            #expect(try await self.code(fixture, self.payload(bad)) == .challengeInvalid)
        }
        #expect(try await self.code(fixture, self.payload(token, partner: "other")) == .challengeInvalid)
        _ = try await fixture.admin.query("UPDATE insp.challenge SET expires_at = now() - interval '1 second'")
        #expect(try await self.code(fixture, self.payload(token)) == .challengeExpired)
        let forms: [(ErrorCode, [String: Any])] = [
            (.payloadInvalid, ["challenge": "x"]), (.payloadInvalid, ["challenge": ["token": token]]),
            (.payloadInvalid, ["challenge": ["token": token, "frameTimes": ["a"]]]),
            (.payloadInvalid, ["challenge": ["token": token, "frameTimes": [1], "colours": ["RED"]]]),
            (.payloadInvalid, ["rerunOf": "x"]),
        ]
        for (code, extra) in forms {
            #expect(try await self.code(fixture, self.payload(token, extra: extra)) == code)
        }
        let noFrames = try self.payload(try await self.token(fixture))
        let error = await #expect(throws: InspectError.self) {
            try await fixture.client.enqueue(payload: noFrames, parts: [.face: [Data("a".utf8)]])
        }
        #expect(error?.code == .partMissing)
    }

    @Test func `Nothing that the database holds of a challenge can be used as its token`() async throws {
        let fixture = try await QueueFixture()
        let token = try await self.token(fixture)
        let row = try await fixture.admin.query(
            """
            SELECT id::text, encode(token_sha256, 'hex'), encode(token_sha256, 'base64'), token_sha256::text,
                translate(rtrim(encode(token_sha256, 'base64'), '='), '+/', '-_') FROM insp.challenge
            """)[0]
        for column in 0..<5 {
            #expect(try await self.code(fixture, self.payload(try row.string(column))) == .challengeInvalid)
        }
        let rows = try await fixture.dumpedRows()
        #expect(rows.contains { $0.table == "insp.challenge" })
        #expect(!rows.contains { $0.row.contains(token) })
        #expect(try await self.code(fixture, self.payload(token)) == nil)
        #expect(try await !fixture.dumpedRows().contains { $0.row.contains(token) })
    }

    @Test func `No role can read what is asked; old challenges are removed`() async throws {
        let fixture = try await QueueFixture()
        for role in ["insp_producer", "insp_worker", "insp_operator", "insp_auditor"] {
            let row = try await fixture.admin.query(
                "SELECT has_column_privilege('\(role)', 'insp.challenge', 'spec', 'SELECT')"
            )
            #expect(try !row[0].bool(0))
        }
        _ = try await self.token(fixture)
        _ = try await fixture.admin.query("UPDATE insp.challenge SET expires_at = now() - interval '2 hours'")
        _ = try await self.token(fixture)
        #expect(try await fixture.count("insp.challenge") == 1)
    }

    @Test func `A session is sent by one attempt only, unless it certainly was not sent`() async throws {
        let fixture = try await QueueFixture()
        let payload = Data(#"{"partner":"acme","workflow":"liveness"}"#.utf8)
        let id = try await fixture.client.enqueue(payload: payload, parts: [.sessionBlob: [Data("blob".utf8)]])
        let handler = ClosureHandler { job, context in
            switch job.attempt {
            case 1:
                // The same lease may ask again when the answer was lost on its way.
                try await context.beginSession()
                try await context.beginSession()
                try await context.endSession(outcome: "not_sent", status: nil)
                throw InspectError(.vendorUnreachable)
            case 2:
                try await context.beginSession()
                // As a worker that dies before the answer.
                throw InspectError(.workerLost)
            default:
                try await context.beginSession()
                return ClosureHandler.passed
            }
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.errorCode(of: id) == "VENDOR_OUTCOME_UNKNOWN")
        #expect(try await fixture.count("insp.record WHERE action = 'session_begin'") == 2)
        #expect(
            try await fixture.count("insp.record WHERE action = 'session_end' AND detail ->> 'outcome' = 'not_sent'")
                == 1)
    }

    @Test func `A vendor's answer outlives the worker that got it`() async throws {
        let fixture = try await QueueFixture()
        let payload = Data(#"{"partner":"acme","workflow":"liveness"}"#.utf8)
        let id = try await fixture.client.enqueue(payload: payload, parts: [.sessionBlob: [Data("blob".utf8)]])
        let answer = Data(#"{"vendor":{"success":true,"sessionResponseBlob":"b"},"cpuMs":0}"#.utf8)
        let handler = ClosureHandler { job, context in
            if job.attempt == 1 {
                try await context.beginSession()
                try await context.endSession(outcome: "answered", status: 200, output: answer)
                throw InspectError(.workerLost)
            }
            guard job.steps[.liveness] != nil else { throw InspectError(.internalError) }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.errorCode(of: id) == nil)
    }
}

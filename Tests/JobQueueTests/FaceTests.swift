import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// What the database holds to about enrolled faces, whatever workers and callers do at the same time.
@Suite struct FaceTests {
    private static let face = Data("face".utf8)
    private static let model = String(repeating: "ab", count: 32)

    private static func embedding(_ digit: Character) -> FaceEmbedding {
        FaceEmbedding(engine: "e", modelSHA256: Self.model, hex: String(repeating: digit, count: 1024))
    }

    private static func payload(_ workflow: String, _ face: String = "f", _ more: String = "") -> Data {
        Data(#"{"partner":"acme","workflow":"\#(workflow)","faceId":"\#(face)"\#(more)}"#.utf8)
    }

    private static let rejected = Data(#"{"decision":{"type":"REJECTED","details":{"label":"NOT_ENROLLED"}}}"#.utf8)

    /// Hands an embedding over as a real worker does, then ends as the test says.
    private static func enrolling(_ digit: Character, as result: Data = ClosureHandler.passed) -> ClosureHandler {
        ClosureHandler { _, context in
            let known = try await context.enrolledFace()
            try await context.complete(.face, output: Data(#"{"x":1}"#.utf8))
            try await context.hand(over: Self.embedding(digit), generation: known.generation)
            return result
        }
    }

    private func embeddings(_ fixture: QueueFixture, _ face: String = "f") async throws -> [String] {
        try await fixture.admin.query(
            "SELECT left(feature, 1) FROM insp.face_features('acme', $1, 'export')", [.text(face)]
        )
        .map { try $0.string(0) }
    }

    private func enqueue(_ fixture: QueueFixture, _ payload: Data) async throws -> String {
        try await fixture.client.enqueue(payload: payload, parts: [.face: [Self.face]])
    }

    /// Nothing of a finished job is left but its result.
    private func leftovers(_ fixture: QueueFixture) async throws -> [String] {
        var found: [String] = []
        for table in [
            "insp.face_job", "insp.face_pending", "insp.step WHERE status < 128",
            "insp.part", "insp.content",
        ] where try await fixture.count(table) > 0 { found.append(table) }
        return found
    }

    @Test func `An enrolment that passes is kept, one that is rejected is not, and both leave nothing else`()
        async throws
    {
        let fixture = try await QueueFixture()
        try await withWorker(fixture.configuration(), Self.enrolling("a")) { _ in
            _ = try await self.enqueue(fixture, Self.payload("enrollment"))
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await self.embeddings(fixture) == ["a"])
        try await withWorker(fixture.configuration(), Self.enrolling("b", as: Self.rejected)) { _ in
            _ = try await self.enqueue(fixture, Self.payload("enrollment"))
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await self.embeddings(fixture) == ["a"])
        #expect(try await self.leftovers(fixture).isEmpty)
    }

    @Test func `A handed-over embedding is deleted when its job is cancelled, expires or is dead-lettered`()
        async throws
    {
        let fixture = try await QueueFixture()
        let handed = Mutex(0)
        let stuck = ClosureHandler { job, context in
            let known = try await context.enrolledFace()
            try await context.hand(over: Self.embedding("c"), generation: known.generation)
            handed.withLock { $0 += 1 }
            if try await fixture.count("insp.face_job WHERE job_id = \(job.id) AND face_id = 'broken'") > 0 {
                throw InspectError(.corruptImage)
            }
            try await Task.sleep(for: .seconds(600))
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), stuck) { _ in
            let cancelled = try await self.enqueue(fixture, Self.payload("enrollment", "cancelled"))
            let broken = try await self.enqueue(fixture, Self.payload("enrollment", "broken"))
            let expiring = try await self.enqueue(fixture, Self.payload("enrollment", "expiring"))
            try await waitUntil("all three have handed over") { handed.withLock { $0 } >= 3 }
            try await fixture.wait(for: "(SELECT count(*) >= 2 FROM insp.face_pending)")
            #expect(try await fixture.client.cancel(cancelled))
            _ = try await fixture.admin.query(
                "SELECT insp.end_unclaimed(ARRAY[(SELECT id FROM insp.job WHERE public_id = $1)], 'EXPIRED', NULL)",
                [.text(expiring)])
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            #expect(try await fixture.errorCode(of: broken) == "CORRUPT_IMAGE")
            let event = try await fixture.admin.query(
                "SELECT insp.face_event($1) ->> 'error', insp.face_event($2) ->> 'code'",
                [.text(cancelled), .text(expiring)])[0]
            #expect(try event.string(0) == "ENROLL_CANCELLED" && event.string(1) == "60")
        }
        for face in ["cancelled", "broken", "expiring"] { #expect(try await self.embeddings(fixture, face).isEmpty) }
        #expect(try await self.leftovers(fixture).isEmpty)
    }

    @Test func `Deleting a face ends its jobs, so that none of them brings it back`() async throws {
        let fixture = try await QueueFixture()
        let mayGo = Mutex(false)
        let slow = ClosureHandler { _, context in
            let known = try await context.enrolledFace()
            try await context.hand(over: Self.embedding("d"), generation: known.generation)
            try await waitUntil("the test lets it end", within: .seconds(300)) { mayGo.withLock { $0 } }
            return ClosureHandler.passed
        }
        _ = try await fixture.admin.query(
            "SELECT insp.face_import('acme', 'f', repeat('e', 1024), 'e', $1)", [.text(Self.model)])
        try await withWorker(fixture.configuration(slots: 1), slow) { _ in
            let running = try await self.enqueue(fixture, Self.payload("enrollment"))
            let waiting = try await self.enqueue(fixture, Self.payload("authentication"))
            let other = try await self.enqueue(fixture, Self.payload("enrollment", "g"))
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.face_pending)")
            let deleted =
                try JSONSerialization.jsonObject(
                    with: try await fixture.client.deleteFace("f", of: "acme")) as? [String: Any]
            #expect(deleted?["templates"] as? Int == 1 && deleted?["jobs"] as? Int == 2)
            mayGo.withLock { $0 = true }
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            #expect(try await fixture.errorCode(of: running) == "FACE_DELETED")
            #expect(try await fixture.errorCode(of: waiting) == "FACE_DELETED")
            #expect(try await fixture.errorCode(of: other) == nil)
        }
        #expect(try await self.embeddings(fixture).isEmpty)
        #expect(try await self.embeddings(fixture, "g") == ["d"])
        #expect(try await self.leftovers(fixture).isEmpty)
    }

    @Test func `What changed between the read and the hand-over is read again`() async throws {
        let fixture = try await QueueFixture()
        let looks = Mutex<[Int64]>([])
        let handler = ClosureHandler { _, context in
            let known = try await context.enrolledFace()
            let isFirst = looks.withLock {
                $0.append(known.generation)
                return $0.count == 1
            }
            if isFirst {
                _ = try await fixture.admin.query(
                    "SELECT insp.face_import('acme', 'f', repeat('1', 1024), 'e', $1, true)", [.text(Self.model)])
            }
            try await context.hand(over: Self.embedding("2"), generation: known.generation)
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            _ = try await self.enqueue(fixture, Self.payload("enrollment"))
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(looks.withLock { $0 } == [0, 1])
        #expect(try await self.embeddings(fixture) == ["1", "2"])
    }

    @Test func `Twenty enrolments of one face at once leave the partner's limit of templates, each whole`() async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', templates => 3, attempts => 100)")
        var configuration = fixture.configuration(slots: 8)
        configuration.retryPolicy.maxAttempts = 200
        configuration.retryPolicy.base = .milliseconds(20)
        configuration.retryPolicy.cap = .milliseconds(200)
        try await withWorker(configuration, Self.enrolling("a")) { _ in
            for _ in 0..<20 { _ = try await self.enqueue(fixture, Self.payload("enrollment")) }
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)", within: 90)
        }
        #expect(try await self.embeddings(fixture) == ["a", "a", "a"])
        #expect(try await fixture.admin.query("SELECT generation FROM insp.face")[0].int(0) == 20)
        #expect(try await self.leftovers(fixture).isEmpty)
    }

    @Test func `A reviewer's decision is what an enrolment ends with`() async throws {
        let fixture = try await QueueFixture()
        try await withWorker(fixture.configuration(), Self.enrolling("b")) { _ in
            let good = try await self.enqueue(fixture, Self.payload("enrollment", "good", #","review":"always""#))
            let bad = try await self.enqueue(fixture, Self.payload("enrollment", "bad", #","review":"always""#))
            try await fixture.wait(for: "(SELECT count(*) = 2 FROM insp.review_wait)")
            #expect(try await self.embeddings(fixture, "good").isEmpty)
            // What waits for a person shows the embedding to nobody.
            #expect(try await fixture.count("insp.step s WHERE insp.step_document(s)::text LIKE '%bbbb%'") == 0)
            _ = try await fixture.admin.query("SELECT insp.review($1, 'PASSED')", [.text(good)])
            _ = try await fixture.admin.query("SELECT insp.review($1, 'REJECTED')", [.text(bad)])
        }
        #expect(try await self.embeddings(fixture, "good") == ["b"])
        #expect(try await self.embeddings(fixture, "bad").isEmpty)
        #expect(try await self.leftovers(fixture).isEmpty)
    }

    @Test func `Attempts on a face id are limited, refusals do not count, and others are not concerned`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', attempts => 3, \"window\" => '1 hour')")
        for _ in 0..<3 { _ = try await self.enqueue(fixture, Self.payload("authentication")) }
        for _ in 0..<2 {
            await #expect(throws: InspectError(.faceRateLimited, "3 within 01:00:00")) {
                try await self.enqueue(fixture, Self.payload("authentication"))
            }
        }
        _ = try await self.enqueue(fixture, Self.payload("authentication", "g"))
        _ = try await fixture.admin.query("UPDATE insp.face_rate SET since = since - interval '1 hour'")
        _ = try await self.enqueue(fixture, Self.payload("authentication"))
        #expect(try await fixture.count("insp.job") == 5)
    }

    @Test func `Invalid requests about faces are refused, each for its own fault`() async throws {
        let fixture = try await QueueFixture()
        let cases: [(String, ErrorCode)] = [
            (#"{"partner":"acme","workflow":"enrollment"}"#, .faceIDInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":""}"#, .faceIDInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":7}"#, .faceIDInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":["a","b"]}"#, .faceIDInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":"\#(String(repeating: "x", count: 101))"}"#, .faceIDInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":"a\nb"}"#, .faceIDInvalid),
            (#"{"partner":"acme","workflow":"liveness","faceId":"a"}"#, .payloadInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":"a","threshold":0.4}"#, .payloadInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":"a","threshold":"0.9"}"#, .payloadInvalid),
            (#"{"partner":"acme","workflow":"enrollment","faceId":"a","threshold":0.9}"#, .payloadInvalid),
            (#"{"partner":"acme","workflow":"9","faceId":"a","enrollmentMode":"add"}"#, .payloadInvalid),
            (#"{"partner":"acme","workflow":"enrollment","faceId":"a","enrollmentMode":"merge"}"#, .payloadInvalid),
        ]
        for (payload, code) in cases {
            await #expect(throws: InspectError.self, "\(payload)") {
                do { _ = try await self.enqueue(fixture, Data(payload.utf8)) } catch let error as InspectError {
                    #expect(error.code == code, "\(payload)")
                    throw error
                }
            }
        }
        _ = try await self.enqueue(fixture, Self.payload("authentication", "a", #","threshold":0.9"#))
        for embedding in [String(repeating: "a", count: 1023), String(repeating: "A", count: 1024), ""] {
            await #expect(throws: PostgresError.self) {
                try await fixture.admin.query(
                    "SELECT insp.face_import('acme', 'f', $1, 'e', $2)", [.text(embedding), .text(Self.model)])
            }
        }
    }

    @Test func `Templates go with the erasure of their enrolment and with the partner's retention`() async throws {
        let fixture = try await QueueFixture()
        try await withWorker(fixture.configuration(), Self.enrolling("a")) { _ in
            let id = try await self.enqueue(fixture, Self.payload("enrollment"))
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
            #expect(try await self.embeddings(fixture) == ["a"])
            _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(id)])
        }
        #expect(try await self.embeddings(fixture).isEmpty)
        #expect(try await fixture.count("insp.face") == 0)
        _ = try await fixture.admin.query(
            """
            SELECT insp.face_import('acme', 'old', repeat('e', 1024), 'e', $1),
                insp.face_import('acme', 'young', repeat('f', 1024), 'e', $1)
            """, [.text(Self.model)])
        _ = try await fixture.admin.query(
            "UPDATE insp.face_template SET created_at = now() - interval '2 days' WHERE face_id = 'old'")
        #expect(try await fixture.admin.query("SELECT insp.face_purge()")[0].int(0) == 0)
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', keep => '1 day')")
        #expect(try await fixture.admin.query("SELECT insp.face_purge()")[0].int(0) == 1)
        #expect(try await fixture.count("insp.face WHERE face_id = 'young'") == 1)
        #expect(try await fixture.count("insp.face") == 1)
    }

    @Test func `No operator and no auditor can read an embedding`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query(
            "SELECT insp.face_import('acme', 'f', repeat('e', 1024), 'e', $1)", [.text(Self.model)])
        for role in ["insp_operator", "insp_auditor"] {
            let readable = try await fixture.admin.query(
                """
                SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'insp' AND c.relkind IN ('r', 'p', 'v', 'm') AND has_table_privilege($1, c.oid, 'SELECT')
                """, [.text(role)]
            ).map { try $0.string(0) }
            #expect(!readable.isEmpty)
            for table in readable {
                let hits = try await fixture.count("\(table) t WHERE t::text LIKE '%eeeeeeee%'")
                #expect(hits == 0, "\(table)")
            }
            let mayCall = try await fixture.admin.query(
                "SELECT has_function_privilege($1, 'insp.face_features(text, text, text)', 'EXECUTE')", [.text(role)])[
                    0]
            #expect(try !mayCall.bool(0))
        }
    }

    @Test func `The words of the face SDK are the same in SQL and here`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            "SELECT outcome, status, code, error FROM insp.face_outcome ORDER BY outcome")
        #expect(rows.count == FaceSDKEvent.Outcome.allCases.count)
        for row in rows {
            let outcome = try #require(FaceSDKEvent.Outcome(rawValue: try row.string(0)))
            #expect(try row.string(1) == outcome.row.status)
            #expect(try row.optionalInt(2).map { Int($0) } == outcome.row.code)
            #expect(try row.optionalString(3) == outcome.row.error)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A review or an import that meets a person's open request is refused with a code`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme', review => 'always')")
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)",
            [.jsonbs([QueueFixture.byURL.dropLast() + #","userReference":"ann"}"#])])
        let id = try await self.enqueue(fixture, Self.payload("enrollment", "f", #","userReference":"ann""#))
        var configuration = fixture.configuration()
        configuration.drains = true
        try await JobWorker(configuration, handler: Self.enrolling("a")).run()
        #expect(try await fixture.count("insp.job WHERE status = 64") == 1)
        let review = "SELECT insp.review('\(id)', 'PASSED')"
        let enrol = """
            SELECT insp.face_import('acme', 'g', repeat('0', 1024), 'e', repeat('a', 64), user_reference => 'ann')
            """
        for call in [review, enrol] {
            let refused = await #expect(throws: PostgresError.self, "\(call)") {
                try await fixture.admin.query(call, timeout: .seconds(30))
            }
            #expect(refused?.sqlState == ErrorCode.rowLocked.sqlState, "\(call)")
        }
        try await producer.execute("COMMIT")
        await producer.close()
        for call in [review, enrol] { _ = try await fixture.admin.query(call) }
        #expect(try await fixture.count("insp.face f JOIN insp.person p ON p.id = f.person_id") == 2)
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The key of whatever is removed is listed for the key store, whichever way it goes, and no key that is still needed.
@Suite struct KeyErasureTests {
    private static let model = String(repeating: "ab", count: 32)

    /// A key's id, of which the sealed bytes here begin.
    private static func key(_ number: Int) -> UUID {
        UUID(uuidString: "00000000-0000-7000-8000-" + String(format: "%012x", number))!
    }

    /// A sealed embedding, as far as the database looks.
    private static func embedding(_ number: Int) -> FaceEmbedding {
        let key = self.key(number).uuidString.lowercased().replacing("-", with: "")
        return FaceEmbedding(
            engine: "e", modelSHA256: self.model, hex: "01" + key + String(repeating: "0", count: 1080))
    }

    private static func sealed(_ number: Int) -> Data {
        withUnsafeBytes(of: self.key(number).uuid) { Data([1]) + Data($0) + Data(count: 40) }
    }

    /// Accepts a job that is sealed under this key.
    private func enqueue(_ fixture: QueueFixture, key: Int) async throws -> String {
        try await fixture.admin.query(
            "SELECT insp.enqueue_parts('{\"partner\":\"acme\",\"workflow\":\"id\"}', '{FRONT}', $1, $2, sha256('x'))",
            [.byteas([Self.sealed(key)]), .bytes(Self.sealed(key))])[0].string(0)
    }

    /// Numbers of the keys that are listed.
    private func listed(_ fixture: QueueFixture) async throws -> Set<Int> {
        Set(
            try await fixture.admin.query("SELECT right(key_id::text, 12) FROM insp.keys_gone(1000)").compactMap {
                Int(try $0.string(0), radix: 16)
            })
    }

    /// Enrols embeddings one after the other, as a worker does, each with its own result.
    private func enrol(
        _ fixture: QueueFixture, _ embeddings: [Int], face: String = "f", user: String? = nil, mode: String = "add",
        as result: Data = ClosureHandler.passed
    ) async throws {
        for embedding in embeddings {
            let more = user.map { #","userReference":"\#($0)""# } ?? ""
            _ = try await fixture.client.enqueue(
                payload: Data(
                    #"{"partner":"acme","workflow":"enrollment","faceId":"\#(face)","enrollmentMode":"\#(mode)"\#(more)}"#
                        .utf8), parts: [.face: [Data("x".utf8)]])
            var configuration = fixture.configuration(slots: 1)
            configuration.drains = true
            try await JobWorker(
                configuration,
                handler: ClosureHandler { _, context in
                    let known = try await context.enrolledFace()
                    try await context.hand(over: Self.embedding(embedding), generation: known.generation)
                    return result
                }
            ).run()
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `Two rounds that remove the last two jobs with one key do not both leave it to the other`() async throws {
        let fixture = try await QueueFixture()
        let first = try await self.enqueue(fixture, key: 1)
        _ = try await fixture.client.cancel(first)
        let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(first)])[0].string(0)
        _ = try await fixture.client.cancel(again)
        func removal(_ id: String) -> String {
            ["parts", "results", "references"].map {
                "SELECT insp.purge_jobs('\($0)', ARRAY(SELECT id FROM insp.job WHERE public_id = '\(id)'))"
            }.joined(separator: ";")
        }
        let (one, two) = (try await fixture.database.connect(), try await fixture.database.connect())
        let pid = try await two.query("SELECT pg_backend_pid()")[0].int(0)
        try await one.execute("BEGIN; " + removal(first))
        let second = Task {
            try await two.execute("BEGIN; " + removal(again))
            return try await fixture.admin.query("SELECT now()").count
        }
        // It waits for the first one, or is done without.
        try await waitUntil("the second round is as far as it gets") {
            try await fixture.admin.query(
                """
                SELECT cardinality(pg_blocking_pids(pid)) > 0 OR state = 'idle in transaction' AND query LIKE '%references%'
                FROM pg_stat_activity WHERE pid = $1::int
                """, [.int(pid)])[0].bool(0)
        }
        try await one.execute("COMMIT")
        _ = try await second.value(within: .seconds(120))
        try await two.execute("COMMIT")
        #expect(try await self.listed(fixture) == [1])
    }

    @Test func `An erased person is listed with the faces until the key store has destroyed the keys`() async throws {
        let fixture = try await QueueFixture()
        func erase() async throws {
            try await fixture.admin.execute("SELECT insp.erase_person('acme', 'ann')")
        }
        // Nothing is sealed without a key store.
        try await erase()
        #expect(try await fixture.count("insp.person_gone") == 0)
        try await self.enrol(fixture, [1], user: "ann")
        try await fixture.admin.execute("SELECT insp.set_custody(gen_random_uuid(), insp.database_id(), 'one')")
        try await erase()
        #expect(
            try await fixture.count(
                "insp.person_gone WHERE index IN (insp.reference_index('ann'), insp.reference_index('f'))") == 2)
        let listed = "insp.persons_gone(10)"
        // The command that erases destroys the key itself.
        #expect(try await fixture.count(listed) == 0)
        try await fixture.admin.execute(
            "UPDATE insp.person_gone SET since = since - interval '1 minute', due_at = due_at - interval '1 minute'")
        #expect(try await fixture.count("\(listed) WHERE microseconds BETWEEN 60000000 AND 3600000000") == 2)
        // Erased again meanwhile.
        try await fixture.admin.execute(
            """
            CREATE TEMP TABLE page AS SELECT * FROM \(listed);
            SELECT insp.erase_person('acme', 'ann');
            SELECT insp.person_destroyed(partner_id, index, since, true) FROM page
            """)
        #expect(try await fixture.count("insp.person_gone WHERE index = insp.reference_index('ann')") == 1)
        #expect(try await fixture.count("insp.person_gone") == 1)
        #expect(
            try await fixture.count("insp.record WHERE action = 'destroy_keys' AND subject = 'partner acme'") == 1)
    }

    @Test
    func `A deleted face is listed apart from erasures until its key is destroyed, and looked at ever more rarely`()
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.enrol(fixture, [1])
        try await fixture.admin.execute("SELECT insp.set_custody(gen_random_uuid(), insp.database_id(), 'one')")
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'f')")
        let listed = "insp.person_gone WHERE index = insp.reference_index('f') AND keeps_jobs"
        #expect(try await fixture.count(listed) == 1)
        // It waits for its jobs' retention, which is no backlog.
        #expect(
            try await fixture.count(
                "insp.depth() WHERE measure = 'keys_gone' AND value = (SELECT count(*) FROM insp.key_gone)") == 1)
        for (age, least, most) in [("1 minute", 50, 70), ("3 days", 3590, 3610)] {
            try await fixture.admin.execute(
                """
                UPDATE insp.person_gone SET since = clock_timestamp() - interval '\(age)', due_at = clock_timestamp();
                SELECT insp.face_in_use(partner_id, index, since) FROM insp.persons_gone(10) WHERE keeps_jobs
                """)
            #expect(
                try await fixture.count(
                    "\(listed) AND extract(epoch FROM due_at - clock_timestamp()) BETWEEN \(least) AND \(most)") == 1)
            #expect(try await fixture.count("insp.persons_gone(10)") == 0)
        }
        // An erasure of the same face does not wait for what the deletion keeps.
        try await fixture.admin.execute(
            "SELECT insp.list_persons((SELECT id FROM insp.partner WHERE name = 'acme'), ARRAY[insp.reference_index('f')])"
        )
        #expect(try await fixture.count("insp.person_gone") == 2)
        try await fixture.admin.execute(
            """
            UPDATE insp.person_gone SET due_at = clock_timestamp();
            SELECT insp.person_destroyed(partner_id, index, since, true, keeps_jobs) FROM insp.persons_gone(10) WHERE keeps_jobs
            """)
        #expect(try await fixture.count("insp.person_gone WHERE NOT keeps_jobs") == 1)
        #expect(try await fixture.count("insp.person_gone") == 1)
    }

    @Test func `A job's key is listed with the last of its chain, however each job goes`() async throws {
        let fixture = try await QueueFixture()
        var ids: [String] = []
        for key in 1...4 {
            ids.append(try await self.enqueue(fixture, key: key))
            _ = try await fixture.client.cancel(ids[key - 1])
        }
        let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(ids[1])])[0].string(0)
        _ = try await fixture.client.cancel(again)
        _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(ids[0])])
        #expect(try await self.listed(fixture) == [1])
        // Retention of the partner, then a shorter one of another kind of data.
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '31 days', completed_at = completed_at - interval '31 days'
            WHERE public_id IN ('\(ids[0])', '\(ids[1])', '\(ids[2])')
            """)
        try await fixture.purgeAll()
        #expect(try await self.listed(fixture) == [1, 3])
        try await fixture.admin.execute(
            "UPDATE insp.job SET created_at = created_at - interval '2 hours', completed_at = completed_at - interval '2 hours'"
        )
        _ = try await fixture.admin.query(
            "SELECT insp.set_retention('acme', keep_parts => '1 hour', keep_results => '1 hour')")
        try await fixture.purgeAll()
        #expect(try await self.listed(fixture) == [1, 2, 3, 4])
    }

    @Test
    func `A request under the key of another job is refused, also once that is erased, and a repeated one is not`()
        async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('other', 'https://hooks.example.com/o')")
        func enqueue(
            _ key: Int, _ more: String = "", partner: String = "acme", hmac: String = "x"
        ) async throws -> String {
            do {
                return try await fixture.admin.query(
                    "SELECT insp.enqueue_parts($1, '{FRONT}', $2, $3, sha256($4))",
                    [
                        .text(#"{"partner":"\#(partner)","workflow":"id"\#(more)}"#), .byteas([Self.sealed(key)]),
                        .bytes(Self.sealed(key)), .bytes(Data(hmac.utf8)),
                    ])[0].string(0)
            } catch let error as PostgresError {
                return error.refusal?.code.rawValue ?? error.reason
            }
        }
        let named = #","idempotencyKey":"k""#
        let first = try await enqueue(1, named)
        #expect(try await enqueue(1, named) == first)
        #expect(try await enqueue(1, named, hmac: "y") == "IDEMPOTENCY_CONFLICT")
        #expect(try await enqueue(1) == "PAYLOAD_INVALID")
        #expect(try await enqueue(1, #","idempotencyKey":"k2""#) == "PAYLOAD_INVALID")
        #expect(try await fixture.count("insp.job") == 1)
        // A job that names another partner's key does not keep that key; otherwise it could be used against that partner.
        #expect(UUID(uuidString: try await enqueue(1, partner: "other")) != nil)
        _ = try await fixture.client.cancel(first)
        let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(first)])[0].string(0)
        _ = try await fixture.client.cancel(again)
        for id in [first, again] { _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(id)]) }
        #expect(try await self.listed(fixture) == [1])
        // The same bytes once more, before the key store has destroyed the key.
        #expect(try await enqueue(1) == "PAYLOAD_INVALID")
        #expect(try await self.listed(fixture) == [1])
        #expect(UUID(uuidString: try await enqueue(2)) != nil)
    }

    @Test func `A template's key is listed when the template is removed, and not while one has it`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', templates => 2, attempts => 1000)")
        try await self.enrol(fixture, [1, 2])
        #expect(try await self.listed(fixture) == [])
        // The oldest makes room.
        try await self.enrol(fixture, [3])
        #expect(try await self.listed(fixture) == [1])
        try await self.enrol(fixture, [4], mode: "replace")
        #expect(try await self.listed(fixture) == [1, 2, 3])
        // Never kept.
        try await self.enrol(
            fixture, [5], as: Data(#"{"decision":{"type":"REJECTED","details":{"label":"NOT_ENROLLED"}}}"#.utf8))
        #expect(try await self.listed(fixture) == [1, 2, 3, 5])
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'f')")
        #expect(try await self.listed(fixture) == [1, 2, 3, 4, 5])
        // With its job, and by age.
        try await self.enrol(fixture, [6], face: "g")
        _ = try await fixture.admin.query("SELECT insp.erase(t.job) FROM insp.face_template t")
        #expect(try await self.listed(fixture).contains(6))
        try await self.enrol(fixture, [7], face: "g")
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', keep => '1 hour')")
        try await fixture.admin.execute("UPDATE insp.face_template SET created_at = now() - interval '1 day'")
        #expect(try await fixture.admin.query("SELECT insp.face_purge()")[0].int(0) == 1)
        #expect(try await self.listed(fixture) == Set(1...7))
    }

    @Test func `An attempt's embedding makes room for the next one's`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"enrollment","faceId":"f"}"#.utf8),
            parts: [.face: [Data("x".utf8)]])
        var configuration = fixture.configuration(slots: 1)
        configuration.drains = true
        try await JobWorker(
            configuration,
            handler: ClosureHandler { job, context in
                let known = try await context.enrolledFace()
                try await context.hand(over: Self.embedding(job.attempt), generation: known.generation)
                // Attempts that end so count, so they come to an end.
                if job.attempt < 3 { throw InspectError(.partUnreachable) }
                return ClosureHandler.passed
            }
        ).run()
        #expect(try await self.listed(fixture) == [1, 2])
        #expect(try await fixture.count("insp.face_template WHERE key_id = '\(Self.key(3))'") == 1)
    }

    @Test func `A copied template keeps the key, and one that names a job's key does not take it along`() async throws {
        let fixture = try await QueueFixture()
        func add(_ embedding: Int, _ face: String) async throws {
            _ = try await fixture.admin.query(
                "SELECT insp.face_import('acme', $1, $2, 'e', $3)",
                [.text(face), .text(Self.embedding(embedding).hex), .text(Self.model)])
        }
        try await add(1, "f")
        try await add(1, "copy")
        let job = try await self.enqueue(fixture, key: 2)
        try await add(2, "g")
        for face in ["f", "g"] {
            _ = try await fixture.admin.query("SELECT insp.face_delete('acme', $1)", [.text(face)])
        }
        #expect(try await self.listed(fixture) == [])
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'copy')")
        #expect(try await self.listed(fixture) == [1])
        // The reverse.
        try await add(2, "g")
        _ = try await fixture.client.cancel(job)
        _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(job)])
        #expect(try await self.listed(fixture) == [1])
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'g')")
        #expect(try await self.listed(fixture) == [1, 2])
    }

    @Test func `A person is erased with jobs known only by the face, and nobody else's jobs are`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.set_face_limits('acme', attempts => 1000)")
        try await self.enrol(fixture, [1])
        try await self.enrol(fixture, [2], user: "ann")
        try await self.enrol(fixture, [3], face: "other")
        // Bob tried with Ann's face id.
        try await self.enrol(fixture, [4], face: "bobs", user: "bob")
        let tried = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"authentication","faceId":"f","userReference":"bob"}"#.utf8),
            parts: [.face: [Data("x".utf8)]])
        let faces = try await fixture.admin.query("SELECT insp.faces_of_person('acme', 'ann')").map { try $0.string(0) }
        #expect(faces == ["f"])
        // Bob's is nothing that Ann's erasure waits for; one that nobody else has is.
        let bare = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"authentication","faceId":"f"}"#.utf8),
            parts: [.face: [Data("x".utf8)]])
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.erase_person('acme', 'ann')")
        }
        #expect(refused?.refusal?.code == .jobNotFinished)
        _ = try await fixture.client.cancel(bare)
        #expect(try await fixture.admin.query("SELECT insp.erase_person('acme', 'ann')")[0].int(0) == 3)
        #expect(try await self.listed(fixture) == [1, 2])
        #expect(try await fixture.count("insp.face_template") == 2)
        #expect(try await fixture.count("insp.face_named WHERE face_id = 'f'") == 0)
        #expect(try await fixture.result(of: bare)["erasedAt"] != nil)
        #expect(try await fixture.count("insp.job WHERE public_id = '\(tried)' AND forgotten_at IS NULL") == 1)
        #expect(try await fixture.admin.query("SELECT insp.faces_of_person('acme', 'ann')").isEmpty)
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

@Suite struct RetentionTests {
    private static let payload = Data(#"{"partner":"acme","workflow":"id","userReference":"Jane"}"#.utf8)

    struct Purged: Equatable {
        var parts = 0, results = 0, keys = 0, callbacks = 0, partitions = 0
        var more = false
    }

    func purge(_ fixture: QueueFixture, limit: Int = 1000) async throws -> Purged {
        let row = try await fixture.admin.query("SELECT * FROM insp.purge($1::int)", [.int(Int64(limit))])[0]
        return Purged(
            parts: Int(try row.int("parts")), results: Int(try row.int("results")), keys: Int(try row.int("keys")),
            callbacks: Int(try row.int("callbacks")), partitions: Int(try row.int("partitions")),
            more: try row.bool("more"))
    }

    func enqueue(_ fixture: QueueFixture, _ count: Int, partner: String = "acme") async throws -> [String] {
        var ids: [String] = []
        for number in 0..<count {
            let payload = String(decoding: Self.payload, as: UTF8.self).replacing("acme", with: partner)
            ids.append(
                try await fixture.client.enqueue(
                    payload: Data(payload.utf8), parts: [.front: [Data("image \(number)".utf8)]]))
        }
        return ids
    }

    func drain(_ fixture: QueueFixture) async throws {
        var configuration = fixture.configuration()
        configuration.drains = true
        configuration.maintains = false
        let handler = ClosureHandler { _, context in
            try await context.complete(.document, output: Data(#"{"name":"Jane"}"#.utf8))
            return ClosureHandler.passed
        }
        try await JobWorker(configuration, handler: handler).run()
    }

    /// Makes everything older.
    func age(_ fixture: QueueFixture, _ interval: String, where condition: String = "true") async throws {
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '\(interval)',
                completed_at = completed_at - interval '\(interval)' WHERE \(condition);
            UPDATE insp.purge_later SET due_at = due_at - interval '\(interval)'
            """)
    }

    @Test func `Parts and results go when their partner's time is over, and the job says so`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('archive', 'https://hooks.example.com/y')")
        _ = try await fixture.admin.query("SELECT insp.set_retention('archive', '1 year', '31 days')")
        let old = try await self.enqueue(fixture, 3)
        let kept = try await self.enqueue(fixture, 2, partner: "archive")
        try await self.drain(fixture)
        try await self.age(fixture, "40 days")
        let open = try await self.enqueue(fixture, 1)[0]
        try await self.age(fixture, "40 days", where: "status = 1")
        let young = try await self.enqueue(fixture, 1)[0]

        #expect(try await self.purge(fixture) == Purged(parts: 3, results: 5))
        #expect(try await self.purge(fixture) == Purged())
        for id in old + kept {
            let result = try await fixture.result(of: id)
            #expect(result["status"] as? Int == 128)
            #expect(result["purgedAt"] as? String != nil)
            #expect(result["decision"] == nil)
        }
        // A digest would still show whether an image was this one.
        #expect(try await fixture.count("insp.part") == 4)
        #expect(try await fixture.count("insp.part WHERE sha256 = sha256(convert_to('image 0', 'UTF8'))") == 3)
        #expect(try await fixture.count("insp.job j WHERE insp.personal(j.personal)::text LIKE '%Jane%'") == 4)
        #expect(try await fixture.count("insp.step s WHERE insp.step_document(s)::text LIKE '%Jane%'") == 0)
        #expect(try await fixture.count("insp.event WHERE kind = 'finished'") == 5)
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.rerun($1)", [.text(old[0])])
        }
        #expect(refused?.sqlState == ErrorCode.partsPurged.sqlState)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'purge'") == 1)

        // The one that was open when the cursor passed, and the one that was too young.
        try await self.drain(fixture)
        #expect(try await fixture.count("insp.step s WHERE insp.step_document(s)::text LIKE '%Jane%'") == 2)
        try await self.age(fixture, "31 days")
        #expect(try await self.purge(fixture) == Purged(parts: 2, results: 2))
        for id in [open, young] { #expect(try await fixture.result(of: id)["purgedAt"] != nil) }
        #expect(try await fixture.count("insp.purge_later") == 0)
        // A shorter time holds for jobs that the cursors have passed.
        _ = try await fixture.admin.query("SELECT insp.set_retention('archive', '1 hour')")
        #expect(try await self.purge(fixture) == Purged(parts: 2))
    }

    @Test func `Each call does a bounded piece, and says that there is more`() async throws {
        let fixture = try await QueueFixture()
        _ = try await self.enqueue(fixture, 10)
        try await self.drain(fixture)
        try await self.age(fixture, "40 days")
        var pieces: [Purged] = []
        repeat {
            pieces.append(try await self.purge(fixture, limit: 4))
        } while pieces.last?.more == true && pieces.count < 50
        #expect(pieces.map(\.parts) == [4, 4, 2])
        #expect(pieces.map(\.results) == [4, 4, 2])
        try await fixture.admin.execute(
            """
            INSERT INTO insp.part (job_id, kind, ordinal, size, sha256, content_id)
            SELECT j.id, 'FRONT', 0, 40000000, sha256('x'), j.id FROM insp.job j
            """)
        try await fixture.admin.execute("DELETE FROM insp.retention_cursor")
        #expect(try await self.purge(fixture).parts == 2)
    }

    @Test func `Delivered callbacks and idempotency keys go, others stay`() async throws {
        let fixture = try await QueueFixture()
        for number in 0..<4 {
            let payload = #"{"partner":"acme","workflow":"id","idempotencyKey":"k\#(number)"}"#
            _ = try await fixture.client.enqueue(payload: Data(payload.utf8), parts: [.front: [Data("x".utf8)]])
        }
        try await self.drain(fixture)
        try await fixture.admin.execute(
            """
            UPDATE insp.callback SET created_at = now() - interval '50 days';
            DELETE FROM insp.callback_waiting WHERE callback_id <= 3;
            INSERT INTO insp.callback_attempt (callback_id, attempt, started_at, duration_ms, error)
            SELECT id, 1, now() - CASE WHEN id <= 2 THEN 40 ELSE 0 END * interval '1 day', 1, CASE WHEN id > 3 THEN 'x' END
            FROM insp.callback;
            UPDATE insp.job_key SET created_at = now() - interval '31 days' WHERE key <> 'k3'
            """)
        #expect(try await self.purge(fixture) == Purged(keys: 3, callbacks: 2))
        #expect(try await fixture.count("insp.callback") == 2)
        #expect(try await fixture.count("insp.callback_attempt") == 2)
        #expect(try await fixture.count("insp.job_key WHERE key = 'k3'") == 1)
        try await fixture.admin.execute(
            """
            DELETE FROM insp.callback_waiting;
            UPDATE insp.callback_attempt SET started_at = now() - interval '40 days', error = NULL;
            UPDATE insp.purge_later SET due_at = due_at - interval '40 days'
            """)
        #expect(try await self.purge(fixture, limit: 1).callbacks == 1)
        #expect(try await self.purge(fixture, limit: 1).callbacks == 1)
    }

    @Test func `A partition is dropped once all its jobs are over, without waiting for anybody`() async throws {
        let fixture = try await QueueFixture()
        _ = try await self.enqueue(fixture, 5)
        try await self.drain(fixture)
        let open = try await self.enqueue(fixture, 1)[0]
        try await self.age(fixture, "100 days")
        _ = try await fixture.admin.query("SELECT setval('insp.job_id', 5000000)")
        let fresh = try await self.enqueue(fixture, 2)
        let again = try await fixture.admin.query(
            "SELECT insp.rerun(j.public_id) FROM insp.job j WHERE j.status = 128 LIMIT 1")[0].string(0)
        let drop = "SELECT insp.drop_history()"
        #expect(try await fixture.admin.query(drop)[0].int(0) == 0)
        #expect(try await fixture.client.cancel(open))
        #expect(try await fixture.admin.query(drop)[0].int(0) == 0, "the last one ended just now")
        try await self.age(fixture, "100 days", where: "completed_at > now() - interval '1 day'")
        // The first call finds the jobs over, the next one that nothing is left to look at, but for what they leave elsewhere.
        #expect(try await fixture.admin.query(drop)[0].int(0) == 0)
        #expect(try await fixture.admin.query(drop)[0].int(0) == 0)
        #expect(try await fixture.count("insp.content WHERE id < 5000000") == 6)
        // What a later rerun refers to came with one of these jobs.
        for _ in 0..<2 { #expect(try await self.purge(fixture).partitions == 0) }
        #expect(try await fixture.count("insp.content WHERE id < 5000000") == 1)
        #expect(try await fixture.client.cancel(again))
        #expect(try await fixture.admin.query("SELECT insp.erase($1)", [.text(again)])[0].bool(0))

        let reader = try await fixture.database.connect()
        try await reader.execute("BEGIN; SELECT count(*) FROM insp.step")
        // A call that waits for the open transaction fails after its connection's 30 seconds.
        #expect(try await fixture.admin.query(drop)[0].int(0) == 0)
        #expect(try await fixture.count("insp.job") == 9)
        try await reader.execute("COMMIT")
        #expect(try await fixture.admin.query(drop)[0].int(0) == 1)
        #expect(try await fixture.count("insp.job") == 3)
        #expect(try await fixture.count("pg_class WHERE relname ~ '^(job|part|content|step|event)_p000000$'") == 0)
        #expect(try await fixture.admin.query(drop)[0].int(0) == 0)
        await #expect(throws: InspectError(.jobUnknown)) { try await fixture.client.result(of: open) }
        try await self.drain(fixture)
        for id in fresh { #expect(try await fixture.result(of: id)["status"] as? Int == 128) }
        #expect(try await fixture.count("insp.v_stuck") == 0)
        // What comes next is created once, and nothing that was dropped.
        _ = try await fixture.admin.query("SELECT insp.ensure_partitions()")
        #expect(try await fixture.admin.query("SELECT insp.ensure_partitions()")[0].int(0) == 0)
        #expect(try await fixture.count("pg_class WHERE relname ~ '^(job|part|content|step|event)_p000004$'") == 5)
        #expect(try await fixture.count("pg_class WHERE relname ~ '^(job|part|content|step|event)_p000000$'") == 0)
    }

    @Test func `What depends on a partition keeps it, and the log says so once a day`() async throws {
        let fixture = try await QueueFixture()
        _ = try await self.enqueue(fixture, 1)
        try await self.drain(fixture)
        try await self.age(fixture, "100 days")
        _ = try await fixture.admin.query("SELECT setval('insp.job_id', 5000000)")
        _ = try await self.enqueue(fixture, 1)
        try await fixture.admin.execute("CREATE VIEW theirs AS SELECT id FROM insp.job_p000000")
        let warned = "insp.retention_cursor WHERE what = 'partitions' AND warned_at"
        for _ in 0..<5 { #expect(try await self.purge(fixture).partitions == 0) }
        #expect(try await fixture.count("\(warned) > now() - interval '1 hour'") == 1)
        for (hours, isSaid) in [("23 hours", false), ("25 hours", true), ("-1 hours", true)] {
            try await fixture.admin.execute(
                "UPDATE insp.retention_cursor SET warned_at = now() - interval '\(hours)' WHERE what = 'partitions'")
            #expect(try await self.purge(fixture).partitions == 0)
            let now = "BETWEEN now() - interval '30 minutes' AND now()"
            #expect(try await fixture.count("\(warned) \(now)") == (isSaid ? 1 : 0), "after \(hours)")
        }
        try await fixture.admin.execute("DROP VIEW theirs")
        #expect(try await self.purge(fixture).partitions == 1)
    }

    @Test func `A partition is dropped behind what takes away what its jobs leave elsewhere`() async throws {
        let fixture = try await QueueFixture()
        let keep = { (time: String) in
            "SELECT insp.set_retention('acme', '\(time)', '\(time)', keep_references => '\(time)')"
        }
        _ = try await fixture.admin.query(keep("2 years"))
        for number in 0..<12 {
            let payload = #"{"partner":"acme","workflow":"id","userReference":"user \#(number)"}"#
            _ = try await fixture.client.enqueue(payload: Data(payload.utf8), parts: [.front: [Data("x".utf8)]])
        }
        var configuration = fixture.configuration()
        configuration.drains = true
        configuration.maintains = false
        let handler = ClosureHandler { _, _ in throw InspectError(.corruptImage) }
        try await JobWorker(configuration, handler: handler).run()
        try await fixture.admin.execute("SELECT insp.resolve_dead(d.id, 'said of a person') FROM insp.v_dead d")
        try await self.age(fixture, "100 days")
        _ = try await fixture.admin.query("SELECT setval('insp.job_id', 5000001)")
        _ = try await fixture.admin.query(keep("30 days"))
        // What somebody holds is left for later, and the partition with it.
        let callback = try await fixture.admin.query(
            """
            SELECT c.id FROM insp.callback c JOIN insp.job j ON j.id = c.job_id
            WHERE insp.personal(j.personal) ->> 'userReference' = 'user 7'
            """)[0].int(0)
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN; SELECT FROM insp.callback WHERE id = \(callback) FOR SHARE")
        var calls = 0
        repeat { calls += 1 } while try await self.purge(fixture, limit: 2).more && calls < 50
        #expect(calls > 3)
        for _ in 0..<3 { #expect(try await self.purge(fixture).partitions == 0) }
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 1)
        try await holder.execute("COMMIT")
        await holder.close()
        try await fixture.admin.execute("UPDATE insp.purge_later SET due_at = now() WHERE what = 'references'")
        for _ in 0..<3 { _ = try await self.purge(fixture) }
        #expect(try await fixture.count("insp.job") == 0)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
        #expect(try await fixture.count("insp.job_reference") == 0)
        #expect(try await fixture.count("insp.record WHERE words IS NOT NULL") == 0)
        #expect(try await fixture.count("insp.record WHERE words_sha256 IS NOT NULL") == 12)
    }

    @Test func `An erased job is known to have existed, and nothing more`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await self.enqueue(fixture, 2)
        let erase = "SELECT insp.erase($1)"
        let early = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(erase, [.text(ids[0])])
        }
        #expect(early?.sqlState == ErrorCode.jobNotFinished.sqlState)
        try await self.drain(fixture)
        try await fixture.admin.execute("DELETE FROM insp.callback_waiting")
        #expect(try await fixture.admin.query(erase, [.text(ids[0])])[0].bool(0))
        #expect(try await !fixture.admin.query(erase, [.text(ids[0])])[0].bool(0))
        let result = try await fixture.result(of: ids[0])
        #expect(
            Set(result.keys) == [
                "schemaVersion", "id", "status", "workflow", "createdAt", "startedAt", "completedAt", "erasedAt",
            ])
        for place in [
            "insp.job j WHERE insp.personal(j.personal)::text LIKE '%Jane%'",
            "insp.step s WHERE insp.step_document(s)::text LIKE '%Jane%'",
            "insp.callback WHERE has_reference", "insp.part",
        ] {
            #expect(try await fixture.count(place) == 1, "\(place)")
        }
        #expect(try await fixture.count("insp.event WHERE kind = 'finished'") == 2)
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.rerun($1)", [.text(ids[0])])
        }
        #expect(refused?.sqlState == ErrorCode.partsPurged.sqlState)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'erase' AND subject = '\(ids[0])'") == 1)
        try await self.age(fixture, "40 days")
        #expect(try await self.purge(fixture) == Purged(parts: 1, results: 1))
        #expect(try await fixture.result(of: ids[0])["erasedAt"] != nil)
    }

    @Test func `A rerun that meets the purge has all its parts or is refused`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await self.enqueue(fixture, 60)
        try await self.drain(fixture)
        try await self.age(fixture, "40 days")
        let reruns = try await withThrowingTaskGroup(of: Int.self) { group in
            for slice in [ids[..<30], ids[30...]] {
                group.addTask {
                    let connection = try await fixture.database.connect()
                    var made = 0
                    for id in slice.reversed() {
                        do {
                            _ = try await connection.query("SELECT insp.rerun($1)", [.text(id)])
                            made += 1
                        } catch let error as PostgresError
                            where [ErrorCode.partsPurged, .requestPurged].map(\.sqlState).contains(error.sqlState)
                        {}
                    }
                    await connection.close()
                    return made
                }
            }
            group.addTask {
                for _ in 0..<30 { _ = try await self.purge(fixture, limit: 2) }
                return 0
            }
            return try await group.reduce(0, +)
        }
        #expect(try await fixture.count("insp.job WHERE rerun_of IS NOT NULL") == reruns)
        #expect(
            try await fixture.count(
                "insp.job j JOIN insp.part p ON p.job_id = j.id JOIN insp.content c ON c.id = p.content_id WHERE j.status = 1"
            )
                == reruns)
        // Those that a rerun held at the moment were left for later.
        try await fixture.admin.execute("UPDATE insp.purge_later SET due_at = due_at - interval '1 minute'")
        try await fixture.purgeAll()
        #expect(try await fixture.count("insp.job j JOIN insp.part p ON p.job_id = j.id WHERE j.status = 128") == 0)
    }

    @Test func `A worker that maintains purges`() async throws {
        let fixture = try await QueueFixture()
        _ = try await self.enqueue(fixture, 3)
        try await self.drain(fixture)
        try await self.age(fixture, "40 days")
        let log = EventLog()
        try await withWorker(fixture.configuration(), ClosureHandler(), log: log) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.part) AND NOT EXISTS (SELECT FROM insp.content)")
        }
        #expect(log.count { if case .purged(3, 3, 0) = $0 { true } else { false } } == 1)
    }

    @Test func `Periods that cannot be kept are refused`() async throws {
        let fixture = try await QueueFixture()
        for (call, state) in [
            ("'acme', '59 minutes'", "IN089"), ("'acme', '1 month -30 days'", "IN089"),
            ("'acme', keep_results => '0'", "IN089"), ("'acme', keep_references => '0'", "IN089"),
            ("'acme', keep_results => '10000 years'", "IN089"),
            ("'acme', keep_references => '101 years'", "IN089"), ("what => 'samples', keep => '10000 years'", "IN113"),
            ("'nobody', '1 day'", "IN003"),
            ("what => 'socks', keep => '1 day'", "IN113"),
            ("'acme', what => 'events'", "IN113"), ("", "IN113"), ("what => 'events', keep => '1 minute'", "IN113"),
        ] {
            let error = await #expect(throws: PostgresError.self, "\(call)") {
                try await fixture.admin.query("SELECT insp.set_retention(\(call))")
            }
            #expect(error?.sqlState == state, "\(call)")
        }
        let faces = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.set_face_limits('acme', keep => '10000 years')")
        }
        #expect(faces?.sqlState == ErrorCode.partnerInvalid.sqlState)
        // The longest time ends no round of retention.
        try await fixture.admin.execute(
            """
            BEGIN; SELECT insp.set_retention('acme', '100 years', '100 years', keep_references => '100 years');
            SELECT insp.set_retention(what => r.what, keep => '100 years') FROM insp.retention r;
            SELECT insp.set_face_limits('acme', keep => '100 years');
            SELECT insp.purge(), insp.face_purge(), insp.sample_queue(); ROLLBACK
            """)
        _ = try await fixture.admin.query("SELECT insp.set_retention(what => 'events', keep => '120 days')")
        #expect(try await fixture.count("insp.retention WHERE keep = '120 days'") == 1)
        #expect(try await fixture.count("insp.record WHERE action = 'set_retention'") == 1)
    }
}

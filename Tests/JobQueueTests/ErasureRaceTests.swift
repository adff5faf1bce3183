import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Whatever else happens to a job at the moment of its erasure, nothing of the person is left, or a second erasure sees it.
@Suite struct ErasureRaceTests {
    /// A job to be raced for, with what statements need of it: JOB, ID, FENCE.
    private struct Target {
        var id: String
        var job: Int64
        var fence: Int64 = 0

        func fill(_ sql: String) -> String {
            sql.replacing("JOB", with: "\(self.job)").replacing("ID", with: self.id)
                .replacing("FENCE", with: "\(self.fence)")
        }
    }

    /// How far the job is when the race begins.
    private enum State { case claimed, held, finished, dead }

    private static let output = #"{"decision":{"type":"WARNING","details":{"label":"ZQMARK"}}}"#
    private static let body = #"{"name":"zqmark"}"#
    private static let payload =
        #"{"partner":"acme","workflow":"id","userReference":"zqmark user","idempotencyKey":"zqmark KEY","callbackUrl":"https://hooks.example.com/zqmark"}"#
    private static let erase = "SELECT insp.erase('ID')"
    private static let settle =
        "SELECT insp.settle(ARRAY[JOB]::bigint[], ARRAY[FENCE]::bigint[], ARRAY['\(output)'], ARRAY['\(body)'::bytea], ARRAY[JOB]::bigint[], ARRAY[FENCE]::bigint[], ARRAY[8]::smallint[], ARRAY['\(body)'::bytea])"
    private static let hold = settle.replacing("insp.settle", with: "insp.hold_for_review")
    private static let dead =
        "SELECT insp.dead_letter(ARRAY[JOB]::bigint[], ARRAY[FENCE]::bigint[], ARRAY['CORRUPT_IMAGE'], ARRAY['zqmark detail'], ARRAY[false])"
    private static let webhook = "'msg_' || replace('ID', '-', '')"

    private func prepare(_ fixture: QueueFixture, _ state: State, _ number: Int) async throws -> Target {
        let id = try await fixture.client.enqueue(
            payload: Data(Self.payload.replacing("KEY", with: "\(number)").utf8), parts: [.front: [PersonalMarks.image]]
        )
        let row = try await fixture.admin.query(
            """
            WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), registered AS MATERIALIZED (
                SELECT w.incarnation, r.worker_id FROM worker w,
                    LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 4) r)
            SELECT c.job_id, c.fence FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 4,
                ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c
            WHERE c.job_id = (SELECT j.id FROM insp.job j WHERE j.public_id = $1)
            """, [.text(id)])[0]
        let target = Target(id: id, job: try row.int(0), fence: try row.int(1))
        switch state {
        case .claimed: break
        case .held: _ = try await fixture.admin.query(target.fill(Self.hold))
        case .finished: _ = try await fixture.admin.query(target.fill(Self.settle))
        case .dead: _ = try await fixture.admin.query(target.fill(Self.dead))
        }
        return target
    }

    /// Runs one statement in a transaction that stays open while the other is tried, then commits.
    private func race(_ fixture: QueueFixture, _ open: String, _ other: String) async throws {
        let (holder, contender) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await holder.execute("BEGIN; \(open)")
        let pid = try await contender.query("SELECT pg_backend_pid()")[0].int(0)
        let isDone = Mutex(false)
        let trying = Task {
            defer { isDone.withLock { $0 = true } }
            // Refused, in vain, not waited for or chosen as a deadlock's victim: all are answers.
            do { for sql in other.split(separator: ";") { _ = try await contender.query(String(sql)) } } catch let error
                as PostgresError
            {
                #expect(
                    error.sqlState?.hasPrefix("IN") == true || ["40P01", "55P03"].contains(error.sqlState), "\(error)")
            }
        }
        try await waitUntil("it waits for the holder, or is done") {
            if isDone.withLock({ $0 }) { return true }
            return try await fixture.admin.query(
                "SELECT cardinality(pg_blocking_pids($1::int)) > 0", [.int(pid)])[0].bool(0)
        }
        try await holder.execute("COMMIT")
        try await trying.value(within: .seconds(120))
        await holder.close()
        await contender.close()
    }

    /// What an operator does then: ends what is open, and erases.
    private func finish(_ fixture: QueueFixture, _ target: Target, _ name: String) async throws {
        let mine = "SELECT public_id::text FROM insp.job WHERE id >= \(target.job)"
        for row in try await fixture.admin.query(mine + " AND status < 128") {
            #expect(try await fixture.client.cancel(try row.string(0)))
        }
        let ids = try await fixture.admin.query(mine).map { try $0.string(0) }
        for round in 0..<3 {
            let left = try await fixture.holding()
            var removed = false
            for id in ids {
                let erased = try await fixture.admin.query("SELECT insp.erase('\(id)')")[0].bool(0)
                removed = removed || erased
            }
            // Who calls again learns whether there was anything.
            #expect(removed || left.isEmpty, "\(name), round \(round): \(left)")
            if !removed { break }
        }
        #expect(try await fixture.holding() == [], "\(name)")
    }

    @Test func `Nothing is left, whatever runs beside an erasure`() async throws {
        let fixture = try await QueueFixture()
        let take = "SELECT t.id FROM insp.callback_claim(1000, interval '10 minutes', 1000) t"
        let record = """
            SELECT insp.callback_settle(ARRAY[l.endpoint_id], ARRAY[l.callback_id], ARRAY[l.claim_id], ARRAY['retry'],
                ARRAY[1000::bigint], ARRAY[1::bigint], ARRAY[1::bigint], ARRAY[0::bigint], ARRAY['CONNECTION_FAILED'],
                ARRAY['zqmark.example.com'], 'w')
            FROM insp.callback_lease l JOIN insp.callback c ON c.id = l.callback_id WHERE c.job_id = JOB
            """
        let steps =
            "SELECT insp.store_steps(ARRAY[JOB]::bigint[], ARRAY[FENCE]::bigint[], ARRAY[8]::smallint[], ARRAY['\(Self.body)'::bytea])"
        let session =
            "SELECT insp.session_begin(JOB, FENCE); SELECT insp.session_end(JOB, FENCE, 'answered', 200, '{\"blob\":\"zqmark\"}')"
        let endThenErase = "SELECT insp.cancel('ID'); " + Self.erase
        let again = "SELECT insp.enqueue('\(Self.payload)', front => 'zqmark image')"
        let races: [(String, State, open: String, other: String)] = [
            ("settle first", .claimed, Self.settle, Self.erase),
            ("settle after", .claimed, endThenErase, Self.settle),
            ("stage first", .claimed, steps, endThenErase), ("stage after", .claimed, endThenErase, steps),
            ("hold first", .claimed, Self.hold, endThenErase), ("hold after", .claimed, endThenErase, Self.hold),
            ("dead-letter first", .claimed, Self.dead, Self.erase),
            ("dead-letter after", .claimed, endThenErase, Self.dead),
            ("session first", .claimed, session, endThenErase), ("session after", .claimed, endThenErase, session),
            ("review first", .held, "SELECT insp.review('ID', 'PASSED', 'ZQMARK', 'zqmark note')", Self.erase),
            ("review after", .held, endThenErase, "SELECT insp.review('ID', 'PASSED', 'ZQMARK', 'zqmark note')"),
            ("cancel first", .claimed, "SELECT insp.cancel('ID')", Self.erase),
            ("rerun first", .finished, "SELECT insp.rerun('ID')", Self.erase),
            ("rerun after", .finished, Self.erase, "SELECT insp.rerun('ID')"),
            ("same key first", .finished, again, Self.erase), ("same key after", .finished, Self.erase, again),
            ("erase twice", .finished, Self.erase, Self.erase),
            ("take first", .finished, take, Self.erase), ("take after", .finished, Self.erase, take),
            ("record first", .finished, take + "; " + record, Self.erase),
            ("claimed record first", .finished, take + "; COMMIT; BEGIN; " + record, Self.erase),
            ("record after", .finished, Self.erase, take + "; " + record),
            (
                "dead-letter first", .finished, "SELECT insp.callback_dead_letter(\(Self.webhook), 'zqmark why')",
                Self.erase
            ),
            (
                "dead-letter after", .finished, Self.erase,
                "SELECT insp.callback_dead_letter(\(Self.webhook), 'zqmark why')"
            ),
            ("replay first", .finished, "SELECT insp.callback_replay(\(Self.webhook))", Self.erase),
            ("replay after", .finished, Self.erase, "SELECT insp.callback_replay(\(Self.webhook))"),
            ("resolve first", .dead, "SELECT insp.resolve_dead('ID', 'zqmark why')", Self.erase),
            ("resolve after", .dead, Self.erase, "SELECT insp.resolve_dead('ID', 'zqmark why')"),
            ("purge after", .finished, Self.erase, "SELECT insp.purge()"),
            ("purge first", .finished, "SELECT insp.purge()", Self.erase),
        ]
        for (number, race) in races.enumerated() {
            // Nobody else's jobs are claimed for it.
            try await fixture.admin.execute("DELETE FROM insp.ready; DELETE FROM insp.worker")
            let target = try await self.prepare(fixture, race.1, number)
            func fill(_ sql: String) -> String { target.fill(sql.replacing("KEY", with: "\(number)")) }
            try await self.race(fixture, fill(race.open), fill(race.other))
            // Once it has answered, an erasure that came second leaves nothing for another.
            if ["claimed record first", "resolve after"].contains(race.0) {
                #expect(try await fixture.holding() == [], "\(race.0), one erasure")
            }
            try await self.finish(fixture, target, race.0)
        }
        #expect(try await fixture.dump() == [])
    }

    @Test func `A person's erasure and one of a job of the same chain do not stop each other`() async throws {
        let fixture = try await QueueFixture()
        let target = try await self.prepare(fixture, .finished, 0)
        let rerun = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(target.id)])[0].string(0)
        // The job's references have come of age, and the rerun's have not.
        try await fixture.admin.execute(
            """
            SELECT insp.cancel('\(rerun)'); SELECT insp.remove_references(ARRAY[\(target.job)]::bigint[], false)
            """)
        let (holder, person, job) = (
            try await fixture.database.connect(), try await fixture.database.connect(),
            try await fixture.database.connect()
        )
        try await holder.execute("BEGIN; SELECT FROM insp.job WHERE public_id = '\(rerun)' FOR UPDATE")
        func erase(_ sql: String, on connection: PostgresConnection) async throws -> Task<Void, any Error> {
            let pid = try await connection.query("SELECT pg_backend_pid()")[0].int(0)
            let erasure = Task { _ = try await connection.query(sql) }
            try await fixture.wait(for: "cardinality(pg_blocking_pids(\(pid))) > 0")
            return erasure
        }
        let first = try await erase("SELECT insp.erase_person('acme', 'zqmark user')", on: person)
        let second = try await erase("SELECT insp.erase('\(target.id)')", on: job)
        try await holder.execute("COMMIT")
        try await first.value(within: .seconds(120))
        try await second.value(within: .seconds(120))
        #expect(try await fixture.holding() == [])
        for connection in [holder, person, job] { await connection.close() }
    }

    @Test(arguments: [
        "SELECT * FROM insp.withdraw_person('acme', 'zqmark user')", "SELECT insp.withdraw_consent('OLD')",
        "SELECT insp.face_delete('acme', 'zqmark face')",
    ])
    func `A call that ends open jobs holds none of them while it waits for one that is finished`(
        _ call: String
    ) async throws {
        let fixture = try await QueueFixture()
        let payload =
            #"{"partner":"acme","workflow":"authentication","userReference":"zqmark user","faceId":"zqmark face"}"#
        let old = try await fixture.client.enqueue(
            payload: Data(payload.utf8), parts: [.face: [PersonalMarks.image]])
        #expect(try await fixture.client.cancel(old))
        let open = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(old)])[0].string(0)
        let (holder, caller) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await holder.execute("BEGIN; SELECT FROM insp.job WHERE public_id = '\(old)' FOR UPDATE")
        let pid = try await caller.query("SELECT pg_backend_pid()")[0].int(0)
        let calling = Task { _ = try await caller.query(call.replacing("OLD", with: old)) }
        try await fixture.wait(for: "cardinality(pg_blocking_pids(\(pid))) > 0")
        // In the order of the numbers, as an erasure. If the call held the open one, each would wait for the other.
        #expect(try await holder.query("SELECT insp.cancel($1)", [.text(open)])[0].bool(0))
        try await holder.execute("COMMIT")
        try await calling.value(within: .seconds(120))
        #expect(try await fixture.count("insp.job WHERE status < 128") == 0)
        for connection in [holder, caller] { await connection.close() }
    }

    @Test(arguments: ["erase", "withdraw"])
    func `A call for both spellings of a person locks all jobs in one order`(_ call: String) async throws {
        let fixture = try await QueueFixture()
        func job(_ user: String) async throws -> String {
            let payload = #"{"partner":"acme","workflow":"id","userReference":"\#(user)"}"#
            let id = try await fixture.client.enqueue(
                payload: Data(payload.utf8), parts: [.front: [PersonalMarks.image]])
            #expect(try await fixture.client.cancel(id))
            return id
        }
        let (low, high) = (try await job("second"), try await job("first"))
        let secret = try await fixture.admin.query(
            "SELECT secret FROM insp.create_credential('acme', '{persons}')")[0].string(0)
        let (holder, caller) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await holder.execute("BEGIN; SELECT FROM insp.job WHERE public_id = '\(low)' FOR UPDATE")
        let pid = try await caller.query("SELECT pg_backend_pid()")[0].int(0)
        let calling = Task {
            _ = try await caller.query(
                """
                SELECT insp.gateway_\(call)((SELECT max(id) FROM insp.credential),
                    sha256(convert_to('\(secret)', 'UTF8')), ARRAY[sha256('first'), sha256('second')])
                """)
        }
        try await fixture.wait(for: "cardinality(pg_blocking_pids(\(pid))) > 0")
        try await holder.execute("SELECT FROM insp.job WHERE public_id = '\(high)' FOR UPDATE NOWAIT; COMMIT")
        try await calling.value(within: .seconds(120))
        for connection in [holder, caller] { await connection.close() }
        #expect(try await fixture.count("insp.job WHERE personal IS NOT NULL") == 0)
    }

    @Test func `A template that is handed over while its job is cancelled is not left behind`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"enrollment","faceId":"zqmark face"}"#.utf8),
            parts: [.face: [PersonalMarks.image]])
        let row = try await fixture.admin.query(
            """
            WITH w AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), r AS MATERIALIZED (
                SELECT w.incarnation, x.worker_id FROM w, LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 4) x)
            SELECT c.job_id, c.fence FROM r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 4,
                ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c WHERE c.job_id IS NOT NULL
            """)[0]
        let stage =
            "SELECT insp.face_stage(\(try row.int(0)), \(try row.int(1)), 0, 'e', repeat('a', 64), repeat('\(PersonalMarks.hex)aaaa', 64))"
        try await self.race(fixture, stage, "SELECT insp.cancel('\(id)')")
        #expect(try await fixture.count("insp.job WHERE status = 128") == 1)
        #expect(try await fixture.count("insp.face_pending") == 0)
        // The face id is free for the next enrolment.
        #expect(try await fixture.count("insp.face_job") == 0)
        _ = try await fixture.admin.query("SELECT insp.face_delete('acme', 'zqmark face')")
        _ = try await fixture.admin.query("SELECT insp.erase('\(id)')")
        #expect(try await fixture.dump() == [])
    }
}

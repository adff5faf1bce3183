import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// The record of who did what: what each source writes, that nobody waits for it, and how long it stays.
@Suite struct RecordTests: RecordChain {
    // MARK: What is recorded

    @Test func `Operators, partners, sessions and endpoints are recorded with who and what`() async throws {
        let fixture = try await QueueFixture()
        let me = try await fixture.admin.query("SELECT session_user::text")[0].string(0)
        _ = try await fixture.admin.query("SELECT insp.pause('bulk', reason => 'why')")
        #expect(try await self.rows("operator", fixture).last == "\(me) pause lane bulk {}")
        #expect(try await fixture.count("insp.v_operator_events WHERE detail = '{\"reason\": \"why\"}'") == 1)

        _ = try await fixture.admin.query(
            "SELECT insp.callback_disable(id), insp.callback_enable(id) FROM insp.endpoint")
        #expect(try await self.rows("endpoint", fixture) == [#"\#(me) enabled endpoint 1 {"freed": 0}"#])
        #expect(
            try await fixture.count(
                "insp.v_endpoint_events WHERE partner = 'acme' AND (endpoint_id, kind) = (1, 'enabled')")
                == 1)

        let made = try await fixture.admin.query(
            "SELECT key_id, secret FROM insp.create_credential('acme', '{session}')")[0]
        let key = try made.string(0)
        let secret = "sha256(convert_to('\(try made.string(1))', 'UTF8'))"
        let id = try await fixture.admin.query(
            """
            SELECT g.id FROM insp.credential c, LATERAL insp.gateway_create(c.id, \(secret), 'session',
                '{"workflow": "liveness"}', NULL, '{SESSION_BLOB}', '{blob}') g
            """)[0].string(0)
        let handler = ClosureHandler { _, context in
            // The answer to the first may have been lost on its way.
            try await context.beginSession()
            try await context.beginSession()
            try await context.endSession(outcome: "answered", status: 200)
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "(SELECT status = 128 FROM insp.job WHERE public_id = '\(id)')")
        }
        _ = try await fixture.admin.query(
            "SELECT insp.gateway_result(c.id, \(secret), 'session', '\(id)') FROM insp.credential c")
        #expect(
            try await self.rows("access", fixture) == [
                #"\#(key) create \#(id) {"scope": "session"}"#,
                #"\#(key) session \#(id) delivery {"scope": "session"}"#,
            ])
        #expect(
            try await fixture.count("insp.v_access WHERE partner = 'acme' AND key_id = '\(key)' AND job = '\(id)'") == 2
        )
        let sessions = try await self.rows("session", fixture)
        let fence = try await fixture.admin.query("SELECT fence::text FROM insp.step WHERE status = 128")[0].string(0)
        #expect(sessions.count == 2)
        #expect(sessions[0].hasSuffix(#" session_begin \#(id) {"fence": "\#(fence)"}"#))
        #expect(
            sessions[1].hasSuffix(
                #" session_end \#(id) {"fence": "\#(fence)", "outcome": "answered", "httpStatus": 200}"#))
        #expect(sessions.allSatisfy { $0.hasPrefix("worker ") })
        // The worker's own duty or this one.
        try await self.link(fixture)
        for chain in ["operator", "access", "session", "endpoint"] {
            #expect(try await self.verify(chain, fixture).outcome == "whole", "\(chain)")
        }
    }

    @Test func `A worker gives what has committed its place`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.pause('bulk')")
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.record WHERE seq IS NULL)", within: 10)
        }
        #expect(try await fixture.count("insp.v_maintenance WHERE duty = 'record' AND state = 'well'") == 1)
    }

    @Test func `Notes are removed with the person, and the chain stays whole`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        try await fixture.admin.execute(
            """
            SELECT insp.cancel('\(id)'); SELECT insp.rerun('\(id)');
            SELECT insp.record('resolve_dead', '\(id)', '{"note": "Jane", "count": 1}')
            """)
        try await fixture.admin.execute("SELECT insp.cancel(public_id) FROM insp.job WHERE status < 128")
        // One before it has its place, the other afterwards.
        for round in 1...2 {
            if round == 2 {
                _ = try await fixture.admin.query("SELECT insp.record('resolve_dead', '\(id)', '{\"note\": \"Jane\"}')")
            }
            if round == 1 { try await self.link(fixture) }
            _ = try await fixture.admin.query("SELECT insp.erase('\(id)')")
            try await self.link(fixture)
            #expect(try await fixture.count("insp.record r WHERE r::text LIKE '%Jane%'") == 0)
            let row = try await fixture.admin.query("SELECT outcome, erased FROM insp.verify_record('operator')")[0]
            #expect(try row.string(0) == "whole")
            #expect(try row.int(1) == Int64(round))
        }
        #expect(
            try await fixture.count(
                "insp.v_operator_events WHERE action = 'resolve_dead' AND detail = '{\"count\": 1}'")
                == 1)
        // Neither what is left of it nor the digest tells what it was.
        #expect(try await fixture.count("insp.record WHERE words_sha256 IS NOT NULL AND words_salt IS NULL") == 2)
    }

    // MARK: Nobody waits

    @Test func `An open transaction delays nobody else's rows, and its own get their place when it commits`()
        async throws
    {
        let fixture = try await QueueFixture()
        try await self.link(fixture)
        let slow = try await fixture.database.connect()
        let eraser = try await fixture.database.connect()
        try await slow.execute("BEGIN; SELECT insp.pause('bulk', reason => 'slow')")
        try await fixture.admin.execute("SELECT insp.record('review', 'x', '{\"note\": \"Jane\"}')")
        try await eraser.execute(
            "BEGIN; UPDATE insp.record SET words = NULL, words_salt = NULL WHERE subject = 'x'")
        for round in 1...3 {
            _ = try await fixture.admin.query("SELECT insp.resume('urgent')")
            #expect(try await self.link(fixture) == 1, "round \(round)")
        }
        #expect(try await fixture.count("insp.record WHERE action = 'resume' AND seq IS NOT NULL") == 3)
        try await slow.execute("COMMIT")
        try await eraser.execute("ROLLBACK")
        #expect(try await self.link(fixture) == 2)
        // It was written first and committed last.
        let order = try await fixture.admin.query("SELECT action FROM insp.record ORDER BY seq OFFSET 1").map {
            try $0.string(0)
        }
        #expect(order == ["resume", "resume", "resume", "pause", "review"])
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        await slow.close()
        await eraser.close()
    }

    @Test func `Many write while places are given, and each row gets one`() async throws {
        let fixture = try await QueueFixture()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<6 {
                let connection = try await fixture.database.connect()
                group.addTask {
                    for number in 0..<40 {
                        // Some stay open for a while, and some are rolled back.
                        try await connection.execute("BEGIN")
                        _ = try await connection.query(
                            "SELECT insp.record('test', $1)", [.text("\(writer) \(number)")])
                        if number % 7 == writer { try await Task.sleep(for: .milliseconds(20)) }
                        try await connection.execute(number % 10 == 9 ? "ROLLBACK" : "COMMIT")
                    }
                    await connection.close()
                }
            }
            for _ in 0..<2 {
                let connection = try await fixture.database.connect()
                group.addTask {
                    for _ in 0..<30 {
                        _ = try await connection.query("SELECT insp.link_record(7)")
                        try await Task.sleep(for: .milliseconds(5))
                    }
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
        try await self.link(fixture)
        #expect(try await fixture.count("insp.record WHERE action = 'test' AND seq IS NOT NULL") == 216)
        #expect(try await fixture.count("insp.record_chain WHERE (chain, seq) = ('operator', 217)") == 1)
        #expect(try await self.verify("operator", fixture).outcome == "whole")
    }

    @Test func `Of two that end a session at the same moment one counts`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        var hand = try await Hand(fixture.admin)
        let job = try #require(try await hand.claim(1, on: fixture.admin).jobs.first?.job)
        let (first, second) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await first.execute(
            "ALTER FUNCTION insp.session_end(bigint, bigint, text, integer, bytea, integer) SET lock_timeout = 0")
        _ = try await first.query("SELECT insp.session_begin($1, $2)", [.int(job.id), .int(job.fence)])
        let end = "SELECT insp.session_end($1, $2, $3, NULL, $4)"
        try await first.execute("BEGIN")
        _ = try await first.query(
            end, [.int(job.id), .int(job.fence), .text("answered"), .bytes(Data("{}".utf8))])
        let other = Task {
            _ = try await second.query(
                end, [.int(job.id), .int(job.fence), .text("lost"), .bytes(Data(#"{"lost":1}"#.utf8))])
        }
        try await fixture.wait(
            for: "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        try await first.execute("COMMIT")
        try await other.value(within: .seconds(120))
        let ends = try await fixture.admin.query(
            "SELECT detail ->> 'outcome' FROM insp.record WHERE action = 'session_end'")
        #expect(try ends.map { try $0.string(0) } == ["answered"])
        #expect(try await fixture.count("insp.step WHERE status = 32 AND body = '{}'") == 1)
        for connection in [first, second] { await connection.close() }
    }

    @Test func `A row that no chain can take holds up no other chain`() async throws {
        let fixture = try await self.chain(of: 2)
        // As the owner can write it: a place behind the chain's end, which a later row will be given.
        try await fixture.admin.execute(
            """
            INSERT INTO insp.record (chain, action, subject) VALUES ('session', 'session_begin', '1'), ('session', 'session_begin', '2');
            UPDATE insp.record SET seq = 1, prev = '\\x00', hash = '\\x00' WHERE chain = 'session' AND subject = '1'
            """)
        _ = try await fixture.admin.query("SELECT insp.pause('bulk', reason => 'why')")
        #expect(try await self.link(fixture) == 1)
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        #expect(try await self.verify("session", fixture).outcome == "broken")
        // No place before the first.
        await #expect(throws: PostgresError.self) {
            try await fixture.admin.execute(
                "UPDATE insp.record SET seq = 0, prev = '\\x00', hash = '\\x00' WHERE chain = 'session' AND subject = '2'"
            )
        }
    }

    // MARK: Retention

    @Test func `Retention takes a chain's start, and the rest builds on it`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.record (chain, at, action, subject)
            SELECT 'session', now() - (CASE n WHEN 4 THEN 10 ELSE 1200 - n END) * interval '1 day', 'session_begin', n::text
            FROM generate_series(1, 6) n
            """)
        try await self.link(fixture)
        try await fixture.purgeAll(2)
        // A young row keeps those behind it.
        #expect(try await fixture.count("insp.record WHERE chain = 'session'") == 3)
        #expect(try await fixture.count("insp.record_chain WHERE chain = 'session' AND anchor_seq = 3") == 1)
        let row = try await fixture.admin.query("SELECT outcome, first FROM insp.verify_record('session')")[0]
        #expect(try row.string(0) == "whole")
        #expect(try row.int(1) == 4)
        // What retention did not remove may not go by itself, however old it is.
        await #expect(throws: PostgresError.self) {
            try await fixture.admin.execute("DELETE FROM insp.record WHERE subject = '5'")
        }
        try await self.tamper("DELETE FROM insp.record WHERE seq = 4", fixture)
        #expect(
            try await self.verify("session", fixture)
                == RecordVerdict(outcome: "broken", brokenAt: 4, reason: "missing"))
    }

    @Test func `Rows that are locked, or are getting their place, are left for the next round`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            INSERT INTO insp.record (chain, at, action, subject)
            SELECT 'session', now() - interval '3 years', 'session_begin', n::text FROM generate_series(1, 3) n
            """)
        try await self.link(fixture)
        let holder = try await fixture.database.connect()
        for statement in ["SELECT FROM insp.record WHERE seq = 2 FOR UPDATE", "SELECT insp.link_record()"] {
            try await holder.execute("BEGIN; \(statement)")
            _ = try await fixture.admin.query("SELECT insp.purge()")
            #expect(try await fixture.count("insp.record WHERE chain = 'session'") == 3, "\(statement)")
            try await holder.execute("ROLLBACK")
        }
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.record WHERE chain = 'session'") == 0)
        await holder.close()
    }

    // MARK: Rights

    @Test func `The record is written only through functions, and nobody changes it`() async throws {
        let fixture = try await self.chain(of: 2)
        let session = try await fixture.database.connect()
        let writes = [
            "INSERT INTO insp.record (chain, action, subject) VALUES ('operator', 'x', 'x')",
            "UPDATE insp.record SET actor = 'nobody'", "DELETE FROM insp.record", "TRUNCATE insp.record",
            "UPDATE insp.record_chain SET seq = 0", "SELECT insp.record('x', 'x')",
            "SELECT insp.retire_record('operator', now(), 10)", "DELETE FROM insp.record_checkpoint",
            "SELECT insp.thin_checkpoints(10)",
        ]
        for role in [
            "insp_producer", "insp_worker", "insp_operator", "insp_reviewer", "insp_auditor", "insp_signer",
            "insp_gateway", "insp_console",
        ] {
            try await session.execute("SET ROLE \(role)")
            for sql in writes + (role == "insp_worker" ? [] : ["SELECT insp.link_record()"]) {
                let error = await #expect(throws: PostgresError.self, "\(role): \(sql)") {
                    try await session.query(sql)
                }
                #expect(error?.sqlState == "42501", "\(role): \(sql)")
            }
            if ["insp_operator", "insp_auditor"].contains(role) {
                #expect(try await session.query("SELECT outcome FROM insp.verify_record('operator')").count == 1)
            }
            try await session.execute("RESET ROLE")
        }
        // The owner either; a place, once given, stays.
        for sql in [
            "UPDATE insp.record SET actor = 'nobody'", "UPDATE insp.record SET seq = seq + 10",
            "UPDATE insp.record SET words = '{}'", "UPDATE insp.record SET detail = '{\"x\": 1}'",
            "DELETE FROM insp.record", "TRUNCATE insp.record",
            "UPDATE insp.record_chain SET seq = 0, hash = decode(repeat('00', 32), 'hex') WHERE chain = 'operator'",
            "UPDATE insp.record_chain SET seq = seq + 1",
            "UPDATE insp.record_chain SET hash = anchor_hash WHERE seq > 0",
            "UPDATE insp.record_chain c SET anchor_seq = seq, anchor_hash = hash WHERE seq > 0",
            "DELETE FROM insp.record_chain", "TRUNCATE insp.record_chain",
        ] {
            let error = await #expect(throws: PostgresError.self, "\(sql)") { try await fixture.admin.execute(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        await session.close()
    }
}

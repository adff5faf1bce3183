import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Requests under an idempotency key: one job, whoever asks again and however the session is set.
@Suite struct RepeatedRequestTests {
    private static func keyed(_ key: String, _ more: String = "") -> String {
        QueueFixture.byURL.dropLast() + #","idempotencyKey":"\#(key)"\#(more)}"#
    }

    /// The key is found taken, retention removes it, and only then is the job behind it looked up.
    @Test func `A key that retention removes meanwhile is not a job's id`() async throws {
        let fixture = try await QueueFixture()
        let first = try await fixture.enqueue(many: [Data(Self.keyed("a").utf8)])[0]
        try await fixture.admin.execute("UPDATE insp.job_key SET created_at = now() - interval '31 days'")
        // Another request of the batch waits for a transaction under way with its key, and with it the whole call.
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN")
        _ = try await holder.query("SELECT insp.enqueue($1)", [.text(Self.keyed("b"))])
        let payloads = [Self.keyed("a"), Self.keyed("b")].map { Data($0.utf8) }
        let call = Task { try await fixture.enqueue(many: payloads) }
        try await fixture.wait(
            for:
                "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%enqueue_many%' AND datname = current_database())"
        )
        _ = try await fixture.admin.query("SELECT * FROM insp.purge()")
        #expect(try await fixture.count("insp.job_key WHERE key = 'a'") == 0)
        try await holder.execute("ROLLBACK")
        let error = await #expect(throws: InspectError.self) { try await call.value(within: .seconds(120)) }
        #expect(error?.code == .databaseUnavailable && error?.code.isRetryable == true)
        // Sent again, both are jobs that exist.
        let ids = try await fixture.enqueue(many: payloads)
        for id in ids { #expect(try await fixture.result(of: id)["status"] as? Int == 1) }
        #expect(ids[0] != first && Set(ids).count == 2)
    }

    @Test func `A request is the same whatever the session's settings, and whatever span it comes in`() async throws {
        let fixture = try await QueueFixture()
        let session = try await fixture.database.connect()
        func enqueue(_ payload: String) async throws -> String {
            try await session.query(
                "SELECT insp.enqueue($1, front => '\\x0102', frames => '{\"\\\\x03\",\"\\\\x04\"}')", [.text(payload)])[
                    0
                ]
                .string(0)
        }
        let plain = #"{"partner":"acme","workflow":"id","idempotencyKey":"k""#
        let first = try await enqueue(plain + "}")
        let span = #","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}"#
        for setting in [
            "bytea_output = escape", "IntervalStyle = iso_8601", "DateStyle = 'SQL, DMY'",
            "TimeZone = 'Pacific/Chatham'", "extra_float_digits = 0", "search_path = pg_temp",
            "transform_null_equals = on", "array_nulls = off",
        ] {
            try await session.execute("SET \(setting)")
            #expect(try await enqueue(plain + "}") == first, "\(setting)")
            try await session.execute("RESET ALL")
        }
        #expect(try await enqueue(plain + span) == first)
        #expect(try await enqueue(plain + span.replacing("b7ad", with: "c7ad")) == first)
        #expect(try await fixture.count("insp.job") == 1)
        let error = await #expect(throws: PostgresError.self) {
            try await session.query("SELECT insp.enqueue($1, front => '\\x0103')", [.text(plain + "}")])
        }
        #expect(error?.sqlState == ErrorCode.idempotencyConflict.sqlState)
    }

    @Test func `A request asks for more reviews than its partner's policy, and never for fewer`() async throws {
        let fixture = try await QueueFixture()
        let levels = ["never", "rejected", "warning", "always"]
        for (i, policy) in levels.enumerated() {
            _ = try await fixture.admin.query("SELECT insp.set_partner('acme', review => $1)", [.text(policy)])
            for (j, asked) in levels.enumerated() {
                let payload = QueueFixture.byURL.dropLast() + #","review":"\#(asked)"}"#
                let ids = [
                    try await fixture.client.enqueue(payload: Data(payload.utf8)),
                    try await fixture.enqueue(many: [Data(payload.utf8), Data(QueueFixture.byURL.utf8)])[0],
                ]
                for id in ids {
                    let stored = try await fixture.admin.query(
                        "SELECT coalesce(review, 'never') FROM insp.job WHERE public_id = $1", [.text(id)]
                    )
                    #expect(try stored[0].string(0) == levels[max(i, j)], "\(policy), asked \(asked)")
                }
            }
        }
    }

    /// The transaction of the repeat may begin before that of the first call.
    @Test func `A repeat that overlaps the first call says that it is one`() async throws {
        let fixture = try await QueueFixture()
        let secret = try await fixture.admin.query(
            "SELECT secret FROM insp.create_credential('acme', '{session,create}')")[0].string(0)
        let number = try await fixture.admin.query("SELECT max(id) FROM insp.credential")[0].int(0)
        func call(isScanned: Bool) -> String {
            """
            SELECT id, repeated FROM insp.gateway_create(\(number), sha256(convert_to('\(secret)', 'UTF8')), 'session',
                '{"workflow": "liveness", "userReference": "u", "idempotencyKey": "k"}', NULL, '{SESSION_BLOB}', '{blob0}',
                p_document_scan => \(isScanned))
            """
        }
        let (first, same, other) = (
            try await fixture.database.connect(), try await fixture.database.connect(),
            try await fixture.database.connect()
        )
        for early in [same, other] { try await early.execute("BEGIN") }
        try await first.execute("BEGIN")
        let new = try await first.query(call(isScanned: false))[0]
        #expect(try !new.bool(1))
        let late = Task { try await same.query(call(isScanned: false))[0] }
        try await fixture.wait(
            for:
                "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%gateway_create%' AND datname = current_database())"
        )
        try await first.execute("COMMIT")
        let repeated = try await late.value(within: .seconds(120))
        #expect(try repeated.bool(1) && repeated.string(0) == new.string(0))
        // Another kind of session is another request.
        let error = await #expect(throws: PostgresError.self) { try await other.query(call(isScanned: true)) }
        #expect(error?.refusal?.code == .idempotencyConflict)
        for connection in [first, same, other] { await connection.close() }
    }
}

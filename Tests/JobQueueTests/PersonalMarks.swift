import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Everything that a caller, a document, a reviewer or an operator can say of a person, marked so that it can be searched
/// for, in jobs of every state.
struct PersonalMarks: Sendable {
    /// What every marked value has in it. As hexadecimal digits it is a trace's id, a template and a digest as well.
    static let mark = "zqmark"
    static let hex = mark.utf8.hexadecimal
    private static let digest = String((Self.hex + String(repeating: Self.hex, count: 8)).prefix(64))
    private static let embedding = String(String(repeating: Self.hex, count: 100).prefix(1024))

    let fixture: QueueFixture
    /// All jobs, reruns included.
    var jobs: [String] = []
    /// The jobs of one chain of reruns, first to last.
    var chain: [String] = []

    /// Columns that hold text, and none of a person's.
    static let exempt: [String: String] = [
        "access_token": "an endpoint's", "approval": "a list", "proposal": "operators' settings",
        "client_authorization": "a partner's", "token_revocation": "a name of an authorization, an error code",
        "challenge.spec": "drawn by the database",
        "challenge.token_sha256": "of a random token", "content.kind": "a word",
        "capture_session": "goes an hour after its link expires, and earlier with its person or job: CaptureLinkTests",
        "case_lease": "who works at the console", "console_act": "who works at the console", "console_grant": "a role",
        "console_person": "who works at the console",
        "console_session": "who works at the console, for hours",
        "console_batch": "an SQLSTATE",
        "console_task":
            "who works at the console, and codes; the reason goes with a person: ConsoleTaskTests",
        "control": "a lane's", "custody": "names of wrapping keys, a key of the object store",
        "object_gone": "made of a day and random numbers", "country": "a list",
        "credential": "a partner's", "credential_token": "a partner's",
        "callback.event": "a name", "callback.webhook_id": "made of the job's id",
        "callback.body": "of an endpoint's event", "callback.decision": "a word", "callback.face": "words and a number",
        "callback.definition_key": "a workflow's",
        "callback_attempt.code": "an error code",
        "callback_attempt.worker": "a host's name", "callback_waiting.state": "a word", "dead.code": "an error code",
        "dead.resolved_by": "an operator's login", "delayed.last_error": "an error code", "endpoint": "a partner's",
        "endpoint_health": "an error code",
        "error_code": "a list", "error_contract": "a list", "event.kind": "a word", "event_batch": "a word",
        "event.detail": "codes and numbers", "face_outcome": "a list", "face_pending.engine": "the engine's name",
        "face_pending.model_sha256": "the engine's model", "face_template.engine": "the engine's name",
        "face_template.model_sha256": "the engine's model", "label": "a list", "part.kind": "a word",
        "part_kind": "a list", "partner_key": "a partner's", "partner_policy": "a partner's",
        "person_gone.index": "a digest, listed until the key store has destroyed the key",
        "reason": "a list",
        "reason_advice": "a list", "scope": "a list", "workflow": "a list",
        "partner": "a partner's", "purge_later": "a word", "producer_partner": "a login's name", "region": "a list",
        "retention": "a word",
        "review_wait": "who decided first and upper-case words, which go when the job ends",
        "record.chain": "a word", "record.actor": "a login, a credential's name or a worker's number",
        "record.action": "a function's name", "record.subject": "a job's id", "record.purpose": "a word",
        "record.detail": "codes and numbers",
        "record.words_sha256": "of a random salt as well, which goes with the words",
        "record.prev": "a hash", "record.hash": "a hash", "record_chain": "a word and hashes",
        "record_checkpoint": "words, hashes and a key's id",
        "retention_cursor": "a word", "retention_horizon": "transactions' numbers",
        "secret": "a partner's, or a random key", "usage_count": "words",
        "worker": "a host's name", "worker_key": "a public key",
        "job_key.request_sha256": "goes with the key, which is marked",
        "face_job.face_id": "of jobs that are not finished, which cannot be erased",
        "face_pending": "of jobs that are not finished, which cannot be erased",
        "duty": "maintenance's own", "job.workflow": "a word", "job.document_format": "a word", "job.review": "a word",
        "job.enrollment_mode": "a word", "job_reference.kind": "a word", "job.consent_proof": "a keyed digest",
        "endpoint_tally": "an error code",
        "epoch": "the server's timeline", "worker_drain": "a worker's", "schema_migration": "files' names",
    ]

    static func isExempt(_ column: String) -> Bool {
        Self.exempt[column] != nil || Self.exempt[String(column.prefix { $0 != "." })] != nil
    }

    /// What each key of a request is filled with; nil where a key can hold no text of the caller's.
    static let request: [String: String?] = [
        "partner": nil, "workflow": nil, "documentFormat": nil, "documentTypes": nil, "countries": nil, "lane": nil,
        "region": nil, "delaySeconds": nil, "runAt": nil, "expiresAt": nil, "review": nil, "threshold": nil,
        "enrollmentMode": nil, "digests": nil,
        "customerInternalReference": #""zqmark customer""#, "userReference": #""zqmark user ÄÖ \"Jane\"""#,
        "callbackUrl": #""https://hooks.example.com/zqmark?token=zqmark""#,
        "idempotencyKey": #""zqmark key NUMBER""#,
        "traceparent": #""00-\#(hex)20202020202020202020-2020202020202020-01""#,
        "consent":
            #"{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z","policyVersion":"v7","userIp":"zqmark ip","zqmark":{"x":["zqmark"]}}"#,
        "reportingCriteria": #""zqmark WORD""#,
        // Given where a workflow takes them.
        "faceId": #""zqmark face""#, "challenge": "TOKEN", "parts": "URLS",
    ]

    /// A request with everything in it that every workflow takes.
    private func payload(_ word: String, _ workflow: String = "id", partner: String = "acme", _ more: String = "")
        -> Data
    {
        let everywhere = Self.request.compactMap { key, value -> String? in
            guard let value, !["faceId", "challenge", "parts"].contains(key) else { return nil }
            return #""\#(key)":\#(value)"#
        }.joined(separator: ",")
        return Data(
            #"{"partner":"\#(partner)","workflow":"\#(workflow)",\#(everywhere)\#(more)}"#
                .replacing("WORD", with: word).replacing("NUMBER", with: UUID().uuidString).utf8)
    }

    static let image = Data("zqmark image".utf8)

    /// Ends as the request's reportingCriteria says.
    private func work(on job: ClaimedJob, _ context: JobContext) async throws -> Data {
        let said = String(decoding: try await self.fixture.client.result(of: job.publicID), as: UTF8.self)
        if said.contains("zqmark session") {
            try await context.beginSession()
            try await context.endSession(
                outcome: "answered", status: 200, output: Data(#"{"vendor":{"blob":"zqmark blob"}}"#.utf8))
        } else {
            try await context.complete(
                .document, output: Data(#"{"mrz":"P<UTOZQMARK<<","image":"enFtYXJrenFtYXJr"}"#.utf8))
        }
        if said.contains("enrollment") {
            let known = try await context.enrolledFace()
            try await context.hand(
                over: FaceEmbedding(engine: "e", modelSHA256: String(repeating: "a", count: 64), hex: Self.embedding),
                generation: known.generation)
        }
        if said.contains("zqmark dead") { throw InspectError(.corruptImage, "zqmark detail") }
        if said.contains("zqmark retry"), job.attempt == 1 { throw InspectError(.analyzerTimeout) }
        return Data(
            #"{"decision":{"type":"WARNING","details":{"label":"ZQMARK"}},"capabilities":{"name":"zqmark"}}"#.utf8)
    }

    init(_ fixture: QueueFixture) { self.fixture = fixture }

    private func query(_ sql: String) async throws -> [PostgresRow] { try await self.fixture.admin.query(sql) }

    private mutating func enqueue(_ payload: Data, _ parts: [PartKind: [Data]] = [.front: [Self.image]]) async throws
        -> String
    {
        let id = try await self.fixture.client.enqueue(payload: payload, parts: parts)
        self.jobs.append(id)
        return id
    }

    private func drain() async throws {
        var configuration = self.fixture.configuration()
        configuration.drains = true
        let marks = self
        try await JobWorker(configuration, handler: ClosureHandler { try await marks.work(on: $0, $1) }).run()
    }

    /// Jobs in every state; those that are left open are the last four.
    mutating func plant() async throws {
        let admin = self.fixture.admin
        try await admin.execute(
            """
            SELECT insp.create_partner('held', 'https://hooks.example.com/h');
            SELECT insp.create_partner('ordered', 'https://hooks.example.com/o');
            SELECT insp.create_partner('urlless', NULL);
            SELECT insp.set_endpoint(e.id, '{"ordering": "user", "events": ["job.status", "job.review_needed", "job.finished"]}')
            FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id WHERE p.name = 'ordered';
            SELECT insp.callback_disable(e.id) FROM insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id
            WHERE p.name = 'held';
            SELECT insp.set_face_limits('acme', attempts => 1000)
            """)
        let url = #"{"url":"https://img.example.com/zqmark?sig=zqmark","sha256":"\#(Self.digest)"}"#
        let byURL = try await self.enqueue(self.payload("url", "id", #","parts":{"FRONT":\#(url)}"#), [:])
        let first = try await self.enqueue(self.payload("first"))
        let dead = try await self.enqueue(self.payload("dead"))
        _ = try await self.enqueue(self.payload("retry"))
        let deadLetter = try await self.enqueue(self.payload("deadLetter"))
        let sent = try await self.enqueue(self.payload("sent"))
        let failed = try await self.enqueue(self.payload("failed"))
        for partner in ["held", "urlless"] { _ = try await self.enqueue(self.payload("waits", partner: partner)) }
        let ordered = try await self.enqueue(self.payload("waits", partner: "ordered"))
        let review = try await self.enqueue(self.payload("review", partner: "ordered", #","review":"always""#))
        for workflow in ["enrollment", "authentication"] {
            _ = try await self.enqueue(
                self.payload("face", workflow, #","faceId":"zqmark face""#), [.face: [Self.image]])
            try await self.drain()
        }
        let challenge = try await self.query("SELECT insp.challenge_issue('acme')")[0].data(0)
        let token = try #require((JSONSerialization.jsonObject(with: challenge) as? [String: Any])?["token"] as? String)
        _ = try await self.enqueue(
            self.payload(
                "challenge", "liveness",
                #","challenge":{"token":"\#(token)","frameTimes":[598877.665544,1]}"#),
            [.frames: [Self.image, Self.image]])
        _ = try await self.enqueue(self.payload("session", "liveness"), [.sessionBlob: [Self.image]])
        try await self.drain()
        _ = try await admin.query("SELECT insp.review($1, 'PASSED', 'ZQMARK_LABEL', 'zqmark note')", [.text(review)])
        _ = try await admin.query("SELECT insp.resolve_dead($1, 'zqmark resolved')", [.text(dead)])

        let again = try await admin.query("SELECT insp.rerun($1)", [.text(first)])[0].string(0)
        try await self.drain()
        let third = try await admin.query("SELECT insp.rerun($1)", [.text(again)])[0].string(0)
        try await self.drain()
        self.chain = [first, again, third]
        self.jobs += [again, third]

        // Callbacks: one delivered, one that failed and waits, one in flight, one dead-lettered; the others wait or are held.
        try await self.send([sent: "delivered", failed: "retry", byURL: nil, ordered: nil, review: nil])
        _ = try await admin.query(
            "SELECT insp.callback_dead_letter('msg_' || replace($1, '-', ''), 'zqmark dead')", [.text(deadLetter)])

        let expired = try await self.enqueue(self.payload("expired"))
        try await admin.execute(
            """
            UPDATE insp.job SET expires_at = now() - interval '1 second' WHERE public_id = '\(expired)';
            SELECT insp.expire();
            -- As if sealing had failed: what is in this column must go, whatever it is.
            UPDATE insp.job SET sealed = 'zqmark sealed'
            """)
        // Open ones: waiting, delayed, held for review, and a claimed one that has stored a stage.
        _ = try await self.enqueue(self.payload("open", #"id"#, #","review":"always""#))
        try await self.drain()
        _ = try await self.enqueue(self.payload("open"))
        let running = try await self.claim()
        #expect(running == 1)
        _ = try await self.enqueue(self.payload("open"))
        _ = try await self.enqueue(self.payload("open", "id", #","delaySeconds":3600"#))
        // Only now: a worker that drains waits for what is delayed.
        for (word, more) in [("cancelled", ""), ("delayed", #","delaySeconds":3600"#)] {
            let id = try await self.enqueue(self.payload(word, "id", more))
            #expect(try await self.fixture.client.cancel(id))
        }
    }

    /// Claims what waits for a worker that stores a stage and is heard of no more.
    private func claim() async throws -> Int {
        try await self.fixture.admin.query(
            """
            WITH worker AS MATERIALIZED (
                SELECT gen_random_uuid() AS incarnation
            ), registered AS MATERIALIZED (
                SELECT w.incarnation, r.worker_id FROM worker w,
                    LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 4) r
            ), claimed AS MATERIALIZED (
                SELECT c.job_id, c.fence FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 4,
                    ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                    ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c WHERE c.job_id IS NOT NULL
            )
            SELECT s.* FROM (SELECT array_agg(c.job_id) AS jobs, array_agg(c.fence) AS fences FROM claimed c) c,
                LATERAL insp.store_steps(c.jobs, c.fences, array_fill(8::smallint, ARRAY[cardinality(c.jobs)]),
                    array_fill('{"name": "zqmark"}'::bytea, ARRAY[cardinality(c.jobs)])) s
            """
        ).count
    }

    /// Takes all that is due, and records the callbacks of these jobs with an outcome; those with nil stay in flight.
    private func send(_ outcomes: [String: String?]) async throws {
        let taken = try await self.query(
            """
            SELECT t.id, t.claim_id, t.endpoint_id, t.job FROM insp.callback_claim(1000, interval '10 minutes', 1000) t
            WHERE t.id IS NOT NULL
            """)
        for row in taken {
            let job = try row.string("job")
            if let named = outcomes[job], named == nil { continue }
            let outcome = outcomes[job] ?? "uncounted"
            _ = try await self.fixture.admin.query(
                """
                SELECT insp.callback_settle(ARRAY[$1::bigint], ARRAY[$2::bigint], ARRAY[$3::bigint], ARRAY[$4], ARRAY[CASE $4 WHEN 'retry' THEN 3600000 ELSE 0 END],
                    ARRAY[(extract(epoch FROM clock_timestamp()) * 1000000)::bigint], ARRAY[1], ARRAY[0],
                    ARRAY[CASE $4 WHEN 'retry' THEN 'CONNECTION_FAILED' ELSE '' END],
                    ARRAY[CASE $4 WHEN 'retry' THEN 'no route to zqmark.example.com' ELSE '' END], 'w')
                """,
                [
                    .int(try row.int("endpoint_id")), .int(try row.int("id")), .int(try row.int("claim_id")),
                    .text(outcome ?? "uncounted"),
                ])
        }
    }
}

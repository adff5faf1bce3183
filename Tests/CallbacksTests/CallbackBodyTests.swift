import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Callbacks
@testable import HTTPClient

/// What is sent under a webhook-id is the same at every attempt, though no body is stored.
struct CallbackBodyTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text])
        self.outbox = try await Outbox()
    }

    private func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        try await self.outbox.connection.query(sql, parameters)
    }

    /// A partner whose endpoint answers 500 until a test changes that.
    private func partner(_ settings: String = "{}") async throws {
        let endpoint = try await self.query(
            "SELECT endpoint_id FROM insp.create_partner('acme', $1, true, true)",
            [.text(self.receiver.url("/status/500"))])[0].int(0)
        _ = try await self.query(
            "SELECT insp.callback_rotate_secret($1, '0', $2)", [.int(endpoint), .text(self.secret.text)])
        _ = try await self.query("SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
    }

    /// Takes a job through its stages with the functions that workers call; returns its id.
    private func job(_ more: String = "", stages: [Int] = [], end: String = "settle") async throws -> String {
        let id = try await self.query(
            "SELECT insp.enqueue($1::jsonb, front => 'x', face => 'x')",
            [.text(#"{"partner":"acme","workflow":"id_identity"\#(more)}"#)])[0].string(0)
        let number = try await self.query("SELECT id FROM insp.job WHERE public_id = $1::uuid", [.text(id)])[0].int(0)
        guard end != "expire" else {
            _ = try await self.query("UPDATE insp.job SET expires_at = now() WHERE id = $1", [.int(number)])
            _ = try await self.query("SELECT insp.expire()")
            return id
        }
        _ = try await self.query(
            """
            WITH r AS (DELETE FROM insp.ready WHERE job_id = $1 RETURNING *)
            INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
            SELECT $1, $1, 1, now() + interval '1 hour', r.queue, 1, 0 FROM r
            """, [.int(number)])
        for stage in stages {
            _ = try await self.query(
                "SELECT insp.store_steps(ARRAY[$1::bigint], ARRAY[$1::bigint], ARRAY[$2::smallint], ARRAY['{}'::bytea])",
                [.int(number), .int(Int64(stage))])
        }
        _ = try await self.query(
            """
            SELECT insp.\(end)(ARRAY[$1::bigint], ARRAY[$1::bigint], ARRAY['{"decision":{"type":"WARNING"}}'],
                ARRAY['{"name":"CANARY"}'::bytea], '{}', '{}', '{}', '{}')
            """, [.int(number)])
        return id
    }

    private func hurry() async throws {
        try await self.outbox.hurry()
        _ = try await self.query("UPDATE insp.endpoint_health SET open_until = NULL, failed = 0")
        await self.outbox.dispatch()
    }

    @Test func `Each event has exactly these bytes`() async throws {
        try await self.partner(#"{"events": ["job.status", "job.review_needed", "job.finished"], "ordering": "job"}"#)
        let said = #","userReference":"Jane \"ÄÖ\" \\""#
        let jobs = [
            try await self.job(said, stages: [8]), try await self.job(end: "hold_for_review"),
            try await self.job(end: "expire"),
        ]
        let times = try await self.query(
            "SELECT insp.iso_time(c.created_at), c.webhook_id FROM insp.callback c ORDER BY c.id"
        ).map { (time: try $0.string(0), id: try $0.string(1)) }
        func body(_ time: String, _ type: String, _ job: String, _ reference: String, _ status: String, _ data: String)
            -> String
        {
            #"{"type":"\#(type)","timestamp":"\#(time)","callbackSentAt":"\#(time)",\#(reference)"workflowExecution":{"id":"\#(job)","#
                + #""definitionKey":"3","status":"\#(status)"},"data":{"id":"\#(job)",\#(data)}}"#
        }
        let reference = #""userReference":"Jane \"ÄÖ\" \\","#
        let wanted = [
            body(times[0].time, "job.status", jobs[0], reference, "ACQUIRED", #""status":8"#),
            body(
                times[1].time, "job.finished", jobs[0], reference, "PROCESSED", #""status":128,"decision":"WARNING""#),
            body(times[2].time, "job.review_needed", jobs[1], "", "ACQUIRED", #""status":64"#),
            body(
                times[3].time, "job.finished", jobs[2], "", "SESSION_EXPIRED",
                #""status":128,"decision":"NOT_EXECUTED""#),
        ]
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .milliseconds(1))
        var sent: [String: String] = [:]
        for round in 0..<8 {
            for callback in try await store.claim(10).callbacks {
                let text = String(decoding: try #require(callback.body), as: UTF8.self)
                #expect(sent[callback.webhookID] ?? text == text)
                sent[callback.webhookID] = text
                // Every other time its claim lapses, and another gets it.
                if round % 2 == 1 { _ = try await store.settle([Self.delivered(callback)]) }
            }
            // Past the lease of a millisecond, on the server's clock.
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(times.map { sent[$0.id] } == wanted)
    }

    /// A claim computes some values only for the callbacks that may have them.
    @Test func `Each callback of one claim has its own values, whatever the others lack`() async throws {
        try await self.partner()
        // Else no job may bring a URL of another server.
        _ = try await self.query("UPDATE insp.endpoint SET allowed_networks = '{127.0.0.0/8}'")
        let other = try CallbackReceiver(secrets: [self.secret.text])
        func own(_ receiver: CallbackReceiver) -> String { #","callbackUrl":"\#(receiver.url("/own"))""# }
        let plain = try await self.job()
        let named = try await self.job(#","userReference":"Jane""#)
        let near = try await self.job(own(self.receiver))
        let far = try await self.job(own(other) + #","userReference":"Joe""#)
        _ = try await self.query(
            "SELECT insp.set_endpoint(id, $1::jsonb) FROM insp.endpoint", [.text(#"{"inlineResult": true}"#)])
        let whole = try await self.job()
        let reduced = try await self.job(#","userReference":"Ann""#)
        #expect(try await self.query("SELECT insp.erase($1)", [.text(reduced)])[0].bool(0))

        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        let callbacks = try await store.claim(10).callbacks
        #expect(callbacks.count == 6)
        func claimed(_ job: String) throws -> (callback: ClaimedCallback, body: String) {
            let callback = try #require(callbacks.first { $0.job == job })
            return (callback, String(decoding: try #require(callback.body), as: UTF8.self))
        }
        let thin: [(String, String?, Bool)] = [
            (plain, nil, false), (named, "Jane", false), (near, nil, false), (far, "Joe", true),
        ]
        for (job, reference, isFar) in thin {
            let (callback, body) = try claimed(job)
            #expect(callback.webhookID == "msg_" + job.replacing("-", with: "") && callback.isElsewhere == isFar)
            #expect(body.contains("userReference") == (reference != nil) && !body.contains(#""result""#))
            if let reference { #expect(body.contains(#""userReference":"\#(reference)""#)) }
        }
        #expect(try claimed(near).callback.url == self.receiver.url("/own"))
        #expect(try claimed(far).callback.url == other.url("/own"))
        #expect(try claimed(whole).body.contains(#""result":{"#))
        let (rest, body) = try claimed(reduced)
        #expect(rest.webhookID.contains("_r") && !body.contains("Ann") && body.contains(#""decision":null"#))
        let record = try await store.settle(callbacks.map(Self.delivered))
        #expect(record.lost.isEmpty && record.changes.isEmpty)
        // What had a result in it is on record, once each, whatever an erasure took from it since.
        let told = try await self.query(
            """
            SELECT subject, (detail ->> 'endpoint')::bigint = (SELECT id FROM insp.endpoint) AS own,
                detail ->> 'httpStatus' AS status, detail ->> 'worker' AS worker
            FROM insp.record WHERE action = 'callback'
            """)
        #expect(try told.map { try $0.string("subject") }.sorted() == [whole, reduced].sorted())
        for row in told {
            #expect(try row.bool("own") && row.string("status") == "200" && row.string("worker") == "test")
        }
    }

    private static func delivered(_ callback: ClaimedCallback) -> CallbackSettlement {
        CallbackSettlement(
            callback: callback, outcome: .delivered, started: Date(), milliseconds: 1, status: 200, code: nil,
            error: nil, trace: nil, deadline: .now + .seconds(60), sent: nil, claimed: .now)
    }

    @Test(arguments: ["{}", #"{"inlineResult": true}"#])
    func `A body stays the same until an erasure, which changes it and its id`(settings: String) async throws {
        try await self.partner(settings)
        let job = try await self.job(#","userReference":"Jane","customerInternalReference":"CANARY""#)
        // One is sent by a dispatcher that dies before it can record; a rerun changes nothing.
        let dead = CallbackStore(connection: self.outbox.connection, worker: "dead", lease: .milliseconds(1))
        let claimed = try #require(try await dead.claim(10).callbacks.first)
        let sender = CallbackSender(client: HTTPClient(), timeoutMilliseconds: 5_000, agent: "test")
        _ = await sender.attempt(.init(callback: claimed, claimed: .now, deadline: .now))
        let again = try await self.query("SELECT insp.rerun($1)", [.text(job)])[0].string(0)
        #expect(try await self.query("SELECT insp.cancel($1)", [.text(again)])[0].bool(0))
        _ = try await self.query("DELETE FROM insp.callback_waiting WHERE callback_id <> $1", [.int(claimed.id)])
        for _ in 0..<2 { try await self.hurry() }
        let whole = try self.receiver.received()
        #expect(whole.count == 3 && whole.allSatisfy { $0.verified })
        #expect(Set(whole.map(\.webhookId)).count == 1 && Set(whole.map(\.body)).count == 1)
        #expect(whole[0].webhookId == "msg_" + job.replacing("-", with: ""))
        #expect(whole[0].body.contains(#""userReference":"Jane""#))

        #expect(try await self.query("SELECT insp.erase($1)", [.text(job)])[0].bool(0))
        for _ in 0..<2 { try await self.hurry() }
        let reduced = try self.receiver.received().dropFirst(3)
        #expect(reduced.count == 2 && reduced.allSatisfy { $0.verified })
        let name = try #require(reduced.first?.webhookId)
        #expect(name.hasPrefix(whole[0].webhookId + "_r") && name.count == whole[0].webhookId.count + 10)
        #expect(Set(reduced.map(\.webhookId)).count == 1 && Set(reduced.map(\.body)).count == 1)
        let body = try #require(reduced.first?.body)
        #expect(!body.contains("Jane") && !body.contains("CANARY") && body.contains(#""decision":null"#))
        // An operator is given either name by the partner.
        for name in [name, whole[0].webhookId] {
            #expect(try await self.query("SELECT insp.callback_replay($1)", [.text(name)])[0].bool(0))
        }
        await self.outbox.dispatch()
        #expect(try self.receiver.received().last?.body == body)
        #expect(try await !self.query("SELECT insp.callback_replay($1)", [.text(name + "0")])[0].bool(0))
        let subjects = try await self.query(
            "SELECT DISTINCT subject FROM insp.v_operator_events WHERE action = 'callback_replay'")
        #expect(try subjects.map { try $0.string(0) } == [whole[0].webhookId])
    }

    /// What an endpoint is set to when a job is finished, and what an operator changes before each attempt.
    struct Changes: Sendable {
        /// `OWN` and `OTHER` are two origins of the receiver; the endpoint's URL is at the first.
        var settings: String
        /// Whether the job has its own callback URL, at `OTHER`.
        var bringsURL = false
        /// Whether the body is to hold the result.
        var hasResult: Bool
        var attempts: [(settings: String, sendsResult: Bool)]
    }

    static let changes = [
        Changes(
            settings: #"{"inlineResult": true}"#, hasResult: true,
            attempts: [
                ("{}", true), (#"{"inlineResult": false}"#, false), ("{}", false), (#"{"inlineResult": true}"#, true),
            ]),
        Changes(
            settings: #"{"inlineResult": true}"#, hasResult: true, attempts: [(#"{"inlineResult": false}"#, false)]),
        Changes(
            settings: "{}", hasResult: false,
            attempts: [
                ("{}", false), (#"{"inlineResult": true}"#, false), (#"{"inlineResult": false}"#, false),
            ]),
        Changes(settings: "{}", hasResult: false, attempts: [(#"{"inlineResult": true}"#, false)]),
        Changes(
            settings: #"{"inlineResult": true}"#, hasResult: true,
            attempts: [
                ("{}", true), (#"{"url": "https://partner.example/"}"#, false), (#"{"url": "OWN/else"}"#, true),
            ]),
        Changes(
            settings: #"{"inlineResult": true, "origins": ["OTHER"]}"#, bringsURL: true, hasResult: true,
            attempts: [("{}", true), (#"{"origins": null}"#, false), (#"{"origins": ["OTHER"]}"#, true)]),
        Changes(
            settings: #"{"inlineResult": true}"#, bringsURL: true, hasResult: false,
            attempts: [("{}", false), (#"{"origins": ["OTHER"]}"#, false), (#"{"origins": null}"#, false)]),
    ]

    @Test(arguments: Self.changes)
    func `One id has one body, whatever an operator changes between attempts`(_ changes: Changes) async throws {
        func placed(_ text: String) -> String {
            text.replacing("OWN", with: self.receiver.url(""))
                .replacing("OTHER", with: self.receiver.url("", host: "localhost"))
        }
        try await self.partner(#"{"allowedNetworks": ["127.0.0.0/8", "::1/128"]}"#)
        let set = "SELECT insp.set_endpoint(id, $1::jsonb) FROM insp.endpoint"
        _ = try await self.query(set, [.text(placed(changes.settings))])
        let job = try await self.job(
            placed(changes.bringsURL ? #","callbackUrl":"OTHER/status/500""# : "") + #","userReference":"Jane""#)
        for (settings, _) in changes.attempts {
            _ = try await self.query(set, [.text(placed(settings))])
            try await self.hurry()
        }
        let received = try self.receiver.received()
        #expect(received.allSatisfy { $0.verified })
        #expect(received.map { $0.body.contains("CANARY") } == changes.attempts.map(\.sendsResult))
        // One body for each name, and the name of the event for the body that it began with.
        let name = "msg_" + job.replacing("-", with: "")
        for request in received {
            #expect((request.webhookId == name) == (request.body.contains("CANARY") == changes.hasResult))
            #expect(request.webhookId == name || request.webhookId.hasPrefix(name + "_r"))
            for other in received { #expect((request.webhookId == other.webhookId) == (request.body == other.body)) }
        }
    }

    @Test func `A request with a result is on record whatever its answer, and one that was never sent is not`()
        async throws
    {
        try await self.partner(#"{"inlineResult": true}"#)
        let job = try await self.job()
        func recorded() async throws -> [Int64?] {
            try await self.query(
                """
                SELECT (detail ->> 'httpStatus')::bigint FROM insp.record
                WHERE chain = 'access' AND action = 'callback' AND subject = $1 ORDER BY id
                """, [.text(job)]
            ).map { try $0.optionalInt(0) }
        }
        await self.outbox.dispatch()
        #expect(try self.receiver.received().count == 1)
        #expect(try await recorded() == [500])
        // What ends before the request, and what ends after it.
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        for (code, wanted) in [(ErrorCode.nameNotResolved, [500]), (.timedOut, [500, nil])] as [(ErrorCode, [Int64?])] {
            try await self.outbox.hurry()
            _ = try await self.query("UPDATE insp.endpoint_health SET open_until = NULL, failed = 0")
            let settlement = CallbackSettlement(
                callback: try #require(try await store.claim(10).callbacks.first), outcome: .retry(after: .zero),
                started: Date(), milliseconds: 1, status: nil, code: code, error: nil, trace: nil,
                deadline: .now + .seconds(60), sent: nil, claimed: .now)
            _ = try await store.settle([settlement])
            #expect(try await recorded() == wanted)
        }
    }

    @Test func `Who sent a result is the login, whatever name the worker gives`() async throws {
        try await self.partner(#"{"inlineResult": true}"#)
        _ = try await self.job()
        let store = CallbackStore(
            connection: self.outbox.connection, worker: "jane\n" + String(repeating: "x", count: 200),
            lease: .seconds(60))
        _ = try await store.settle([Self.delivered(try #require(try await store.claim(10).callbacks.first))])
        let row = try await self.query(
            """
            SELECT actor = session_user, detail ->> 'worker',
                (SELECT a.operator = session_user FROM insp.v_access a WHERE a.action = 'callback')
            FROM insp.record WHERE chain = 'access' AND action = 'callback'
            """
        ).single()
        #expect(try row.bool(0) && row.bool(2))
        #expect(try row.string(1) == "jane?" + String(repeating: "x", count: 95))
    }

    @Test func `A callback in a newer program's form is left to that program`() async throws {
        try await self.partner()
        _ = try await self.job()
        _ = try await self.query("UPDATE insp.callback SET form = 2")
        await self.outbox.dispatch()
        #expect(try self.receiver.received().isEmpty)
        let row = try await self.query("SELECT state, attempts, released FROM insp.v_callback")[0]
        #expect(try row.string(0) == "pending" && row.int(1) == 0 && row.int(2) == 1)
    }

    @Test func `Times are cut to milliseconds`() throws {
        for (seconds, text) in [
            (1_795_417_351.122999, "2026-11-23T07:02:31.122Z"), (1_795_417_351.123, "2026-11-23T07:02:31.123Z"),
            (951_782_400.0, "2000-02-29T00:00:00.000Z"),
        ] {
            #expect(try CallbackBody.time(Date(timeIntervalSince1970: seconds)) == text)
        }
    }

    @Test func `A time that no body can have is an error, and is never stored`() async throws {
        // `infinity` as PostgreSQL sends it, the last time that it stores, and the first one of year 10000.
        let last = try await self.query(
            "SELECT 'infinity'::timestamptz, '-infinity'::timestamptz, '294276-12-31 23:59:59.999999Z'::timestamptz, '10000-01-01Z'::timestamptz"
        )[0]
        for column in 0..<4 {
            let date = try last.date(column)
            let error = #expect(throws: PostgresError.self) { try CallbackBody.time(date) }
            #expect(error?.code == .decoding)
        }
        #expect(try CallbackBody.time(Date(timeIntervalSince1970: 253_402_300_799.5)) == "9999-12-31T23:59:59.500Z")
        try await self.partner()
        _ = try await self.job()
        for time in ["infinity", "-infinity"] {
            let error = await #expect(throws: PostgresError.self) {
                try await self.query("UPDATE insp.callback SET created_at = $1::text::timestamptz", [.text(time)])
            }
            #expect(error?.sqlState == "23514")
        }
    }
}

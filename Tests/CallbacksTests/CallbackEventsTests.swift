import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Which callbacks a job makes, by the database's own functions: what workers call, without a worker.
struct CallbackEventsTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text])
        self.outbox = try await Outbox()
    }

    private func partner(_ settings: String) async throws -> String {
        let name = "partner-\(UUID().uuidString.lowercased())"
        let endpoint = try await self.outbox.connection.query(
            "SELECT endpoint_id FROM insp.create_partner($1, $2, true, true)",
            [.text(name), .text(self.receiver.url("/ok"))])[0].int(0)
        _ = try await self.outbox.connection.query(
            "SELECT insp.callback_rotate_secret($1, '0', $2)", [.int(endpoint), .text(self.secret.text)])
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
        return name
    }

    /// Enqueues a job and takes it through its stages as a worker does: stages stored one by one, then the result or a wait
    /// for a review.
    @discardableResult
    private func job(_ partner: String, user: String = "u-1", stages: [Int] = [4, 8], review: Bool = false) async throws
        -> String
    {
        let connection = self.outbox.connection
        let id = try await connection.query(
            "SELECT insp.enqueue($1::jsonb, front => 'x'::bytea)",
            [.text(#"{"partner":"\#(partner)","workflow":"id","userReference":"\#(user)"}"#)])[0].string(0)
        let number = try await connection.query(
            "SELECT id FROM insp.job WHERE public_id = $1::uuid", [.text(id)])[0].int(0)
        // A lease as a claim makes it.
        _ = try await connection.query(
            """
            WITH r AS (DELETE FROM insp.ready WHERE job_id = $1 RETURNING *)
            INSERT INTO insp.lease (job_id, fence, worker_id, deadline, queue, attempt, crashes)
            SELECT $1, $1, 1, now() + interval '1 hour', r.queue, 1, 0 FROM r
            """, [.int(number)])
        for stage in stages {
            _ = try await connection.query(
                "SELECT insp.store_steps(ARRAY[$1::bigint], ARRAY[$1::bigint], ARRAY[$2::smallint], ARRAY['{}'::bytea])",
                [.int(number), .int(Int64(stage))])
        }
        let body = #"{"capabilities":{"extraction":[{"data":{"lastName":"CANARY"}}]}}"#
        let function = review ? "hold_for_review" : "settle"
        _ = try await connection.query(
            """
            SELECT insp.\(function)(ARRAY[$1::bigint], ARRAY[$1::bigint], ARRAY['{"decision":{"type":"PASSED"}}'],
                ARRAY[$2::bytea], '{}', '{}', '{}', '{}')
            """, [.int(number), .bytes(Data(body.utf8))])
        return id
    }

    private func events() async throws -> [String] {
        try await self.outbox.connection.query("SELECT event FROM insp.callback ORDER BY id").map { try $0.string(0) }
    }

    @Test func `A partner gets job.finished alone unless it asks for more`() async throws {
        try await self.job(self.partner("{}"))
        #expect(try await self.events() == ["job.finished"])
    }

    @Test func `A partner that asks for stages gets each of them in order`() async throws {
        let partner = try await self.partner(#"{"events": ["job.status", "job.finished"], "ordering": "job"}"#)
        let id = try await self.job(partner)
        #expect(try await self.events() == ["job.status.4", "job.status.8", "job.finished"])
        for _ in 0..<4 { await self.outbox.dispatch() }
        let received = try self.receiver.received()
        #expect(received.count == 3 && received.allSatisfy { $0.verified })
        // In order, for the ordering was asked for; each its own id, of the same job.
        let bodies = try received.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.body.utf8)) as? [String: Any])
        }
        #expect(bodies.map { $0["type"] as? String } == ["job.status", "job.status", "job.finished"])
        #expect(bodies.map { ($0["data"] as? [String: Any])?["status"] as? Int } == [4, 8, 128])
        #expect(bodies.allSatisfy { ($0["data"] as? [String: Any])?["id"] as? String == id })
        #expect(Set(received.map(\.webhookId)).count == 3)
    }

    @Test func `A partner that asks for review events gets them`() async throws {
        try await self.job(self.partner(#"{"events": ["job.review_needed", "job.finished"]}"#), review: true)
        #expect(try await self.events() == ["job.review_needed"])
    }

    @Test func `A partner that wants no event gets none`() async throws {
        try await self.job(self.partner(#"{"events": []}"#))
        #expect(try await self.events() == [])
    }

    @Test func `A stage that is stored twice makes one event`() async throws {
        let partner = try await self.partner(#"{"events": ["job.status"]}"#)
        try await self.job(partner, stages: [4, 4, 8])
        #expect(try await self.events() == ["job.status.4", "job.status.8"])
    }

    @Test func `A result is sent where it is asked for, and stored in no callback`() async throws {
        let thin = try await self.partner("{}")
        let full = try await self.partner(#"{"inlineResult": true}"#)
        try await self.job(thin)
        let id = try await self.job(full)
        // Neither row holds the result: it is put in when it is sent.
        let held = try await self.outbox.connection.query(
            "SELECT count(*) FROM insp.callback c WHERE c::text LIKE '%CANARY%' OR c.body IS NOT NULL")
        #expect(try held[0].int(0) == 0)
        await self.outbox.dispatch()
        let received = try self.receiver.received()
        #expect(received.count == 2 && received.allSatisfy { $0.verified })
        let with = received.filter { $0.body.contains("CANARY") }
        #expect(with.count == 1 && with[0].body.contains(id))
        let body = try JSONSerialization.jsonObject(with: Data(with[0].body.utf8)) as? [String: Any]
        #expect(((body?["data"] as? [String: Any])?["result"] as? [String: Any])?["status"] as? Int == 128)
        // Again, with the same bytes.
        _ = try await self.outbox.connection.query("SELECT insp.callback_replay($1)", [.text(with[0].webhookId)])
        await self.outbox.dispatch()
        #expect(try self.receiver.received().last?.body == with[0].body)
    }

    @Test func `Callbacks of one user share an ordering key that does not reveal the user`() async throws {
        let partner = try await self.partner(#"{"ordering": "user"}"#)
        for user in ["Jane", "Jane", "Joe"] { try await self.job(partner, user: user) }
        let keys = try await self.outbox.connection.query(
            "SELECT ordering_key FROM insp.callback_waiting ORDER BY callback_id"
        ).map {
            try $0.string(0)
        }
        #expect(keys[0] == keys[1] && keys[0] != keys[2] && !keys[0].contains("Jane"))
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        #expect(try await store.claim(10).callbacks.count == 2)
    }

    @Test func `Any number of secrets and keys can sign at once`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        var secrets = [self.secret.text]
        for _ in 0..<3 {
            secrets.append(
                try await self.outbox.connection.query("SELECT insp.callback_rotate_secret($1)", [.int(endpoint)])[0]
                    .string(0))
        }
        let key = WebhookSigningKey.generate()
        for fresh in [key, WebhookSigningKey.generate()] {
            _ = try await self.outbox.connection.query(
                "SELECT insp.callback_rotate_secret($1, p_secret => $2)", [.int(endpoint), .text(fresh.text)])
        }
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch()
        let received = try #require(try self.receiver.received().first)
        // Four secrets and two keys; the receiver knows the oldest secret alone.
        #expect(received.signatures == 6 && received.verified)
        let header = try #require(received.headers["webhook-signature"])
        let verifier = WebhookVerifier(secrets: [], publicKeys: [key.publicKey])
        try verifier.verify(
            id: received.webhookId, timestamp: received.timestamp, signature: header, body: Array(received.body.utf8),
            now: Date())
        for secret in secrets {
            let one = WebhookVerifier(secrets: [try #require(WebhookSecret(secret))])
            try one.verify(
                id: received.webhookId, timestamp: received.timestamp, signature: header,
                body: Array(received.body.utf8),
                now: Date())
        }
        // What operators see of it holds no key.
        let acts = try await self.outbox.connection.query(
            "SELECT string_agg(detail::text, ' ') FROM insp.v_operator_events")
        #expect(try acts[0].string(0).contains("whs") == false)
    }
}

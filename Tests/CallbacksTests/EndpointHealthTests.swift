import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Breaker, pause, order and events, in the database and through a dispatcher.
struct EndpointHealthTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text])
        self.outbox = try await Outbox()
    }

    private func endpoint(inFlight: Int = 8, settings: String = "{}") async throws -> Int64 {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: inFlight)
        try await self.set(endpoint, settings)
        return endpoint
    }

    private func set(_ endpoint: Int64, _ settings: String) async throws {
        _ = try await self.outbox.connection.query(
            "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
    }

    private func text(_ sql: String, _ endpoint: Int64) async throws -> String? {
        try await self.outbox.connection.query(sql, [.int(endpoint)]).first?.optionalString(0)
    }

    private func breaker(_ endpoint: Int64) async throws -> String? {
        try await self.text("SELECT breaker FROM insp.v_callbacks WHERE endpoint_id = $1", endpoint)
    }

    private func kinds(_ endpoint: Int64) async throws -> String? {
        try await self.text(
            "SELECT string_agg(kind, ' ' ORDER BY at) FROM insp.v_endpoint_events WHERE endpoint_id = $1", endpoint)
    }

    private func halfOpen() async throws {
        _ = try await self.outbox.connection.query(
            "UPDATE insp.endpoint_health SET open_until = now() - interval '1 second'")
    }

    @Test func `The breaker opens after failures, probes, and closes after a success`() async throws {
        let alerts = try await self.endpoint(settings: #"{"url": "\#(self.receiver.url("/ok?alerts"))"}"#)
        let endpoint = try await self.endpoint(settings: #"{"alertEndpoint": \#(alerts)}"#)
        let ids = try await self.outbox.add(40, endpoint: endpoint, url: self.receiver.url("/status/500"))
        let events = await self.outbox.dispatch { $0.batch = 8 }
        // Eight at once: the tenth failure opens it, and nothing is begun while one is not recorded. So at most nine are, eight
        // more are under way, and a claim that was made just before brings eight.
        let failures = events.filter { $0.outcome == .failed }.count
        #expect((10...25).contains(failures))
        #expect(try await self.breaker(endpoint) == "open")
        #expect(try await self.outbox.count("attempts = 0 AND endpoint_id = \(endpoint)") == 40 - Int64(failures))
        #expect(try await self.kinds(endpoint) == "failing")

        // While it is open nothing is sent and no attempt is charged.
        try await self.outbox.hurry()
        await self.outbox.dispatch()
        #expect(try self.receiver.received().filter { $0.path == "/status/500" }.count == failures)

        // Half open: one probe, which fails, and it is open for longer.
        try await self.halfOpen()
        #expect(try await self.breaker(endpoint) == "half open")
        await self.outbox.dispatch()
        #expect(try self.receiver.received().filter { $0.path == "/status/500" }.count == failures + 1)
        #expect(
            try await self.text("SELECT trips::text FROM insp.endpoint_health WHERE endpoint_id = $1", endpoint) == "2")

        // The partner is back: the probe succeeds, and all that waited goes out.
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback SET url = $1 WHERE endpoint_id = $2",
            [.text(self.receiver.url("/ok")), .int(endpoint)])
        try await self.halfOpen()
        try await self.outbox.hurry()
        for _ in 0..<3 { await self.outbox.dispatch() }
        for id in ids { #expect(try await self.outbox.row(id).state == "delivered") }
        #expect(try await self.breaker(endpoint) == "closed")
        #expect(try await self.kinds(endpoint) == "failing recovered")
        // The second channel was notified, signed like everything else.
        let told = try self.receiver.received().filter { $0.path == "/ok?alerts" }
        #expect(told.count == 2 && told.allSatisfy { $0.verified })
        #expect(
            Set(told.compactMap { $0.body.split(separator: "\"").first { $0.hasPrefix("endpoint.") } })
                == ["endpoint.failing", "endpoint.recovered"])
    }

    @Test func `Failures among successes leave the breaker closed`() async throws {
        let endpoint = try await self.endpoint()
        try await self.outbox.add(12, endpoint: endpoint, url: self.receiver.url("/status/500"))
        try await self.outbox.add(12, endpoint: endpoint, url: self.receiver.url("/ok"))
        // In turns, as a partner that has trouble with some of them.
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback_waiting SET due_at = now() - (callback_id % 12) * interval '1 second'")
        await self.outbox.dispatch { $0.batch = 4 }
        #expect(try await self.outbox.count("state = 'delivered'") == 12)
        #expect(try await self.breaker(endpoint) == "closed")
    }

    @Test func `Status 410 disables the endpoint, and its callbacks are held`() async throws {
        let endpoint = try await self.endpoint(inFlight: 1, settings: #"{"url": "\#(self.receiver.url("/gone"))"}"#)
        try await self.outbox.add(5, endpoint: endpoint, url: self.receiver.url("/gone"))
        await self.outbox.dispatch()
        #expect(try self.receiver.received().count == 1)
        #expect(try await self.outbox.count("state = 'held'") == 4)
        #expect(try await self.kinds(endpoint) == "disabled")
        #expect(try await self.breaker(endpoint) == "disabled")
        // The partner asks for them again.
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback SET url = $1", [.text(self.receiver.url("/ok"))])
        _ = try await self.outbox.connection.query("SELECT insp.callback_enable($1)", [.int(endpoint)])
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'delivered'") == 4)
        #expect(try await self.kinds(endpoint) == "disabled enabled")
    }

    @Test func `Status 410 at the callbackUrl of a job disables no endpoint`() async throws {
        let endpoint = try await self.endpoint(settings: #"{"url": "\#(self.receiver.url("/ok"))"}"#)
        try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/gone"))
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'dead'") == 1)
        #expect(try await self.breaker(endpoint) == "closed")
    }

    @Test func `Five days without success disable an endpoint`() async throws {
        let endpoint = try await self.endpoint()
        let ids = try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/status/500"))
        await self.outbox.dispatch()
        _ = try await self.outbox.connection.query(
            "UPDATE insp.endpoint_health SET failing_since = now() - interval '6 days'")
        try await self.outbox.hurry()
        await self.outbox.dispatch()
        #expect(try await self.kinds(endpoint) == "disabled")
        #expect(try await self.outbox.row(ids[0]).state == "held")
    }

    @Test func `A paused endpoint keeps its callbacks until it is resumed`() async throws {
        let endpoint = try await self.endpoint()
        let ids = try await self.outbox.add(3, endpoint: endpoint, url: self.receiver.url("/ok"))
        _ = try await self.outbox.connection.query("SELECT insp.callback_pause($1, 'their wish')", [.int(endpoint)])
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "pending")
        #expect(try self.receiver.received().isEmpty)
        #expect(try await self.breaker(endpoint) == "paused")
        _ = try await self.outbox.connection.query("SELECT insp.callback_resume($1)", [.int(endpoint)])
        await self.outbox.dispatch()
        #expect(try self.receiver.received().count == 3)
        let acts = try await self.outbox.connection.query(
            "SELECT string_agg(action, ' ' ORDER BY id) FROM insp.record WHERE action IN ('callback_pause', 'callback_resume')"
        )
        #expect(try acts[0].string(0) == "callback_pause callback_resume")
    }

    /// A claim under the floors of the previous one, as the dispatcher makes them: waiting callbacks must still be found.
    @Test func `Floors hide no callback that waited behind an open breaker`() async throws {
        let endpoint = try await self.endpoint()
        try await self.outbox.add(1, endpoint: endpoint, url: "https://partner.example/")
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        _ = try await self.outbox.connection.query(
            """
            UPDATE insp.callback_waiting SET due_at = now() - interval '1 hour';
            """)
        _ = try await self.outbox.connection.query(
            "INSERT INTO insp.endpoint_health (endpoint_id, open_until, trips) VALUES ($1, now() + interval '1 hour', 1)",
            [.int(endpoint)])
        let first = try await store.claim(10)
        #expect(first.callbacks.isEmpty)
        try await self.halfOpen()
        let second = try await store.claim(10, above: first.floors)
        #expect(second.callbacks.count == 1)
    }

    @Test func `Retries leave room for first attempts`() async throws {
        let endpoint = try await self.endpoint(inFlight: 8)
        try await self.outbox.add(100, endpoint: endpoint, url: "https://partner.example/late", attempts: 3)
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback_waiting SET due_at = now() - interval '1 hour'")
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        let late = try await store.claim(64)
        #expect(late.callbacks.count == 6)
        try await self.outbox.add(100, endpoint: endpoint, url: "https://partner.example/new")
        let fresh = try await store.claim(64)
        #expect(fresh.callbacks.map(\.attempts) == [0, 0])

        // Over all endpoints: no more retries than the dispatcher has room for.
        let other = try await self.endpoint(inFlight: 8)
        try await self.outbox.add(10, endpoint: other, url: "https://partner.example/late", attempts: 1)
        try await self.outbox.add(10, endpoint: other, url: "https://partner.example/new")
        let limited = try await store.claim(64, retries: 2)
        #expect(limited.callbacks.filter { $0.attempts > 0 }.count == 2)
        #expect(limited.callbacks.filter { $0.attempts == 0 }.count == 6)
    }

    @Test func `Ordered callbacks are sent one after the other`() async throws {
        let endpoint = try await self.endpoint(settings: #"{"ordering": "job"}"#)
        var ids: [String] = []
        for _ in 0..<4 {
            ids += try await self.outbox.add(2, endpoint: endpoint, url: self.receiver.url("/flaky?fail=1"))
        }
        // Two chains of four.
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback_waiting SET ordering_key = 'chain ' || callback_id % 2")
        for _ in 0..<20 {
            try await self.outbox.hurry()
            await self.outbox.dispatch()
        }
        let received = try self.receiver.received()
        #expect(received.count == 16)
        for chain in 0..<2 {
            let own = ids.enumerated().filter { $0.offset % 2 == chain }.map(\.element)
            // Each is repeated until it is delivered, and only then the next is sent.
            #expect(received.map(\.webhookId).filter { own.contains($0) } == own.flatMap { [$0, $0] })
        }
    }
}

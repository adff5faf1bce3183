import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Callbacks
@testable import HTTPClient

/// Against a real database and a real receiver, which verifies every signature on its own.
struct CallbackDispatcherTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text])
        self.outbox = try await Outbox()
    }

    private func endpoint(
        allowHTTP: Bool = true, allowPrivate: Bool = true, inFlight: Int = 8
    ) async throws -> Int64 {
        try await self.outbox.endpoint(
            secret: self.secret.text, allowHTTP: allowHTTP, allowPrivate: allowPrivate, inFlight: inFlight)
    }

    @Test func `A callback is delivered with a signature, and the attempt is recorded`() async throws {
        let body = #"{"type":"job.finished","data":{"ü":1}}"#
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: self.receiver.url("/ok"), body: body)
        let events = await self.outbox.dispatch()

        let received = try self.receiver.received()
        #expect(received.count == 1)
        #expect(received[0].webhookId == ids[0])
        #expect(received[0].verified && received[0].timestampOk)
        #expect(received[0].signatures == 1)
        #expect(received[0].body == body)
        #expect(received[0].headers["content-type"] == "application/json")
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "delivered" && row.attempts == 1 && row.lastStatus == 200 && row.lastError == nil)
        #expect(!row.isClaimed)
        let attempts = try await self.outbox.attempts(ids[0])
        #expect(attempts.count == 1 && attempts[0].status == 200 && attempts[0].worker == "test")
        #expect(events.map(\.outcome) == [.delivered])
    }

    @Test func `A retry has the same id and body`() async throws {
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: self.receiver.url("/flaky?fail=2"))
        await self.outbox.dispatch()
        let first = try await self.outbox.row(ids[0])
        #expect(first.state == "pending" && first.attempts == 1 && first.lastStatus == 500)
        #expect(first.pauseSeconds >= 3 && first.dueInSeconds <= 6)
        for _ in 0..<2 {
            try await self.outbox.hurry()
            await self.outbox.dispatch()
        }
        let received = try self.receiver.received()
        #expect(received.map(\.webhookId) == Array(repeating: ids[0], count: 3))
        #expect(Set(received.map(\.body)).count == 1)
        #expect(received.allSatisfy { $0.verified && $0.timestampOk })
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "delivered" && row.attempts == 3 && row.lastError == nil)
        #expect(try await self.outbox.attempts(ids[0]).map(\.status) == [500, 500, 200])
    }

    @Test func `A retry waits as long as the partner asks`() async throws {
        let url = self.receiver.url("/status/503?retry-after=100")
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: url)
        await self.outbox.dispatch()
        let row = try await self.outbox.row(ids[0])
        #expect(row.pauseSeconds >= 90 && row.dueInSeconds <= 101)
    }

    @Test func `A redirect is a failure and is not followed`() async throws {
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: self.receiver.url("/redirect"))
        await self.outbox.dispatch()
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "pending" && row.lastStatus == 307 && row.lastError == "HTTP status 307")
        #expect(try self.receiver.received().map(\.path) == ["/redirect"])
    }

    @Test func `Status 410 dead-letters the callback and is noted at the endpoint`() async throws {
        let endpoint = try await self.endpoint()
        let url = self.receiver.url("/gone")
        _ = try await self.outbox.connection.query(
            "UPDATE insp.endpoint SET url = $2 WHERE id = $1", [.int(endpoint), .text(url)])
        let ids = try await self.outbox.add(endpoint: endpoint, url: url)
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "dead")
        let noted = try await self.outbox.connection.query(
            "SELECT gone_at IS NOT NULL FROM insp.endpoint WHERE id = $1", [.int(endpoint)])
        #expect(try noted[0].bool(0))
    }

    @Test func `A callback is dead-lettered after its last attempt`() async throws {
        let url = self.receiver.url("/status/500")
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: url, attempts: 11)
        let events = await self.outbox.dispatch()
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "dead" && row.attempts == 12)
        #expect(events.map(\.outcome) == [.deadLettered])
        let dead = try await self.outbox.connection.query(
            "SELECT last_error, last_attempt_at IS NOT NULL FROM insp.v_callback_dead WHERE webhook_id = $1",
            [.text(ids[0])])
        #expect(try dead[0].string(0) == "HTTP status 500" && dead[0].bool(1))
    }

    @Test func `A private address is refused without permission`() async throws {
        let endpoint = try await self.endpoint(allowPrivate: false)
        let local = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        let name = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok", host: "localhost"))
        await self.outbox.dispatch()
        for id in local + name {
            let row = try await self.outbox.row(id)
            #expect(row.state == "pending" && row.attempts == 1 && row.lastStatus == nil)
            #expect(row.lastError == ErrorCode.egressRefused.row.message)
        }
        #expect(try self.receiver.received().isEmpty)
    }

    @Test func `Plain HTTP is refused without permission`() async throws {
        let endpoint = try await self.endpoint(allowHTTP: false)
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch()
        #expect(try await self.outbox.row(ids[0]).state == "dead")
        #expect(try self.receiver.received().isEmpty)
    }

    @Test func `Both secrets sign until the old one expires`() async throws {
        let endpoint = try await self.endpoint()
        let rotated = try await self.outbox.connection.query(
            "SELECT insp.callback_rotate_secret($1)", [.int(endpoint)])[0].string(0)
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        let newReceiver = try CallbackReceiver(secrets: [rotated])
        try await self.outbox.add(endpoint: endpoint, url: newReceiver.url("/ok"))
        await self.outbox.dispatch()
        // The one receiver knows only the old secret, the other only the new one.
        for receiver in [self.receiver, newReceiver] {
            let received = try receiver.received()
            #expect(received.count == 1 && received[0].verified && received[0].signatures == 2)
        }

        _ = try await self.outbox.connection.query(
            """
            UPDATE insp.secret SET valid_until = now() - interval '1 second'
            WHERE owner = 'endpoint ' || $1::text AND valid_until IS NOT NULL
            """, [.int(endpoint)])
        try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch()
        let late = try #require(try self.receiver.received().last)
        #expect(!late.verified && late.signatures == 1)
    }

    @Test func `An unreadable secret counts no attempt`() async throws {
        let endpoint = try await self.endpoint()
        _ = try await self.outbox.connection.query("UPDATE insp.secret SET value = 'whsec_short'")
        let ids = try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch()
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "pending" && row.attempts == 0 && row.released == 1)
        #expect(row.lastError?.contains("fault on our side") == true)
        #expect(try await self.outbox.attempts(ids[0]).count == 1)
    }

    @Test func `What cannot be signed costs its own attempt, which is our fault`() async throws {
        let endpoint = try await self.endpoint()
        let ids = try await self.outbox.add(2, endpoint: endpoint, url: self.receiver.url("/ok"))
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback SET webhook_id = 'with.stop' WHERE webhook_id = $1", [.text(ids[0])])
        await self.outbox.dispatch()
        let row = try await self.outbox.row("with.stop")
        #expect(row.state == "pending" && row.attempts == 0 && row.released == 1 && row.dueInSeconds > 15)
        #expect(row.lastError?.contains("fault on our side") == true)
        #expect(try await self.outbox.attempts("with.stop").count == 1)
        #expect(try await self.outbox.row(ids[1]).state == "delivered")
    }

    @Test func `Nothing is sent unsigned`() async throws {
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: self.receiver.url("/ok"))
        _ = try await self.outbox.connection.query("DELETE FROM insp.secret")
        await self.outbox.dispatch()
        #expect(try self.receiver.received().isEmpty)
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "pending" && row.attempts == 0 && row.lastError?.contains("no key") == true)
    }

    @Test func `A callback whose dispatcher died is sent again with the same id`() async throws {
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: self.receiver.url("/ok"))
        // A dispatcher that claims, sends and dies before it can record: its claim is never settled.
        let store = CallbackStore(connection: self.outbox.connection, worker: "dead", lease: .seconds(60))
        let claimed = try await store.claim(10).callbacks
        #expect(claimed.map(\.webhookID) == ids)
        let sender = CallbackSender(
            client: HTTPClient(), timeoutMilliseconds: 5_000, agent: "test")
        let lost = await sender.attempt(.init(callback: claimed[0], claimed: .now, deadline: .now))
        #expect(lost.outcome == .delivered)

        // Until the lease ends nobody else may send it.
        #expect(try await store.claim(10).callbacks.isEmpty)
        // In a later second than it was claimed, so that the timestamps differ.
        _ = try await self.outbox.connection.query(
            "UPDATE insp.callback_lease SET lease_until = now() + interval '1.5 s'")
        let isSent = try await self.outbox.whileDispatching { _, _ in
            try await self.outbox.wait(within: 60) { try await self.outbox.row(ids[0]).state == "delivered" }
        }
        #expect(isSent)
        let received = try self.receiver.received()
        #expect(received.map(\.webhookId) == [ids[0], ids[0]])
        #expect(received.allSatisfy { $0.verified })
        #expect(received[0].body == received[1].body)
        #expect(received[0].timestamp != received[1].timestamp)

        // The dead one comes back to life: what it has to record is refused.
        #expect(try await store.settle([lost]).lost == [lost.callback.id])
        #expect(try await self.outbox.attempts(ids[0]).map(\.worker) == ["test"])
    }

    @Test func `A dispatcher that stops releases the callbacks it is sending`() async throws {
        let ids = try await self.outbox.add(endpoint: self.endpoint(), url: self.receiver.url("/hang"))
        try await self.outbox.whileDispatching({ $0.grace = .milliseconds(300) }) { _, _ in
            _ = try await self.receiver.received(within: 60) { !$0.isEmpty }
        }
        let row = try await self.outbox.row(ids[0])
        #expect(row.state == "pending" && row.attempts == 0 && !row.isClaimed && row.dueInSeconds <= 0)
        #expect(row.lastError == ErrorCode.attemptInterrupted.row.message)
    }

    @Test func `A notification starts the dispatcher without a poll`() async throws {
        let endpoint = try await self.endpoint()
        try await self.outbox.whileDispatching({ $0.poll = .seconds(600) }) { _, events in
            // The first one proves that the listener is there; polling every ten minutes cannot have found it in time.
            for round in 1...5 {
                try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
                let received = try await self.receiver.received(within: 60) { $0.count >= round }
                #expect(received.count == round)
                // At most one notification in 50 ms is sent (insp.wake): what follows sooner waits for the poll.
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    @Test func `Several dispatchers deliver each callback once`() async throws {
        var ids: Set<String> = []
        for _ in 0..<5 {
            let endpoint = try await self.endpoint(inFlight: 4)
            ids.formUnion(try await self.outbox.add(40, endpoint: endpoint, url: self.receiver.url("/ok")))
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { await self.outbox.dispatch { $0.batch = 10 } }
            }
        }
        await self.outbox.dispatch()
        let received = try self.receiver.received()
        #expect(received.count == 200)
        #expect(Set(received.map(\.webhookId)) == ids)
        #expect(try await self.outbox.count("state = 'delivered'") == 200)
        #expect(try await self.outbox.countUnderWay() == 0)
    }

    @Test func `A dispatcher survives the loss of its connections`() async throws {
        let endpoint = try await self.endpoint()
        try await self.outbox.whileDispatching { _, events in
            try await self.outbox.add(endpoint: endpoint, url: self.receiver.url("/ok"))
            _ = try await self.receiver.received(within: 60) { $0.count == 1 }
            _ = try await self.outbox.connection.query(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE datname = current_database() AND application_name LIKE 'inspectd callbacks%'
                """)
            let ids = try await self.outbox.add(20, endpoint: endpoint, url: self.receiver.url("/ok"))
            let isDelivered = try await self.outbox.wait(within: 60) {
                try await self.outbox.count("state = 'delivered'") == 21
            }
            #expect(isDelivered)
            #expect(ids.count == 20)
            #expect(events.all.contains { if case .databaseUnavailable = $0 { true } else { false } })
            #expect(events.all.contains { if case .databaseRestored = $0 { true } else { false } })
        }
        #expect(try self.receiver.received().count == 21)
    }

    @Test(.timed) func `Hostile partners are bounded and delay nobody`() async throws {
        var hostile: [String: [String]] = [:]
        for path in ["/hang", "/drip-headers", "/flood", "/huge", "/drip"] {
            let endpoint = try await self.endpoint(inFlight: 3)
            hostile[path] = try await self.outbox.add(3, endpoint: endpoint, url: self.receiver.url(path))
        }
        let good = try await self.outbox.add(100, endpoint: self.endpoint(), url: self.receiver.url("/ok"))
        let everything = Set(good + hostile.values.joined())
        let unanswered = try #require(hostile["/hang"]) + #require(hostile["/drip-headers"])
        let events = try await self.outbox.whileDispatching({ $0.timeout = .seconds(10) }) { _, events in
            let isDone = try await self.outbox.wait(within: 100) {
                Set(events.attempts.map(\.webhookID)).isSuperset(of: everything)
            }
            #expect(isDone)
            return events.attempts
        }
        let outcomes = Dictionary(grouping: events, by: \.webhookID).mapValues { $0[0] }
        #expect(good.allSatisfy { outcomes[$0]?.outcome == .delivered })
        // Answered 200 before they began to flood or to drip: delivered, but bounded.
        for path in ["/flood", "/huge", "/drip"] {
            #expect(hostile[path]?.allSatisfy { outcomes[$0]?.outcome == .delivered } == true)
        }
        #expect(
            unanswered.allSatisfy {
                outcomes[$0]?.outcome == .failed && outcomes[$0]?.error == ErrorCode.timedOut.row.message
            })
        #expect(events.allSatisfy { $0.milliseconds < 60_000 })
        // Nobody waited for those who never answer: all others were through before the first of them was dead-lettered.
        let order = events.map(\.webhookID)
        let firstTimeout = try #require(order.firstIndex { unanswered.contains($0) })
        let lastGood = try #require(order.lastIndex { good.contains($0) })
        #expect(lastGood < firstTimeout)
    }

    @Test func `Two dispatchers together send no more at once than the endpoint allows`() async throws {
        let endpoint = try await self.endpoint(inFlight: 2)
        try await self.outbox.add(20, endpoint: endpoint, url: self.receiver.url("/slow?seconds=0.2"))
        try await self.outbox.whileDispatching({ $0.grace = .zero }) { _, _ in
            try await self.outbox.whileDispatching({ $0.grace = .zero }) { _, _ in
                try await waitUntil("all are sent") {
                    // Twice as many are the next ones, whichever dispatcher has them.
                    #expect(try await self.outbox.countUnderWay() <= 6)
                    return try self.receiver.received().count >= 20
                }
            }
        }
        let times = try self.receiver.received().map(\.receivedAtSeconds).sorted()
        #expect(times.count == 20)
        // An answer takes 200 ms: the last of any three comes once one of the others is answered.
        #expect(zip(times, times.dropFirst(2)).allSatisfy { $1 - $0 > 0.19 }, "\(times)")
    }

    @Test func `Floors hide no callback that is due`() async throws {
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        let busy = try await self.endpoint(inFlight: 2)
        let first = try await self.outbox.add(5, endpoint: busy, url: "https://partner.example/")
        var floors = CallbackFloors()
        func claim() async throws -> [String] {
            let claim = try await store.claim(10, above: floors)
            floors = claim.floors
            return claim.callbacks.map(\.webhookID)
        }
        // The endpoint has room for two, and the floor must stay below the other three.
        let claimed = try await claim()
        #expect(claimed.count == 2)
        #expect(try await claim().isEmpty)
        _ = try await self.outbox.connection.query(
            "DELETE FROM insp.callback_lease")
        let rest = try await claim()
        #expect(rest.count == 2 && Set(claimed + rest).isSubset(of: Set(first)))
        // New ones of any endpoint lie above every floor.
        let other = try await self.outbox.add(1, endpoint: self.endpoint(), url: "https://partner.example/")
        #expect(try await claim() == other)
        // A claim that lapsed long after its time lies below: only a search of everything finds it.
        _ = try await self.outbox.connection.query(
            """
            UPDATE insp.callback_lease l SET due_at = now() - interval '1 hour', lease_until = now()
            FROM insp.callback c WHERE c.id = l.callback_id AND c.webhook_id = $1
            """, [.text(other[0])])
        #expect(try await claim().isEmpty)
        floors = CallbackFloors()
        #expect(try await claim() == other)
    }

    @Test func `Operators can hold, enable, replay and dead-letter callbacks`() async throws {
        let endpoint = try await self.endpoint()
        let url = self.receiver.url("/ok")
        let ids = try await self.outbox.add(3, endpoint: endpoint, url: url)
        func call(_ sql: String, _ parameters: [PostgresValue]) async throws -> PostgresRow {
            try await self.outbox.connection.query("SELECT \(sql)", parameters)[0]
        }
        #expect(try await call("insp.callback_disable($1)", [.int(endpoint)]).int(0) == 3)
        await self.outbox.dispatch()
        #expect(try self.receiver.received().isEmpty)
        #expect(try await self.outbox.row(ids[0]).state == "held")

        #expect(try await call("insp.callback_dead_letter($1)", [.text(ids[2])]).bool(0))
        #expect(try await call("insp.callback_enable($1)", [.int(endpoint)]).int(0) == 2)
        await self.outbox.dispatch()
        #expect(Set(try self.receiver.received().map(\.webhookId)) == Set(ids[..<2]))

        // The dead-lettered one is dead; a replay of the period sends it, and with p_delivered the others again too.
        let replay = "insp.callback_replay($1, now() - interval '1 hour', now(), $2, 1000)"
        #expect(try await call(replay, [.int(endpoint), .bool(false)]).int(0) == 1)
        await self.outbox.dispatch()
        #expect(try self.receiver.received().map(\.webhookId).filter { $0 == ids[2] }.count == 1)
        #expect(try await call("insp.callback_replay($1)", [.text(ids[0])]).bool(0))
        #expect(try await !call("insp.callback_replay($1)", [.text("msg_unknown")]).bool(0))
        await self.outbox.dispatch()
        let again = try self.receiver.received().filter { $0.webhookId == ids[0] }
        #expect(again.count == 2 && again.allSatisfy { $0.verified } && again[0].body == again[1].body)
        #expect(try await self.outbox.attempts(ids[0]).map(\.number) == [1, 2])
    }
}

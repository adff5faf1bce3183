import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// A transaction that somebody leaves open delays the callbacks of one endpoint at most, and nobody waits for it.
struct HeldEndpointTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text], oauthClient: "client:secret")
        self.outbox = try await Outbox()
    }

    private func query(_ sql: String, _ parameters: [PostgresValue] = []) async throws -> [PostgresRow] {
        try await self.outbox.connection.query(sql, parameters)
    }

    private func blocked() async throws -> Int64 {
        try await self.query(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")[0]
            .int(0)
    }

    private func delivered(_ endpoint: Int64) async throws -> Int64 {
        try await self.outbox.count("state = 'delivered' AND endpoint_id = \(endpoint)")
    }

    /// Waits for callbacks to be delivered, and notes the most back-ends that wait for a lock meanwhile.
    private func hasCaughtUp(_ endpoint: Int64, _ count: Int64, _ most: inout Int64) async throws -> Bool {
        let deadline = ContinuousClock.now + .hangDeadline
        while ContinuousClock.now < deadline {
            most = max(most, try await self.blocked())
            if try await self.delivered(endpoint) >= count { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    /// What an operator does with an endpoint, or with the callback that is being sent, and forgets to commit.
    @Test(arguments: [
        "insp.callback_breaker_reset($1)", "insp.callback_enable($1)", "insp.callback_disable($1)",
        "insp.callback_pause($1)",
        "insp.set_endpoint($1, '{\"maxInflight\": 4}')",
        "insp.callback_dead_letter((SELECT webhook_id FROM insp.callback WHERE endpoint_id = $1 ORDER BY id LIMIT 1))",
    ])
    func `An open transaction of an operator delays its own endpoint alone`(_ act: String) async throws {
        let held = try await self.outbox.endpoint(secret: self.secret.text)
        let other = try await self.outbox.endpoint(secret: self.secret.text)
        // It has failed before, so that each outcome is counted.
        for endpoint in [held, other] {
            _ = try await self.query(
                "INSERT INTO insp.endpoint_health (endpoint_id, failed) VALUES ($1, 1)", [.int(endpoint)])
        }
        let operatorsOwn = try await self.outbox.database.connect()
        let slow = self.receiver.url("/slow?seconds=3")
        let first = try await self.outbox.add(1, endpoint: held, url: slow)
        try await self.outbox.whileDispatching { _, _ in
            // Its answer comes when the operator has begun.
            let received = try await self.receiver.received(within: 60) { !$0.isEmpty }
            #expect(received.count == 1)
            let answer = Date(timeIntervalSince1970: try #require(received.first).receivedAtSeconds + 3)
            try await operatorsOwn.execute("BEGIN")
            _ = try await operatorsOwn.query("SELECT \(act)", [.int(held)])
            try await self.outbox.add(1, endpoint: held, url: self.receiver.url("/status/500"), isOwn: false)
            var most: Int64 = 0
            // Rounds go on until the answer has come, which cannot be seen while the row is held.
            var round = 0
            var began = Date.distantPast
            while round < 3 || began < answer.addingTimeInterval(0.5) {
                round += 1
                began = Date()
                try await self.outbox.add(5, endpoint: other, url: self.receiver.url("/ok"))
                try await self.outbox.add(1, endpoint: other, url: self.receiver.url("/flaky?fail=1"))
                let isThere = try await self.hasCaughtUp(other, Int64(5 * round), &most)
                #expect(isThere, "round \(round) beside \(act)")
            }
            #expect(most <= 1, "more than one blocked at once")
            #expect(try await self.outbox.wait(within: 60) { try await self.blocked() == 0 })
            try await operatorsOwn.execute("ROLLBACK")
            // As if nothing had been.
            #expect(try await self.outbox.wait(within: 60) { try await self.outbox.row(first[0]).state == "delivered" })
            #expect(
                try await self.outbox.wait(within: 60) {
                    try await self.outbox.count("endpoint_id = \(held) AND attempts > 0 AND state = 'pending'") == 1
                })
        }
        #expect(try self.receiver.received().filter { $0.path.hasPrefix("/slow") }.count == 1)
    }

    /// Failures that could not be counted at once are counted later.
    @Test func `The breaker counts failures that met a locked row`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: 20)
        let operatorsOwn = try await self.outbox.database.connect()
        _ = try await self.query("INSERT INTO insp.endpoint_health (endpoint_id) VALUES ($1)", [.int(endpoint)])
        try await operatorsOwn.execute("BEGIN; SELECT FROM insp.endpoint_health FOR UPDATE")
        try await self.outbox.add(12, endpoint: endpoint, url: self.receiver.url("/status/500"))
        await self.outbox.dispatch()
        let sums = "SELECT coalesce(sum(failed), 0)::bigint FROM "
        #expect(try await self.query(sums + "insp.endpoint_tally")[0].int(0) == 12)
        try await operatorsOwn.execute("ROLLBACK")
        try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/status/500"))
        await self.outbox.dispatch()
        #expect(try await self.query(sums + "insp.endpoint_health")[0].int(0) == 13)
        #expect(try await self.query("SELECT breaker FROM insp.v_callbacks")[0].string(0) == "open")
        #expect(try await self.query("SELECT count(*) FROM insp.endpoint_tally")[0].int(0) == 0)
    }

    /// 410 while somebody changes the endpoint: it is disabled by the next attempt that is settled, of any endpoint.
    @Test func `An endpoint that answered 410 while its row was locked is disabled later`() async throws {
        let url = self.receiver.url("/gone")
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: 1)
        let other = try await self.outbox.endpoint(secret: self.secret.text)
        _ = try await self.query("UPDATE insp.endpoint SET url = $2 WHERE id = $1", [.int(endpoint), .text(url)])
        let ids = try await self.outbox.add(3, endpoint: endpoint, url: url)
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        let claim = try await store.claim(1)
        let operatorsOwn = try await self.outbox.database.connect()
        try await operatorsOwn.execute("BEGIN; SELECT insp.callback_pause(\(endpoint))")
        func settlement(_ callback: ClaimedCallback, _ status: Int) -> CallbackSettlement {
            CallbackSettlement(
                callback: callback, outcome: status == 200 ? .delivered : .deadLetter, started: Date(), milliseconds: 1,
                status: status, code: status == 200 ? nil : .endpointGone, error: status == 200 ? nil : "410",
                trace: nil,
                deadline: .now + .seconds(60), sent: nil, claimed: .now)
        }
        let record = try await store.settle(claim.callbacks.map { settlement($0, 410) })
        #expect(record.changes.isEmpty)
        #expect(try await self.outbox.row(ids[0]).state == "dead")
        try await operatorsOwn.execute("ROLLBACK")
        try await self.outbox.add(1, endpoint: other, url: self.receiver.url("/ok"))
        let next = try await store.claim(10).callbacks.filter { $0.endpoint.id == other }
        #expect(try await store.settle(next.map { settlement($0, 200) }).changes.map(\.kind) == ["disabled"])
        #expect(try await !self.query("SELECT enabled FROM insp.endpoint WHERE id = $1", [.int(endpoint)])[0].bool(0))
    }

    @Test(.timed) func `An open transaction on one endpoint delays no token of another`() async throws {
        var endpoints: [Int64] = []
        for _ in 0..<2 {
            let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
            _ = try await self.query(
                "SELECT insp.callback_authorize($1, $2, 'client', 'secret')",
                [.int(endpoint), .text(self.receiver.url("/token"))])
            try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/bearer"))
            endpoints.append(endpoint)
        }
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'delivered'") == 2)
        let operatorsOwn = try await self.outbox.database.connect()
        try await operatorsOwn.execute(
            "BEGIN; SELECT insp.callback_authorize(\(endpoints[0]), 'https://login.example.com/token', 'client', 'secret')"
        )
        // A dispatcher that knows no token yet asks for both. Its origin is the endpoint's already.
        for endpoint in endpoints {
            try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/bearer"), isOwn: false)
        }
        let start = ContinuousClock.now
        await self.outbox.dispatch()
        #expect(ContinuousClock.now - start < .seconds(10))
        #expect(try await self.delivered(endpoints[1]) == 2)
        // Its own wait for the operator, as after every change to an endpoint.
        #expect(try await self.delivered(endpoints[0]) == 1)
        try await operatorsOwn.execute("ROLLBACK")
        await self.outbox.dispatch()
        #expect(try await self.delivered(endpoints[0]) == 2)
    }

    /// Who finishes a job while the endpoint is being enabled still sees it disabled.
    @Test func `A callback written while its endpoint is being enabled is sent`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        _ = try await self.query("SELECT insp.set_endpoint($1, '{\"ordering\": \"job\"}')", [.int(endpoint)])
        _ = try await self.query("SELECT insp.callback_disable($1)", [.int(endpoint)])
        let finishing = try await self.outbox.database.connect()
        try await finishing.execute(
            """
            BEGIN;
            INSERT INTO insp.callback (job_id, endpoint_id, url, body) VALUES (-100, \(endpoint), '\(self.receiver.url("/ok"))', '{}')
            """)
        _ = try await self.query("SELECT insp.callback_enable($1)", [.int(endpoint)])
        try await finishing.execute("COMMIT")
        #expect(try await self.outbox.count("state = 'held'") == 1)
        _ = try await self.query(
            "UPDATE insp.endpoint SET origins = ARRAY[insp.url_origin($1)]", [.text(self.receiver.url("/"))])
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'delivered'") == 1)

        // Those of endpoints that are disabled stay.
        _ = try await self.query("SELECT insp.callback_disable($1)", [.int(endpoint)])
        try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/ok"))
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'held'") == 1)
    }

    /// Any login may take advisory locks, and nobody's callbacks depend on them.
    @Test func `Advisory locks stop no callback`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text)
        try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/ok"))
        let anybody = try await self.outbox.database.connect()
        try await anybody.execute("SELECT pg_advisory_lock(hashtext('insp.callback_claim'), \(endpoint)::integer)")
        await self.outbox.dispatch()
        #expect(try await self.outbox.count("state = 'delivered'") == 1)
        let names = try await self.query(
            "SELECT proname::text FROM pg_proc WHERE pronamespace = 'insp'::regnamespace AND proname ~ '^(callback|endpoint|token)_' AND prosrc ~ 'pg_(try_)?advisory'"
        )
        #expect(names.isEmpty)
    }

    /// An operator enables what dispatchers disable: neither waits for the other in a circle.
    @Test func `Enabling and disabling an endpoint at once does not deadlock`() async throws {
        let url = self.receiver.url("/gone")
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: 1000)
        _ = try await self.query("UPDATE insp.endpoint SET url = $2 WHERE id = $1", [.int(endpoint), .text(url)])
        try await self.outbox.add(400, endpoint: endpoint, url: url)
        let deadline = ContinuousClock.now + .seconds(3)
        let latest = deadline + .seconds(90)
        let disabled = "SELECT count(*) FROM insp.v_endpoint_events WHERE kind = 'disabled'"
        let errors = try await withThrowingTaskGroup(of: [String].self) { group in
            for number in 0..<6 {
                let connection = try await self.outbox.database.connect()
                group.addTask {
                    var errors: [String] = []
                    let store = CallbackStore(connection: connection, worker: "test", lease: .seconds(60))
                    // Three seconds, and on a busy machine until both sides have had their say.
                    while true {
                        let now = ContinuousClock.now
                        if now > latest { break }
                        if now > deadline, try await connection.query(disabled)[0].int(0) > 1 { break }
                        do {
                            if number < 2 {
                                _ = try await connection.query("SELECT insp.callback_enable($1)", [.int(endpoint)])
                                try await Task.sleep(for: .milliseconds(5))
                            } else {
                                let callbacks = try await store.claim(1).callbacks
                                _ = try await store.settle(
                                    callbacks.map {
                                        CallbackSettlement(
                                            callback: $0, outcome: .deadLetter, started: Date(), milliseconds: 1,
                                            status: 410,
                                            code: .endpointGone, error: "410", trace: nil, deadline: deadline,
                                            sent: nil,
                                            claimed: .now)
                                    })
                            }
                        } catch let error as PostgresError where error.sqlState != "55P03" {
                            errors.append("\(error)")
                        } catch is PostgresError {
                            // Held for longer than a dispatcher waits: tried again.
                        }
                    }
                    return errors
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(errors.isEmpty, "\(Set(errors))")
        #expect(try await self.query(disabled)[0].int(0) > 1)
    }
}

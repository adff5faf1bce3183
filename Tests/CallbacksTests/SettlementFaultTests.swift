import Foundation
import Postgres
import TestSupport
import Testing

@testable import Callbacks

/// Outcomes that the database does not accept, for a while or for ever.
struct SettlementFaultTests {
    private let secret = WebhookSecret.generate()
    private let receiver: CallbackReceiver
    private let outbox: Outbox

    init() async throws {
        self.receiver = try CallbackReceiver(secrets: [self.secret.text])
        self.outbox = try await Outbox()
    }

    /// A row that can never be written, here for a constraint, costs its own callback alone, which is sent again.
    @Test func `A settlement that is always refused does not stop the others`() async throws {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: 64)
        let owner = self.outbox.connection
        try await owner.execute(
            "ALTER TABLE insp.callback_attempt ADD CONSTRAINT poison CHECK (http_status IS DISTINCT FROM 500)")
        let bad = try await self.outbox.add(1, endpoint: endpoint, url: self.receiver.url("/status/500"))[0]
        try await self.outbox.add(30, endpoint: endpoint, url: self.receiver.url("/ok"))
        try await self.outbox.whileDispatching {
            $0.timeout = .seconds(2)
            $0.lease = .seconds(6)
        } _: { dispatcher, events in
            #expect(try await self.outbox.wait(within: 60) { try await self.outbox.count("state = 'delivered'") == 30 })
            #expect(
                try await self.outbox.wait(within: 60) {
                    events.all.contains { if case .settlementRefused(bad, _) = $0 { true } else { false } }
                })
            try await owner.execute("ALTER TABLE insp.callback_attempt DROP CONSTRAINT poison")
            // The database answers all the while, and the claim lapses.
            #expect(dispatcher.vitals.isConnected)
            #expect(try await self.outbox.wait(within: 60) { try await self.outbox.row(bad).attempts == 1 })
            let refused = events.all.count { if case .settlementRefused = $0 { true } else { false } }
            #expect(refused <= 2, "tried again and again")
            #expect(!events.all.contains { if case .databaseUnavailable = $0 { true } else { false } })
        }
        let sent = try self.receiver.received().filter { $0.path == "/status/500" }
        #expect(sent.count >= 2 && sent.allSatisfy { $0.webhookId == bad })
    }

    /// XX000 is raised for bytes of a row that form no value, and for a broken function.
    @Test
    func `A settlement that raises XX000 is refused beside others, waits alone, and is the schema's fault with all`()
        async throws
    {
        let endpoint = try await self.outbox.endpoint(secret: self.secret.text, inFlight: 64)
        try await self.outbox.add(5, endpoint: endpoint, url: self.receiver.url("/ok"))
        let store = CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60))
        let claimed = try await store.claim(10).callbacks
        try #require(claimed.count == 5)
        func settlement(_ number: Int, _ status: Int) -> CallbackSettlement {
            CallbackSettlement(
                callback: claimed[number], outcome: .delivered, started: Date(), milliseconds: 1, status: status,
                code: nil, error: nil, trace: nil, deadline: .now + .seconds(60), sent: nil, claimed: .now)
        }
        func ids(_ settlements: [CallbackSettlement]) -> Set<Int64> { Set(settlements.map(\.callback.id)) }
        func poison(_ condition: String) async throws {
            try await self.outbox.connection.execute(
                """
                CREATE OR REPLACE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE internal_error; END';
                CREATE OR REPLACE TRIGGER poison BEFORE INSERT ON insp.callback_attempt FOR EACH ROW WHEN (\(condition))
                    EXECUTE FUNCTION poison()
                """)
        }
        try await poison("NEW.http_status = 500")
        var batch = await store.settle([settlement(0, 500), settlement(1, 200), settlement(2, 200)], held: [])
        #expect(batch.failure == nil && ids(batch.settled) == ids([settlement(1, 200), settlement(2, 200)]))
        #expect(ids(batch.refused.map(\.settlement)) == [claimed[0].id] && batch.held.isEmpty)
        batch = await store.settle([settlement(0, 500)], held: [])
        #expect(batch.failure == nil && batch.refused.isEmpty && ids(batch.held) == [claimed[0].id])
        batch = await store.settle([settlement(3, 200)], held: batch.held)
        #expect(batch.failure == nil && batch.settled.count == 1 && batch.refused.count == 1 && batch.held.isEmpty)
        try await poison("true")
        batch = await store.settle([settlement(4, 200)], held: [settlement(0, 200)])
        #expect((batch.failure as? PostgresError)?.sqlState == "XX000" && batch.refused.isEmpty)
        #expect(ids(batch.unsettled) == [claimed[0].id, claimed[4].id] && batch.held.isEmpty)
    }

    /// One connection fails while the other works.
    @Test func `Failures are counted for each loop`() {
        var health = DatabaseHealth()
        #expect(!health.isConnected)
        #expect(!health.answered(.claim) && health.isConnected)
        #expect(health.failed(.settle) && !health.isConnected)
        // The claims' successes do not make it well, nor do further failures count as first ones.
        #expect(!health.answered(.claim) && !health.isConnected)
        #expect(!health.failed(.settle) && !health.failed(.claim))
        #expect(!health.answered(.settle) && !health.isConnected)
        #expect(health.answered(.claim) && health.isConnected)
        // Nothing is left to settle.
        #expect(health.failed(.settle) && health.forget(.settle) && health.isConnected)
    }

    /// Both would otherwise judge the same fault differently: the queue's writes there, the callbacks' settlements here.
    @Test func `Swift and SQL agree on which faults are of one row, whatever the SQLSTATE`() async throws {
        let letters = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        let classes = letters.flatMap { one in letters.map { "\(one)\($0)" } }
        let states = classes.flatMap { [$0 + "000", $0 + "001", $0 + "P03"] }
        let rows = try await self.outbox.connection.query(
            "SELECT s, insp.is_passing(s), insp.may_be_of_row(s) FROM unnest($1::text[]) s", [.texts(states)])
        #expect(rows.count == states.count)
        var ofRows = 0
        for row in rows {
            let (state, isPassing) = (try row.string(0), try row.bool(1))
            let error = PostgresError(.server, sqlState: state, "")
            #expect(error.isPassing == isPassing, "\(state)")
            // A new connection cures these, which a function in the database cannot open.
            let isOfSession = ["0A", "26", "28", "3D"].contains(state.prefix(2))
            #expect(error.isOfOneRow == (!isPassing && !isOfSession), "\(state)")
            #expect(try error.mayBeOfOneRow == (row.bool(2) && !isOfSession), "\(state)")
            if error.isOfOneRow { ofRows += 1 }
        }
        #expect((1..<states.count).contains(ofRows))
        for state in ["22P05", "23514", "P0001", "IN001", "XX001", "XX002"] {
            #expect(PostgresError(.server, sqlState: state, "").isOfOneRow, "\(state)")
        }
        for state in ["XX000", "42883", "55P03", "57014", "0A000"] {
            let error = PostgresError(.server, sqlState: state, "")
            #expect(!error.isOfOneRow && error.mayBeOfOneRow == (state == "XX000"), "\(state)")
        }
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Sessions of several blobs in the queue.
@Suite struct SessionBlobTests {
    /// A partner's credential, and its sessions.
    private struct Client {
        let fixture: QueueFixture
        /// The first arguments of every call of the gateway.
        let credential: String

        init(_ partner: String = "acme") async throws {
            try await self.init(try await QueueFixture(), partner)
        }

        init(_ fixture: QueueFixture, _ partner: String) async throws {
            let secret = try await fixture.admin.query(
                "SELECT secret FROM insp.create_credential('\(partner)', '{session,create,read}')")[0].string(0)
            let number = try await fixture.admin.query("SELECT max(id) FROM insp.credential")[0].int(0)
            self.fixture = fixture
            self.credential = "\(number), sha256(convert_to('\(secret)', 'UTF8'))"
        }

        func begin(_ user: String = "u") async throws -> String {
            try await self.fixture.admin.query(
                """
                SELECT id FROM insp.gateway_create(\(self.credential), 'session',
                    '{"workflow": "liveness", "userReference": "\(user)"}', NULL, '{SESSION_BLOB}', '{blob0}')
                """)[0].string(0)
        }

        func add(_ id: String, _ ordinal: Int) async throws {
            _ = try await self.fixture.admin.query(
                "SELECT insp.gateway_session_add(\(self.credential), '\(id)', \(ordinal), 'blob\(ordinal)')")
        }

        func found(_ payload: String) async throws -> [String] {
            try await self.fixture.admin.query(
                "SELECT id::text || ' ' || blobs FROM insp.gateway_session_find(\(self.credential), NULL, '\(payload)')"
            ).map { try $0.string(0) }
        }

        func state(_ call: () async throws -> Void) async -> String? {
            do {
                try await call()
                return nil
            } catch {
                return (error as? PostgresError)?.sqlState.flatMap { ErrorCode(sqlState: $0) }?.rawValue ?? "\(error)"
            }
        }

        var waits: String {
            "EXISTS (SELECT FROM insp.delayed) AND NOT EXISTS (SELECT FROM insp.lease)"
        }
    }

    /// Answers the newest blob, and lets the session wait until it has this many.
    private static func handler(_ blobs: Int, patience: Duration = .seconds(600)) -> ClosureHandler {
        ClosureHandler { job, context in
            let parts = try await context.parts()
            let answered = job.steps[.liveness].map { String(decoding: $0, as: UTF8.self) }
            if answered != "\(parts.count)" {
                try await context.beginSession(blob: parts.count - 1)
                try await context.endSession(
                    blob: parts.count - 1, outcome: "answered", status: 200, output: Data("\(parts.count)".utf8))
            }
            if parts.count < blobs, try await context.pauseSession(for: patience) { throw SessionPaused() }
            return ClosureHandler.passed
        }
    }

    @Test func `A waiting session holds no lease and counts no attempt, and takes its blobs in order`() async throws {
        let client = try await Client()
        let fixture = client.fixture
        let id = try await client.begin()
        #expect(await client.state { try await client.add(id, 1) } == "SESSION_BUSY")
        try await withWorker(fixture.configuration(), Self.handler(12)) { _ in
            for place in 1..<12 {
                try await fixture.wait(for: client.waits)
                #expect(try await client.found(#"{"userReference":"u"}"#) == ["\(id) \(place)"])
                #expect(await client.state { try await client.add(id, place + 1) } == "SESSION_BUSY")
                try await client.add(id, place)
            }
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.errorCode(of: id) == nil)
        #expect(try await fixture.count("insp.job") == 1)
        #expect(try await fixture.count("insp.part WHERE kind = 'SESSION_BLOB'") == 12)
        #expect(try await fixture.count("insp.record WHERE action = 'session_end'") == 12)
        #expect(try await fixture.count("insp.event WHERE kind IN ('retry', 'rescued')") == 0)
        #expect(try await fixture.count("insp.step WHERE status = 32 AND body = '12'") == 1)
        #expect(await client.state { try await client.add(id, 12) } == "SESSION_ENDED")
        #expect(try await client.found(#"{"userReference":"u"}"#).isEmpty)
        #expect(try await fixture.violations() == [])
    }

    @Test func `A session is found by its own user and flow alone, and belongs to its partner`() async throws {
        let client = try await Client()
        let fixture = client.fixture
        let id = try await client.begin()
        _ = try await fixture.admin.query("SELECT insp.create_partner('shop')")
        let other = try await Client(fixture, "shop")
        try await withWorker(fixture.configuration(), Self.handler(9)) { _ in
            try await fixture.wait(for: client.waits)
        }
        #expect(try await client.found(#"{"userReference":"u"}"#) == ["\(id) 1"])
        for payload in [#"{"userReference":"v"}"#, #"{"userReference":"u","reportingCriteria":"x"}"#, "{}"] {
            #expect(try await client.found(payload).isEmpty)
        }
        #expect(try await other.found(#"{"userReference":"u"}"#).isEmpty)
        #expect(await other.state { try await other.add(id, 1) } == "JOB_UNKNOWN")
        // No session, though its workflow is liveness.
        let job = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"liveness"}"#.utf8),
            parts: [.sessionBlob: [Data("blob".utf8)]])
        #expect(await client.state { try await client.add(job, 1) } == "JOB_UNKNOWN")
        // What an operator cancels takes no blob, and is gone from the queue.
        _ = try await fixture.admin.query("SELECT insp.cancel($1)", [.text(id)])
        #expect(await client.state { try await client.add(id, 1) } == "SESSION_ENDED")
        #expect(try await fixture.count("insp.delayed") == 0)
        _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(id)])
        #expect(try await fixture.count("insp.content WHERE bytes = 'blob0'") == 0)
    }

    @Test func `A blob is added once under its idempotency key, and no other under the same`() async throws {
        let client = try await Client()
        let fixture = client.fixture
        let id = try await client.begin()
        @Sendable func add(_ ordinal: Int, _ request: String) async throws -> Bool {
            try await fixture.admin.query(
                """
                SELECT repeated FROM insp.gateway_session_add(\(client.credential), '\(id)', \(ordinal), 'blob', 'key',
                    sha256('\(request)'))
                """)[0].bool(0)
        }
        /// How many jobs the request repeats.
        @Sendable func find(_ session: String, _ payload: String, _ blob: String) async throws -> Int {
            try await fixture.count(
                """
                insp.gateway_session_find(\(client.credential), \(session), '\(payload)', '\(blob)')
                WHERE repeated IS NOT NULL
                """)
        }
        try await withWorker(fixture.configuration(), Self.handler(9)) { _ in
            try await fixture.wait(for: client.waits)
            #expect(try await !add(1, "a"))
            // Also while the session is busy with it, or waits for the one after it.
            #expect(try await add(1, "a"))
            try await fixture.wait(for: client.waits)
            #expect(try await add(1, "a"))
            #expect(await client.state { _ = try await add(2, "b") } == "IDEMPOTENCY_CONFLICT")
            // Found before anything is added: the whole request counts.
            let (payload, other) = (
                #"{"userReference":"u","idempotencyKey":"k2"}"#, #"{"userReference":"u","idempotencyKey":"key"}"#
            )
            #expect(try await find("'\(id)'", payload, "c") == 0)
            _ = try await fixture.admin.query(
                """
                SELECT a.job FROM insp.gateway_session_find(\(client.credential), '\(id)', '\(payload)', 'c') f,
                    LATERAL insp.gateway_session_add(\(client.credential), f.id, f.blobs, 'c', f.idempotency_key,
                        f.request_sha256) a
                """)
            #expect(try await find("'\(id)'", payload, "c") == 1)
            for (session, payload, blob) in [("'\(id)'", payload, "d"), ("'\(id)'", other, "c")] {
                #expect(
                    await client.state { _ = try await find(session, payload, blob) } == "IDEMPOTENCY_CONFLICT")
            }
            // Perhaps a session's first blob under that key: whoever makes it finds that it is not.
            #expect(try await client.found(payload).isEmpty)
        }
        #expect(try await fixture.count("insp.part WHERE kind = 'SESSION_BLOB'") == 3)
        #expect(try await fixture.count("insp.job") == 1)
    }

    @Test func `A session takes no blob of another user`() async throws {
        let client = try await Client()
        let id = try await client.begin()
        try await withWorker(client.fixture.configuration(), Self.handler(9)) { _ in
            try await client.fixture.wait(for: client.waits)
        }
        func find(_ payload: String) async throws {
            _ = try await client.fixture.admin.query(
                "SELECT * FROM insp.gateway_session_find(\(client.credential), '\(id)', '\(payload)')")
        }
        #expect(await client.state { try await find(#"{"userReference":"v"}"#) } == "PAYLOAD_INVALID")
        for same in [#"{"userReference":"u"}"#, "{}"] { #expect(await client.state { try await find(same) } == nil) }
    }

    @Test func `The consent of a further blob is judged as that of the first`() async throws {
        let client = try await Client()
        let id = try await client.begin()
        try await withWorker(client.fixture.configuration(), Self.handler(9)) { _ in
            try await client.fixture.wait(for: client.waits)
        }
        func state(_ consent: String) async -> Set<String?> {
            var states: Set<String?> = []
            for session in ["NULL", "'\(id)'"] {
                let payload = #"{"userReference":"u","consent":\#(consent)}"#
                states.insert(
                    await client.state {
                        let found = try await client.fixture.admin.query(
                            "SELECT id FROM insp.gateway_session_find(\(client.credential), \(session), '\(payload)')")
                        #expect(found.count == 1)
                    })
            }
            return states
        }
        for no in [#"{"obtained":"no"}"#, #"{"obtained":false}"#] {
            #expect(await state(no) == ["CONSENT_MISSING"], "\(no)")
        }
        for wrong in [
            "7", #""yes""#, "null", "[]", #"{"obtained":"maybe"}"#, #"{"obtainedAt":"today"}"#,
            #"{"obtainedAt":"2999-01-01T00:00:00Z"}"#,
        ] {
            #expect(await state(wrong) == ["PAYLOAD_INVALID"], "\(wrong)")
        }
        let given = #"{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}"#
        for right in ["{}", #"{"obtained":"yes"}"#, given] { #expect(await state(right) == [nil], "\(right)") }
        // By the policy of today. Who sends none said it with the first blob.
        try await client.fixture.admin.execute("SELECT insp.set_partner('acme', consent_required => true)")
        #expect(await state("{}") == ["CONSENT_MISSING"])
        #expect(await state(given) == [nil])
        #expect(try await client.found(#"{"userReference":"u"}"#) == ["\(id) 1"])
    }

    @Test func `A session takes sixteen blobs`() async throws {
        let client = try await Client()
        let id = try await client.begin()
        try await withWorker(client.fixture.configuration(), Self.handler(99)) { _ in
            for place in 1..<16 {
                try await client.fixture.wait(for: client.waits)
                try await client.add(id, place)
            }
            try await client.fixture.wait(for: client.waits)
        }
        #expect(await client.state { try await client.add(id, 16) } == "SESSION_ENDED")
        // The refusal left it waiting.
        #expect(try await client.fixture.count("insp.delayed") == 1)
    }

    @Test func `A session whose time is over is decided, also after its worker died`() async throws {
        let client = try await Client()
        let fixture = client.fixture
        let id = try await client.begin()
        // As a worker that dies between the answer and the wait.
        let died = ClosureHandler { job, context in
            guard job.attempt == 1 else {
                return try await Self.handler(9, patience: .seconds(1)).body(job, context)
            }
            try await context.beginSession()
            try await context.endSession(outcome: "answered", status: 200, output: Data("1".utf8))
            throw InspectError(.workerLost)
        }
        try await withWorker(fixture.configuration(), died) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(try await fixture.errorCode(of: id) == nil)
        #expect(try await fixture.count("insp.record WHERE action = 'session_begin'") == 1)
    }

    @Test func `A rerun sends the session's blobs again, and waits for none`() async throws {
        let client = try await Client()
        let fixture = client.fixture
        let id = try await client.begin()
        try await withWorker(fixture.configuration(), Self.handler(2)) { _ in
            try await fixture.wait(for: client.waits)
            try await client.add(id, 1)
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(id)])[0].string(0)
        #expect(
            try await fixture.count("insp.job WHERE public_id = '\(again)' AND NOT request ? 'session'") == 1)
        #expect(
            try await fixture.count(
                "insp.part p JOIN insp.job j ON j.id = p.job_id WHERE j.public_id = '\(again)'") == 2)
    }
}

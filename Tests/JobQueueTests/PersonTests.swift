import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Persons and jobs are found by their partners' references, and erased by them.
@Suite struct PersonTests {
    private static func request(
        _ user: String?, customer: String? = nil, partner: String = "acme", _ more: String = ""
    ) -> Data {
        let references = [("userReference", user), ("customerInternalReference", customer)]
            .compactMap { key, value in value.map { #","\#(key)":"\#($0)""# } }.joined()
        return Data(
            (QueueFixture.byURL.replacing("acme", with: partner).dropLast() + references + more + "}").utf8)
    }

    private func find(_ fixture: QueueFixture, _ arguments: String) async throws -> [String] {
        try await fixture.admin.query("SELECT id FROM insp.jobs_by_reference(\(arguments))").map { try $0.string(0) }
    }

    private func erase(_ fixture: QueueFixture, _ partner: String, _ user: String) async throws -> Int {
        Int(try await fixture.admin.query("SELECT insp.erase_person($1, $2)", [.text(partner), .text(user)])[0].int(0))
    }

    private func drain(_ fixture: QueueFixture) async throws {
        var configuration = fixture.configuration()
        configuration.drains = true
        try await JobWorker(configuration, handler: ClosureHandler()).run()
    }

    @Test func `Jobs are found by their references, whether they came alone or with others`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('bank', 'https://hooks.example.com/b')")
        let batch = try await fixture.client.enqueue(many: [
            Self.request("ann", customer: "case 1"), Self.request("bob"), Self.request(nil), Self.request("ann"),
        ])
        // Not plain, so it takes the other way.
        let other = try await fixture.client.enqueue(
            payload: Self.request("ann", customer: "case 2", partner: "bank", #","review":"always""#))
        let again = try await fixture.client.enqueue(many: [Self.request("ann", #","idempotencyKey":"k""#)])[0]
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'") == [again, batch[3], batch[0]])
        #expect(try await self.find(fixture, "'acme', 'case 1'") == [batch[0]])
        #expect(try await self.find(fixture, "'bank', 'case 2'") == [other])
        #expect(try await self.find(fixture, "'acme', 'case 2'") == [])
        #expect(try await fixture.client.cancel(batch[0]))
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann', status => 128::smallint") == [batch[0]])
        // One person for each partner and reference, and no row where nothing is given.
        #expect(try await fixture.count("insp.person") == 3)
        #expect(try await fixture.count("insp.job WHERE person_id IS NULL") == 1)
        #expect(try await fixture.count("(SELECT DISTINCT person_id FROM insp.job WHERE person_id IS NOT NULL) x") == 3)
        #expect(try await fixture.count("insp.job_reference") == 7)
        let rerun = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(batch[0])])[0].string(0)
        #expect(try await self.find(fixture, "'acme', 'case 1'") == [rerun, batch[0]])
    }

    @Test func `A person's erasure takes all of the person's jobs and nobody else's`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.client.enqueue(many: [
            Self.request("ann"), Self.request("ann"), Self.request("bob"),
        ])
        let refused = await #expect(throws: PostgresError.self) { try await self.erase(fixture, "acme", "ann") }
        #expect(refused?.sqlState == ErrorCode.jobNotFinished.sqlState)
        try await self.drain(fixture)
        let rerun = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(ids[0])])[0].string(0)
        try await self.drain(fixture)
        #expect(try await self.erase(fixture, "acme", "ann") == 2)
        #expect(try await self.erase(fixture, "acme", "ann") == 0)
        for id in [ids[0], ids[1], rerun] { #expect(try await fixture.result(of: id)["erasedAt"] != nil) }
        #expect(try await fixture.result(of: ids[2])["userReference"] as? String == "bob")
        #expect(try await fixture.count("insp.job_reference") == 1)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NULL AND erased_at <= now()") == 1)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'erase_person'") == 1)
        // Who comes back is somebody new.
        _ = try await fixture.client.enqueue(many: [Self.request("ann")])
        #expect(try await fixture.count("insp.person") == 3)
    }

    private func enrol(_ fixture: QueueFixture, _ user: String) async throws -> String {
        try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"enrollment","faceId":"f","userReference":"\#(user)"}"#.utf8),
            parts: [.face: [Data("x".utf8)]])
    }

    /// Runs enrolments until none waits.
    private func enrolAll(_ fixture: QueueFixture) async throws {
        let handler = ClosureHandler { _, context in
            let known = try await context.enrolledFace()
            try await context.hand(
                over: FaceFeature(
                    engine: "e", modelSHA256: String(repeating: "a", count: 64),
                    hex: String(repeating: "0", count: 1024)), generation: known.generation)
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration()
        configuration.drains = true
        try await JobWorker(configuration, handler: handler).run()
    }

    @Test func `A face goes with its person, also when its job is forgotten already`() async throws {
        let fixture = try await QueueFixture()
        let id = try await self.enrol(fixture, "ann")
        try await self.enrolAll(fixture)
        #expect(try await fixture.count("insp.face f JOIN insp.job j ON j.person_id = f.person_id") == 1)
        try await fixture.admin.execute(
            """
            SELECT insp.remove_references(ARRAY[j.id], false) FROM insp.job j WHERE j.public_id = '\(id)'
            """)
        #expect(try await fixture.count("insp.job_reference") == 0)
        // The face still is the person's.
        #expect(try await fixture.count("insp.person WHERE erased_at IS NULL") == 1)
        _ = try await self.erase(fixture, "acme", "ann")
        #expect(try await fixture.count("insp.face") == 0)
        #expect(try await fixture.count("insp.person WHERE erased_at IS NULL") == 0)
    }

    @Test func `A person whose new job is not committed yet is not forgotten`() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.client.enqueue(many: [Self.request("ann")])[0]
        #expect(try await fixture.client.cancel(old))
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs([String(decoding: Self.request("ann"), as: UTF8.self)])])
        let erasure = Task { try await self.erase(fixture, "acme", "ann") }
        let watch = try await fixture.database.connect()
        let blocked =
            "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
        let deadline = ContinuousClock.now + .seconds(20)
        while try await !watch.query("SELECT \(blocked)")[0].bool(0), .now < deadline {
            try await Task.sleep(for: .milliseconds(20))
        }
        try await producer.execute("COMMIT")
        #expect(try await erasure.value == 1)
        #expect(
            try await fixture.count("insp.person p JOIN insp.job j ON j.person_id = p.id AND p.erased_at IS NULL") == 1)
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'").count == 1)
        await producer.close()
        await watch.close()
    }

    @Test(.timeLimit(.minutes(1)))
    func `A transaction that is left open with a new person holds up nobody`() async throws {
        let fixture = try await QueueFixture()
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs([String(decoding: Self.request("ann"), as: UTF8.self)])])
        let id = try await fixture.client.enqueue(many: [Self.request("ann")])[0]
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'") == [id])
        try await self.drain(fixture)
        #expect(try await fixture.count("insp.callback WHERE has_reference") == 1)
        #expect(try await self.erase(fixture, "acme", "ann") == 1)
        #expect(try await fixture.result(of: id)["erasedAt"] != nil)
        // Nor does one that is left open with an erasure.
        try await producer.execute(
            "COMMIT; UPDATE insp.job SET status = 128, completed_at = now() WHERE status < 128; BEGIN")
        _ = try await producer.query("SELECT insp.erase_person('acme', 'ann')")
        let later = try await fixture.client.enqueue(many: [Self.request("ann")])[0]
        try await producer.execute("COMMIT")
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'") == [later])
        await producer.close()
    }

    @Test func `A repeated request brings no person back`() async throws {
        let fixture = try await QueueFixture()
        let request = Self.request("ann", #","idempotencyKey":"k""#)
        let id = try await fixture.client.enqueue(many: [request])[0]
        #expect(try await fixture.client.cancel(id))
        try await fixture.admin.execute("SELECT insp.remove_references(ARRAY[j.id], false) FROM insp.job j")
        #expect(try await fixture.client.enqueue(many: [request]) == [id])
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
    }

    @Test func `A face has its person, though somebody held the person when its job was accepted`() async throws {
        let fixture = try await QueueFixture()
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs([String(decoding: Self.request("ann"), as: UTF8.self)])])
        _ = try await self.enrol(fixture, "ann")
        #expect(try await fixture.count("insp.job WHERE person_id IS NOT NULL") == 0)
        try await producer.execute("ROLLBACK")
        await producer.close()
        try await self.enrolAll(fixture)
        try await fixture.admin.execute("SELECT insp.remove_references(ARRAY[j.id], false) FROM insp.job j")
        _ = try await self.erase(fixture, "acme", "ann")
        #expect(try await fixture.count("insp.face") == 0)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
    }

    @Test func `A face that becomes another person's leaves nothing of the former`() async throws {
        let fixture = try await QueueFixture()
        for user in ["ann", "bob"] {
            _ = try await self.enrol(fixture, user)
            try await self.enrolAll(fixture)
            try await fixture.admin.execute("SELECT insp.remove_references(ARRAY[j.id], false) FROM insp.job j")
        }
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 1)
    }

    @Test func `A job that does not name its person leaves nothing of the person either`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.client.enqueue(many: [Self.request("ann")])[0]
        #expect(try await fixture.client.cancel(id))
        // As where somebody held the person when the job was accepted.
        try await fixture.admin.execute("UPDATE insp.job SET person_id = NULL")
        _ = try await fixture.admin.query("SELECT insp.erase($1::uuid)", [.text(id)])
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
    }

    @Test(.timeLimit(.minutes(1)))
    func `A repeated request waits for nobody who asks for the same person`() async throws {
        let fixture = try await QueueFixture()
        let request = Self.request("ann", #","idempotencyKey":"k""#)
        let id = try await fixture.client.enqueue(many: [request])[0]
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs([String(decoding: Self.request("ann"), as: UTF8.self)])])
        #expect(try await fixture.client.enqueue(many: [request]) == [id])
        try await producer.execute("COMMIT")
        await producer.close()
    }
}

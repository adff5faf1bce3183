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
        let batch = try await fixture.enqueue(many: [
            Self.request("ann", customer: "case 1"), Self.request("bob"), Self.request(nil), Self.request("ann"),
        ])
        // Not plain, so it takes the other way.
        let other = try await fixture.client.enqueue(
            payload: Self.request("ann", customer: "case 2", partner: "bank", #","review":"always""#))
        let again = try await fixture.enqueue(many: [Self.request("ann", #","idempotencyKey":"k""#)])[0]
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
        let ids = try await fixture.enqueue(many: [
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
        _ = try await fixture.enqueue(many: [Self.request("ann")])
        #expect(try await fixture.count("insp.person") == 3)
    }

    private func enrol(_ fixture: QueueFixture, _ user: String, _ mode: String = "add") async throws -> String {
        let request = #"{"partner":"acme","workflow":"enrollment","faceId":"f""#
        return try await fixture.client.enqueue(
            payload: Data((request + #","userReference":"\#(user)","enrollmentMode":"\#(mode)"}"#).utf8),
            parts: [.face: [Data("x".utf8)]])
    }

    /// Runs enrolments until none waits.
    private func enrolAll(_ fixture: QueueFixture) async throws {
        let handler = ClosureHandler { _, context in
            let known = try await context.enrolledFace()
            try await context.hand(
                over: FaceEmbedding(
                    engine: "e", modelSHA256: String(repeating: "a", count: 64),
                    hex: String(repeating: "0", count: 1024)), generation: known.generation)
            return ClosureHandler.passed
        }
        // In the order in which they came.
        var configuration = fixture.configuration(slots: 1)
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

    /// Maintenance, when the time has come to look again at what it has noted.
    private func lookAgain(_ fixture: QueueFixture) async throws {
        try await fixture.admin.execute("UPDATE insp.purge_later SET due_at = now(); SELECT insp.purge()")
    }

    private func open(
        _ fixture: QueueFixture, _ isolation: String = "READ COMMITTED", naming user: String? = nil
    ) async throws -> PostgresConnection {
        let connection = try await fixture.database.connect()
        try await connection.execute("BEGIN ISOLATION LEVEL \(isolation); SELECT count(*) FROM insp.partner")
        if let user { try await self.enqueue([Self.request(user)], on: connection) }
        return connection
    }

    private func enqueue(_ requests: [Data], on connection: PostgresConnection) async throws {
        _ = try await connection.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs(requests.map { String(decoding: $0, as: UTF8.self) })])
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["COMMIT", "ROLLBACK"])
    func `A person whose new job is not committed yet is forgotten afterwards if at all`(end: String) async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.enqueue(many: [Self.request("ann")])[0]
        #expect(try await fixture.client.cancel(old))
        let producer = try await self.open(fixture, naming: "ann")
        #expect(try await self.erase(fixture, "acme", "ann") == 1)
        try await self.lookAgain(fixture)
        try await producer.execute(end)
        await producer.close()
        try await self.lookAgain(fixture)
        let stays = end == "COMMIT" ? 1 : 0
        #expect(
            try await fixture.count("insp.person p JOIN insp.job j ON j.person_id = p.id AND p.erased_at IS NULL")
                == stays)
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'").count == stays)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == stays)
        #expect(try await fixture.count("insp.purge_later WHERE what = 'persons'") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Retention does not wait for a transaction that holds a person`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(many: Array(repeating: Self.request("ann"), count: 40))
        for id in ids { #expect(try await fixture.client.cancel(id)) }
        // Retention passes no number that an open transaction may still bring: up to here there is none.
        _ = try await fixture.admin.query("SELECT insp.purge()")
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '40 days', completed_at = completed_at - interval '40 days'
            """)
        let producer = try await self.open(fixture, naming: "ann")
        _ = try await fixture.admin.query("SELECT insp.purge()")
        #expect(try await fixture.count("insp.job_reference") == 0)
        #expect(try await fixture.count("insp.job WHERE forgotten_at IS NOT NULL") == 40)
        #expect(try await fixture.count("insp.purge_later WHERE what = 'references'") == 0)
        try await producer.execute("ROLLBACK")
        await producer.close()
        try await self.lookAgain(fixture)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
    }

    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func `A transaction with an older snapshot refers to persons whom others add and forget`(isolation: String)
        async throws
    {
        let fixture = try await QueueFixture()
        let old = try await fixture.enqueue(many: [Self.request("bob")])[0]
        #expect(try await fixture.client.cancel(old))
        let producer = try await self.open(fixture, isolation)
        _ = try await fixture.enqueue(many: [Self.request("ann")])
        #expect(try await self.erase(fixture, "acme", "bob") == 1)
        try await self.enqueue([Self.request("ann"), Self.request("bob"), Self.request(nil)], on: producer)
        try await self.enqueue([Self.request("ann", #","review":"always""#)], on: producer)
        try await producer.execute("COMMIT")
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'").count == 3)
        try await self.drain(fixture)
        try await fixture.admin.execute(
            """
            SELECT insp.review(j.public_id, 'PASSED') FROM insp.job j WHERE j.status = 64;
            SELECT insp.rerun(j.public_id) FROM insp.job j WHERE j.request ->> 'review' = 'always'
            """)
        // The rerun is looked at as well, and waits until it is finished.
        try await self.lookAgain(fixture)
        #expect(try await fixture.count("insp.purge_later WHERE what = 'links'") == 1)
        try await fixture.admin.execute("SELECT insp.cancel(j.public_id) FROM insp.job j WHERE j.status < 128")
        try await self.lookAgain(fixture)
        #expect(
            try await fixture.count(
                """
                insp.job j JOIN insp.person p ON p.id = j.person_id
                WHERE p.reference_index = insp.reference_index(insp.personal(j.personal) ->> 'userReference')
                """) == 5)
        #expect(try await fixture.count("insp.job WHERE person_id IS NULL") == 2)
        #expect(try await fixture.count("insp.purge_later WHERE what = 'links'") == 0)
        #expect(try await self.erase(fixture, "acme", "ann") == 3)
        #expect(try await self.erase(fixture, "acme", "bob") == 1)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
        // Where the answer would be a job that the snapshot does not have, the call is to be made again.
        let key = Self.request("ann", #","idempotencyKey":"k""#)
        try await producer.execute("BEGIN ISOLATION LEVEL \(isolation); SELECT count(*) FROM insp.partner")
        _ = try await fixture.enqueue(many: [key])
        let refused = await #expect(throws: PostgresError.self) { try await self.enqueue([key], on: producer) }
        #expect(refused?.sqlState == "40001")
        await producer.close()
    }

    @Test(.timeLimit(.minutes(5)))
    func `A transaction left open with a new person delays nobody`() async throws {
        let fixture = try await QueueFixture()
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs([String(decoding: Self.request("ann"), as: UTF8.self)])])
        let id = try await fixture.enqueue(many: [Self.request("ann")])[0]
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'") == [id])
        try await self.drain(fixture)
        #expect(try await fixture.count("insp.callback WHERE has_reference") == 1)
        #expect(try await self.erase(fixture, "acme", "ann") == 1)
        #expect(try await fixture.result(of: id)["erasedAt"] != nil)
        // Nor does one that is left open with an erasure.
        try await producer.execute(
            "COMMIT; UPDATE insp.job SET status = 128, completed_at = now() WHERE status < 128; BEGIN")
        _ = try await producer.query("SELECT insp.erase_person('acme', 'ann')")
        let later = try await fixture.enqueue(many: [Self.request("ann")])[0]
        try await producer.execute("COMMIT")
        #expect(try await self.find(fixture, "'acme', user_reference => 'ann'") == [later])
        await producer.close()
    }

    @Test func `A repeated request brings no person back`() async throws {
        let fixture = try await QueueFixture()
        let request = Self.request("ann", #","idempotencyKey":"k""#)
        let id = try await fixture.enqueue(many: [request])[0]
        #expect(try await fixture.client.cancel(id))
        try await fixture.admin.execute("SELECT insp.remove_references(ARRAY[j.id], false) FROM insp.job j")
        #expect(try await fixture.enqueue(many: [request]) == [id])
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

    private static let model = String(repeating: "a", count: 64)

    private func importFace(
        _ fixture: QueueFixture, _ user: String?, replacing: Bool = false
    ) async throws -> ErrorCode? {
        do {
            _ = try await fixture.admin.query(
                "SELECT insp.face_import('acme', 'f', repeat('0', 1024), 'e', $1, $2, user_reference => $3)",
                [.text(Self.model), .bool(replacing), user.map { .text($0) } ?? .null])
            return nil
        } catch let error as PostgresError { return ErrorCode(sqlState: error.sqlState ?? "") }
    }

    @Test func `A person's face takes no template of another person`() async throws {
        let fixture = try await QueueFixture()
        let first = try await self.enrol(fixture, "ann")
        // Accepted, since the face is nobody's yet.
        let second = try await self.enrol(fixture, "bob")
        try await self.enrolAll(fixture)
        #expect(try await fixture.errorCode(of: first) == nil)
        #expect(try await fixture.errorCode(of: second) == "FACE_TAKEN")
        await #expect(throws: InspectError(.faceTaken, field: "faceId")) { try await self.enrol(fixture, "bob") }
        #expect(try await self.importFace(fixture, "bob") == .faceTaken)
        // Who says nothing of a person adds to the one whose face it is.
        #expect(try await self.importFace(fixture, nil) == nil)
        #expect(try await fixture.count("insp.face_template") == 2)
        _ = try await self.erase(fixture, "acme", "bob")
        #expect(try await fixture.count("insp.face_template") == 2)
        _ = try await self.erase(fixture, "acme", "ann")
        #expect(try await fixture.count("insp.face") == 0)
    }

    @Test func `An imported face goes with its person`() async throws {
        let fixture = try await QueueFixture()
        #expect(try await self.importFace(fixture, nil) == nil)
        _ = try await self.erase(fixture, "acme", "ann")
        #expect(try await fixture.count("insp.face") == 1)
        #expect(try await self.importFace(fixture, "ann") == nil)
        #expect(try await self.importFace(fixture, "bob", replacing: true) == nil)
        #expect(try await fixture.count("insp.face_template") == 1)
        #expect(try await self.importFace(fixture, String(repeating: "x", count: 101)) == .identifierTooLong)
        // Of the former nothing is left.
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 1)
        _ = try await self.erase(fixture, "acme", "bob")
        #expect(try await fixture.count("insp.face") == 0)
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
    }

    @Test func `No import comes between an enrolment's decision and its end`() async throws {
        let fixture = try await QueueFixture()
        _ = try await self.enrol(fixture, "ann")
        let handler = ClosureHandler { _, context in
            try await context.hand(
                over: FaceEmbedding(engine: "e", modelSHA256: Self.model, hex: String(repeating: "0", count: 1024)),
                generation: 0)
            #expect(try await self.importFace(fixture, "bob", replacing: true) == .faceBusy)
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration()
        configuration.drains = true
        try await JobWorker(configuration, handler: handler).run()
        #expect(try await fixture.count("insp.face_template WHERE job IS NOT NULL") == 1)
        #expect(try await self.importFace(fixture, "ann") == nil)
        #expect(try await fixture.count("insp.face_pending") == 0)
    }

    @Test func `A face that becomes another person's leaves nothing of the former`() async throws {
        let fixture = try await QueueFixture()
        for user in ["ann", "bob"] {
            _ = try await self.enrol(fixture, user, "replace")
            try await self.enrolAll(fixture)
            try await fixture.admin.execute("SELECT insp.remove_references(ARRAY[j.id], false) FROM insp.job j")
        }
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 1)
    }

    @Test func `A job that does not specify its person leaves nothing of the person either`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(many: [Self.request("ann")])[0]
        #expect(try await fixture.client.cancel(id))
        // As where somebody held the person when the job was accepted.
        try await fixture.admin.execute("UPDATE insp.job SET person_id = NULL")
        _ = try await fixture.admin.query("SELECT insp.erase($1::uuid)", [.text(id)])
        #expect(try await fixture.count("insp.person WHERE reference_index IS NOT NULL") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A repeated request waits for nobody who asks for the same person`() async throws {
        let fixture = try await QueueFixture()
        let request = Self.request("ann", #","idempotencyKey":"k""#)
        let id = try await fixture.enqueue(many: [request])[0]
        let producer = try await fixture.database.connect()
        try await producer.execute("BEGIN")
        _ = try await producer.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs([String(decoding: Self.request("ann"), as: UTF8.self)])])
        #expect(try await fixture.enqueue(many: [request]) == [id])
        try await producer.execute("COMMIT")
        await producer.close()
    }
}

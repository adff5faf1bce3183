import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

@Suite struct EnqueueTests {
    private static func payload(_ changes: String) -> String {
        let base = #""partner":"acme","workflow":"id""#
        return "{\(base)\(changes.isEmpty ? "" : ",")\(changes)}"
    }

    private static let zeros = String(repeating: "0", count: 64)
    private static let front = Data("front".utf8)

    /// A request, the parts that come with it as bytes, and the code it must be refused with.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var payload: String
        var parts: [PartKind: [Data]] = [.front: [EnqueueTests.front]]
        var code: ErrorCode
        var testDescription: String { self.name }
    }

    static let refusals: [Refusal] = {
        var list: [Refusal] = []
        func add(_ name: String, _ payload: String, _ code: ErrorCode, _ parts: [PartKind: [Data]]? = nil) {
            list.append(Refusal(name: name, payload: payload, parts: parts ?? [.front: [Self.front]], code: code))
        }
        func with(_ name: String, _ changes: String, _ code: ErrorCode, _ parts: [PartKind: [Data]]? = nil) {
            add(name, Self.payload(changes), code, parts)
        }
        add("no JSON", "{", .payloadInvalid)
        add("a NUL", #"{"partner":"a\u0000"}"#, .payloadInvalid)
        add("half a surrogate pair", #"{"partner":"\ud800"}"#, .payloadInvalid)
        add("an array", "[]", .payloadInvalid)
        add("a string", #""acme""#, .payloadInvalid)
        with("an unknown key", #""colour":"red""#, .payloadInvalid)
        with("a number for a string", #""userReference":7"#, .payloadInvalid)
        with("null for a string", #""userReference":null"#, .payloadInvalid)
        with("too large", #""consent":{"x":"\#(String(repeating: "y", count: 17_000))"}"#, .payloadTooLarge)
        add("no partner", #"{"workflow":"id"}"#, .payloadInvalid)
        add("an unknown partner", #"{"partner":"nobody","workflow":"id"}"#, .partnerUnknown)
        add("a disabled partner", #"{"partner":"gone","workflow":"id"}"#, .partnerDisabled)
        add("no workflow", #"{"partner":"acme"}"#, .payloadInvalid)
        add("an unknown workflow", #"{"partner":"acme","workflow":"astrology"}"#, .workflowUnknown)
        add("an unknown workflow number", #"{"partner":"acme","workflow":4}"#, .workflowUnknown)
        with("no FRONT", "", .partMissing, [:])
        with("BACK without FRONT", "", .partMissing, [.back: [Self.front]])
        add("similarity without FACE", #"{"partner":"acme","workflow":"similarity"}"#, .partMissing)
        add("liveness without a face", #"{"partner":"acme","workflow":"liveness"}"#, .partMissing, [:])
        add(
            "authentication without FACE", #"{"partner":"acme","workflow":"authentication","faceId":"f"}"#,
            .partMissing, [:])
        add("enrolment without FACE", #"{"partner":"acme","workflow":"enrollment","faceId":"f"}"#, .partMissing, [:])
        with("a digest of an absent part", #""digests":{"FACE":"\#(Self.zeros)"}"#, .partMissing)
        with(
            "TD3 with BACK", #""documentFormat":"TD3""#, .partUnexpected,
            [.front: [Self.front], .back: [Self.front]])
        add("liveness with FRONT", #"{"partner":"acme","workflow":"6"}"#, .partUnexpected)
        with(
            "bytes and URL of one part",
            #""parts":{"FRONT":{"url":"https://a.example.com","sha256":"\#(Self.zeros)"}}"#, .partUnexpected)
        with("two of a kind", "", .partUnexpected, [.front: [Self.front, Self.front]])
        with(
            "an unknown part", #""parts":{"LEFT":{"url":"https://a.example.com","sha256":"\#(Self.zeros)"}}"#,
            .partUnknown)
        with("an unknown part's digest", #""digests":{"LEFT":"\#(Self.zeros)"}"#, .partUnknown)
        with("an empty part", "", .partEmpty, [.front: [Data()]])
        with("no frames", "", .partEmpty, [.front: [Self.front], .frames: []])
        with("frames by URL, none", #""parts":{"FRAMES":[]}"#, .partEmpty)
        with("an oversize part", "", .partTooLarge, [.front: [Data(count: 20 * 1024 * 1024 + 1)]])
        with(
            "too many frames", "", .partTooLarge,
            [.front: [Self.front], .frames: Array(repeating: Self.front, count: 257)])
        for url in [
            "http://a.example.com/x", "https://127.0.0.1/x", "https://a.example.com:8443/x",
            "https://u:p@a.example.com/",
            "https://a.example.com/#x", "ftp://a.example.com/", "a.example.com", "https://localhost/x",
            "https://2130706433/", "https://127.1/", "https://[::1]/x", "https://0x7f.1/", "https://a.example.com/ü",
            "https://db.internal/x", #"https://a.example.com\\@evil.example.com/"#,
            "https://a.example.com/" + String(repeating: "p", count: 2048),
        ] {
            with(
                "a part at \(url.prefix(40))", #""parts":{"FRONT":{"url":"\#(url)","sha256":"\#(Self.zeros)"}}"#,
                .partURLInvalid, [:])
        }
        with("a part without URL", #""parts":{"FRONT":{"sha256":"\#(Self.zeros)"}}"#, .partURLInvalid, [:])
        with("a part that is a string", #""parts":{"FRONT":"https://a.example.com"}"#, .payloadInvalid, [:])
        with("a part by URL without digest", #""parts":{"FRONT":{"url":"https://a.example.com"}}"#, .digestInvalid, [:])
        with("a malformed digest", #""digests":{"FRONT":"abc"}"#, .digestInvalid)
        with("a digest that is a number", #""digests":{"FRONT":1}"#, .digestInvalid)
        with("a wrong digest", #""digests":{"FRONT":"\#(Self.zeros)"}"#, .digestMismatch)
        for key in ["customerInternalReference", "userReference", "reportingCriteria", "idempotencyKey"] {
            with("a long \(key)", #""\#(key)":"\#(String(repeating: "é", count: 101))""#, .identifierTooLong)
        }
        // All who have none would be one person.
        for key in ["customerInternalReference", "userReference", "idempotencyKey"] {
            with("an empty \(key)", #""\#(key)":"""#, .payloadInvalid)
        }
        // No path of HTTP could name them.
        for key in ["customerInternalReference", "userReference", "reportingCriteria"] {
            for text in [#"\u0001"#, #"a\tb"#, #"a\n"#, #"a\u001fb"#, #"\u007f"#] {
                with("\(text) in \(key)", #""\#(key)":"\#(text)""#, .payloadInvalid)
            }
        }
        for url in [
            "http://hooks.example.com/x", "https://10.0.0.1/x", "https://hooks.example.com:444/x",
            "https://hooks.example.com/#f", "https://u@hooks.example.com/", "hooks.example.com",
            "https://hooks.example.com/" + String(repeating: "p", count: 255), "", "https://localhost/",
        ] {
            with("a callback to \(url.prefix(40))", #""callbackUrl":"\#(url)""#, .callbackURLInvalid)
        }
        add(
            "a callback without an endpoint's secret",
            #"{"partner":"silent","workflow":"id","callbackUrl":"https://hooks.example.com/x"}"#, .callbackURLInvalid)
        add("no callback where one is required", #"{"partner":"strict","workflow":"id"}"#, .callbackURLMissing)
        for country in ["XXX", "de", "DE", "UTO"] {
            with("the country \(country)", #""countries":["\#(country)"]"#, .countryInvalid)
        }
        with("a country that is a number", #""countries":[276]"#, .countryInvalid)
        with("countries as a string", #""countries":"DEU""#, .payloadInvalid)
        with("an unknown document type", #""documentTypes":["LIBRARY_CARD"]"#, .documentTypeUnknown)
        with("an unknown document format", #""documentFormat":"TD9""#, .documentFormatUnknown)
        with("an unknown lane", #""lane":"fast""#, .laneUnknown)
        with("an unknown region", #""region":"eu""#, .regionInvalid)
        add(
            "no consent where one is required", #"{"partner":"careful","workflow":"id","consent":{"obtained":"no"}}"#,
            .consentMissing)
        with("a time in words", #""runAt":"tomorrow""#, .payloadInvalid)
        with("a time that is none", #""runAt":"2030-13-45T00:00:00Z""#, .payloadInvalid)
        with("an expiry in the past", #""expiresAt":"2020-01-01T00:00:00Z""#, .payloadInvalid)
        with("an expiry that is too far", #""expiresAt":"2199-01-01T00:00:00Z""#, .payloadInvalid)
        with("a negative delay", #""delaySeconds":-1"#, .payloadInvalid)
        with("a bad trace context", #""traceparent":"00-zz""#, .payloadInvalid)
        return list
    }()

    /// Requests that are wrong as a whole; each other refusal names a member.
    private static let ofTheWhole: Set<String> = [
        "no JSON", "a NUL", "half a surrogate pair", "an array", "a string", "too large", "a disabled partner",
    ]

    @Test func `Each bad request is refused with its own code and field, and nothing is stored`()
        async throws
    {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            SELECT insp.create_partner('gone'); SELECT insp.set_partner('gone', enabled => false);
            INSERT INTO insp.partner (name) VALUES ('silent'), ('strict'), ('careful');
            SELECT insp.set_partner('strict', callback_required => true);
            SELECT insp.set_partner('careful', consent_required => true)
            """)
        for refusal in Self.refusals {
            let error = await #expect(throws: InspectError.self, "\(refusal.name)") {
                try await fixture.client.enqueue(payload: Data(refusal.payload.utf8), parts: refusal.parts)
            }
            #expect(error?.code == refusal.code, "\(refusal.name): \(error?.description ?? "accepted")")
            #expect(
                (error?.field == nil) == Self.ofTheWhole.contains(refusal.name),
                "\(refusal.name): \(error?.field ?? "no field")")
        }
        #expect(try await fixture.count("insp.job") == 0)
        #expect(try await fixture.count("insp.part") == 0)
        let codes = Set(Self.refusals.map(\.code))
        // Those that take more than one bad request: EnqueueTests, ChallengeTests, VendorSessionTests, ExplainTests.
        let elsewhere: Set<ErrorCode> = [
            .idempotencyConflict, .jobUnknown, .challengeInvalid, .challengeExpired, .challengeUsed,
            .sessionShapeRefused, .jobAmbiguous,
        ]
        let untested = ErrorCode.allCases.filter {
            $0.sqlState < "IN030" && !codes.contains($0) && !elsewhere.contains($0)
        }
        #expect(untested.isEmpty)
    }

    @Test func `Good requests of every shape are accepted`() async throws {
        let fixture = try await QueueFixture()
        let lab = try await fixture.admin.query(
            "SELECT endpoint_id FROM insp.create_partner('lab', 'http://127.0.0.1:8080/x', true, true)")[0].int(0)
        let sha = "2f2e2e1f0a6cc1a5c0f4d1f0c3ef1b0c6c1c3b5a7d2f9e8b7a6c5d4e3f2a1b0c"
        let day = (Date() + 365 * 86_400).formatted(Date.ISO8601FormatStyle().year().month().day())
        let byURL = #"{"FRONT":{"url":"https://bucket.s3.eu-west-1.amazonaws.com/k?X-Sig=a%2Fb","sha256":"\#(sha)"}}"#
        let accepted: [(String, [PartKind: [Data]])] = [
            (#"{"partner":"acme","workflow":2}"#, [.front: [Self.front], .back: [Self.front], .face: [Self.front]]),
            (#"{"partner":"acme","workflow":"3","documentFormat":"TD3"}"#, [.front: [Self.front]]),
            (#"{"partner":"acme","workflow":"liveness"}"#, [.frames: [Self.front, Self.front]]),
            (#"{"partner":"acme","workflow":"similarity"}"#, [.front: [Self.front], .face: [Self.front]]),
            (
                #"{"partner":"acme","workflow":"id","countries":["DEU"],"documentTypes":["PASSPORT","ID_CARD"],"lane":"urgent","#
                    + #""region":"EU","expiresAt":"\#(day)T00:00:00.5+02:00","delaySeconds":1.5,"#
                    + #""traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","#
                    + #""callbackUrl":"https://hooks.example.com/y?z=1","consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"},"#
                    + #""parts":\#(byURL)}"#, [:]
            ),
            (
                #"{"partner":"lab","workflow":"id","callbackUrl":"http://127.0.0.1:8080/cb","#
                    + #""parts":{"FRONT":{"url":"http://127.0.0.1:8080/a","sha256":"\#(sha)"}}}"#, [:]
            ),
        ]
        for (payload, parts) in accepted {
            let id = try await fixture.client.enqueue(payload: Data(payload.utf8), parts: parts)
            #expect(try await fixture.result(of: id)["status"] as? Int == 1)
        }
        // What the endpoint may call is not what a job may have called in its name.
        let elsewhere = #"{"partner":"lab","workflow":"id","callbackUrl":"http://[::1]:9000/cb"}"#
        let refused = await #expect(throws: InspectError.self) {
            try await fixture.client.enqueue(payload: Data(elsewhere.utf8), parts: [.front: [Self.front]])
        }
        #expect(refused?.code == .callbackURLInvalid)
        // Nor where it may fetch parts from, unless an operator listed the networks.
        for url in ["http://minio:9000/a", "http://127.0.0.1:8081/a", "http://[::1]/a"] {
            let elsewhere = #"{"partner":"lab","workflow":"id","parts":{"FRONT":{"url":"\#(url)","sha256":"\#(sha)"}}}"#
            let refused = await #expect(throws: InspectError.self, "\(url)") {
                try await fixture.client.enqueue(payload: Data(elsewhere.utf8))
            }
            #expect(refused?.code == .partURLInvalid)
        }
        _ = try await fixture.admin.query(
            "SELECT insp.set_endpoint($1, '{\"allowedNetworks\":[\"10.0.0.0/8\"]}')", [.int(lab)])
        let listed =
            #"{"partner":"lab","workflow":"id","parts":{"FRONT":{"url":"http://minio:9000/a","sha256":"\#(sha)"}}}"#
        _ = try await fixture.client.enqueue(payload: Data(listed.utf8))
        #expect(try await fixture.count("insp.delayed") == 1)
        #expect(try await fixture.count("insp.expiry") == 1)
        // The canonical key is stored whatever name was given, and the bytes exactly as they came.
        #expect(try await fixture.count("insp.job WHERE workflow = 'id_identity'") == 1)
        #expect(
            try await fixture.count(
                "insp.part p JOIN insp.content c ON (c.id, c.kind, c.ordinal) = (p.content_id, p.kind, p.ordinal) WHERE p.sha256 = sha256(c.bytes) AND c.bytes = 'front'"
            ) == 8)
    }

    @Test func `The same request under the same idempotency key is one job, also when sent at once`() async throws {
        let fixture = try await QueueFixture()
        let payload = Data(Self.payload(#""idempotencyKey":"k1""#).utf8)
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<12 {
                group.addTask {
                    let client = JobClient(databaseURL: fixture.database.url)
                    let id = try await client.enqueue(payload: payload, parts: [.front: [Self.front]])
                    await client.close()
                    return id
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(try await fixture.count("insp.job") == 1)
        #expect(try await fixture.count("insp.ready") == 1)
        #expect(try await fixture.count("insp.part") == 1)
        for parts in [[PartKind.front: [Data("other".utf8)]], [.front: [Self.front], .face: [Self.front]]] {
            let error = await #expect(throws: InspectError.self) {
                try await fixture.client.enqueue(payload: payload, parts: parts)
            }
            #expect(error?.code == .idempotencyConflict)
        }
        let many = Data((QueueFixture.byURL.dropLast() + #","idempotencyKey":"k2"}"#).utf8)
        let pair = try await fixture.enqueue(many: [many, many])
        #expect(pair[0] == pair[1])
    }

    @Test func `Many are accepted together or not at all, with ids in order`() async throws {
        let fixture = try await QueueFixture()
        let good = Data(QueueFixture.byURL.utf8)
        let error = await #expect(throws: InspectError.self) {
            try await fixture.enqueue(many: [good, Data(#"{"partner":"acme"}"#.utf8), good])
        }
        #expect(error?.code == .payloadInvalid)
        #expect(try await fixture.count("insp.job") == 0)
        let payloads = (0..<50).map {
            Data((QueueFixture.byURL.dropLast() + #","userReference":"u\#($0)"}"#).utf8)
        }
        let ids = try await fixture.enqueue(many: payloads)
        for (index, id) in ids.enumerated() {
            #expect(try await fixture.result(of: id)["userReference"] as? String == "u\(index)")
        }
    }

    @Test func `An unknown job is said to be unknown`() async throws {
        let fixture = try await QueueFixture()
        for id in ["x", "00112233-4455-6677-8899-aabbccddeeff"] {
            let error = await #expect(throws: InspectError.self) { try await fixture.client.result(of: id) }
            #expect(error?.code == .jobUnknown)
            await #expect(throws: InspectError(.jobUnknown)) { try await fixture.client.cancel(id) }
        }
    }

    @Test func `The database and the program have the same table of errors`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            "SELECT e.*, insp.failure_summary(e.code, 'FRONT') #>> '{error,message}' AS text FROM insp.error_code e")
        #expect(rows.count == ErrorCode.allCases.count)
        for row in rows {
            let code = try #require(ErrorCode(rawValue: try row.string("code")))
            #expect(try row.string("sqlstate") == code.sqlState)
            #expect(try row.string("message") == code.row.message)
            #expect(try row.bool("retryable") == code.isRetryable)
            #expect(try row.optionalInt("http_status").map(Int.init) == code.row.httpStatus)
            #expect(try row.optionalString("hint") == code.row.hint)
            // Whichever side puts a result together.
            #expect(try row.string("text") == InspectError(code, "FRONT").text)
            #expect(try row.string("text") == ErrorRecord(InspectError(code, "FRONT")).message)
        }
    }

    @Test func `A producer may enqueue, read and cancel, and nothing else`() async throws {
        let fixture = try await QueueFixture()
        let producer = try await fixture.database.connect()
        try await producer.execute("SET ROLE insp_producer")
        let id = try await producer.query("SELECT insp.enqueue($1, 'front'::bytea)", [.text(Self.payload(""))])[0]
            .string(0)
        _ = try await producer.query("SELECT insp.job_result($1), insp.cancel($1)", [.text(id)])
        for sql in [
            "SELECT * FROM insp.job", "SELECT value FROM insp.secret", "DELETE FROM insp.ready",
            "SELECT insp.finish('{1}', '{1}', '{\"{}\"}')", "SELECT insp.pause('bulk')", "SELECT insp.rescue()",
        ] {
            let error = await #expect(throws: PostgresError.self, "\(sql)") { try await producer.query(sql) }
            #expect(error?.sqlState == "42501", "\(sql)")
        }
        try await producer.execute("RESET ROLE; SET ROLE insp_operator")
        _ = try await producer.query("SELECT * FROM insp.v_queue")
        let error = await #expect(throws: PostgresError.self) {
            try await producer.query("SELECT value FROM insp.secret")
        }
        #expect(error?.sqlState == "42501")
    }

    @Test func `Every table, column, view and function is described`() async throws {
        let fixture = try await QueueFixture()
        let rows = try await fixture.admin.query(
            """
            SELECT c.relname || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
            WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind IN ('r', 'v', 'p') AND NOT c.relispartition
                AND a.attnum > 0 AND NOT a.attisdropped AND col_description(c.oid, a.attnum) IS NULL
            UNION ALL
            SELECT proname FROM pg_proc WHERE pronamespace = 'insp'::regnamespace AND obj_description(oid, 'pg_proc') IS NULL
            UNION ALL
            SELECT relname FROM pg_class WHERE relnamespace = 'insp'::regnamespace AND relkind IN ('r', 'v', 'p', 'S')
                AND obj_description(oid) IS NULL AND relname NOT LIKE '%\\_id\\_seq'
            """)
        #expect(try rows.map { try $0.string(0) } == [])
    }
}

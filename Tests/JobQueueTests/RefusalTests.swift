import Foundation
import InspectCore
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

/// A refused call says in fields of their own which error it is, what is wrong and what is allowed.
@Suite struct RefusalTests {
    /// A call whose value is none of a closed set, and the set.
    struct Refusal: Sendable, CustomTestStringConvertible {
        var call: String
        var code: ErrorCode
        var detail: String
        var allowed: [String]

        var testDescription: String { self.call }

        init(_ call: String, _ code: ErrorCode, _ detail: String, _ allowed: [String]) {
            self.call = call
            self.code = code
            self.detail = detail
            self.allowed = allowed
        }

        /// A job that is fine but for these members.
        static func job(
            _ members: String, workflow: String = "id", _ code: ErrorCode, _ detail: String, _ allowed: [String]
        ) -> Refusal {
            let payload = #"{"partner":"acme","workflow":"\#(workflow)","# + members + "}"
            return Refusal("insp.enqueue('\(payload)', 'front')", code, detail, allowed)
        }
    }

    static let refusals: [Refusal] = [
        .job(#""lane":"fast""#, .laneUnknown, "'fast'", ["urgent", "normal", "bulk"]),
        .job(#""region":"MOON""#, .regionInvalid, "'MOON'", ["US", "EU", "SG"]),
        .job(#""documentFormat":"td3""#, .documentFormatUnknown, "'td3'", ["TD1", "TD2", "TD3"]),
        .job(
            #""documentTypes":["LIBRARY_CARD"]"#, .documentTypeUnknown, "'LIBRARY_CARD'",
            ["PASSPORT", "VISA", "DRIVING_LICENSE", "ID_CARD"]),
        .job(#""countries":["de"]"#, .countryInvalid, "'de'", ["DEU"]),
        .job(
            #""review":"often""#, .payloadInvalid, "review is 'often'", ["never", "rejected", "warning", "always"]),
        .job(
            #""colour":"red""#, .payloadInvalid, "unknown key 'colour'", ["partner", "workflow", "enrollmentMode"]),
        .job(
            #""parts":{"NOSE":{}}"#, .partUnknown, "'NOSE'", PartKind.allCases.map(\.rawValue)),
        .job(#""parts":{"FRONT":[]}"#, .payloadInvalid, "parts.FRONT is an array", ["FRAMES alone"]),
        .job(
            #""digests":{"NOSE":"x"}"#, .partUnknown, "'NOSE'", PartKind.allCases.map(\.rawValue)),
        .job(
            #""faceId":"x","enrollmentMode":"both""#, workflow: "enrollment", .payloadInvalid,
            "enrollmentMode is not known, or belongs to another workflow", ["add", "replace", "enrollment"]),
        .job(#""faceId":"x""#, .payloadInvalid, "id takes no faceId", ["authentication", "enrollment"]),
        Refusal(
            #"insp.enqueue('{"partner":"acme","workflow":"walk"}')"#, .workflowUnknown, "'walk'",
            Workflow.allCases.map(\.rawValue)),
        Refusal(#"insp.enqueue('{"partner":"bnak","workflow":"id"}')"#, .partnerUnknown, "'bnak'", []),
        Refusal("insp.challenge_issue('bnak')", .partnerUnknown, "'bnak'", []),
        .job(#""delaySeconds":-5"#, .payloadInvalid, "delaySeconds is -5", ["0 to 2592000"]),
        .job(
            #""faceId":"x","threshold":2"#, workflow: "authentication", .payloadInvalid, "threshold is 2",
            ["0.5 to 0.999"]),
        Refusal("insp.set_lane_weight('urgent', 0)", .parameterInvalid, "weight is 0", ["1 to 1000"]),
        Refusal(
            "insp.set_quota('acme', max_waiting => 0)", .parameterInvalid, "max_waiting is 0", ["at least 1", "pause"]),
        Refusal("insp.set_quota('acme', max_bytes => -1)", .parameterInvalid, "max_bytes is -1", ["at least 1"]),
        Refusal("insp.limit_partner('acme', 0)", .parameterInvalid, "max_running is 0", ["at least 1", "pause"]),
        Refusal("insp.limit_partner('acme', 1, 0)", .parameterInvalid, "rate_per_second is 0", ["above 0"]),
        Refusal("insp.pause('slow')", .laneUnknown, "'slow'", ["urgent", "normal", "bulk"]),
        Refusal(
            "insp.review(gen_random_uuid(), 'MAYBE')", .reviewInvalid, "the decision 'MAYBE'",
            ["PASSED", "WARNING", "REJECTED"]),
        Refusal(
            "insp.challenge_issue('acme', 'dance')", .parameterInvalid, "method 'dance'",
            ["colour_flash", "motion", "colour_flash+motion"]),
        Refusal(
            "insp.challenge_issue('acme', motions => ARRAY['NOD', 'JUMP'])", .parameterInvalid, "motions",
            ["MOUTH_OPEN", "SMILE", "BLINK", "SHAKE", "NOD"]),
        Refusal(
            "insp.set_retention(what => 'socks', keep => '1 day')", .parameterInvalid, "what is 'socks'",
            ["events", "callbacks", "idempotency_keys"]),
        Refusal(
            #"insp.set_endpoint(1, '{"colour": 1}')"#, .endpointInvalid, "unknown setting 'colour'",
            ["url", "maxInflight", "origins"]),
        Refusal(
            "insp.callback_authorize(1, 'https://hooks.example.com/t', 'c', 's', p_method => 'dance')",
            .parameterInvalid,
            "method 'dance'", ["basic", "post", "tls"]),
        Refusal(
            "insp.callback_settle('{1}', '{1}', '{1}', '{delivered,NULL,bogus}', '{0}', '{0}', '{0}', '{0}', '{x}', '{x}', 'w')",
            .parameterInvalid, "outcomes", ["delivered", "retry", "uncounted", "dead", "release"]),
        Refusal(
            "insp.worker_register(gen_random_uuid(), 'h', 1, '0', 'MOON', '{1}', 1)", .regionInvalid, "'MOON'",
            ["US", "EU", "SG"]),
    ]

    @Test(arguments: Self.refusals)
    func `The detail says what is wrong, and the hint what is allowed`(refusal: Refusal) async throws {
        let fixture = try await QueueFixture()
        let error = try #require(
            await #expect(throws: PostgresError.self) { try await fixture.admin.query("SELECT \(refusal.call)") })
        #expect(error.sqlState == refusal.code.sqlState)
        #expect(error.message == "\(refusal.code.rawValue): \(refusal.code.row.message)")
        #expect(error.detail == refusal.detail)
        for value in refusal.allowed { #expect(error.hint?.contains(value) == true, "\(value) in \(error.hint ?? "")") }
    }

    @Test func `The table of kinds says which part may be an array`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("UPDATE insp.part_kind SET is_many = true WHERE kind = 'BACK'")
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(
                #"SELECT insp.enqueue('{"partner":"acme","workflow":"id","parts":{"FRONT":[]}}')"#)
        }
        #expect(error?.hint == "BACK and FRAMES alone may be an array.")
    }

    @Test func `A client has the code, the detail, the hint and the field that the database gave`() async throws {
        let fixture = try await QueueFixture()
        let payload = Data(#"{"partner":"acme","workflow":"id","region":"MOON"}"#.utf8)
        let expected = InspectError(.regionInvalid, "'MOON'", hint: "Regions are EU, SG, US.", field: "region")
        await #expect(throws: expected) {
            try await fixture.client.enqueue(payload: payload, parts: [.front: [Data("front".utf8)]])
        }
    }

    @Test(arguments: [
        "insp.parts(1, 7, 1)", "insp.face_of(1, 7)", "insp.session_begin(1, 7)",
        "insp.session_vendor(1, 7)", "insp.session_pause(1, 7, 60)",
        "insp.face_stage(1, 7, 0, 'e', repeat('0', 64), repeat('0', 1024))",
    ])
    func `A lost lease is reported in one way`(call: String) async throws {
        let fixture = try await QueueFixture()
        let error = try #require(
            await #expect(throws: PostgresError.self) { try await fixture.admin.query("SELECT \(call)") })
        #expect(error.sqlState == ErrorCode.leaseLost.sqlState)
        #expect(error.message == "LEASE_LOST: the job's lease is lost")
    }

    @Test func `A handler is told that its lease is lost, and nothing of it is written`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        let told = Told()
        let handler = ClosureHandler { _, context in
            try await fixture.admin.execute("DELETE FROM insp.lease")
            for attempt in 0..<2 {
                do {
                    if attempt == 0 { _ = try await context.parts() } else { try await context.beginSession() }
                } catch let error as InspectError {
                    told.codes.withLock { $0.append(error.code) }
                }
            }
            throw InspectError(.leaseLost)
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await waitUntil("two calls are refused") { told.codes.withLock { $0.count } >= 2 }
        }
        #expect(told.codes.withLock { Set($0) } == [.leaseLost])
        #expect(try await fixture.count("insp.step") == 0)
        #expect(try await fixture.count("insp.event WHERE kind IN ('retry', 'finished')") == 0)
    }

    /// What a handler was told.
    private final class Told: Sendable {
        let codes = Mutex<[ErrorCode]>([])
    }

    @Test func `Every error is raised with all that its row says, and its code and field`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            CREATE FUNCTION pg_temp.raised(code text) RETURNS text[] LANGUAGE plpgsql AS $$
            DECLARE state text; said text; name text; detail text; hint text; field text;
            BEGIN
                PERFORM insp.refuse(code, p_field => 'x.y');
                RETURN NULL;
            EXCEPTION WHEN OTHERS THEN
                GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, said = MESSAGE_TEXT, name = CONSTRAINT_NAME,
                    detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT, field = COLUMN_NAME;
                RETURN ARRAY[state, said, name, detail, hint, field];
            END $$
            """)
        let wrong = try await fixture.admin.query(
            """
            SELECT e.code FROM insp.error_code e
            WHERE pg_temp.raised(e.code)
                IS DISTINCT FROM ARRAY[e.sqlstate, e.code || ': ' || e.message, e.code, '', coalesce(e.hint, ''), 'x.y']
            """)
        #expect(try wrong.map { try $0.string(0) } == [])
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Every function that people, producers and the gateway may call, with arguments of every wrong kind.
///
/// What may be called, and with what, stands in the catalogue: a new function is tried from the day it is granted. Functions of
/// `insp_worker` alone are left out: no one but this program's own statements calls them, and they are on the hot path.
///
/// `TEST_SEED` draws the calls of one seed again.
@Suite struct ArgumentTests {
    /// What may go wrong with any argument of a type, as SQL.
    private static let bad: [String: [String]] = [
        "text": [
            "''", "'no such'", "repeat('x', 5000)", "E'a\\nb'", "E'\\x01'", "'%'", "'\\'", "'{}'", "'-1'", "'é€😀'",
            "'infinity'", "'00000000-0000-0000-0000-000000000000'",
        ],
        "text[]": ["'{}'", "'{NULL}'", "'{x}'", "'{{a,b},{c,d}}'", "array_fill('x'::text, ARRAY[1000])"],
        "smallint": ["0", "-1", "64", "-32768", "32767"],
        "integer": ["0", "-1", "1", "64", "70000", "-2147483648", "2147483647"],
        "bigint": ["0", "-1", "1", "70000", "-9223372036854775808", "9223372036854775807"],
        "integer[]": ["'{}'", "'{NULL}'", "'{-1}'", "'{{1,2},{3,4}}'", "array_fill(1, ARRAY[1000])"],
        "uuid[]": ["'{}'", "'{NULL}'", "'{00000000-0000-0000-0000-000000000000}'"],
        "bigint[]": ["'{}'", "'{NULL}'", "'{-1}'", "'{{1,2},{3,4}}'", "array_fill(1::bigint, ARRAY[1000])"],
        "double precision": ["0", "-1", "'NaN'", "'Infinity'", "'-Infinity'", "1e300", "-1e300", "1e-300"],
        "interval": [
            "'0'", "'-1 day'", "'1 microsecond'", "'10 minutes'", "'3 days -72 hours'", "'10000 years'",
            "'1000000 years'", "'170000000 years'", "'-170000000 years'",
        ],
        "timestamp with time zone": ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'294276-12-31'", "'epoch'"],
        "date": ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'"],
        "uuid": ["'00000000-0000-0000-0000-000000000000'"],
        "boolean": ["true", "false"],
        "bytea": ["''", "'\\x00'", "convert_to(repeat('x', 100000), 'UTF8')"],
        "bytea[]": [
            "'{}'", "'{NULL}'", "ARRAY[''::bytea]", "ARRAY[ARRAY['\\x01'::bytea]]",
            "array_fill('\\x01'::bytea, ARRAY[300])",
        ],
        "jsonb": [
            "'null'", "'5'", "'\"x\"'", "'[]'", "'{}'", "'{\"x\":1}'", "'{\"\":null}'", "'[{\"x\":[null]}]'",
            "to_jsonb(repeat('x', 20000))", "jsonb_build_object(repeat('x', 20000), 1)",
        ],
        "jsonb[]": [
            "'{}'", "'{NULL}'", "ARRAY['5'::jsonb]", "ARRAY[ARRAY['\(request)'::jsonb]]",
            "array_fill('\(request)'::jsonb, ARRAY[100])",
        ],
        "insp.callback": [], "insp.partner": [],
    ]

    /// What a key of a payload or of settings may be.
    private static let members = [
        "null", "true", "5", "-1", "0.5", "1e400", "1e-400", "99999999999999999999", #""""#, #""x""#, #""acme""#,
        #""\u0001\n""#, #""infinity""#, #""9999-12-31T23:59:59Z""#, "[]", "[null]", #"["x"]"#, "[5]", "[[]]", "{}",
        #"{"x":null}"#, #"{"FRONT":null}"#, #"{"FRONT":{}}"#, #"{"FRONT":{"url":5}}"#, #"{"token":null}"#,
        #"{"token":"x","frameTimes":[1e400]}"#, #"{"token":"x","frameTimes":[1e-400]}"#, #"{"obtained":null}"#,
        #"{"obtained":"yes","obtainedAt":"infinity"}"#, "\"\(String(repeating: "x", count: 5000))\"",
    ]

    private static let request = #"{"partner":"acme","workflow":"id"}"#

    private static let publicKey =
        #"'{"kty":"EC","crv":"P-256","x":"weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ","y":"e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck"}'"#

    /// What makes sense for an argument of a name: the first one is given while another argument is tried.
    private static let good: [String: [String]] = [
        "partner": ["'acme'", "'gone'"], "p_partner": ["'acme'"], "p_name": ["'other'"], "p_endpoint": ["1"],
        "id": jobs, "p_id": jobs, "job": jobs, "p_webhook_id": ["(SELECT min(c.webhook_id) FROM insp.callback c)"],
        "p_url": ["'https://hooks.example.com/y'"], "p_token_url": ["'https://hooks.example.com/y'"],
        "p_revocation_url": ["'https://hooks.example.com/r'"], "p_grant_type": ["'urn:x:grant'"],
        "p_assertion": ["'token'"],
        "p_parameters": [#"'{"audience":"x"}'"#, #"'{"scope":"x"}'"#], "p_provider": ["'assertion'", "'own'"],
        "p_client_id": ["'me'"], "p_client_secret": ["'secret'", "'sealed:AQ=='"],
        "p_secret": ["'sealed:AQ=='", "'sealed:'", "'sealed:?'"], "login": ["session_user::text"],
        "face_id": ["'face'"], "feature": ["repeat('0', 1024)"], "engine": ["'e'"], "model_sha256": ["repeat('0', 64)"],
        "required": ["true"], "policy_url": ["'https://example.com/privacy'"], "policy_version": ["'v3'"],
        "purposes": ["'{identity}'"], "region": ["'EU'"], "may_choose": ["true"], "regions": ["'{EU}'"],
        "hosts": ["'{hooks.example.com}'"], "policy": ["'{}'", "'{\"minimumAge\":18}'"],
        "vendor": ["'{\"url\":\"https://vendor.example.com\"}'"], "p_content": ["'blob'"],
        "payload": ["'\(request)'"],
        "p_payload": [#"'{"workflow":"id"}'"#, #"'{"workflow":"id","documentFormat":"TD3"}'"#], "front": ["'\\x01'"],
        "p_settings": ["'{}'"], "p_scope": ["'create'", "'read'"], "p_credential": ["1"], "scopes": ["'{read}'"],
        "p_secret_sha256": ["(SELECT s.value FROM insp.secret s WHERE s.purpose = 'credential')"],
        "decision": ["'PASSED'"],
        "lane": ["'normal'"], "weight": ["3"], "reference": ["'u'"], "user_reference": ["'u'"],
        "p_since": ["now() - interval '1 day'"], "p_until": ["now()"], "p_month": ["'2026-01'"],
        "p_method": ["'oidc'"], "p_issuer": ["'https://id.example'"], "p_subject": ["'2'"], "p_person": ["1"],
        "person": ["'ann'"], "reason": ["'X'"], "p_grants": ["'{reviewer:*}'"],
        "p_decision": ["'PASSED'"], "p_edge": ["1"], "p_edge_microseconds": ["1"], "p_seen": ["'1:'"],
        "p_reason": ["'X'"], "p_task": ["1"],
        "p_place": ["repeat('A', 107)", "'0.0'"], "p_chain": ["'operator'"], "passive_signals_suffice": ["true"],
        "key_id": ["(SELECT c.key_id FROM insp.credential c)"], "p_worker": ["1"], "method": ["'motion'"],
        "what": ["'events'", "'samples'"], "p": ["(SELECT p FROM insp.partner p LIMIT 1)"],
        "c": ["(SELECT c FROM insp.callback c LIMIT 1)"],
        "p_filter": ["'{}'", #"'{"partner":"acme"}'"#], "p_pauses": ["true"], "p_proposal": ["1"],
        "p_was": ["'{}'"],
        "p_number": ["1"], "p_at_microseconds": ["1"], "p_key_id": ["repeat('0', 16)"],
        "p_heads": ["insp.record_heads()::text"],
        "p_signature": ["decode(repeat('00', 64), 'hex')"], "purpose": ["'export'"], "p_purpose": ["'export'"],
        "key_store": ["'00000000-0000-0000-0000-000000000001'"], "database": ["insp.database_id()"],
        "wrapping_key": ["'first'"],
        "action": ["'create_endpoint'", "'escrow'"], "arguments": ["'{}'"], "proposal": ["1"], "needed": ["false"],
        "kinds": ["'{FRONT}'"], "contents": ["'{front}'"], "p_kinds": ["'{FRONT}'", "'{user}'"],
        "p_action": ["'pause'", "'test'", "'replay'", "'rotate'", "'rerun'", "'cancel'"],
        "p_state": ["'dead'", "'pending'"],
        "p_contents": ["'{front}'"],
        "p_kind": ["'FRONT'", "'dead'", "'jobs'", "'callbacks'", "'endpoints'"],
        "p_plain": ["ARRAY[sha256('u')]"], "p_hidden": ["'{}'", "ARRAY[sha256('v')]"],
        "p_indexes": ["ARRAY[sha256('u')]", "ARRAY[sha256('v'), sha256('w')]"],
        "user_index": ["sha256('u')", "sha256('v')"],
        "p_face": ["'face'", "'gone'"], "pseudonym": ["'face'"], "p_index": ["sha256('face')"],
        "face_index": ["sha256('face')"], "p_scopes": ["'{read}'"],
        "p_options": ["'{}'", #"'{"colours":6}'"#, #"'{"lifetimeSeconds":1e400}'"#], "p_ordinal": ["0"],
        "origins": ["'{https://app.example.com}'", "'{https://app.example.com/,null}'", "'{http://localhost:8080}'"],
        "jwk": [publicKey], "p_jwk": [publicKey, #"'{"kty":"RSA","n":"AQAB","e":"AQAB"}'"#],
        "p_root": ["'s3:parts/inspectd/'"], "p_to": ["'2026-01-01~'"],
        "p_token_sha256": [
            "sha256('desk')", "sha256('new')", "(SELECT c.token_sha256 FROM insp.capture_session c)",
        ],
        "p_browser_sha256": ["sha256('browser')"], "p_image_sha256": ["sha256('image')"],
        "p_purposes": ["'{identity}'"],
        "p_locations": [
            "'{s3:parts/2026-01-01/01234567-89ab-7cde-8123-456789abcdef/01234567-89ab-7cde-8123-456789abcdef}'"
        ],
    ]
    /// Optional arguments that a sensible call gives.
    /// They succeed only while a session waits for its next blob: SessionBlobTests calls them then.
    /// Those of links take what the page captured: CaptureLinkTests calls them.
    private static let betweenBlobs: Set = [
        "gateway_session_add", "gateway_session_answer", "capture_submit", "capture_try",
    ]
    /// It succeeds only where a case has parts as bytes: ConsoleReviewTests calls it then.
    private static let ofCases: Set = ["console_part"]
    private static let usual: Set = ["front", "p_kinds", "p_contents", "purpose", "p_issuer", "p_subject"]
    /// Finished, in review, dead-lettered, cancelled, waiting and delayed.
    private static let jobs = (0..<6).map { "(SELECT j.public_id FROM insp.job j ORDER BY j.id LIMIT 1 OFFSET \($0))" }

    private struct Argument {
        var name: String
        var type: String
        var isOptional: Bool

        /// What it is tried with.
        var values: [String] {
            ["NULL"] + ArgumentTests.bad[self.type, default: []] + ArgumentTests.good[self.name, default: []]
        }
    }

    /// A function, and what it takes.
    private struct Routine {
        var name: String
        var arguments: [Argument] = []

        /// A call with these arguments, and sensible ones where one must be given.
        func call(_ given: [String: String]) -> String {
            let all = self.arguments.compactMap { argument -> String? in
                guard given[argument.name] != nil || !argument.isOptional || ArgumentTests.usual.contains(argument.name)
                else { return nil }
                let value = given[argument.name] ?? ArgumentTests.good[argument.name]?[0] ?? "NULL"
                return "\"\(argument.name)\" => (\(value))::\(argument.type)"
            }
            return "SELECT * FROM insp.\(self.name)(\(all.joined(separator: ", ")))"
        }
    }

    private static func routines(_ connection: PostgresConnection) async throws -> [Routine] {
        let rows = try await connection.query(
            """
            SELECT p.oid::text, p.proname::text, a.name, format_type(a.type, NULL), a.n > p.pronargs - p.pronargdefaults
            FROM pg_proc p LEFT JOIN LATERAL unnest(p.proargtypes::oid[], p.proargnames[1:p.pronargs])
                WITH ORDINALITY AS a (type, name, n) ON true
            WHERE p.pronamespace = 'insp'::regnamespace AND p.prorettype <> 'trigger'::regtype AND EXISTS (
                SELECT FROM pg_roles r WHERE r.rolname ~ '^insp_' AND r.rolname <> 'insp_worker'
                    AND has_function_privilege(r.oid, p.oid, 'EXECUTE'))
            ORDER BY p.oid::regprocedure::text, a.n
            """)
        var routines: [Routine] = []
        var last = ""
        for row in rows {
            if try row.string(0) != last { routines.append(Routine(name: try row.string(1))) }
            last = try row.string(0)
            guard let name = try row.optionalString(2) else { continue }
            routines[routines.count - 1].arguments.append(
                Argument(name: name, type: try row.string(3), isOptional: try row.bool(4)))
        }
        return routines
    }

    /// Carries calls out one by one, undoes each, and says which SQLSTATE it had and which words; UNDON is success.
    private static let attemptFunction = """
        CREATE FUNCTION pg_temp.attempt(call text) RETURNS text LANGUAGE plpgsql AS $$
        BEGIN
            EXECUTE call;
            SET CONSTRAINTS ALL IMMEDIATE;
            RAISE EXCEPTION USING ERRCODE = 'UNDON';
        EXCEPTION WHEN OTHERS THEN
            RETURN SQLSTATE || ' ' || SQLERRM;
        END
        $$
        """
    private static let codes = Set(ErrorCode.allCases.map(\.sqlState))

    /// Which functions had a call that succeeded.
    private static func attempt(_ calls: [String], _ connection: PostgresConnection) async throws -> Set<String> {
        let rows = try await connection.query(
            "SELECT c.call, pg_temp.attempt(c.call) FROM unnest($1::text[]) AS c (call)", [.texts(calls)],
            timeout: .seconds(60))
        var succeeded: Set<String> = []
        for row in rows {
            let (call, outcome) = (try row.string(0), try row.string(1))
            if outcome.hasPrefix("UNDON") {
                succeeded.insert(String(call.dropFirst("SELECT * FROM ".count).prefix { $0 != "(" }))
            } else if !Self.codes.contains(String(outcome.prefix(5))) {
                Issue.record("\(call.prefix(300)): \(outcome.prefix(200))")
            }
        }
        return succeeded
    }

    /// The keys that a refusal's hint lists, each with every kind of value.
    private static func objects(
        refusedBy call: String, with base: String, _ connection: PostgresConnection
    ) async throws -> [String] {
        let error = await #expect(throws: PostgresError.self) { try await connection.query(call) }
        let keys = try #require(error?.hint?.split(separator: " are ").last).matches(of: /\w+/).map {
            String($0.output)
        }
        #expect(keys.count > 10)
        return keys.flatMap { key in
            Self.members.map { "'\(base)'::jsonb || jsonb_build_object('\(key)', '\($0)'::jsonb)" }
        }
    }

    /// A partner with a job in every state, a face, a credential and two dead callbacks, and an erased partner.
    private static func fixture() async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        let request = QueueFixture.byURL.dropLast() + #","review":"warning"}"#
        _ = try await fixture.enqueue(many: Array(repeating: Data(request.utf8), count: 3))
        let handler = ClosureHandler { job, _ in
            if job.id % 3 == 0 { throw InspectError(.corruptImage) }
            let decision = job.id % 3 == 1 ? "PASSED" : "WARNING"
            return Data(#"{"decision":{"type":"\#(decision)","details":{"label":"X"},"risk":{"score":0}}}"#.utf8)
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "count(*) = 3 FROM insp.job WHERE status >= 64")
        }
        try await fixture.admin.execute(
            """
            SELECT insp.cancel(insp.enqueue('\(Self.request)', 'front'));
            SELECT insp.enqueue('{"partner":"acme","workflow":"id","userReference":"u"}', 'front');
            SELECT insp.enqueue('{"partner":"acme","workflow":"id","delaySeconds":600}', 'front');
            SELECT insp.callback_dead_letter(c.webhook_id) FROM insp.callback c;
            SELECT insp.face_import('acme', 'face', repeat('0', 1024), 'e', repeat('0', 64));
            SELECT insp.create_credential('acme', (SELECT array_agg(s.scope) FROM insp.scope s));
            SELECT insp.capture_create(1, (SELECT s.value FROM insp.secret s WHERE s.purpose = 'credential'), gen_random_uuid(), '{"workflow":"id_identity","documentFormat":"TD3"}');
            SELECT insp.capture_open(c.token_sha256, sha256('browser')) FROM insp.capture_session c;
            SELECT insp.create_endpoint('acme', 'pull:');
            SELECT insp.set_partner_key('acme', \(publicKey));
            SELECT insp.console_sign_in(sha256('desk'), 'ann', 'oidc', '{reviewer:*,operator:*,auditor:*}', 'https://id.example', '1');
            SELECT insp.console_take(sha256('desk'), v.id) FROM insp.v_review v;
            SELECT insp.set_authorization('acme', 'other', 'https://hooks.example.com/y', 'me', 'secret');
            SELECT insp.create_partner('gone');
            SELECT insp.erase_partner('gone');
            SET SESSION AUTHORIZATION insp_operator;
            SELECT insp.propose('set_retention', '{"what": "events", "keep": "30 days"}');
            RESET SESSION AUTHORIZATION
            """)
        try await fixture.admin.execute(Self.attemptFunction)
        return fixture
    }

    @Test(.timeLimit(.minutes(5)))
    func `Whatever the arguments are, a call succeeds or is refused with a code of the error table`() async throws {
        var random = SplitMix64(seed: TestRandom.seed)
        let fixture = try await Self.fixture()
        let routines = try await Self.routines(fixture.admin)
        #expect(routines.count > 70)
        let payloads = try await Self.objects(
            refusedBy: #"SELECT insp.enqueue('{"?":1}')"#, with: Self.request, fixture.admin)
        let settings = try await Self.objects(
            refusedBy: #"SELECT insp.set_endpoint(1, '{"?":1}')"#, with: "{}", fixture.admin)
        for argument in routines.flatMap(\.arguments) {
            #expect(Self.bad[argument.type] != nil, "no values are known for the type \(argument.type)")
        }
        // Each argument with each value, and then several at once, as the dice fall.
        var calls = routines.flatMap { routine in
            [routine.call([:])]
                + routine.arguments.flatMap { argument in argument.values.map { routine.call([argument.name: $0]) } }
        }
        #expect(calls.count > 1500)
        calls += payloads.map { "SELECT * FROM insp.enqueue(\($0), 'front')" }
        calls += settings.map { "SELECT * FROM insp.set_endpoint(1, \($0))" }
        var succeeded = try await Self.attempt(calls, fixture.admin)
        let several = routines.filter { $0.arguments.count > 1 }
        for _ in 0..<5 {
            calls = (0..<200).map { _ in
                let routine = several.randomElement(using: &random)!
                let chosen = routine.arguments.filter { _ in Bool.random(using: &random) }
                return routine.call(
                    Dictionary(
                        uniqueKeysWithValues: chosen.map { ($0.name, $0.values.randomElement(using: &random)!) }))
            }
            succeeded.formUnion(try await Self.attempt(calls, fixture.admin))
        }
        // Without any success, a function was tried at its door alone.
        for routine in routines
        where !succeeded.contains("insp.\(routine.name)")
            && !Self.betweenBlobs.union(Self.ofCases).contains(routine.name)
        {
            Issue.record("no call of insp.\(routine.name) succeeded")
        }
    }

    @Test(arguments: [
        "method => NULL", "colours => NULL", "colour_ms => NULL", "method => 'motion', steps => NULL",
        "method => 'motion', motions => NULL", "method => 'motion', motions => '{}'", "motions => '{NOD,NULL}'",
        "method => 'motion', step_timeout_ms => NULL",
    ])
    func `A challenge that asks for nothing is not issued`(arguments: String) async throws {
        let fixture = try await QueueFixture()
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.challenge_issue('acme', \(arguments))")
        }
        #expect(error?.sqlState == ErrorCode.parameterInvalid.sqlState)
    }

    @Test func `A token that is said to live for ever is kept for thirty days`() async throws {
        let fixture = try await QueueFixture()
        var refused: Int64?
        for lifetime in ["1e13", "'Infinity'"] {
            let stored = try await fixture.admin.query(
                "SELECT insp.token_store(1, (SELECT t.permit FROM insp.token_take(1, $1) t), 'token', \(lifetime), 60)",
                [.optional(refused)])
            refused = try stored[0].int(0)
            let taken = try await fixture.admin.query("SELECT token, expires_in_seconds FROM insp.token_take(1)")[0]
            #expect(try taken.string(0) == "token")
            #expect(try 2_591_000...2_592_000 ~= taken.double(1))
        }
    }

    @Test func `A call of the gateway without a scope is refused`() async throws {
        let fixture = try await QueueFixture()
        let secret = try await fixture.admin.query("SELECT secret FROM insp.create_credential('acme')")[0].string(0)
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(
                """
                SELECT insp.gateway_create(1, sha256(convert_to($1, 'UTF8')), NULL, '{"workflow":"id"}', NULL, '{FRONT}', '{f}')
                """, [.text(secret)])
        }
        #expect(error?.sqlState == ErrorCode.scopeMissing.sqlState)
    }

    @Test(arguments: [
        "set_retention('acme', keep => '2 days')",
        "set_retention(what => 'events', keep => '2 days', keep_parts => '2 days')",
        "cancel_partner('acme', batch => NULL)", "erase_person('acme', NULL)", "bind_producer('insp_producer', 'acme')",
        "create_credential('acme', rate_per_second => 'NaN')", "create_credential('acme', expires => '-1 day')",
    ])
    func `An argument without effect, or with an effect other than stated, is refused`(call: String) async throws {
        let fixture = try await QueueFixture()
        let error = await #expect(throws: PostgresError.self) { try await fixture.admin.query("SELECT insp.\(call)") }
        #expect(error?.sqlState == ErrorCode.parameterInvalid.sqlState)
    }
}

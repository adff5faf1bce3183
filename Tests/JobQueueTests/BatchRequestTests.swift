import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// A batch is no other way in: what `insp.enqueue_many` takes, it takes as `insp.enqueue` takes each request alone.
@Suite struct BatchRequestTests {
    private static let digest = QueueFixture.digest
    private static let part = #"{"url":"https://img.example.com/a","sha256":"\#(digest)"}"#

    @Test func `A missing part is noticed behind a valid request, too`() async throws {
        let fixture = try await QueueFixture()
        let good = QueueFixture.byURL
        let bad: [(String, ErrorCode)] = [
            (#"{"workflow":"id","parts":{"FRONT":\#(Self.part)}}"#, .payloadInvalid),
            (#"{"partner":null,"workflow":"id","parts":{"FRONT":\#(Self.part)}}"#, .payloadInvalid),
            (#"{"partner":"acme","parts":{"FRONT":\#(Self.part)}}"#, .payloadInvalid),
            (#"{"partner":"acme","workflow":"id"}"#, .partMissing),
            ("null", .payloadInvalid), ("7", .payloadInvalid), (#""acme""#, .payloadInvalid), ("[]", .payloadInvalid),
        ]
        for (payload, code) in bad {
            for batch in [[payload], [good, payload], [good, payload, good]] {
                let error = await #expect(throws: InspectError.self, "\(payload)") {
                    try await fixture.enqueue(many: batch.map { Data($0.utf8) })
                }
                #expect(error?.code == code, "\(batch.count) with \(payload): \(error?.description ?? "accepted")")
            }
        }
        #expect(try await fixture.count("insp.job") == 0)
    }

    @Test func `A refusal says which payload of a batch it is about, but not for a single payload`() async throws {
        let fixture = try await QueueFixture()
        let good = QueueFixture.byURL
        let far = String(good.dropLast()) + #","expiresAt":"2199-01-01T00:00:00Z"}"#
        let keyed = String(good.dropLast()) + #","idempotencyKey":"k"}"#
        _ = try await fixture.enqueue(many: [Data(keyed.utf8)])
        let other = keyed.replacing("img.example.com", with: "img.example.org")
        let refusals: [(batch: [String], code: ErrorCode, detail: String?)] = [
            (
                [good, #"{"partner":"acme"}"#, good], .payloadInvalid,
                "payload 2 of 3: workflow is missing"
            ),
            ([good, good, "null"], .payloadInvalid, "payload 3 of 3: not an object"),
            ([good, good.replacing("acme", with: "nobody")], .partnerUnknown, "payload 2 of 2: 'nobody'"),
            ([far], .payloadInvalid, "expiresAt is too late"),
            ([good, far], .payloadInvalid, "payload 2 of 2: expiresAt is too late"),
            ([good, other], .idempotencyConflict, "payload 2 of 2"), ([other], .idempotencyConflict, nil),
        ]
        for (batch, code, detail) in refusals {
            let error = await #expect(throws: PostgresError.self) {
                try await fixture.admin.query("SELECT insp.enqueue_many($1::jsonb[])", [.textArray(batch)])
            }
            #expect(error?.sqlState == code.sqlState && error?.detail == detail, "\(error?.detail ?? "none")")
            #expect(error?.message == "\(code.rawValue): \(code.row.message)")
            if detail?.hasSuffix("too late") == true { #expect(error?.hint?.contains("366 days") == true) }
        }
    }

    /// Takes a batch, undoes it, takes its requests one after the other, undoes that, and compares the two.
    private static let judge = """
        CREATE FUNCTION pg_temp.stored(ids uuid[]) RETURNS jsonb LANGUAGE sql AS $$
            SELECT jsonb_agg(jsonb_build_object(
                'first', array_position(ids, x.id), 'job', to_jsonb(j) - ARRAY['id', 'public_id', 'person_id'],
                'person', (SELECT p.reference_index FROM insp.person p WHERE p.id = j.person_id),
                'references', (SELECT jsonb_agg(to_jsonb(r) - 'job_id' ORDER BY r.kind) FROM insp.job_reference r WHERE r.job_id = j.id),
                'parts', (SELECT jsonb_agg(to_jsonb(p) - 'job_id' ORDER BY p.kind, p.ordinal) FROM insp.part p WHERE p.job_id = j.id),
                'waits', (SELECT jsonb_build_array(q.region, q.lane, q.partner_id,
                        (SELECT count(*) FROM insp.ready o JOIN insp.job oj ON oj.id = o.job_id
                         WHERE o.queue = r.queue AND o.seq <= r.seq AND oj.public_id = ANY (ids)))
                    FROM insp.ready r JOIN insp.queue q ON q.id = r.queue WHERE r.job_id = j.id),
                'delayed', (SELECT jsonb_build_array(q.region, q.lane, q.partner_id, d.run_at)
                    FROM insp.delayed d JOIN insp.queue q ON q.id = d.queue WHERE d.job_id = j.id),
                'expires', (SELECT e.expires_at FROM insp.expiry e WHERE e.job_id = j.id),
                'key', (SELECT to_jsonb(k) - ARRAY['job_id', 'public_id'] FROM insp.job_key k WHERE k.job_id = j.id)) ORDER BY x.n)
            FROM unnest(ids) WITH ORDINALITY x (id, n) LEFT JOIN insp.job j ON j.public_id = x.id
        $$;
        CREATE FUNCTION pg_temp.judge(batch jsonb[]) RETURNS text LANGUAGE plpgsql SET jit = off AS $$
        DECLARE
            together jsonb;
            alone jsonb;
            said text;
            refused text[] := '{}';
            ids uuid[] := '{}';
            request jsonb;
        BEGIN
            BEGIN
                together := pg_temp.stored(ARRAY(SELECT insp.enqueue_many(batch)));
                RAISE EXCEPTION 'undone' USING ERRCODE = 'UNDON';
            EXCEPTION WHEN SQLSTATE 'UNDON' THEN NULL;
            WHEN OTHERS THEN
                said := SQLSTATE;
            END;
            BEGIN
                FOREACH request IN ARRAY batch LOOP
                    BEGIN
                        ids := ids || insp.enqueue(request);
                    EXCEPTION WHEN OTHERS THEN
                        refused := refused || SQLSTATE::text;
                    END;
                END LOOP;
                IF refused = '{}' THEN
                    alone := pg_temp.stored(ids);
                END IF;
                RAISE EXCEPTION 'undone' USING ERRCODE = 'UNDON';
            EXCEPTION WHEN SQLSTATE 'UNDON' THEN NULL;
            END;
            RETURN CASE
                WHEN said !~ '^IN' OR array_to_string(refused, ' ') ~ '(^| )(?!IN)' AND refused <> '{}'
                    THEN format('not refused by a rule: %s, %s', said, refused)
                WHEN refused = '{}' AND together = alone THEN 'accepted'
                WHEN refused <> '{}' AND said = ANY (refused) THEN 'refused'
                ELSE format('together %s %s, alone %s %s', said, together, refused, alone) END;
        END
        $$
        """

    /// Odd, and each a string of JSON. U+0000 and half surrogates are none that `jsonb` holds.
    private static let strings = [
        #""ref""#, #""""#, #""é""#, #""👩‍👩‍👧‍👦""#, #""\u202e\u0001\u2028""#, #""a\\\"b\n""#,
        #""\u202e\u2028""#, #""a\\\"b""#, #""ﷺ\u0301""#, #""null""#,
        #""\ud83d\ude00""#, "\"\(String(repeating: "x", count: 100))\"", "\"\(String(repeating: "é", count: 101))\"",
        "\"\(String(repeating: "long ", count: 1_700))\"", "\"\(String(repeating: "y", count: 17_000))\"",
    ]
    private static let junk = [
        "null", "7", "-1e3", "true", "[]", "{}", #"[null,{"a":[{}]}]"#, #"{"url":{"url":[]}}"#, "1e400", #""x""#,
    ]
    /// A date that a job may have as its deadline.
    private static let soon = (Date() + 300 * 86_400).formatted(Date.ISO8601FormatStyle().year().month().day())
    /// What a member may say; the first is the usual, `nil` leaves it out.
    private static let members: [(key: String, values: [String?])] = [
        ("partner", [#""acme""#, #""acme""#, #""club""#, #""strict""#, #""closed""#, #""nobody""#, nil]),
        ("workflow", [#""id""#, #""id_identity""#, #""similarity""#, #""liveness""#, "2", #""3""#, #""none""#, nil]),
        ("customerInternalReference", [nil] + strings), ("userReference", [nil] + strings),
        ("reportingCriteria", [nil, #""r""#]),
        ("idempotencyKey", [nil, #""k1""#, #""k2""#, #""k1""#, #""""#]),
        ("lane", [nil, #""bulk""#, #""fast""#]), ("region", [nil, #""EU""#, #""XX""#]),
        ("review", [nil, #""never""#, #""always""#, #""sometimes""#]),
        ("delaySeconds", [nil, "0", "5", "-1"]), ("runAt", [nil, #""2020-01-01T00:00:00Z""#, #""soon""#]),
        ("expiresAt", [nil, #""\#(Self.soon)T00:00:00Z""#, #""2199-01-01T00:00:00Z""#, #""2020-01-01T00:00:00Z""#]),
        ("callbackUrl", [nil, #""https://hooks.example.com/x""#, #""ftp://x""#]),
        ("traceparent", [nil, #""00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01""#, #""00""#]),
        ("consent", [nil, #"{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}"#, "{}"]),
        ("documentFormat", [nil, #""TD3""#]), ("countries", [nil, #"["DEU"]"#, #"["XXX"]"#]),
        ("threshold", [nil, "0.9", "2"]), ("strange", [nil, "1"]),
    ]

    private static func request(_ random: inout SplitMix64) -> String {
        func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
        if chance(60) { return Self.junk.randomElement(using: &random)! }
        var members = Self.members.compactMap { key, values -> String? in
            var value = chance(14) ? values.randomElement(using: &random)! : values[0]
            if chance(150) { value = Self.junk.randomElement(using: &random) }
            return value.map { #""\#(key)":\#($0)"# }
        }
        var parts: [String] = []
        for (kind, one) in [("FRONT", 1), ("FACE", 3), ("BACK", 6), ("FRAMES", 20), ("SOD", 20), ("front", 80)]
        where chance(one) && !chance(40) {
            let url = chance(40) ? #""http://127.0.0.1/""# : #""https://img.example.com/\#(kind)""#
            let digest = chance(40) ? #""0a""# : #""\#(Self.digest)""#
            let part = #"{"url":\#(url),"sha256":\#(digest)}"#
            parts.append(
                #""\#(kind)":"#
                    + (kind == "FRAMES" && !chance(3)
                        ? "[\(part),\(part)]" : chance(60) ? Self.junk.randomElement(using: &random)! : part))
        }
        if !chance(40) { members.append(#""parts":{\#(parts.joined(separator: ","))}"#) }
        return "{\(members.shuffled(using: &random).joined(separator: ","))}"
    }

    /// `INSPECTD_FUZZ_BATCHES=100000 swift test --filter BatchRequestTests` is the long form, some twenty minutes.
    @Test(.timeLimit(.minutes(60)))
    func `A batch is accepted exactly if each request is, and stored the same`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            SELECT insp.create_partner('club', 'https://hooks.example.com/c'), insp.create_partner('strict'),
                insp.create_partner('closed');
            SELECT insp.set_partner('club', lane => 'bulk', region => 'EU');
            SELECT insp.set_partner('strict', review => 'warning', consent_required => true);
            SELECT insp.set_partner('closed', enabled => false)
            """)
        try await fixture.admin.execute(Self.judge)
        let batches = ProcessInfo.processInfo.environment["INSPECTD_FUZZ_BATCHES"].flatMap { Int($0) } ?? 1_000
        var random = SplitMix64(seed: 20_261_123)
        var outcomes: [String: Int] = [:]
        for number in 0..<batches {
            // What was undone is still there to wade through.
            if number % 100 == 99 {
                try await fixture.admin.execute(
                    "VACUUM insp.job, insp.job_key, insp.ready, insp.delayed, insp.expiry, insp.queue")
            }
            let batch = (0..<Int.random(in: 1...5, using: &random)).map { _ in Self.request(&random) }
            let outcome = try await fixture.admin.query("SELECT pg_temp.judge($1)", [.jsonbs(batch)])[0].string(0)
            outcomes[outcome, default: 0] += 1
            if outcome != "accepted" && outcome != "refused" {
                Issue.record("\(outcome.prefix(2000)): [\(batch.joined(separator: ",\n").prefix(4000))]")
                if outcomes.count > 8 { break }
            }
        }
        // Both ends are met, or nothing was compared.
        #expect(outcomes["accepted", default: 0] > batches / 10 && outcomes["refused", default: 0] > batches / 10)
        #expect(try await fixture.count("insp.job") == 0)
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// `insp.plain_requests` is a short cut past `insp.check_request`: it may know less, never more.
@Suite struct PlainRequestTests {
    /// Values for each key; `nil` leaves it out.
    private static let values: [(key: String, values: [String?])] = [
        ("partner", [#""acme""#, "7", nil]),
        ("workflow", [#""id""#, #""id_identity""#, #""similarity""#, #""liveness""#, "2", #""none""#, nil]),
        (
            "customerInternalReference",
            [
                nil, #""ref""#, #""""#, "1", "\"\(String(repeating: "x", count: 101))\"", "null", #""a\tb""#,
                #""a\"\\ b""#,
            ]
        ),
        (
            "userReference",
            [
                nil, #""user""#, #""""#, "{}", "\"\(String(repeating: "é", count: 100))\"", "null", #""\u007f""#,
                #""\u0001""#,
            ]
        ),
        ("idempotencyKey", [nil, #""key""#, #""""#, "1"]),
        ("lane", [nil, #""bulk""#, #""fast""#]),
        ("strange", [nil, "1"]),
    ]
    private static let parts: [(key: String, isUsual: Bool)] = [
        ("FRONT", true), ("FACE", true), ("BACK", false), ("FRAMES", false), ("DG1", false), ("front", false),
    ]
    private static let digests = [
        String(repeating: "0", count: 64), String(repeating: "aB", count: 32), String(repeating: "0", count: 63),
        String(repeating: "g", count: 64), "",
    ]
    private static let urls = [
        "https://images.example.com/a.jpg", "https://images.example.com", "http://images.example.com/a.jpg",
        "https://127.0.0.1/a", "https://localhost/a", "https://a.internal/x", "https://user@images.example.com/",
        "https://images.example.com/a#b", "https://images.example.com:8443/a", "ftp://images.example.com/",
        #"https://images.example.com/a\\b"#, #"https://images.example.com/a\nhttps://images.example.com/b"#,
        "https://images.local/", "https://images.lan", "https://a.example.com/x.local/y",
        "https://images.example.com/ä", "https://-x.example.com/",
    ]

    private static func payload(_ random: inout SplitMix64) -> String {
        // Mostly the usual, so that what is wrong is mostly one thing.
        var members = Self.values.compactMap { key, values in
            let value = Int.random(in: 0..<8, using: &random) > 0 ? values[0] : values.randomElement(using: &random)!
            return value.map { #""\#(key)":\#($0)"# }
        }
        var parts: [String] = []
        for (key, isUsual) in Self.parts where Int.random(in: 0..<10, using: &random) < (isUsual ? 9 : 1) {
            let url =
                Int.random(in: 0..<8, using: &random) > 0 ? Self.urls[0] : Self.urls.randomElement(using: &random)!
            let digest =
                Int.random(in: 0..<8, using: &random) > 0
                ? Self.digests[0] : Self.digests.randomElement(using: &random)!
            let part = #"{"url":"\#(url)","sha256":"\#(digest)"}"#
            let forms = [
                part, part, part, part, part, part, part, part, "[\(part)]", "1", "null", #"{"url":"\#(url)"}"#,
            ]
            parts.append(#""\#(key)":\#(forms.randomElement(using: &random)!)"#)
        }
        if Int.random(in: 0..<10, using: &random) > 0 { members.append(#""parts":{\#(parts.joined(separator: ","))}"#) }
        return "{\(members.joined(separator: ","))}"
    }

    @Test func `What is plainly valid is valid by every rule, with the same result`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            CREATE FUNCTION pg_temp.compare(p jsonb) RETURNS text LANGUAGE plpgsql AS $$
            DECLARE
                r insp.request;
            BEGIN
                IF (SELECT u.is_plain AND insp.are_plain_sources(u.urls, u.digests) FROM insp.plain_requests(ARRAY[p]) u) IS NOT TRUE
                    THEN RETURN 'other';
                END IF;
                r := insp.check_request(p, '{}');
                RETURN CASE WHEN r.request || coalesce(r.personal, '{}') = p - ARRAY['parts', 'idempotencyKey'] AND r.part_urls = p -> 'parts'
                    AND r.idempotency_key IS NOT DISTINCT FROM p ->> 'idempotencyKey' AND r.run_at IS NULL
                    AND NOT r.expires_named AND r.document_format IS NULL AND r.review IS NULL AND r.enrollment_mode IS NULL
                    AND r.workflow = p ->> 'workflow' AND r.traceparent IS NULL AND r.digests IS NULL
                    THEN 'same' ELSE 'another request' END;
            EXCEPTION WHEN OTHERS THEN
                RETURN SQLERRM;
            END
            $$
            """)
        var random = SplitMix64(seed: 20_261_121)
        var outcomes: [String: Int] = [:]
        for _ in 0..<40 {
            let payloads = (0..<100).map { _ in Self.payload(&random) }
            let rows = try await fixture.admin.query(
                "SELECT pg_temp.compare(p), p::text FROM unnest($1::jsonb[]) p", [.textArray(payloads)])
            for row in rows {
                let outcome = try row.string(0)
                outcomes[outcome, default: 0] += 1
                if outcome != "same" && outcome != "other" {
                    Issue.record("\(outcome): \(try row.string(1))")
                }
            }
        }
        // Both ways are taken, or nothing was compared.
        #expect(outcomes["same", default: 0] > 100)
        #expect(outcomes["other", default: 0] > 1000)
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// What a partner's policies on consent, regions and callback hosts refuse and bind, by whatever way a request comes.
@Suite struct PartnerPolicyTests {
    private static func payload(_ more: String, partner: String = "acme") -> Data {
        let part = #"{"url":"https://img.example.com/a","sha256":"\#(QueueFixture.digest)"}"#
        return Data(
            #"{"partner":"\#(partner)","workflow":"id","parts":{"FRONT":\#(part)}\#(more.isEmpty ? "" : ",")\#(more)}"#
                .utf8)
    }

    /// The code with which a request is refused, alone and in a batch; `nil`: it is accepted.
    private func refusal(_ fixture: QueueFixture, _ more: String, partner: String = "acme") async throws -> ErrorCode? {
        let payload = Self.payload(more, partner: partner)
        var codes: [ErrorCode?] = []
        for call in 0..<2 {
            do {
                _ =
                    call == 0
                    ? try await fixture.client.enqueue(payload: payload)
                    : try await fixture.enqueue(many: [payload, payload])[0]
                codes.append(nil)
            } catch let error as InspectError {
                codes.append(error.code)
            }
        }
        #expect(codes[0] == codes[1], "\(more)")
        return codes[0]
    }

    private func call(_ fixture: QueueFixture, _ call: String) async throws -> String {
        try await fixture.admin.query("SELECT insp.\(call)")[0].string(0)
    }

    private func state(_ fixture: QueueFixture, _ call: String) async -> String? {
        let error = await #expect(throws: PostgresError.self, "\(call)") {
            try await fixture.admin.query("SELECT insp.\(call)")
        }
        return error?.refusal?.code.rawValue
    }

    private static let yes = #""obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z""#

    @Test func `A consent that says no is refused whatever the policy, and so is one of tomorrow`() async throws {
        let fixture = try await QueueFixture()
        for no in [#""no""#, "false"] {
            #expect(try await self.refusal(fixture, #""consent":{"obtained":\#(no)}"#) == .consentMissing)
        }
        for wrong in [#"{"obtained":"maybe"}"#, #"{"obtained":null}"#, "5", #"{"obtainedAt":"yesterday"}"#] {
            #expect(try await self.refusal(fixture, #""consent":\#(wrong)"#) == .payloadInvalid, "\(wrong)")
        }
        let tomorrow = (Date() + 86_400).formatted(.iso8601)
        #expect(
            try await self.refusal(fixture, #""consent":{"obtained":"yes","obtainedAt":"\#(tomorrow)"}"#)
                == .payloadInvalid)
        for good in ["{}", #"{"obtained":"na"}"#, "{\(Self.yes)}", #"{"obtained":true}"#] {
            #expect(try await self.refusal(fixture, #""consent":\#(good)"#) == nil, "\(good)")
        }
        #expect(try await fixture.count("insp.job") == 12)
    }

    @Test func `A required consent names the policy's version and purposes, and the refusal says which`() async throws {
        let fixture = try await QueueFixture()
        let words = try await self.call(
            fixture, "set_consent_policy('acme', true, 'https://example.com/privacy', 'v3', '{identity,biometrics}')")
        #expect(words.contains("consent_required true") && words.contains("consent_policy_version v3"))
        for missing in [
            "", #""consent":{}"#, #""consent":{"obtained":"na","obtainedAt":"2026-01-01T00:00:00Z"}"#,
            #""consent":{"obtained":"yes"}"#, #""consent":{\#(Self.yes)}"#,
            #""consent":{\#(Self.yes),"policyVersion":"v2","purposes":["identity","biometrics"]}"#,
            #""consent":{\#(Self.yes),"policyVersion":"v3"}"#,
            #""consent":{\#(Self.yes),"policyVersion":"v3","purposes":["identity"]}"#,
            #""consent":{\#(Self.yes),"policyVersion":"v3","purposes":"identity"}"#,
        ] { #expect(try await self.refusal(fixture, missing) == .consentMissing, "\(missing)") }
        let given = #""consent":{\#(Self.yes),"policyVersion":"v3","purposes":["biometrics","identity","more"]}"#
        #expect(try await self.refusal(fixture, given) == nil)
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query(
                "SELECT insp.enqueue($1::jsonb)", [.text(String(decoding: Self.payload(""), as: UTF8.self))])
        }
        #expect(refused?.hint?.contains("policyVersion v3") == true)
        #expect(refused?.hint?.contains("https://example.com/privacy") == true)
        // Each version of the policy is kept, and the record has who set it.
        #expect(
            try await fixture.count(
                "insp.v_partner_policy WHERE version = 2 AND policy ->> 'consent_policy_version' = 'v3'") == 1)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'set_consent_policy'") == 1)
        for wrong in [
            "set_consent_policy('acme', NULL)", "set_consent_policy('acme', true, 'http://example.com/')",
            "set_consent_policy('acme', true, NULL, 'a b')",
            "set_consent_policy('acme', true, NULL, NULL, '{\"\"}')",
        ] { #expect(["PARTNER_INVALID", "PARAMETER_INVALID"].contains(await self.state(fixture, wrong))) }
    }

    @Test func `A withdrawal stops what waits and what runs, erases all, and leaves the proof with its time`()
        async throws
    {
        let fixture = try await QueueFixture()
        let consent = #"{\#(Self.yes),"policyVersion":"v3","purposes":["identity"]}"#
        let payload = Self.payload(#""userReference":"jane","consent":\#(consent)"#)
        let ids = try await fixture.enqueue(many: [payload, payload, payload])
        let other = try await fixture.enqueue(many: [Self.payload(#""userReference":"joe","consent":\#(consent)"#)])
        _ = try await self.call(fixture, "cancel('\(ids[0])')::text")
        var hand = try await Hand(fixture.admin)
        // The cancelled one's row is still there, and the first one that runs.
        _ = try await hand.claim(2, on: fixture.admin)
        #expect(try await fixture.count("insp.lease") == 2)
        let row = try await fixture.admin.query("SELECT cancelled, erased FROM insp.withdraw_person('acme', 'jane')")[0]
        #expect(try (row.int(0), row.int(1)) == (2, 3))
        #expect(
            try await fixture.count(
                "insp.job WHERE status = 128 AND personal IS NULL AND consent_proof ? 'withdrawnAt'") == 3)
        #expect(try await fixture.count("insp.job WHERE consent_proof -> 'purposes' = '[\"identity\"]'") == 3)
        #expect(try await fixture.count("insp.job WHERE status = 1 AND public_id = '\(other[0])'") == 1)
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'withdraw_person'") == 1)
        for id in ids {
            #expect(
                try await fixture.admin.query(
                    "SELECT insp.consent_holds($1, $2::text::jsonb)", [.text(id), .text(consent)])[0].bool(0))
        }
        // Again: nothing is left to stop or to erase.
        let again = try await fixture.admin.query(
            "SELECT cancelled, erased FROM insp.withdraw_person('acme', 'jane')")[0]
        #expect(try (again.int(0), again.int(1)) == (0, 0))
        #expect(try await fixture.admin.query("SELECT insp.withdraw_consent($1)", [.text(other[0])])[0].bool(0))
        #expect(try await !fixture.admin.query("SELECT insp.withdraw_consent($1)", [.text(other[0])])[0].bool(0))
        #expect(await self.state(fixture, "withdraw_consent(gen_random_uuid())") == "JOB_UNKNOWN")
    }

    @Test func `A job leaves its partner's region only where that is allowed`() async throws {
        let fixture = try await QueueFixture()
        #expect(try await self.refusal(fixture, #""region":"US""#) == nil)
        #expect(try await self.call(fixture, "set_region_policy('acme', 'EU')") == "partner acme: region EU")
        #expect(try await self.refusal(fixture, #""region":"US""#) == .regionRefused)
        #expect(try await self.refusal(fixture, #""region":"EU""#) == nil)
        #expect(try await self.refusal(fixture, "") == nil)
        _ = try await self.call(fixture, "set_region_policy('acme', 'EU', true)")
        #expect(try await self.refusal(fixture, #""region":"US""#) == nil)
        #expect(try await fixture.count("insp.job WHERE region = 2") == 6)
        #expect(await self.state(fixture, "set_region_policy('acme', 'MOON')") == "REGION_INVALID")
    }

    @Test func `A deployment that names regions has no job and no worker without one`() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.enqueue(1)[0]
        _ = try await self.call(fixture, "cancel('\(old)')::text")
        #expect(
            try await self.call(fixture, "set_regions('{EU,DE-1}')")
                == "regions EU, DE-1: each job and each worker needs one; partners without one: acme")
        #expect(try await self.refusal(fixture, "") == .regionMissing)
        #expect(try await self.refusal(fixture, #""region":"US""#) == .regionInvalid)
        #expect(try await self.refusal(fixture, #""region":"DE-1""#) == nil)
        #expect(await self.state(fixture, "rerun('\(old)')") == "REGION_MISSING")
        #expect(await self.state(fixture, "set_region_policy('acme', 'any')") == "REGION_INVALID")
        #expect(await self.state(fixture, "set_partner('acme', region => 'US')") == "REGION_INVALID")
        _ = try await self.call(fixture, "set_region_policy('acme', 'DE-1')")
        #expect(try await self.refusal(fixture, "") == nil)
        #expect(await self.state(fixture, "set_regions('{EU}')") == "REGION_INVALID")
        #expect(await self.state(fixture, "set_regions('{de}')") == "REGION_INVALID")
        let rerun = try await self.call(fixture, "rerun('\(old)')::text")
        #expect(
            try await fixture.count(
                "insp.job j JOIN insp.region g ON g.id = j.region WHERE g.name = 'DE-1' AND j.public_id = '\(rerun)'")
                == 1)
        // Neither a worker nor a dispatcher without a region starts.
        let configuration = fixture.configuration()
        let worker = JobWorker(configuration, handler: ClosureHandler())
        let refused = await #expect(throws: InspectError.self) { try await worker.run() }
        #expect(refused?.code == .regionMissing)
        #expect(await self.state(fixture, "callback_claim(1, '1 minute', 1)") == "REGION_MISSING")
        _ = try await fixture.admin.query(
            "SELECT insp.worker_register(gen_random_uuid(), 'h', 1, '0', 'EU', '{0,1,2}', 1)")
        #expect(try await self.call(fixture, "set_regions('{}')").hasPrefix("no regions"))
        #expect(try await self.refusal(fixture, "") == nil)
    }

    /// Whatever a worker asks for: the queues are its own arguments.
    @Test func `No claim gives a job to a worker of another region`() async throws {
        let fixture = try await QueueFixture()
        for region in ["US", "EU", "SG"] {
            _ = try await fixture.enqueue(many: Array(repeating: Self.payload(#""region":"\#(region)""#), count: 3))
        }
        _ = try await fixture.enqueue(2)
        for (region, expected) in [("EU", [0, 0, 2, 2, 2]), ("US", [1, 1, 1]), (nil, [])] {
            let rows = try await fixture.admin.query(
                """
                WITH r AS MATERIALIZED (
                    SELECT w.worker_id, i FROM (SELECT gen_random_uuid() AS i) u,
                        LATERAL insp.worker_register(u.i, 'h', 1, '0', $1, '{0,1,2}', 4) w
                ), q AS MATERIALIZED (SELECT array_agg(x.id) AS ids FROM insp.queue x)
                SELECT j.region::bigint FROM r, q, LATERAL insp.claim(r.worker_id, r.i, '330 s', 50, q.ids,
                    array_fill(0::bigint, ARRAY[cardinality(q.ids)]), array_fill(50, ARRAY[cardinality(q.ids)]), 0, 0, 0, false) c
                JOIN insp.job j ON j.id = c.job_id ORDER BY 1
                """, [.optional(region)])
            #expect(try rows.map { Int(try $0.int(0)) } == expected, "\(region ?? "none")")
        }
        #expect(try await fixture.count("insp.ready") == 3)
    }

    /// In order or not, on the first try or a later one.
    @Test func `No claim gives a callback to a dispatcher of another region`() async throws {
        let fixture = try await QueueFixture()
        for ordering in ["null", #""job""#] {
            _ = try await fixture.admin.query(
                "SELECT insp.set_endpoint(1, '{\"ordering\":\(ordering),\"maxInflight\":100}')")
            for region in ["US", "EU"] {
                for id in try await fixture.enqueue(
                    many: Array(repeating: Self.payload(#""region":"\#(region)""#), count: 2))
                { _ = try await self.call(fixture, "cancel('\(id)')::text") }
            }
            func claimed(_ region: String?) async throws -> Int {
                Int(
                    try await fixture.admin.query(
                        """
                        SELECT count(c.id) FROM insp.callback_claim(100, interval '1 minute', 100, p_region => $1) c
                        WHERE c.id IS NOT NULL
                        """, [.optional(region)])[0].int(0))
            }
            /// As a time-out or a crash leaves them.
            func release() async throws {
                try await fixture.admin.execute(
                    "UPDATE insp.callback_lease SET lease_until = now() - interval '1 second'")
            }
            #expect(try await claimed(nil) == 0)
            #expect(try await claimed("SG") == 0)
            #expect(try await claimed("EU") == 2)
            try await release()
            #expect(try await claimed("SG") == 0)
            #expect(try await fixture.count("insp.callback_waiting WHERE region = 2") == 2)
            // As retries.
            _ = try await fixture.admin.query("UPDATE insp.callback_waiting SET attempts = 1")
            #expect(try await claimed(nil) == 0)
            #expect(try await claimed("US") == 2)
            #expect(try await claimed("EU") == 2)
            try await fixture.admin.execute("TRUNCATE insp.callback_lease; TRUNCATE insp.callback_waiting")
            // A replay binds as before.
            _ = try await self.call(
                fixture, "callback_replay(1, now() - interval '1 hour', now(), true, 1000000)::text")
            #expect(try await fixture.count("insp.callback_waiting WHERE region IN (1, 2)") >= 4)
            #expect(try await claimed("SG") == 0)
            try await fixture.admin.execute("TRUNCATE insp.callback_waiting; TRUNCATE insp.callback")
        }
    }

    @Test func `A job's callback goes to a registered host alone`() async throws {
        let fixture = try await QueueFixture()
        _ = try await self.call(fixture, "set_callback_policy('acme', '{hooks.example.com,*.Shop.example}')")
        for (url, isAccepted) in [
            ("https://hooks.example.com/y", true), ("https://HOOKS.example.com/y", true),
            ("https://a.shop.example/y?z=1", true), ("https://a.b.shop.example", true),
            ("https://shop.example/y", false), ("https://evil-shop.example/", false),
            ("https://hooks.example.com.evil.example/", false), ("https://evil.example/hooks.example.com", false),
        ] {
            #expect(
                try await self.refusal(fixture, #""callbackUrl":"\#(url)""#)
                    == (isAccepted ? nil : .callbackURLInvalid), "\(url)")
        }
        // The endpoint's own URL is the operator's.
        #expect(try await self.refusal(fixture, "") == nil)
        for wrong in ["{https://a.example}", "{*.com}", "{}", "{a.example:443}", "{\"\"}"] {
            #expect(await self.state(fixture, "set_callback_policy('acme', '\(wrong)')") == "PARTNER_INVALID")
        }
        _ = try await self.call(fixture, "set_callback_policy('acme', NULL)")
        #expect(try await self.refusal(fixture, #""callbackUrl":"https://evil.example/x""#) == nil)
    }

    @Test func `A job is decided by the policy that held when it was accepted, and a rerun by today's`() async throws {
        let fixture = try await QueueFixture()
        func stamp(_ id: String) async throws -> String {
            let sql = "SELECT coalesce(request -> 'decisionPolicy', 'null')::text FROM insp.job WHERE public_id = $1"
            return try await fixture.admin.query(sql, [.text(id)])[0].string(0)
        }
        // By the usual way, the fast one and the one for many.
        let before = try await fixture.enqueue(1)[0]
        let policy = #"{"minimumAge":18,"expiryGraceDays":30,"reviewLabels":["GLARE"]}"#
        #expect(try await self.call(fixture, "set_decision_policy('acme', '\(policy)')::text") == "1")
        #expect(try await self.call(fixture, "set_decision_policy('acme', '\(policy)')::text") == "1")
        let during =
            [try await fixture.client.enqueue(payload: Self.payload(""))]
            + (try await fixture.enqueue(many: [Self.payload(""), Self.payload(#""reportingCriteria":"x""#)]))
        #expect(try await self.call(fixture, "set_decision_policy('acme', '{}')::text") == "2")
        #expect(try await stamp(before) == "null")
        for id in during {
            #expect(
                try await stamp(id)
                    == #"{"version": 1, "minimumAge": 18, "reviewLabels": ["GLARE"], "expiryGraceDays": 30}"#)
        }
        _ = try await self.call(fixture, "cancel('\(during[0])')::text")
        #expect(try await stamp(self.call(fixture, "rerun('\(during[0])')::text")) == #"{"version": 2}"#)
        let versions = try await fixture.admin.query(
            """
            SELECT version::text || ' ' || policy || ' ' || (valid_until IS NULL) FROM insp.v_decision_policy ORDER BY version
            """)
        #expect(
            try versions.map { try $0.string(0) } == [
                #"1 {"minimumAge": 18, "reviewLabels": ["GLARE"], "expiryGraceDays": 30} false"#, "2 {} true",
            ])
        #expect(try await fixture.count("insp.v_operator_events WHERE action = 'set_decision_policy'") == 2)
        for wrong in [
            "5", "null", #"{"x":1}"#, #"{"minimumAge":0}"#, #"{"minimumAge":"18"}"#, #"{"expiryGraceDays":1.5}"#,
            #"{"reviewLabels":["NOPE"]}"#, #"{"livenessAssurance":"none"}"#, #"{"rejectExpired":null}"#,
            #"{"reviewRisk":101}"#,
        ] {
            let call = "set_decision_policy('acme', '\(wrong)')"
            #expect(await self.state(fixture, call) == "PARTNER_INVALID", "\(wrong)")
        }
        // No client can send one.
        #expect(try await self.refusal(fixture, #""decisionPolicy":{"version":9}"#) == .payloadInvalid)
    }

    @Test func `A result that its policy has reviewed waits for the review`() async throws {
        let fixture = try await QueueFixture()
        let ids = try await fixture.enqueue(2)
        let summary = Data(#"{"decision":{"type":"PASSED","details":{"label":"PASSED"},"risk":{"score":0}}}"#.utf8)
        var configuration = fixture.configuration(slots: 1)
        configuration.drains = true
        struct Handler: JobHandler {
            let first: String
            let summary: Data
            func run(_ context: JobContext) async throws -> JobResult {
                JobResult(
                    decision: .passed, summary: self.summary, body: Data("{}".utf8),
                    asksForReview: context.job.publicID == self.first)
            }
        }
        try await JobWorker(configuration, handler: Handler(first: ids[0], summary: summary)).run()
        #expect(try await fixture.count("insp.job WHERE public_id = '\(ids[0])' AND status = 64") == 1)
        #expect(try await fixture.count("insp.job WHERE public_id = '\(ids[1])' AND status = 128") == 1)
    }

    @Test func `What needs an approval needs it by set_partner as well`() async throws {
        let fixture = try await QueueFixture()
        for action in [
            "set_consent_policy", "set_region_policy", "set_callback_policy", "set_decision_policy", "set_regions",
            "set_vendor", "set_capture_policy",
        ] {
            _ = try await self.call(fixture, "set_approval('\(action)', true)")
        }
        for call in [
            "set_consent_policy('acme', true)", "set_partner('acme', consent_required => true)",
            "set_region_policy('acme', 'EU')", "set_partner('acme', region => 'EU')",
            "set_callback_policy('acme', NULL)", "set_decision_policy('acme', '{}')", "set_regions('{EU}')",
            "set_vendor('acme', NULL)", "set_capture_policy('acme', NULL)",
        ] { #expect(await self.state(fixture, call) == "APPROVAL_NEEDED", "\(call)") }
        #expect(try await self.call(fixture, "set_partner('acme', lane => 'bulk')") == "partner acme: lane bulk")
    }

    @Test func `A partner's vendor is a server with pins and the name of a key, and goes with the partner`()
        async throws
    {
        let fixture = try await QueueFixture()
        let pin = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
        let vendor = #"{"url":"https://vendor.example.com/v","pins":["\#(pin)"],"keyName":"ACME"}"#
        let set = try await self.call(fixture, "set_vendor('acme', '\(vendor)')")
        #expect(set.hasPrefix("partner acme: vendor ") && set.contains("https://vendor.example.com/v"))
        #expect(try await self.call(fixture, "set_vendor('acme', '\(vendor)')") == "partner acme: nothing changed")
        #expect(try await fixture.count("insp.v_partner WHERE vendor ->> 'keyName' = 'ACME'") == 1)
        #expect(
            try await fixture.count(
                "insp.record WHERE action = 'set_vendor' AND detail #>> '{is,vendor,url}' LIKE '%vendor.example%'") == 1
        )
        let url = #""url":"https://vendor.example.com""#
        for wrong in [
            "5", "[]", "{}", #"{"url":5}"#, #"{"url":"http://vendor.example.com"}"#, #"{"url":"https://10.0.0.1"}"#,
            #"{"url":"https://vendor.example.com:8443"}"#, #"{"url":"https://user@vendor.example.com"}"#,
            #"{"url":"https://vendor.internal"}"#, "{\(url),\"key\":\"secret\"}", "{\(url),\"pins\":[]}",
            "{\(url),\"pins\":\"\(pin)\"}", "{\(url),\"pins\":[\"sha256//x\"]}",
            "{\(url),\"pins\":[\"\(pin)\",\"\(pin)\",\"\(pin)\"]}", "{\(url),\"keyName\":\"a b\"}",
            "{\(url),\"keyName\":5}", "{\(url),\"allowPrivate\":\"yes\"}", "{\(url),\"allowedNetworks\":[]}",
            "{\(url),\"allowedNetworks\":[\"10.0.0.1/8\"]}", "{\(url),\"allowedNetworks\":[5]}",
        ] { #expect(await self.state(fixture, "set_vendor('acme', '\(wrong)')") == "PARTNER_INVALID", "\(wrong)") }
        let inside = #"{"url":"https://10.0.0.1:8443","allowPrivate":true,"allowedNetworks":["10.0.0.0/8"]}"#
        _ = try await self.call(fixture, "set_vendor('acme', '\(inside)')")
        _ = try await self.call(fixture, "set_vendor('acme', NULL)")
        #expect(try await fixture.count("insp.partner WHERE vendor IS NOT NULL") == 0)
        _ = try await self.call(fixture, "set_vendor('acme', '\(vendor)')")
        _ = try await self.call(fixture, "erase_partner('acme')")
        #expect(try await fixture.count("insp.partner WHERE vendor IS NOT NULL") == 0)
    }
}

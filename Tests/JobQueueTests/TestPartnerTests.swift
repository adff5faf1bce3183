import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// The partner of a partner's tests (NAME.test).
@Suite struct TestPartnerTests {
    /// The code with which a test's request is refused; `nil`: it is accepted.
    private static func refusal(_ fixture: QueueFixture, _ more: String) async throws -> ErrorCode? {
        let part = #"{"url":"https://img.example.com/a","sha256":"\#(QueueFixture.digest)"}"#
        let payload = #"{"partner":"acme.test","workflow":"id","parts":{"FRONT":\#(part)},\#(more)}"#
        do {
            _ = try await fixture.client.enqueue(payload: Data(payload.utf8))
            return nil
        } catch let error as InspectError {
            return error.code
        }
    }

    @Test func `The tests of a partner have its policies, whenever they change, and none of their own`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query(
            "SELECT insp.set_consent_policy('acme', true, 'https://acme.example.com/p', 'v1', '{kyc}')")
        _ = try await fixture.admin.query("SELECT insp.create_test_credential('acme')")
        let differ = """
            SELECT count(*) FROM insp.partner p JOIN insp.partner t ON t.test_of = p.id,
                jsonb_each(insp.policy_columns(p) - ARRAY['enabled', 'test_of']) c
            WHERE c.value IS DISTINCT FROM insp.policy_columns(t) -> c.key
            """
        #expect(try await fixture.admin.query(differ)[0].int(0) == 0)
        for change in [
            "set_decision_policy('acme', '{\"minimumAge\": 18}')", "set_region_policy('acme', 'EU', true)",
            "set_callback_policy('acme', '{hooks.acme.example.com}')", "set_liveness_policy('acme', true)",
            "set_retention('acme', keep_parts => '2 days', keep_references => '3 days')",
            "set_partner('acme', lane => 'bulk', review => 'warning', callback_required => true, job_lifetime => '1 day')",
            "set_consent_policy('acme', true, 'https://acme.example.com/p', 'v2', '{kyc,fraud}')",
        ] {
            _ = try await fixture.admin.query("SELECT insp.\(change)")
            #expect(try await fixture.admin.query(differ)[0].int(0) == 0, "\(change)")
        }
        let consent =
            #""consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z","policyVersion":"v2","purposes":["kyc","fraud"]}"#
        let old = consent.replacing("v2", with: "v1")
        #expect(try await Self.refusal(fixture, old) == .consentMissing)
        #expect(try await Self.refusal(fixture, consent) == nil)
        let elsewhere = #"\#(consent),"callbackUrl":"https://other.example.com/x""#
        #expect(try await Self.refusal(fixture, elsewhere) == .callbackURLInvalid)
        let error = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.set_liveness_policy('acme.test', false)")
        }
        #expect(error?.refusal?.code == .partnerInvalid)
        // What is a matter of now, and no policy, is its own.
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme.test', enabled => false)")
        #expect(try await fixture.count("insp.partner WHERE name = 'acme' AND enabled") == 1)
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme', review => 'never')")
        #expect(
            try await fixture.count("insp.partner WHERE name = 'acme.test' AND NOT enabled AND review = 'never'") == 1)
    }

    @Test func `The events of a test are pulled from the start, and say that it is one`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_test_credential('acme')")
        for partner in ["acme", "acme.test"] {
            _ = try await fixture.admin.query("SELECT insp.create_endpoint($1, 'pull:')", [.text(partner)])
        }
        _ = try await fixture.admin.query(
            """
            UPDATE insp.endpoint e SET alert_endpoint_id = a.id FROM insp.endpoint a
            WHERE a.partner_id = e.partner_id AND e.is_default AND NOT a.is_default
            """)
        _ = try await fixture.admin.query(
            "SELECT insp.endpoint_event_note(e.id, 'failing', '{}') FROM insp.endpoint e WHERE e.is_default")
        let bodies = try await fixture.admin.query(
            """
            SELECT p.name, (convert_from(c.body, 'UTF8')::jsonb -> 'test')::text FROM insp.callback c
            JOIN insp.endpoint e ON e.id = c.endpoint_id JOIN insp.partner p ON p.id = e.partner_id
            WHERE c.event = 'endpoint.failing'
            """)
        #expect(try Set(bodies.map { try $0.string(0) }) == ["acme", "acme.test"])
        for body in bodies {
            #expect(try body.optionalString(1) == (try body.string(0) == "acme.test" ? "true" : nil))
        }
        #expect(
            try await fixture.count(
                "insp.endpoint e JOIN insp.partner p ON p.id = e.partner_id WHERE p.name = 'acme.test' AND e.is_default AND e.url = 'pull:'"
            ) == 1)
    }
}

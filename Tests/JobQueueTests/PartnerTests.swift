import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// What operators set of a partner, and the record of it.
@Suite struct PartnerTests {
    private func refusal(_ fixture: QueueFixture, _ call: String) async -> PostgresError? {
        do {
            _ = try await fixture.admin.query("SELECT insp.\(call)")
            return nil
        } catch {
            return error as? PostgresError
        }
    }

    /// The newest operator event as JSON, its time left out.
    private func event(_ fixture: QueueFixture) async throws -> String {
        try await fixture.admin.query(
            "SELECT concat_ws(' ', o.who, o.action, o.subject, o.detail) FROM insp.v_operator_events o LIMIT 1")[0]
            .string(0)
    }

    @Test func `What is set holds for new jobs, what is not given stays, and each change is recorded`() async throws {
        let fixture = try await QueueFixture()
        func set(_ arguments: String) async throws -> String {
            try await fixture.admin.query("SELECT insp.set_partner('acme', \(arguments))")[0].string(0)
        }
        #expect(
            try await set("region => 'EU', lane => 'bulk', job_lifetime => '2 days'")
                == "partner acme: job_lifetime 2 days, lane bulk, region EU")
        #expect(
            try await self.event(fixture)
                == #"inspectd set_partner partner acme {"is": {"lane": "bulk", "region": "EU", "job_lifetime": "2 days"}, "#
                + #""was": {"lane": "normal", "region": "any", "job_lifetime": "7 days"}}"#)
        let id = try await fixture.enqueue(1)[0]
        #expect(
            try await fixture.count(
                """
                insp.job WHERE public_id = '\(id)' AND lane = 2 AND region = 2
                    AND expires_at - created_at BETWEEN '47 hours' AND '49 hours'
                """) == 1)

        #expect(
            try await set("review => 'always', consent_required => true")
                == "partner acme: consent_required true, review always")
        #expect(
            try await fixture.count(
                "insp.v_partner WHERE lane = 'bulk' AND region = 'EU' AND review = 'always' AND consent_required AND NOT callback_required AND job_lifetime = '2 days'"
            ) == 1)
        await #expect(throws: InspectError.self) { try await fixture.enqueue(1) }
        #expect(
            try await set("consent_required => false, region => 'any'")
                == "partner acme: consent_required false, region any")
        _ = try await fixture.enqueue(1)
        #expect(try await fixture.count("insp.job WHERE region = 0 AND lane = 2") == 1)

        #expect(
            try await set("enabled => false, callback_required => true")
                == "partner acme: callback_required true, enabled false")
        let refused = await #expect(throws: InspectError.self) { try await fixture.enqueue(1) }
        #expect(refused?.code == .partnerDisabled)
        #expect(try await set("enabled => false") == "partner acme: nothing changed")
        #expect(try await set("enabled => true") == "partner acme: enabled true")
        #expect(
            try await self.event(fixture)
                == #"inspectd set_partner partner acme {"is": {"enabled": true}, "was": {"enabled": false}}"#)
    }

    @Test func `Every change of a partner records the old and the new values`() async throws {
        let fixture = try await QueueFixture()
        #expect(
            try await self.event(fixture)
                == #"inspectd create_partner partner acme {"url": "https://hooks.example.com/x", "endpoint": 1, "allowHTTP": false, "allowPrivate": false}"#
        )
        let changes: [(call: String, detail: String)] = [
            (
                "pause(partner => 'acme', reason => 'why')",
                #"{"is": {"paused": true}, "was": {"paused": false}, "reason": "why"}"#
            ),
            ("resume(partner => 'acme')", #"{"is": {"paused": false}, "was": {"paused": true}}"#),
            ("limit_partner('acme', 3)", #"{"is": {"max_running": 3}, "was": {"max_running": "none"}}"#),
            ("limit_partner('acme')", #"{"is": {"max_running": "none"}, "was": {"max_running": 3}}"#),
            ("set_quota('acme', 9)", #"{"is": {"max_waiting": 9}, "was": {"max_waiting": "none"}}"#),
            ("set_retention('acme', '7 days')", #"{"is": {"keep_parts": "7 days"}, "was": {"keep_parts": "30 days"}}"#),
            ("set_face_limits('acme', 3)", #"{"is": {"face_templates": 3}, "was": {"face_templates": 5}}"#),
            (
                "set_liveness_policy('acme', true)",
                #"{"is": {"passive_signals_suffice": true}, "was": {"passive_signals_suffice": false}}"#
            ),
        ]
        for change in changes {
            _ = try await fixture.admin.query("SELECT insp.\(change.call)")
            let action = try #require(change.call.split(separator: "(").first)
            #expect(try await self.event(fixture) == "inspectd \(action) partner acme \(change.detail)")
        }
    }

    @Test func `Invalid settings of a partner are refused with their code, and nothing is recorded`() async throws {
        let fixture = try await QueueFixture()
        let refused: [(call: String, code: ErrorCode)] = [
            ("set_partner('nobody', enabled => true)", .partnerUnknown),
            ("set_partner(NULL, enabled => true)", .partnerUnknown),
            ("set_partner('acme', region => 'XX')", .regionInvalid),
            ("set_partner('acme', lane => 'fast')", .laneUnknown),
            ("set_partner('acme', review => 'often')", .partnerInvalid),
            ("set_partner('acme', job_lifetime => '0')", .partnerInvalid),
            ("set_partner('acme', job_lifetime => '-1 day')", .partnerInvalid),
            ("set_partner('acme', job_lifetime => '2 years')", .partnerInvalid),
            ("create_partner('acme')", .partnerExists), ("create_partner('a b')", .partnerInvalid),
            ("create_partner(NULL)", .partnerInvalid),
            ("create_partner('\(String(repeating: "a", count: 65))')", .partnerInvalid),
        ]
        for (call, code) in refused {
            #expect(await self.refusal(fixture, call)?.sqlState == code.sqlState, "\(call)")
        }
        // What is allowed is in the refusal.
        #expect(
            await self.refusal(fixture, "set_partner('acme', region => 'XX')")?.hint?.contains("EU, SG, US") == true)
        #expect(try await fixture.count("insp.v_operator_events") == 1, "the partner's own creation")
        #expect(try await fixture.count("insp.v_partner WHERE lane = 'normal' AND review = 'never'") == 1)
    }

    @Test func `Limits and quotas are described in words, even if there is none`() async throws {
        let fixture = try await QueueFixture()
        let words: [(call: String, answer: String)] = [
            ("limit_partner('acme', 3)", "partner acme: at most 3 running, at any rate"),
            ("limit_partner('acme', NULL, 2)", "partner acme: any number running, 2 a second in bursts of 2"),
            ("set_quota('acme', 5)", "partner acme: at most 5 waiting, any bytes of parts"),
            ("set_quota('acme')", "partner acme: any number waiting, any bytes of parts"),
        ]
        for (call, answer) in words {
            #expect(try await fixture.admin.query("SELECT insp.\(call)")[0].string(0) == answer)
        }
    }

    @Test func `No image is judged for a disabled partner`() async throws {
        let fixture = try await QueueFixture()
        let secret = try await fixture.admin.query("SELECT secret FROM insp.create_credential('acme', '{create}')")[0]
            .string(0)
        let call = """
            SELECT count(*) FROM insp.credential c,
                LATERAL insp.gateway_usability(c.id, sha256(convert_to('\(secret)', 'UTF8'))) u
            """
        #expect(try await fixture.admin.query(call)[0].int(0) > 0)
        _ = try await fixture.admin.query("SELECT insp.set_partner('acme', enabled => false)")
        let error = await #expect(throws: PostgresError.self) { try await fixture.admin.query(call) }
        #expect(error?.refusal?.code == .partnerDisabled)
    }
}

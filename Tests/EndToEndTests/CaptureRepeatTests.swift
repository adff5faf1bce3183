import Foundation
import TestSupport
import Testing

/// A partner's server that asks for a link again, because an answer was lost.
@Suite struct CaptureRepeatTests {
    private static var request: [String: Any] {
        ["workflow": "id", "documentFormat": "TD1", "userReference": "zqmark user"]
    }

    private static func ask(
        _ gateway: Gateway, _ key: String?, _ changes: [String: Any] = [:], bearer: String? = nil
    ) async throws -> Gateway.Answer {
        try await gateway.call(
            "POST", "/capture/sessions", self.request.merging(changes) { $1 }, bearer: bearer,
            headers: key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    private static func open(_ gateway: Gateway, _ answer: Gateway.Answer) async throws -> Gateway.Answer {
        try await gateway.call(
            "POST", "\(answer.document["url"] as? String ?? "")/open",
            ["browser": String(repeating: "b", count: 43), "policyVersion": NSNull(), "text": "1 en"], bearer: "")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A link that is asked for again under its key is one link, of which the last url opens`() async throws {
        let gateway = try await Gateway.start(scopes: "{capture,read}")
        let first = try await Self.ask(gateway, "order-7")
        let again = try await Self.ask(gateway, "order-7")
        #expect(first.status == 201 && again.status == 200, "\(again.document)")
        #expect(first.document["id"] as? String == again.document["id"] as? String)
        #expect(first.document["expiresAt"] as? String == again.document["expiresAt"] as? String)
        #expect(try await Self.open(gateway, first).code == "LINK_UNKNOWN")
        let conflict = try await Self.ask(gateway, "order-7", ["documentFormat": "TD3"])
        #expect(conflict.code == "IDEMPOTENCY_CONFLICT")
        #expect(conflict.document["field"] as? String == "Idempotency-Key", "\(conflict.document)")
        #expect(try await Self.open(gateway, again).status == 200)
        // Another url would take the link from the person who has begun.
        #expect(try await Self.ask(gateway, "order-7").code == "LINK_TAKEN")
        let other = try await Self.ask(gateway, "order-8")
        let none = try await Self.ask(gateway, nil)
        #expect(other.status == 201 && none.status == 201)
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.capture_session")[0].int(0) == 3)
        // Another credential has keys of its own, and a link that has expired frees its key.
        let bearer = try await Gateway.credential(gateway.connection, "bank", "{capture}")
        #expect(try await Self.ask(gateway, "order-8", bearer: bearer).status == 201)
        _ = try await gateway.connection.query(
            "UPDATE insp.capture_session SET expires_at = now() - interval '1 minute'")
        let later = try await Self.ask(gateway, "order-7")
        #expect(later.status == 201 && later.document["id"] as? String != first.document["id"] as? String)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Calls at once under one idempotency key make one link`() async throws {
        let gateway = try await Gateway.start(scopes: "{capture,read}")
        let answers = try await withThrowingTaskGroup(of: Gateway.Answer.self) { group in
            for _ in 0..<8 { group.addTask { try await Self.ask(gateway, "order-9") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 201 } == 1 && answers.count { $0.status == 200 } == 7)
        #expect(Set(answers.compactMap { $0.document["id"] as? String }).count == 1)
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.capture_session")[0].int(0) == 1)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Where requests are sealed, an idempotency key of a link is found by a keyed digest`() async throws {
        let site = try await SealedSite()
        let gateway = try await Gateway.start(site.connection, environment: site.environment, scopes: "{capture,read}")
        let first = try await Self.ask(gateway, "zqmark-7")
        let again = try await Self.ask(gateway, "zqmark-7")
        #expect(first.status == 201 && again.status == 200, "\(again.document)")
        #expect(try await Self.ask(gateway, "zqmark-7", ["userReference": "another"]).code == "IDEMPOTENCY_CONFLICT")
        #expect(
            try await site.connection.query(
                "SELECT c.idempotency_key = sha256('zqmark-7') FROM insp.capture_session c")[0].bool(0) == false)
        #expect(try await Self.open(gateway, again).status == 200)
        #expect(try await gateway.stop() == 0)
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// Callbacks as a partner sees and repairs them, by HTTP alone.
@Suite struct GatewayCallbackTests {
    private static let scopes = "{create,read,callbacks}"
    private static var job: [String: Any] {
        ["workflow": "liveness", "encodedFaceImage": PNG.noise(width: 64, height: 64).base64EncodedString()]
    }

    private static func list(_ answer: Gateway.Answer) -> [[String: Any]] {
        answer.document["callbacks"] as? [[String: Any]] ?? []
    }

    /// The partner's only endpoint.
    private static func endpoint(_ gateway: Gateway, bearer: String? = nil) async throws -> [String: Any] {
        let answer = try await gateway.call("GET", "/endpoints", bearer: bearer)
        return try #require((answer.document["endpoints"] as? [[String: Any]])?.first, "\(answer.document)")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A callback is listed with its attempts, and sent again by its partner alone`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let worker = try gateway.service.worker(["--slots", "1"])
        let id = try #require(try await gateway.call("POST", "/inspectionjob/create", Self.job).id)
        _ = try await gateway.finished(id)
        try await waitUntil("it is delivered") {
            Self.list(try await gateway.call("GET", "/callbacks?job=\(id)")).first?["state"] as? String == "delivered"
        }
        let listed = try #require(Self.list(try await gateway.call("GET", "/callbacks?job=\(id)")).first)
        let name = try #require(listed["webhookId"] as? String)
        #expect(listed["event"] as? String == "job.finished" && listed["job"] as? String == id)
        let attempts = listed["attempts"] as? [[String: Any]] ?? []
        #expect(attempts.count == 1 && attempts[0]["status"] as? Int == 200 && attempts[0]["at"] != nil)

        let stranger = try await gateway.stranger(Self.scopes)
        #expect(try await gateway.call("GET", "/callbacks?job=\(id)", bearer: stranger).code == "JOB_UNKNOWN")
        let foreign = try await gateway.call("POST", "/callbacks/\(name)/replay", bearer: stranger)
        #expect(foreign.status == 404 && foreign.code == "CALLBACK_UNKNOWN")
        let reader = try await Gateway.credential(gateway.connection, "bank", "{read}")
        #expect(try await gateway.call("GET", "/endpoints", bearer: reader).code == "SCOPE_MISSING")

        #expect(try await gateway.call("POST", "/callbacks/\(name)/replay").status == 202)
        let twice = try await gateway.service.receiver.received(within: 60) { $0.count >= 2 }
        #expect(twice.count == 2 && twice.allSatisfy { $0.verified && $0.webhookId == name })
        #expect(Set(twice.map(\.body)).count == 1)
        #expect(try await gateway.accesses(id).contains("callback_replay"))
        #expect(try await gateway.call("POST", "/callbacks/msg_0/replay").code == "CALLBACK_UNKNOWN")
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `Dead callbacks are listed page by page, and a period of them is sent again`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        for _ in 0..<5 {
            let id = try #require(try await gateway.call("POST", "/inspectionjob/create", Self.job).id)
            _ = try await gateway.connection.query("SELECT insp.cancel($1)", [.text(id)])
        }
        // At one moment, as those of one batch are.
        _ = try await gateway.connection.query("UPDATE insp.callback_waiting SET state = 'dead', due_at = now()")
        var (names, query, pages): ([String], String, Int) = ([], "state=dead&limit=2", 0)
        while pages < 5 {
            let page = try await gateway.call("GET", "/callbacks?\(query)")
            names += Self.list(page).compactMap { $0["webhookId"] as? String }
            pages += 1
            guard let next = page.document["next"] as? String else { break }
            query = "state=dead&limit=2&after=\(next)"
        }
        #expect(names.count == 5 && Set(names).count == 5 && pages == 3)
        let endpoint = try await Self.endpoint(gateway)
        #expect((endpoint["counts"] as? [String: Int]) == ["pending": 0, "held": 0, "dead": 5])
        let path = "/endpoints/\(try #require(endpoint["id"] as? Int))"
        let none = try await gateway.call(
            "POST", "\(path)/replay", ["since": "2001-01-01T00:00:00Z", "until": "2001-01-02T00:00:00Z"])
        #expect(none.document["replayed"] as? Int == 0, "\(none.document)")
        let all = try await gateway.call("POST", "\(path)/replay", ["since": "2001-01-01T00:00:00Z"])
        #expect(all.document["replayed"] as? Int == 5, "\(all.document)")
        #expect(Self.list(try await gateway.call("GET", "/callbacks?state=pending")).count == 5)
        for query in [
            "", "?job=x", "?job=\(UUID().uuidString)", "?state=all", "?state=dead&after=x", "?state=dead&after=1_x",
            "?state=dead&job=\(UUID().uuidString)", "?state=dead&limit=0",
        ] {
            let refused = try await gateway.call("GET", "/callbacks\(query)")
            #expect([400, 404].contains(refused.status), "\(query) \(refused.document)")
        }
        for body: [String: Any] in [
            [:], ["since": "yesterday"], ["since": 1], ["since": "2001-01-01T00:00:00Z", "delivered": 1], ["all": true],
        ] {
            #expect(try await gateway.call("POST", "\(path)/replay", body).code == "PAYLOAD_INVALID", "\(body)")
        }
        #expect(try await gateway.stop() == 0)
    }

    @Test func `An endpoint is tested, paused and resumed, but not against the operator`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let worker = try gateway.service.worker(["--roles", "callback"])
        let number = try #require(try await Self.endpoint(gateway)["id"] as? Int)
        let path = "/endpoints/\(number)"
        func state() async throws -> String? { try await Self.endpoint(gateway)["state"] as? String }

        let tested = try await gateway.call("POST", "\(path)/test")
        let name = try #require(tested.document["webhookId"] as? String)
        let received = try await gateway.service.receiver.received(within: 60) { !$0.isEmpty }
        #expect(received.first?.webhookId == name && received.first?.verified == true)
        #expect(received.first?.body.contains(#""type": "endpoint.test""#) == true)

        for other in ["+\(number)", "0\(number)", "\(number).0", "-1", "0", "%20\(number)", "99999999999999999999"] {
            #expect(try await gateway.call("POST", "/endpoints/\(other)/test").code == "ENDPOINT_UNKNOWN", "\(other)")
        }

        #expect(try await gateway.call("POST", "\(path)/pause").status == 200)
        #expect(try await state() == "paused")
        #expect(try await gateway.call("POST", "\(path)/resume").status == 200)
        #expect(try await state() == "active")
        _ = try await gateway.connection.query("SELECT insp.callback_pause($1, 'zqreason')", [.int(Int64(number))])
        #expect(try await gateway.call("POST", "\(path)/pause").status == 200)
        let refused = try await gateway.call("POST", "\(path)/resume")
        #expect(refused.status == 409 && refused.code == "ENDPOINT_DISABLED")
        _ = try await gateway.connection.query("SELECT insp.callback_resume($1)", [.int(Int64(number))])
        #expect(try await state() == "active")
        _ = try await gateway.connection.query("SELECT insp.callback_disable($1)", [.int(Int64(number))])
        for action in ["pause", "resume", "test"] {
            #expect(try await gateway.call("POST", "\(path)/\(action)").code == "ENDPOINT_DISABLED", "\(action)")
        }
        let disabled = try await Self.endpoint(gateway)
        #expect(disabled["state"] as? String == "disabled" && disabled["reason"] as? String == "by the operator")

        let stranger = try await gateway.stranger(Self.scopes)
        for action in ["pause", "resume", "test", "rotate", "replay"] {
            let body: [String: Any]? = action == "replay" ? ["since": "2001-01-01T00:00:00Z"] : nil
            let foreign = try await gateway.call("POST", "\(path)/\(action)", body, bearer: stranger)
            #expect(foreign.status == 404 && foreign.code == "ENDPOINT_UNKNOWN", "\(action) \(foreign.document)")
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(arguments: [false, true])
    func `A secret is rotated with an overlap, sealed or not`(isSealed: Bool) async throws {
        let gateway: Gateway
        let worker: Program
        let receiver: CallbackReceiver
        if isSealed {
            let setting = try await KeySetting()
            let service = try await SealedService(setting)
            gateway = try await Gateway.start(service.connection, environment: setting.environment, scopes: Self.scopes)
            worker = try service.worker(["--roles", "callback"])
            receiver = service.receiver
        } else {
            gateway = try await Gateway.start(scopes: Self.scopes)
            worker = try gateway.service.worker(["--roles", "callback"])
            receiver = gateway.service.receiver
        }
        let path = "/endpoints/\(try #require(try await Self.endpoint(gateway)["id"] as? Int))"
        let rotated = try await gateway.call("POST", "\(path)/rotate", ["overlapSeconds": 600])
        let secret = try #require(rotated.document["secret"] as? String, "\(rotated.document)")
        #expect(secret.hasPrefix("whsec_") && Data(base64Encoded: String(secret.dropFirst(6)))?.count == 32)
        let stored = try await gateway.connection.query("SELECT string_agg(s::text, ' ') FROM insp.secret s")[0].string(
            0)
        #expect(!isSealed || !stored.contains(secret.utf8.hexadecimal))
        #expect(
            try await gateway.connection.query(
                "SELECT count(*) FROM insp.secrets('endpoint ' || (SELECT id FROM insp.endpoint), '{signing_secret}')")[
                    0
                ].int(0) == 2)
        // A receiver that knows only the old one still verifies what is sent.
        #expect(try await gateway.call("POST", "\(path)/test").status == 200)
        let received = try await receiver.received(within: 60) { !$0.isEmpty }
        #expect(received.first?.verified == true && received.first?.signatures == 2)
        for body: [String: Any] in [
            ["overlapSeconds": -1], ["overlapSeconds": "1"], ["overlapSeconds": 1.5], ["secret": "whsec_"],
        ] {
            #expect(try await gateway.call("POST", "\(path)/rotate", body).code == "PAYLOAD_INVALID", "\(body)")
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains(secret))
    }
}

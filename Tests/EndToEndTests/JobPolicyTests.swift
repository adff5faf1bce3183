import Foundation
import Postgres
import TestSupport
import Testing

/// A job for each policy of a partner, through the whole program.
@Suite struct JobPolicyTests {
    private func run(_ service: Service, _ arguments: [String], input: Data? = nil) async throws -> (
        status: Int32, output: String, errors: String
    ) {
        let done = try await Program.run(arguments, environment: service.environment, input: input)
        return (done.status, String(decoding: done.output, as: UTF8.self), done.errors)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A decision names the version of the policy that made it, and waits for a review where the policy says so`()
        async throws
    {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let passport = try await TestInputs.specimen("passport.jpg")
        func set(_ policy: String) async throws -> String {
            try await self.run(
                service, ["partner", "decisions", "--partner", "bank", "--policy", "-"], input: Data(policy.utf8)
            ).output.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        #expect(try await set(#"{"minimumAge":120}"#) == "version 1")
        let young = try await service.enqueue(["workflow": "id"], front: passport)
        let rejected = try await service.result(of: young)
        #expect(rejected.at("decision.type") as? String == "REJECTED" && rejected["policyVersion"] as? Int == 1)
        #expect(rejected.at("capabilities.dataChecks.0.decision.details.label") as? String == "UNDERAGE")
        let findings = rejected.at("decision.risk.findings") as? [[String: Any]] ?? []
        #expect(findings.contains { $0["name"] as? String == "dataChecks.UNDERAGE" && $0["weight"] as? Int == 50 })
        #expect((rejected.at("decision.risk.score") as? Int).map { (72...100).contains($0) } == true)

        #expect(try await set("{}") == "version 2")
        let other = try await service.result(of: service.enqueue(["workflow": "id"], front: passport))
        #expect(other["policyVersion"] as? Int == 2)
        #expect(other.at("capabilities.dataChecks.0.decision.details.label") as? String == "OK")
        // The first one keeps its own.
        #expect(try await service.result(of: young)["policyVersion"] as? Int == 1)

        #expect(try await set(#"{"minimumAge":120,"reviewLabels":["UNDERAGE"]}"#) == "version 3")
        let held = try await service.enqueue(["workflow": "id"], front: passport)
        #expect(
            try await service.waitForNone(
                "SELECT count(*) - 1 FROM insp.v_review WHERE because LIKE '%UNDERAGE%'", within: .seconds(120)))
        _ = try await service.connection.query("SELECT insp.review($1, 'PASSED')", [.text(held)])
        let reviewed = try await service.result(of: held)
        #expect(reviewed.at("decision.type") as? String == "PASSED" && reviewed["policyVersion"] as? Int == 3)
        #expect(try await set(#"{"minimumAge":0}"#) == "")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A region's job and callback wait for that region's worker, and no worker starts without one`() async throws {
        let service = try await Service.start()
        #expect(
            try await self.run(
                service, ["partner", "region", "--partner", "bank", "--region", "EU", "--may-choose"]
            ).output.contains("region EU"))
        #expect(try await self.run(service, ["partner", "regions", "EU", "US"]).status == 0)
        let bare = try await self.run(service, ["worker", "--slots", "1", "--drain"])
        #expect(bare.status == 1 && bare.errors.contains("REGION_MISSING"), "\(bare.errors)")
        let passport = try await TestInputs.specimen("passport.jpg")
        let home = try await service.enqueue(["workflow": "id"], front: passport)
        let abroad = try await service.enqueue(["workflow": "id", "region": "US"], front: passport)
        // Ended without a worker: its callback is due, and no business of the other region's dispatcher.
        let ended = try await service.enqueue(["workflow": "id"], front: passport)
        _ = try await service.connection.query("SELECT insp.cancel($1)", [.text(ended)])
        let american = try service.worker(["--slots", "1", "--region", "US"])
        defer { american.send(SIGKILL) }
        #expect(try await service.result(of: abroad).at("decision.type") != nil)
        let first = try await service.receiver.received(within: 60) { !$0.isEmpty }
        #expect(first.count == 1 && first[0].body.contains(abroad))
        #expect(
            try await service.connection.query("SELECT status::int FROM insp.job WHERE public_id = $1", [.text(home)])[
                0
            ].int(0) == 1)
        let european = try service.worker(["--slots", "1", "--region", "EU"])
        defer { european.send(SIGKILL) }
        #expect(try await service.result(of: home).at("decision.type") != nil)
        let all = try await service.receiver.received(within: 60) { $0.count >= 3 }
        for id in [home, abroad, ended] { #expect(all.count { $0.body.contains(id) } == 1) }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A callback goes to a registered host, through the proxy`() async throws {
        let service = try await Service.start()
        #expect(
            try await self.run(
                service, ["partner", "callbacks", "--partner", "bank", "--host", "127.0.0.1"]
            ).output.contains("127.0.0.1"))
        let refused = await #expect(throws: PostgresError.self) {
            try await service.enqueue(["workflow": "id", "callbackUrl": "http://127.0.0.2:9/x"], front: Data("x".utf8))
        }
        #expect(refused?.refusal?.code.rawValue == "CALLBACK_URL_INVALID")
        let own = service.receiver.url("/own")
        let id = try await service.enqueue(
            ["workflow": "id", "callbackUrl": own], front: PNG.noise(width: 64, height: 64))
        let proxy = try TunnelProxy()
        let worker = try service.worker(["--slots", "1", "--callback-proxy", proxy.url, "--drain"])
        #expect(try await worker.wait() == 0)
        let received = try await service.receiver.received(within: 60) { !$0.isEmpty }
        #expect(received.count == 1 && received[0].path == "/own" && received[0].body.contains(id))
        #expect(proxy.asked == ["127.0.0.1 CONNECT 127.0.0.1:\(service.receiver.port)"])
        for wrong in [["--callback-proxy", "proxy.example"], ["--callback-source", "localhost"]] {
            #expect(try await self.run(service, ["worker", "--drain"] + wrong).status == 2, "\(wrong)")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A consent is required, and its withdrawal stops and erases what it was for`() async throws {
        let service = try await Service.start()
        let set = try await self.run(
            service,
            [
                "partner", "consent", "--partner", "bank", "--required", "--policy-version", "v3", "--purpose",
                "identity",
            ])
        #expect(set.status == 0 && set.output.contains("consent_policy_version v3"), "\(set.errors)")
        let image = PNG.noise(width: 64, height: 64)
        let refused = await #expect(throws: PostgresError.self) {
            try await service.enqueue(["workflow": "id"], front: image)
        }
        #expect(refused?.refusal?.code.rawValue == "CONSENT_MISSING")
        let consent: [String: Any] = [
            "obtained": "yes", "obtainedAt": "2026-01-01T00:00:00Z", "policyVersion": "v3", "purposes": ["identity"],
        ]
        let id = try await service.enqueue(
            ["workflow": "id", "userReference": "jane", "consent": consent], front: image)
        // Where other users see command lines, the name can come by standard input.
        let person = ["person", "withdraw", "--partner", "bank", "--reference", "-"]
        #expect(try await self.run(service, person).status == 2)
        let done = try await self.run(service, person, input: Data("jane\n".utf8))
        let outcome = try members(Data(done.output.utf8))
        #expect(outcome["cancelled"] as? Int == 1 && outcome["jobs"] as? Int == 1, "\(outcome)")
        let result = try await service.result(of: id)
        #expect(result.at("erasedAt") != nil)
        let text = try JSONSerialization.data(withJSONObject: consent)
        let proved = try await self.run(
            service, ["person", "consent", "--partner", "bank", "--job", id, "--consent", "-"], input: text)
        #expect(proved.status == 0 && proved.output.contains("true"))
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// Every call with a credential is recorded.
@Suite struct GatewayAccessTests {
    /// Calls each operation of the description that needs a credential, and looks for its row.
    private struct Walk {
        let gateway: Gateway
        var walked: Set<String> = []

        private func rows() async throws -> Int64 {
            try await self.gateway.connection.query("SELECT count(*) FROM insp.v_access WHERE partner = 'bank'")[0]
                .int(0)
        }

        /// - Parameter operation: As the description names it.
        mutating func step(
            _ operation: String, _ method: String, _ path: String, _ body: [String: Any]? = nil
        ) async throws -> Gateway.Answer {
            let before = try await self.rows()
            var answer = try await self.gateway.call(method, path, body)
            // Until an analyzer has started.
            for _ in 0..<300 where answer.status == 503 {
                try await Task.sleep(for: .milliseconds(200))
                answer = try await self.gateway.call(method, path, body)
            }
            #expect((200..<300).contains(answer.status), "\(operation): \(answer.status) \(answer.document)")
            #expect(try await self.rows() > before, "\(operation) left no row")
            self.walked.insert(operation)
            return answer
        }
    }

    /// The operations that need a credential.
    private static func operations(_ gateway: Gateway) async throws -> Set<String> {
        let description = try await gateway.send("GET", "/openapi.json", nil, bearer: "")
        let paths = try #require(description.document["paths"] as? [String: [String: [String: Any]]])
        let all = paths.values.flatMap(\.values).filter { operation in
            (operation["security"] as? [[String: Any]] ?? []).contains { $0["token"] != nil }
        }
        return Set(all.compactMap { $0["operationId"] as? String })
    }

    @Test(.timeLimit(.minutes(5)))
    func `Each call of the description that needs a credential leaves a row in v_access`() async throws {
        let gateway = try await Gateway.start(
            ["--longest-wait", "1"],
            scopes: "{create,read,images,session,faces,persons,callbacks,events,keys,report,capture}")
        let database = gateway.connection
        var walk = Walk(gateway: gateway)

        let image = try await TestInputs.specimen("id_front.jpg").base64EncodedString()
        let face: [String: Any] = ["workflow": "liveness", "encodedFaceImage": image, "userReference": "u"]
        let id = try #require(try await walk.step("createInspectionJob", "POST", "/inspectionjob/create", face).id)
        let job = "/inspectionjob/\(id)"
        _ = try await walk.step("listInspectionJobs", "GET", "/inspectionjob?userReference=u")
        _ = try await walk.step("cancelInspectionJob", "DELETE", job)
        // Clients ask often: an answer without a result, and a page without an event, are not recorded.
        _ = try await walk.step("getInspectionJob", "GET", job)
        _ = try await walk.step("getPart", "GET", job + "/parts/FACE")
        _ = try await walk.step("getReport", "GET", job + "/report")
        _ = try await walk.step("rerunInspectionJob", "POST", job + "/rerun")
        _ = try await walk.step(
            "judgeUsability", "POST", "/usability", ["encodedFrontImage": image])
        _ = try await walk.step("issueChallenge", "POST", "/liveness/challenge", [:])
        let session = try #require(
            try await walk.step("runSession", "POST", "/facetec/session", ["sessionRequestBlob": "live.1"]).id)
        _ = try await database.query("SELECT insp.cancel($1)", [.text(session)])
        _ = try await walk.step("getSession", "GET", "/facetec/session/\(session)")

        _ = try await database.query("SELECT insp.face_import('bank', 'f', repeat('e', 1024), 'e', repeat('0', 64))")
        _ = try await walk.step("getFace", "GET", "/faces/f")
        _ = try await walk.step(
            "enrolFace", "POST", "/faces/g", ["encodedFaceImage": image])
        _ = try await walk.step("deleteFace", "DELETE", "/faces/f")

        _ = try await walk.step("listCallbacks", "GET", "/callbacks?state=pending")
        let webhook = "msg_" + id.replacing("-", with: "")
        _ = try await walk.step("replayCallback", "POST", "/callbacks/\(webhook)/replay")
        let endpoints = try await walk.step("listEndpoints", "GET", "/endpoints")
        let endpoint = try #require(endpoints.document.at("endpoints.0.id") as? Int)
        for (operation, action) in [
            ("pauseEndpoint", "pause"), ("resumeEndpoint", "resume"), ("testEndpoint", "test"),
            ("replayEndpoint", "replay"), ("rotateSecret", "rotate"),
        ] {
            let since = action == "replay" ? ["since": "2026-01-01T00:00:00Z"] : nil
            _ = try await walk.step(operation, "POST", "/endpoints/\(endpoint)/\(action)", since)
        }
        _ = try await database.query(
            "SELECT insp.set_endpoint($1, '{\"url\": \"pull:\"}')", [.int(Int64(endpoint))])
        let pulled = try #require(try await gateway.call("POST", "/inspectionjob/create", face).id)
        _ = try await gateway.call("DELETE", "/inspectionjob/\(pulled)")
        _ = try await walk.step("pullEvents", "GET", "/events")
        _ = try await walk.step("getUsage", "GET", "/usage")
        _ = try await walk.step(
            "createCaptureLink", "POST", "/capture/sessions", ["workflow": "id", "documentFormat": "TD1"])

        _ = try await walk.step("exportPerson", "GET", "/persons/u/export")
        _ = try await walk.step("withdrawJobConsent", "DELETE", job + "/consent")
        _ = try await walk.step("withdrawConsent", "DELETE", "/persons/u/consent")
        _ = try await walk.step("erasePerson", "DELETE", "/persons/u")

        let key = try members(try PartnerKeyPair(["kty": "EC", "crv": "P-256"]).publicKey)
        _ = try await walk.step("setEncryptionKey", "POST", "/encryption-key", key)
        _ = try await walk.step("getEncryptionKey", "GET", "/encryption-key")
        _ = try await walk.step("deleteEncryptionKey", "DELETE", "/encryption-key")

        let operations = try await Self.operations(gateway)
        #expect(operations == walk.walked, "a call is missing here, or in the description")
        #expect(try await gateway.stop() == 0)
    }
}

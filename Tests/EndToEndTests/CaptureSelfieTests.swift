import Foundation
import TestSupport
import Testing

/// What a link's page learns at once about a selfie.
@Suite struct CaptureSelfieTests {
    private static let browser = String(repeating: "b", count: 43)

    /// An opened link's path.
    private static func opened(_ gateway: Gateway, _ request: [String: Any]) async throws -> String {
        let made = try await gateway.call("POST", "/capture/sessions", request)
        let path = try #require(made.document["url"] as? String, "\(made.document)")
        let answer = try await gateway.call(
            "POST", path + "/open", ["browser": Self.browser, "policyVersion": NSNull(), "text": "1 en"], bearer: "")
        #expect(answer.status == 200, "\(answer.document)")
        return path
    }

    private static func check(
        _ gateway: Gateway, _ path: String, _ parts: [(name: String, value: Data)]
    ) async throws -> Gateway.Answer {
        try await gateway.form(
            parts, path: path + "/check?language=de", bearer: "", headers: ["Cookie": "capture=\(Self.browser)"])
    }

    private struct Judged {
        var document: [String: Any]
        var type: String?
        var reason: String?
        var advice: String?
    }

    private static func judged(_ gateway: Gateway, _ path: String, _ image: Data) async throws -> Judged {
        let answer = try await Self.check(gateway, path, [("FACE", image)])
        #expect(answer.status == 200, "\(answer.document)")
        let reasons = answer.document.at("verdict.reasons") as? [[String: Any]] ?? []
        #expect(reasons.allSatisfy { $0["part"] as? String == "FACE" }, "\(reasons)")
        return Judged(
            document: answer.document, type: answer.document.at("verdict.decision.type") as? String,
            reason: reasons.first?["code"] as? String, advice: reasons.first?["advice"] as? String)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A selfie is judged at once by the face that it shows, three times`() async throws {
        let gateway = try await Gateway.start(scopes: "{capture,read}")
        let path = try await Self.opened(gateway, ["workflow": "liveness", "challenge": "none"])
        let none = try await Self.judged(gateway, path, PNG.noise(width: 320, height: 240))
        #expect(none.type == "REJECTED" && none.reason == "NO_FACE_PRESENT", "\(none)")
        #expect(none.advice == "Sehen Sie in die Kamera.")
        let aside = try await Self.judged(gateway, path, try await TestInputs.face("obama_partial_face.jpg"))
        #expect(aside.type == "WARNING" && aside.reason == "FACE_BAD_QUALITY", "\(aside)")
        // By which the page advises.
        let failed = aside.document.at("verdict.usability.0.data.failedMeasurements") as? [[String: Any]] ?? []
        #expect(failed.contains { ["centreX", "eyeLineY"].contains($0["name"] as? String) }, "\(aside)")
        let good = try await Self.judged(gateway, path, try await TestInputs.face("obama.jpg"))
        #expect(good.type == "PASSED" && good.reason == nil && good.document["triesLeft"] as? Int == 0, "\(good)")
        let again = try await Self.judged(gateway, path, try await TestInputs.face("obama.jpg"))
        #expect(again.type == "PASSED" && again.document["triesLeft"] as? Int == 0, "\(again)")
        let after = try await Self.judged(gateway, path, try await TestInputs.face("biden.jpg"))
        #expect(after.type == nil && after.document["triesLeft"] as? Int == 0, "\(after)")
        let image = PNG.noise(width: 64, height: 64)
        #expect(try await Self.check(gateway, path, [("FRONT", image)]).code == "PART_UNEXPECTED")
        #expect(try await Self.check(gateway, path, [("FRONT", image), ("FACE", image)]).code == "PART_UNEXPECTED")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A document shown as a selfie is a warning, at once and of its job`() async throws {
        let gateway = try await Gateway.start(scopes: "{capture,read}")
        let path = try await Self.opened(gateway, ["workflow": "liveness", "challenge": "none"])
        let passport = try await Self.judged(gateway, path, try await TestInputs.specimen("passport.jpg"))
        #expect(passport.type == "WARNING" && passport.reason == "ID_USED_AS_SELFIE", "\(passport)")
        #expect(passport.advice == "Zeigen Sie Ihr eigenes Gesicht, kein Dokument.")
        #expect(try await gateway.stop() == 0)
        let specimen = try await TestInputs.folder.appending(path: "specimens/passport.jpg").path
        let inspected = try await Program.run(["inspect", "--face", specimen, "--workflow", "liveness"])
        let answer = try members(inspected.output)
        #expect(answer.at("capabilities.liveness.0.decision.details.label") as? String == "ID_USED_AS_SELFIE")
        #expect(answer.at("reasons.0.code") as? String == "ID_USED_AS_SELFIE")
        #expect(answer.at("decision.type") as? String == "WARNING")
    }

    @Test(.timeLimit(.minutes(3)))
    func `A gateway without the model of faces judges documents, and lets selfies through`() async throws {
        let service = try await Service.start()
        let gateway = try await Gateway.start(
            service.connection,
            environment: service.environment.merging(["INSPECTD_MODELS": "/nonexistent"]) { $1 },
            scopes: "{capture,read}")
        let path = try await Self.opened(gateway, ["workflow": "id_identity", "documentFormat": "TD3"])
        let selfie = try await Self.judged(gateway, path, try await TestInputs.face("obama.jpg"))
        #expect(selfie.type == nil && selfie.document["triesLeft"] as? Int == 0, "\(selfie)")
        let front = try await Self.check(gateway, path, [("FRONT", try await TestInputs.specimen("passport.jpg"))])
        #expect(front.document.at("verdict.decision.type") as? String == "PASSED", "\(front.document)")
        #expect(try await gateway.stop() == 0)
    }
}

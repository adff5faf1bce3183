import Foundation
import Postgres
import TestSupport
import Testing

/// Instant feedback: images are judged next to the gateway, without a job.
@Suite struct GatewayUsabilityTests {
    private static func codes(_ answer: Gateway.Answer) -> [String] {
        (answer.document["reasons"] as? [[String: Any]] ?? []).compactMap { $0["code"] as? String }
    }

    private static func decision(_ answer: Gateway.Answer) -> String? {
        answer.document.at("decision.type") as? String
    }

    @Test(.timeLimit(.minutes(5)))
    func `An image is judged at once, with advice in the person's language, and nothing is stored`() async throws {
        let gateway = try await Gateway.start(scopes: "{create}")
        let good = try await gateway.form(
            [("FRONT", TestInputs.specimen("id_front.jpg")), ("BACK", TestInputs.specimen("id_back.jpg"))],
            path: "/usability", headers: ["Idempotency-Key": "order-16"])
        // A key means nothing here, so that even one that is none is ignored.
        #expect(good.status == 200 && Self.decision(good) == "PASSED", "\(good.document)")
        #expect((good.document["usability"] as? [Any])?.count == 2 && Self.codes(good) == [])
        let blurred = try await gateway.form(
            [("FRONT", TestInputs.specimen("blurred.jpg"))], path: "/usability?language=de-AT",
            headers: ["Idempotency-Key": "a b"])
        #expect(Self.codes(blurred).contains("BLURRY"), "\(blurred.document)")
        let advice = (blurred.document["reasons"] as? [[String: Any]])?.first?["advice"] as? String
        #expect(advice == "Halten Sie die Kamera ruhig und lassen Sie sie scharfstellen.")
        let scene = try await gateway.call(
            "POST", "/usability", ["encodedFrontImage": TestInputs.specimen("landscape.jpg").base64EncodedString()])
        #expect(Self.decision(scene) == "REJECTED" && !Self.codes(scene).isEmpty, "\(scene.document)")
        for (name, code) in [
            ("bomb.png", "TOO_MANY_PIXELS"), ("torn.jpg", "CORRUPT_IMAGE"), ("picture.gif", "UNSUPPORTED_FORMAT"),
            ("bomb.heic", "TOO_MANY_PIXELS"), ("pages.pdf", "UNSUPPORTED_FORMAT"),
        ] {
            let refused = try await gateway.form([("FRONT", TestInputs.specimen(name))], path: "/usability")
            #expect(refused.status == 400 && refused.code == code, "\(name) \(refused.status) \(refused.document)")
        }
        let face = try await gateway.form([("FACE", TestInputs.specimen("passport.jpg"))], path: "/usability")
        #expect(face.status == 400 && face.code == "PART_UNEXPECTED")
        #expect(try await gateway.call("POST", "/usability", [:]).code == "PART_MISSING")
        let more = try await gateway.call(
            "POST", "/usability", ["encodedFrontImage": "aW1hZ2U=", "callbackUrl": "https://example.com"])
        #expect(more.code == "PAYLOAD_INVALID", "\(more.document)")
        // What the description has, and nothing that would be ignored.
        let text = try await TestInputs.specimen("id_front.jpg").base64EncodedString()
        for part in [text, ["content": text]] as [Any] {
            let seen = try await gateway.call("POST", "/usability", ["parts": ["FRONT": part]])
            #expect(seen.status == 200 && (seen.document["usability"] as? [Any])?.count == 1, "\(seen.document)")
        }
        let digest = String(repeating: "0", count: 64)
        for (body, field) in [
            (["encodedFrontImage": text, "workflow": "id"], "workflow"),
            (["parts": ["FRONT": ["content": text, "sha256": digest]]], "digests"),
            (["parts": ["FRONT": ["url": "https://img.example.com/a", "sha256": digest]]], "parts"),
        ] as [([String: Any], String)] {
            let refused = try await gateway.call("POST", "/usability", body)
            #expect(refused.code == "PAYLOAD_INVALID" && refused.document["field"] as? String == field, "\(field)")
        }
        let reader = try await Gateway.credential(gateway.connection, "bank", "{read}")
        #expect(
            try await gateway.call("POST", "/usability", ["encodedFrontImage": "aW1hZ2U="], bearer: reader).code
                == "SCOPE_MISSING")
        for table in ["job", "part", "content", "step"] {
            #expect(try await gateway.connection.query("SELECT count(*) FROM insp.\(table)")[0].int(0) == 0, "\(table)")
        }
        #expect(try await gateway.accesses(nil).allSatisfy { $0 == "usability" })
        #expect(try await gateway.stop() == 0)
    }

    @Test func `A gateway without analyzers says so`() async throws {
        let gateway = try await Gateway.start(["--analyzers", "0"], scopes: "{create}")
        let none = try await gateway.form([("FRONT", Data("x".utf8))], path: "/usability")
        #expect(none.status == 503 && none.code == "ANALYZER_UNAVAILABLE" && none.headers["Retry-After"] != nil)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `What exceeds the room is told to come back, and the rest is answered`() async throws {
        let gateway = try await Gateway.start(
            ["--analyzers", "1", "--credential-rate", "10000"], scopes: "{create}")
        let image = try await TestInputs.specimen("passport.jpg")
        let answers = try await withThrowingTaskGroup(of: Gateway.Answer.self) { group in
            for _ in 0..<24 { group.addTask { try await gateway.form([("FRONT", image)], path: "/usability") } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(
            answers.allSatisfy {
                $0.status == 200 || $0.code == "GATEWAY_OVERLOADED" && $0.headers["Retry-After"] != nil
            })
        #expect(answers.count { $0.status == 200 } >= 4)
        #expect(try await gateway.stop() == 0)
    }
}

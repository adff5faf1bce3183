import Foundation
import Postgres
import TestSupport
import Testing

/// Test credentials: fixed outcomes, marked as such, apart from everything real.
@Suite struct TestModeTests {
    private static let scopes = "{create,read,faces,persons}"

    private static func test(_ gateway: Gateway) async throws -> String {
        try await gateway.connection.query(
            "SELECT bearer FROM insp.create_test_credential('bank', $1)", [.text(Self.scopes)])[0].string(0)
    }

    private static func specimen(_ name: String) -> Data { Data("inspectd-specimen:\(name)".utf8) }

    private static func create(
        _ gateway: Gateway, _ bearer: String, _ workflow: String, _ part: Data, _ more: [(String, String)] = []
    ) async throws -> Gateway.Answer {
        var fields: [(name: String, value: Data)] = [("workflow", Data(workflow.utf8)), ("FACE", part)]
        if workflow.hasPrefix("id") { fields.append(("FRONT", part)) }
        fields += more.map { (name: $0.0, value: Data($0.1.utf8)) }
        return try await gateway.form(fields, bearer: bearer)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Specimens have fixed outcomes, and all that tells of a test says so`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let service = gateway.service
        let worker = try service.worker(["--slots", "1"])
        let bearer = try await Self.test(gateway)
        _ = try await gateway.connection.query(
            """
            UPDATE insp.endpoint e SET url = $1, allow_http = true, allow_private = true
            FROM insp.partner p WHERE p.id = e.partner_id AND p.name = 'bank.test'
            """, [.text(service.receiver.url("/ok"))])
        _ = try await gateway.connection.query("SELECT insp.set_decision_policy('bank', '{\"minimumAge\": 18}')")
        for (name, type, label) in [
            ("passed", "PASSED", ""), ("blurred", "REJECTED", "BLURRED"),
            ("mismatch", "REJECTED", "MISMATCHING_DATAPOINTS"),
            ("expiring", "WARNING", "DOCUMENT_EXPIRY_WITHIN_CONFIGURED_LIMIT"), ("no_match", "REJECTED", "NO_MATCH"),
            ("not_live", "REJECTED", "LIVENESS_UNDETERMINED"), ("failed", "NOT_EXECUTED", ""),
        ] {
            let created = try await Self.create(
                gateway, bearer, "id_identity", Self.specimen(name), [("userReference", "jane")])
            #expect(created.status == 201 && created.document["test"] as? Bool == true, "\(created.document)")
            let result = try await gateway.finished(try #require(created.id), bearer: bearer)
            #expect(
                result["test"] as? Bool == true && result.at("decision.type") as? String == type, "\(name) \(result)")
            let reasons = result["reasons"] as? [[String: Any]] ?? []
            #expect(reasons.compactMap { $0["label"] as? String }.joined() == label, "\(name) \(reasons)")
            #expect((result.at("error.code") as? String == "TOO_MANY_PIXELS") == (name == "failed"))
            #expect(result["policyVersion"] as? Int == (name == "failed" ? nil : 1), "\(name)")
        }
        let list = try await gateway.call("GET", "/inspectionjob?userReference=jane", bearer: bearer)
        let jobs = list.document["jobs"] as? [[String: Any]] ?? []
        #expect(jobs.count == 7 && jobs.allSatisfy { $0["test"] as? Bool == true })
        let callbacks = try await service.receiver.received(within: 60) { $0.count >= 7 }
        #expect(callbacks.count == 7)
        for callback in callbacks { #expect(try members(Data(callback.body.utf8))["test"] as? Bool == true) }
        let marks = try await gateway.connection.query(
            "SELECT (SELECT bool_and(is_test = (name = 'bank.test')) FROM insp.v_partner), (SELECT bool_and(is_test = (partner = 'bank.test')) FROM insp.v_credential)"
        )[0]
        #expect(try marks.bool(0) && marks.bool(1))

        // Anything else is not looked at.
        let photo = try await TestInputs.face("obama.jpg")
        let real = try await Self.create(gateway, bearer, "liveness", photo)
        let ended = try await gateway.finished(try #require(real.id), bearer: bearer)
        #expect(ended.at("error.code") as? String == "PART_MISSING" && ended["faces"] == nil, "\(ended)")
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Neither a test nor anything real is found by the other`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let worker = try gateway.service.worker(["--slots", "1"])
        let bearer = try await Self.test(gateway)
        let photo = try await TestInputs.face("obama.jpg")
        let enrolled = try await gateway.form(
            [("FACE", photo), ("userReference", Data("jane".utf8))], path: "/faces/face-7")
        _ = try await gateway.finished(try #require(enrolled.id))
        #expect(try await gateway.call("GET", "/faces/face-7").status == 200)
        #expect(try await gateway.call("GET", "/faces/face-7", bearer: bearer).code == "FACE_NOT_ENROLLED")
        let rehearsed = try await gateway.form(
            [("FACE", Self.specimen("passed")), ("userReference", Data("jane".utf8))], path: "/faces/face-7",
            bearer: bearer)
        let outcome = try await gateway.finished(try #require(rehearsed.id), bearer: bearer)
        #expect(outcome.at("decision.type") as? String == "PASSED", "\(outcome)")
        // A rehearsal stores no face, and replaces none.
        #expect(try await gateway.call("GET", "/faces/face-7", bearer: bearer).code == "FACE_NOT_ENROLLED")
        let face = try await gateway.call("GET", "/faces/face-7")
        #expect((face.document["templates"] as? [[String: Any]])?.count == 1)

        let (real, test) = (try #require(enrolled.id), try #require(rehearsed.id))
        #expect(try await gateway.call("GET", "/inspectionjob/\(test)").code == "JOB_UNKNOWN")
        #expect(try await gateway.call("GET", "/inspectionjob/\(real)", bearer: bearer).code == "JOB_UNKNOWN")
        for (id, bearer) in [(real, nil), (test, bearer)] as [(String, String?)] {
            let export = try await gateway.call("GET", "/persons/jane/export", bearer: bearer)
            let jobs = export.document["jobs"] as? [[String: Any]] ?? []
            #expect(jobs.count == 1 && jobs[0].at("result.id") as? String == id)
        }
        #expect(try await gateway.call("DELETE", "/persons/jane", bearer: bearer).document["jobs"] as? Int == 1)
        let kept = try await gateway.call("GET", "/inspectionjob/\(real)")
        #expect(kept.document["decision"] != nil && kept.document["test"] == nil)

        // A specimen means nothing to a real job, and no request can make itself a test.
        let mistaken = try await Self.create(gateway, gateway.bearer, "liveness", Self.specimen("passed"))
        let failed = try await gateway.finished(try #require(mistaken.id))
        #expect(failed["test"] == nil && failed.at("decision.type") as? String != "PASSED", "\(failed)")
        let claimed = try await gateway.call(
            "POST", "/inspectionjob/create",
            ["workflow": "liveness", "test": true, "encodedFaceImage": Self.specimen("passed").base64EncodedString()])
        #expect(claimed.code == "PAYLOAD_INVALID")
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `A test that waits, is cancelled or is withdrawn says that it is one, and nothing real does`()
        async throws
    {
        let scopes = "{create,session,persons}"
        let gateway = try await Gateway.start(["--longest-wait", "1"], scopes: scopes)
        let test = try await gateway.connection.query(
            "SELECT bearer FROM insp.create_test_credential('bank', $1)", [.text(scopes)])[0].string(0)
        for (bearer, mark) in [(test, true), (gateway.bearer, nil)] as [(String, Bool?)] {
            // Nobody works on it.
            let late = try await gateway.call(
                "POST", "/facetec/session", ["sessionRequestBlob": "live.1"], bearer: bearer)
            let place = try #require(late.headers["Location"])
            let waiting = try await gateway.call("GET", place, bearer: bearer)
            let id = try #require(waiting.id)
            let cancelled = try await gateway.call("DELETE", "/inspectionjob/\(id)", bearer: bearer)
            let ended = try await gateway.call("GET", place, bearer: bearer)
            let withdrawn = try await gateway.call("DELETE", "/inspectionjob/\(id)/consent", bearer: bearer)
            #expect((late.status, waiting.status, ended.status) == (202, 202, 200))
            #expect(cancelled.document["cancelled"] as? Bool == true)
            #expect(withdrawn.document["withdrawn"] as? Bool == true)
            for answer in [late, waiting, cancelled, ended, withdrawn] {
                #expect(answer.document["test"] as? Bool == mark, "\(answer.document)")
            }
        }
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Instant feedback on a specimen is its fixed answer, and a test's image is not looked at`() async throws {
        // Without analyzers: nothing is to be looked at.
        let gateway = try await Gateway.start(["--analyzers", "0"], scopes: "{create}")
        let bearer = try await Self.test(gateway)
        for (name, type, label) in [
            ("passed", "PASSED", nil), ("blurred", "REJECTED", "BLURRED"), ("mismatch", "PASSED", nil),
        ] as [(String, String, String?)] {
            for answer in [
                try await gateway.form(
                    [("FRONT", Self.specimen(name))], path: "/usability?language=de", bearer: bearer),
                try await gateway.call(
                    "POST", "/usability", ["encodedBackImage": Self.specimen(name).base64EncodedString()],
                    bearer: bearer),
            ] {
                #expect(answer.status == 200 && answer.document["test"] as? Bool == true, "\(answer.document)")
                #expect(answer.document.at("decision.type") as? String == type, "\(name)")
                let reasons = answer.document["reasons"] as? [[String: Any]] ?? []
                #expect(reasons.first?["label"] as? String == label && reasons.allSatisfy { $0["advice"] != nil })
            }
        }
        let failed = try await gateway.form([("FRONT", Self.specimen("failed"))], path: "/usability", bearer: bearer)
        #expect(failed.status == 400 && failed.code == "TOO_MANY_PIXELS", "\(failed.document)")
        let image = try await gateway.form(
            [("FRONT", PNG.noise(width: 64, height: 64))], path: "/usability", bearer: bearer)
        #expect(image.status == 400 && image.code == "PART_MISSING", "\(image.document)")
        let real = try await gateway.form([("FRONT", Self.specimen("passed"))], path: "/usability")
        #expect(real.code == "ANALYZER_UNAVAILABLE")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Events and counts of tests are pulled from the start, apart from real ones, and every answer says test`()
        async throws
    {
        let scopes = "{create,read,faces,persons,callbacks,events,keys}"
        let gateway = try await Gateway.start(scopes: scopes)
        let worker = try gateway.service.worker(["--slots", "1"])
        let test = try await gateway.connection.query(
            "SELECT bearer FROM insp.create_test_credential('bank', $1)", [.text(scopes)])[0].string(0)
        let created = try await Self.create(
            gateway, test, "liveness", Self.specimen("passed"), [("userReference", "jane")])
        let id = try #require(created.id)
        _ = try await gateway.finished(id, bearer: test)
        let real = try await gateway.call(
            "POST", "/inspectionjob/create", ["workflow": "liveness", "encodedFaceImage": "aW1hZ2U="])
        _ = try await gateway.finished(try #require(real.id))

        let listed = try await gateway.call("GET", "/endpoints", bearer: test)
        let endpoint = try #require((listed.document["endpoints"] as? [[String: Any]])?.first?["id"] as? Int)
        let rotated = try await gateway.call("POST", "/endpoints/\(endpoint)/rotate", bearer: test)
        #expect((rotated.document["secret"] as? String)?.hasPrefix("whsec_") == true)
        let sent = try await gateway.call("POST", "/endpoints/\(endpoint)/test", bearer: test)
        let events = try await gateway.call("GET", "/events", bearer: test)
        let bodies = try (events.document["events"] as? [[String: Any]] ?? []).map {
            try members(Data(($0["body"] as? String ?? "").utf8))
        }
        #expect(bodies.map { $0["type"] as? String } == ["job.finished", "endpoint.test"])
        #expect(bodies.allSatisfy { $0["test"] as? Bool == true } && bodies.first?.at("data.id") as? String == id)
        #expect(try await gateway.call("GET", "/events").code == "EVENTS_OFF")

        var usage = (test: created, real: created)
        try await waitUntil("both are counted", every: .milliseconds(200)) {
            usage.test = try await gateway.call("GET", "/usage", bearer: test)
            usage.real = try await gateway.call("GET", "/usage")
            return usage.test.document["total"] as? Int == 1 && usage.real.document["total"] as? Int == 1
        }
        #expect(usage.real.document["test"] == nil)

        let answers = [
            listed, rotated, sent, events, usage.test,
            try await gateway.call("POST", "/endpoints/\(endpoint)/pause", bearer: test),
            try await gateway.call("POST", "/endpoints/\(endpoint)/resume", bearer: test),
            try await gateway.call("GET", "/callbacks?job=\(id)", bearer: test),
            try await gateway.call("GET", "/callbacks?state=dead", bearer: test),
            try await gateway.call("GET", "/inspectionjob?userReference=jane", bearer: test),
            try await gateway.call("DELETE", "/faces/face-7", bearer: test),
            try await gateway.send("POST", "/liveness/challenge", nil, bearer: test),
            try await gateway.call("DELETE", "/encryption-key", bearer: test),
            try await gateway.call("GET", "/persons/jane/export", bearer: test),
            try await gateway.call("DELETE", "/persons/jane/consent", bearer: test),
            try await gateway.call("DELETE", "/persons/jane", bearer: test),
        ]
        for answer in answers {
            #expect(
                (200..<300).contains(answer.status) && answer.document["test"] as? Bool == true, "\(answer.document)")
        }
        for path in ["/endpoints", "/callbacks?state=dead", "/inspectionjob?userReference=jane"] {
            #expect(try await gateway.call("GET", path).document["test"] == nil, "\(path)")
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }
}

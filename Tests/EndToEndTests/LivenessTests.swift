import Foundation
import Glibc
import InspectCore
import TestSupport
import Testing

/// Challenges and vendor sessions through a real queue and real analyzers.
@Suite struct LivenessTests {
    /// Renders the frames with which a subject answers a challenge, from a portrait.
    private func render(
        _ challenge: Data, subject: String, of name: String = "obama.jpg", camera: [String] = []
    ) async throws -> (frames: [Data], challenge: [String: Any]) {
        let issued = ContinuousClock.now
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("capture-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let portrait = try await TestInputs.folder.appending(path: "faces/\(name)")
        let (status, output, _) = try await Program.run(["inspect", "--face", portrait.path, "--workflow", "liveness"])
        #expect(status == 0)
        let points = try #require(try members(output).at("faces.0.landmarks") as? [[String: Double]])
        let numbers = points.map { "\($0["x"] ?? 0),\($0["y"] ?? 0)" }.joined(separator: ",")
        let file = folder.appendingPathComponent("issued.json")
        try challenge.write(to: file)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("captures.py")
        let process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [
                script.path, "--face", portrait.path, "--points", numbers, "--challenge", file.path, "--out",
                folder.appendingPathComponent("frames").path, "--subject", subject,
            ] + camera)
        #expect(try await process.exitStatus() == 0)
        let frames = folder.appendingPathComponent("frames")
        let names = try FileManager.default.contentsOfDirectory(atPath: frames.path).sorted()
        let answered = try members(Data(contentsOf: folder.appendingPathComponent("frames.json")))
        // A camera takes as long as its frames say; a fast machine renders them sooner, and frames of the future are refused.
        let last = try #require((answered.at("frameTimes") as? [Double])?.last)
        try await Task.sleep(until: issued + .milliseconds(last), clock: .continuous)
        return (try names.map { try Data(contentsOf: frames.appendingPathComponent($0)) }, answered)
    }

    private func answer(
        _ service: Service, _ challenge: [String: Any], _ frames: [Data], workflow: String = "liveness",
        front: Data? = nil,
        face: Data? = nil
    ) async throws -> String {
        let payload: [String: Any] = [
            "partner": "bank", "workflow": workflow,
            "challenge": [
                "token": try #require(challenge["token"]), "frameTimes": try #require(challenge["frameTimes"]),
            ],
        ]
        let text = String(decoding: try JSONSerialization.data(withJSONObject: payload), as: UTF8.self)
        return try await service.connection.query(
            "SELECT insp.enqueue($1, frames => $2, front => $3, face => $4)",
            [.text(text), .byteas(frames), .optional(front), .optional(face)])[0].string(0)
    }

    private func issue(_ service: Service, _ arguments: String) async throws -> Data {
        try await service.connection.query(
            "SELECT insp.challenge_issue('bank', \(arguments), lifetime => '5 minutes')")[0].data(0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A face that follows the colours is live; one that follows others, and a print, are not`() async throws {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        var labels: [String: String] = [:]
        for subject in ["live", "wrongSequence", "plane", "late"] {
            let (frames, challenge) = try await self.render(self.issue(service, "'colour_flash'"), subject: subject)
            let result = try await service.result(of: self.answer(service, challenge, frames))
            labels[subject] = result.at("capabilities.liveness.0.decision.details.label") as? String
            #expect(result.at("capabilities.liveness.0.data.assurance") as? String == "challenge")
            #expect(
                (result.at("capabilities.liveness.0.data.steps") as? [Any])?.count == 7,
                "\(subject): \(result.at("capabilities.liveness.0") ?? result)")
            guard subject == "live" else {
                #expect(result.at("decision.type") as? String != "PASSED")
                continue
            }
            #expect(result.at("decision.type") as? String == "PASSED")
            #expect(result.at("capabilities.liveness.0.data.method") as? String == "colour_flash")
            #expect(result.at("capabilities.liveness.0.data.resultCode") as? Int == 1)
        }
        #expect(labels["live"] == "OK" && labels["wrongSequence"] == "CHALLENGE_FAILED", "\(labels)")
    }

    @Test(.timeLimit(.minutes(10)))
    func `The requested motion passes, and with it a whole identity`() async throws {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        // Of a portrait whose mouth is open and whose eyes look aside, what can be rendered from it.
        let asked = try await self.issue(service, "'motion', steps => 2, motions => ARRAY['NOD', 'BLINK']")
        let (aside, another) = try await self.render(
            asked, subject: "live", of: "obama2.jpg", camera: ["--noise", "3", "--quality", "75", "--shake", "1"])
        let seen = try await service.result(of: self.answer(service, another, aside))
        #expect(
            seen.at("capabilities.liveness.0.decision.details.label") as? String == "OK",
            "\(String(describing: seen.at("capabilities.liveness.0.data")))")
        for workflow in ["liveness", "id_identity"] {
            var issued: Data
            var steps: [String]
            repeat {
                // Drawn at random: any three of five.
                issued = try await self.issue(service, "'motion', steps => 3")
                steps = try #require(members(issued).at("steps") as? [String])
                // First a blink after a shake, in which the points of the eyes jump: one draw of eighty.
            } while workflow == "liveness" && steps != ["SMILE", "SHAKE", "BLINK"]
            let (frames, challenge) = try await self.render(issued, subject: "live")
            let result = try await service.result(
                of: self.answer(
                    service, challenge, frames, workflow: workflow,
                    front: workflow == "liveness" ? nil : TestInputs.specimen("passport.jpg")))
            #expect(result.at("capabilities.liveness.0.data.method") as? String == "motion")
            #expect(
                result.at("capabilities.liveness.0.decision.details.label") as? String == "OK",
                """
                asked \(steps), frames at \(String(describing: challenge["frameTimes"])): \
                \(String(describing: result.at("capabilities.liveness.0.data")))
                """)
        }
        let other = try await self.issue(service, "'motion', steps => 2, motions => ARRAY['SHAKE', 'NOD']")
        let (others, foreign) = try await self.render(other, subject: "wrongSequence")
        let wrong = try await service.result(of: self.answer(service, foreign, others))
        #expect(wrong.at("decision.type") as? String != "PASSED")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A partner may let passive signals suffice: then a selfie without any finding passes, and the result says so`()
        async throws
    {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        // As its agency published it, and without the segments that say which editor it went through.
        let edited = try await TestInputs.face("obama.jpg")
        let selfie = Self.withoutMetadata(edited)
        func liveness(_ face: Data) async throws -> [String: Any] {
            try await service.result(of: service.enqueue(["workflow": "liveness"], face: face))
        }
        let off = try await liveness(selfie)
        #expect(off.at("decision.type") as? String == "WARNING")
        #expect(off.at("capabilities.liveness.0.data.passiveSignalsSuffice") == nil)
        _ = try await service.connection.query("SELECT insp.set_liveness_policy('bank', true)")
        let on = try await liveness(selfie)
        #expect(on.at("decision.type") as? String == "PASSED")
        #expect(on.at("capabilities.liveness.0.data.assurance") as? String == "evidence")
        #expect(on.at("capabilities.liveness.0.data.passiveSignalsSuffice") as? Bool == true)
        #expect((on.at("capabilities.liveness.0.data.findings") as? [Any])?.isEmpty == true)
        let found = try await liveness(edited)
        #expect(found.at("decision.type") as? String == "WARNING")
        let findings = try #require(found.at("capabilities.liveness.0.data.findings") as? [String])
        #expect(
            findings == [
                "metadata: the file names the editor Photoshop", "metadata: the file holds an editor's image resources",
            ])
    }

    /// A JPEG without its application segments (ITU-T T.81, annex B.1.1.3), 0 to 15.
    private static func withoutMetadata(_ jpeg: Data) -> Data {
        var at = 2
        var rest = Data(jpeg.prefix(2))
        while at + 4 <= jpeg.count, jpeg[at] == 0xFF, jpeg[at + 1] != 0xDA {
            let end = at + 2 + Int(jpeg[at + 2]) << 8 + Int(jpeg[at + 3])
            if !(0xE0...0xEF).contains(jpeg[at + 1]) { rest += jpeg[at..<end] }
            at = end
        }
        return rest + jpeg[at...]
    }

    @Test(.timeLimit(.minutes(5)))
    func `A vendor's session is sent once, its answer is returned, and none of it is logged`() async throws {
        let service = try await Service.start()
        let vendor = try StubVendor()
        let worker = try Program(
            ["worker", "--slots", "1", "--log-level", "debug"],
            environment: service.environment.merging(vendor.environment) { $1 }
                .merging(["INSPECTD_VENDOR_TIMEOUT": "5"]) { $1 })
        defer { worker.send(SIGKILL) }
        func session(_ blob: String) async throws -> (result: [String: Any], answer: [String: Any]) {
            let id = try await service.connection.query(
                "SELECT insp.enqueue($1, session_blob => $2)",
                [.text(#"{"partner":"bank","workflow":"liveness"}"#), .bytes(Data(blob.utf8))])[0].string(0)
            let result = try await service.result(of: id)
            let row = try await service.connection.query("SELECT insp.session_result($1)", [.text(id)])[0]
            return (result, try members(row.data(0)))
        }
        let live = try await session("live.7391")
        #expect(live.result.at("decision.type") as? String == "PASSED")
        #expect(live.result.at("capabilities.liveness.0.data.assurance") as? String == "certified-vendor")
        #expect(live.answer["sessionResponseBlob"] as? String == "answer-to-live.7391")
        #expect(live.answer["livenessPassed"] as? Bool == true && live.answer["reason"] as? String == "OK")
        let told = try await service.connection.query(
            "SELECT count(*) FROM insp.step WHERE summary::text LIKE '%7391%' OR summary::text LIKE '%sessionResponseBlob%'"
        )
        #expect(try told[0].int(0) == 0)
        let spoof = try await session("spoof.7391")
        #expect(spoof.result.at("decision.type") as? String == "REJECTED")
        #expect(spoof.answer["livenessPassed"] as? Bool == false)
        let text = try await session("text.7391")
        #expect(text.result.at("error.code") as? String == "VENDOR_RESPONSE_INVALID")
        #expect(text.answer["success"] as? Bool == false && text.answer["livenessPassed"] as? Bool == false)
        let old = try await session(#"{"faceScan":"AAAA","auditTrailImage":"7391"}"#)
        #expect(old.result.at("error.code") as? String == "SESSION_SHAPE_REFUSED")
        #expect(vendor.received == ["live.7391", "spoof.7391", "text.7391"])
        let accesses = try await service.connection.query(
            "SELECT string_agg(detail ->> 'outcome', ' ' ORDER BY id) FROM insp.record WHERE action = 'session_end'")[0]
            .string(0)
        #expect(accesses == "answered answered invalid")
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(!worker.standardError.contains("7391") && !worker.standardError.contains(StubVendor.deviceKey))
    }
}

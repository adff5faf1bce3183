import Foundation
import InspectCore
import TestSupport
import Testing

/// Real images through a real queue, real analyzers and a real callback.
@Suite struct InspectionTests {
    @Test(.timeLimit(.minutes(5)))
    func `A passport and its holder's face pass every stage, and the callback is signed and holds no personal data`()
        async throws
    {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let id = try await service.enqueue(
            ["workflow": "id_identity", "documentFormat": "TD3", "userReference": "user-17"],
            front: TestInputs.specimen("passport.jpg"), face: TestInputs.face("obama2.jpg"))
        let result = try await service.result(of: id)

        #expect(result["status"] as? Int == 128)
        #expect(result.at("userReference") as? String == "user-17")
        #expect(result.at("capabilities.usability.0.decision.details.label") as? String == "OK")
        let truth = try await TestInputs.manifest.first { $0.file == "passport.jpg" }
        #expect(result.at("capabilities.extraction.0.data.mrz.lines") as? [String] == truth?.mrzLines)
        #expect(result.at("capabilities.similarity.0.decision.details.label") as? String == "MATCH")
        #expect(result.at("capabilities.liveness.0.data.assurance") as? String == "evidence")
        // Liveness cannot be proven from one image, so the whole is a warning and never a pass.
        #expect(result.at("decision.type") as? String == "WARNING")

        let steps = try await service.connection.query(
            "SELECT array_agg(s.status ORDER BY s.status) FROM insp.step s JOIN insp.job j ON j.id = s.job_id WHERE j.public_id = $1",
            [.text(id)])[0].intArray(0)
        #expect(steps == [4, 8, 16, 32, 128])

        let received = try await service.receiver.received(within: 60) { !$0.isEmpty }
        let callback = try #require(received.first)
        #expect(received.count == 1)
        #expect(callback.verified && callback.timestampOk)
        #expect(callback.body.contains(id))

        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        // Logs and callbacks must not reveal who was inspected.
        let name = try #require(result.at("capabilities.extraction.0.data.lastName") as? String)
        let number = try #require(result.at("capabilities.extraction.0.data.documentNumber") as? String)
        let attempts = try await service.connection.query(
            "SELECT coalesce(string_agg(a::text, ' '), '') FROM insp.callback_attempt a")[0].string(0)
        for text in [worker.standardError, callback.body, attempts] {
            #expect(!text.localizedCaseInsensitiveContains(name))
            #expect(!text.contains(number))
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `Another person's face is rejected, and a card's two sides are read together`() async throws {
        let service = try await Service.start()
        let worker = try service.worker()
        defer { worker.send(SIGKILL) }
        let passport = try await TestInputs.specimen("passport.jpg")
        let impostor = try await service.enqueue(
            ["workflow": "id_identity"], front: passport, face: TestInputs.face("biden.jpg"))
        let licence = try await service.enqueue(
            ["workflow": "id"], front: TestInputs.specimen("licence_front.jpg"),
            back: TestInputs.specimen("licence_back.jpg"))
        let card = try await service.enqueue(
            ["workflow": "id", "documentFormat": "TD1"], front: TestInputs.specimen("id_front.jpg"),
            back: TestInputs.specimen("id_back.jpg"))

        let first = try await service.result(of: impostor)
        #expect(first.at("capabilities.similarity.0.decision.details.label") as? String == "NO_MATCH")
        #expect(first.at("decision.type") as? String == "REJECTED")
        let second = try await service.result(of: licence)
        #expect(second.at("capabilities.extraction.0.data.type") as? String == "DRIVING_LICENSE")
        #expect(second.at("capabilities.extraction.0.data.barcode.part") as? String == "BACK")
        let third = try await service.result(of: card)
        #expect(third.at("capabilities.extraction.0.data.mrz.format") as? String == "TD1")
        #expect(third.at("capabilities.extraction.0.data.mrz.part") as? String == "BACK")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A rejection closes the gate for what follows, unless the gate is open`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let lines = """
            {"id": "shut", "front": "\(folder)/blurred.jpg", "workflow": "id"}
            {"id": "open", "front": "\(folder)/blurred.jpg", "workflow": "id", "gate": false}
            not json
            {"id": "misspelt", "front": "\(folder)/passport.jpg", "contries": ["DEU"]}
            {"id": "no bool", "front": "\(folder)/passport.jpg", "gate": "no"}
            {"id": "back alone", "back": "\(folder)/passport.jpg"}
            {"id": "good", "front": "\(folder)/passport.jpg"}

            """
        let done = try await Program.run(["inspect", "--batch", "-"], input: Data(lines.utf8))
        #expect(done.status == 0)
        let answers = try done.output.split(separator: 0x0A).map { try members($0) }
        #expect(
            answers.map { $0["id"] as? String } == ["shut", "open", nil, "misspelt", "no bool", "back alone", "good"])
        #expect(answers[0].at("capabilities.usability.0.decision.type") as? String == "REJECTED")
        #expect(
            answers[0].at("capabilities.imageChecks.0.decision.details.label") as? String
                == "PRECONDITION_NOT_FULFILLED")
        #expect(
            answers[1].at("capabilities.imageChecks.0.decision.details.label") as? String
                != "PRECONDITION_NOT_FULFILLED")
        #expect(answers[2].at("error.code") as? String == ErrorCode.payloadInvalid.rawValue)
        #expect(answers[3].at("error.code") as? String == ErrorCode.payloadInvalid.rawValue)
        #expect((answers[3].at("error.message") as? String)?.contains("unknown key 'contries'") == true)
        #expect(
            (answers[4].at("error.message") as? String)?.contains("key 'gate' has a value of the wrong type") == true)
        #expect(answers[5].at("error.code") as? String == ErrorCode.partMissing.rawValue)
        #expect(answers[6].at("capabilities.extraction.0.data.type") as? String == "PASSPORT")
    }

    @Test(.timeLimit(.minutes(5)))
    func `Two faces are compared from the command line`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("faces").path
        let same = try await Program.run(["compare", "\(folder)/obama.jpg", "\(folder)/obama2.jpg"])
        let other = try await Program.run(["compare", "\(folder)/obama.jpg", "\(folder)/biden.jpg"])
        #expect(same.status == 0 && other.status == 0)
        #expect(try members(same.output)["match"] as? Bool == true)
        #expect(try members(other.output)["match"] as? Bool == false)
        #expect(try members(same.output)["fmrAtThreshold"] is Double)
    }
}

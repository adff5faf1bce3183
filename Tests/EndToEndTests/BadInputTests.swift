import Foundation
import InspectCore
import TestSupport
import Testing

/// Whatever the input, the job reaches 128 with a code or is refused with one.
@Suite struct BadInputTests {
    @Test(.timeLimit(.minutes(5)))
    func `Truncated, foreign and bomb images end at 128 with a code each, and their callbacks are sent`() async throws {
        let service = try await Service.start()
        let good = try await TestInputs.specimen("id_front.jpg")
        let url = service.receiver.url("/huge")
        let digest = String(repeating: "ab", count: 32)
        let worker = try service.worker()
        defer { worker.send(SIGKILL) }

        var expected: [(String, String)] = []
        let images = [
            ("torn.jpg", "CORRUPT_IMAGE"), ("bomb.png", "TOO_MANY_PIXELS"), ("text.jpg", "UNSUPPORTED_FORMAT"),
        ]
        for (file, code) in images {
            expected.append(
                (try await service.enqueue(["workflow": "id"], front: TestInputs.specimen(file)), code))
        }
        // A part whose server announces 2 GB, a missing one, and one that does not match its digest.
        expected.append(
            (
                try await service.enqueue(
                    ["workflow": "id", "parts": ["BACK": ["url": url, "sha256": digest]]], front: good),
                "PART_TOO_LARGE"
            ))
        expected.append(
            (
                try await service.enqueue(
                    [
                        "workflow": "id",
                        "parts": ["BACK": ["url": service.receiver.url("/status/404"), "sha256": digest]],
                    ], front: good),
                "PART_NOT_FOUND"
            ))
        try good.write(to: service.files.appendingPathComponent("other.jpg"))
        expected.append(
            (
                try await service.enqueue(
                    [
                        "workflow": "id",
                        "parts": ["BACK": ["url": service.receiver.url("/image?file=other.jpg"), "sha256": digest]],
                    ], front: good),
                "DIGEST_MISMATCH"
            ))
        expected.append(
            (
                try await service.enqueue(["workflow": "authentication", "faceId": "nobody"], face: good),
                "FACE_NOT_ENROLLED"
            ))

        for (id, code) in expected {
            let result = try await service.result(of: id)
            #expect(result["status"] as? Int == 128, "\(code)")
            #expect(result.at("error.code") as? String == code)
            #expect(result.at("decision.type") as? String == "NOT_EXECUTED")
        }
        let count = expected.count
        let received = try await service.receiver.received(within: 60) { $0.count >= count }
        #expect(Set(received.map(\.webhookId)).count == count)
        #expect(!received.contains { !$0.verified })
    }

    @Test func `Invalid input is refused with its code`() async throws {
        let service = try await Service.start()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let empty = folder.appendingPathComponent("empty.jpg")
        try Data().write(to: empty)
        let image = folder.appendingPathComponent("image.jpg")
        try await TestInputs.specimen("id_front.jpg").write(to: image)
        let large = folder.appendingPathComponent("large.jpg")
        try Data(count: 20 * 1024 * 1024 + 1).write(to: large)

        let attempts: [([String], String)] = [
            (["--front", empty.path], "PART_EMPTY"),
            (["--front", large.path], "PART_TOO_LARGE"),
            (["--front", "\(folder.path)/absent.jpg"], "PART_NOT_FOUND"),
            (["--front", image.path, "--workflow", "unheard-of"], "WORKFLOW_UNKNOWN"),
            (["--front", image.path, "--user-reference", String(repeating: "x", count: 101)], "IDENTIFIER_TOO_LONG"),
            (["--front", image.path, "--callback-url", "ftp://example.com/"], "CALLBACK_URL_INVALID"),
        ]
        for (arguments, code) in attempts {
            let done = try await Program.run(
                ["enqueue", "--partner", "bank"] + arguments, environment: service.environment)
            #expect(done.status == 1, "\(arguments)")
            #expect(done.errors.contains(code), "\(done.errors)")
        }
        #expect(try await service.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 0)
    }

    @Test func `A zero in JSON is refused before it reaches the database`() async throws {
        let service = try await Service.start()
        let client = try await service.database.connect()
        await #expect(throws: (any Error).self) {
            try await client.query(
                "SELECT insp.enqueue($1)",
                [.text(#"{"partner": "bank", "workflow": "id", "userReference": "a\u0000b"}"#)])
        }
        #expect(try await service.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 0)
    }
}

import Foundation
import TestSupport
import Testing

/// Formats that phones, scanners and document readers write, in the confined analyzer of the real program.
@Suite struct ImageFormatTests {
    private static func inspect(_ files: [(id: String, path: String)]) async throws -> [[String: Any]] {
        let requests = try files.map { file in
            try JSONSerialization.data(withJSONObject: ["id": file.id, "front": file.path, "workflow": "id"])
        }
        let done = try await Program.run(["inspect", "--batch", "-"], input: Data(requests.joined(separator: [0x0A])))
        #expect(done.status == 0, "\(done.errors)")
        let answers = try done.output.split(separator: 0x0A).map { try members($0) }
        try #require(answers.count == files.count)
        return answers
    }

    @Test(.timeLimit(.minutes(5)))
    func `The same passport in every format gives the same MRZ, upright and in the same size`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let names = ["passport.heic", "passport_10bit.heic", "passport.bmp", "passport.pdf", "passport.png"]
        let truth = try await TestInputs.manifest.first { $0.file == "passport.jpg" }
        let answers = try await Self.inspect(names.map { ($0, "\(folder)/\($0)") })
        for (answer, format) in zip(answers, ["HEIC", "HEIC", "BMP", "PDF", "PNG"]) {
            let image = "capabilities.usability.0.data.image"
            #expect(answer.at("\(image).format") as? String == format)
            #expect(answer.at("\(image).width") as? Int == 1600 && answer.at("\(image).height") as? Int == 1200)
            #expect(answer.at("capabilities.extraction.0.data.mrz.lines") as? [String] == truth?.mrzLines)
            #expect(answer.at("decision.type") as? String != "REJECTED", "\(answer["id"] ?? "")")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `An infrared image gives its MRZ, and its colours are not assessed`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let truth = try await TestInputs.manifest.first { $0.file == "passport.jpg" }
        let names = ["passport_infrared.bmp", "black_white.jpg"]
        let answers = try await Self.inspect(names.map { ($0, "\(folder)/\($0)") })
        #expect(answers[0].at("capabilities.extraction.0.data.mrz.lines") as? [String] == truth?.mrzLines)
        #expect(answers[0].at("capabilities.usability.0.decision.type") as? String == "PASSED")
        let checks = answers[0].at("capabilities.imageChecks.0.data.notAssessed") as? [String] ?? []
        #expect(checks.contains("BLACK_WHITE") && checks.contains("PHOTOCOPY"), "\(checks)")
        #expect(answers[0].at("decision.type") as? String == "WARNING", "without colours it never passes")
        // The same light in a file that could hold colours is a copy.
        #expect(answers[1].at("capabilities.usability.0.decision.details.label") as? String == "BLACK_WHITE")
    }

    @Test(.timeLimit(.minutes(15)))
    func `300 hostile files end with an image or an error, and cost no analyzer`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "hostile-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = "\(ScratchDatabase.root)/Tests/Formats/hostile.py"
        let process = try ChildProcess.spawn(
            "/usr/bin/python3", [script, "--out", folder.path, "--count", "300", "--seed", "1"])
        try #require(try await process.exitStatus() == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        try #require(names.count == 300)
        let answers = try await Self.inspect(names.map { ($0, "\(folder.path)/\($0)") })
        var codes: [String: Int] = [:]
        for (name, answer) in zip(names, answers) {
            let code = answer.at("error.code") as? String ?? "none"
            codes[code, default: 0] += 1
            #expect(
                ["none", "CORRUPT_IMAGE", "TOO_MANY_PIXELS", "UNSUPPORTED_FORMAT", "ANALYZER_OUT_OF_MEMORY"]
                    .contains(code), "\(name): \(code)")
        }
        // They reach all decoders and both outcomes.
        for code in ["none", "CORRUPT_IMAGE", "TOO_MANY_PIXELS", "UNSUPPORTED_FORMAT"] {
            #expect((codes[code] ?? 0) > 0, "\(codes)")
        }
    }
}

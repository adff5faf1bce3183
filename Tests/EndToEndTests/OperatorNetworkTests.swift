import Foundation
import InspectCore
import TestSupport
import Testing

/// Networks of an operator's own, through the whole program.
@Suite struct OperatorNetworkTests {
    /// Writes a network and its description, from which members that are `nil` are left out; returns the description's path.
    private static func describe(_ network: SmallNetwork, _ members: [String: Any?]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "network-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "small.onnx")
        try network.file.write(to: file)
        var description: [String: Any] = [
            "file": "small.onnx", "sha256": try SmallNetwork.sha256(file),
            "input": ["width": network.side, "height": network.side, "channels": "RGB", "scale": [0.01, 0.01, 0.01]],
        ]
        for (name, value) in members { description[name] = value }
        let path = folder.appending(path: "engine.json")
        try JSONSerialization.data(withJSONObject: description).write(to: path)
        return path.path
    }

    /// 128 numbers: red and green of a face in 8 by 8 squares.
    private static func faceEngine() throws -> String {
        try self.describe(
            SmallNetwork(side: 64, square: 8, weights: [[1, 0, 0], [0, 1, 0]]),
            [
                "leftEye": ["x": 20, "y": 24], "rightEye": ["x": 44, "y": 24], "mirrored": true,
                "calibration": [
                    "engine": "small/eyes2", "metric": "cosine", "centre": 0.02, "width": 0.005, "norms": [0.1, 40],
                    "table": [
                        [
                            "similarity": 0.5, "falseMatches": 3, "impostorPairs": 1000, "falseNonMatches": 5,
                            "genuinePairs": 100,
                        ]
                    ],
                ],
            ])
    }

    @Test(.timeLimit(.minutes(5)))
    func `Frames and the selfie beside them are described by one engine, whichever compares faces`() async throws {
        let faces = try await TestInputs.folder.appending(path: "faces")
        let frames = FileManager.default.temporaryDirectory.appending(path: "frames-\(UUID())")
        try FileManager.default.createDirectory(at: frames, withIntermediateDirectories: true)
        for name in ["0.jpg", "1.jpg"] {
            try FileManager.default.copyItem(at: faces.appending(path: "obama.jpg"), to: frames.appending(path: name))
        }
        let lines = ["obama.jpg", "biden.jpg"].map {
            #"{"face":"\#(faces.appending(path: $0).path)","frames":"\#(frames.path)","workflow":"liveness"}"#
        }
        let done = try await Program.run(
            ["inspect", "--batch", "-", "--analyzers", "1", "--face-engine", try Self.faceEngine()],
            input: Data(lines.joined(separator: "\n").utf8))
        #expect(done.status == 0)
        let answers = try done.output.split(separator: 0x0A).map { try members($0) }
        #expect(answers.map { $0.at("error.code") as? String } == [nil, nil])
        // The same person in frames that repeat each other, and another person than the selfie's.
        #expect(
            answers.map { $0.at("capabilities.liveness.0.decision.details.label") as? String }
                == ["DIGITAL_COPY", "MULTIPLE_PEOPLE"])
        #expect(answers[0].at("faces.0.feature") == nil)
    }

    /// Takes the mean of each colour over the whole crop: three numbers.
    private static func livenessEngine(_ change: [String: Any?] = [:]) throws -> String {
        var members: [String: Any?] = [
            "cropScale": 1.5, "output": "logits", "liveIndex": 0, "threshold": 0.5, "name": "small/1.5",
        ]
        for (name, value) in change { members.updateValue(value, forKey: name) }
        return try self.describe(
            SmallNetwork(side: 32, square: 32, weights: [[1, 0, 0], [0, 1, 0], [0, 0, 1]]), members)
    }

    private static func inspect(_ engine: String) async throws -> (status: Int32, output: Data, errors: String) {
        let face = try await TestInputs.folder.appending(path: "faces/obama.jpg").path
        return try await Program.run(
            ["inspect", "--face", face, "--workflow", "liveness", "--analyzers", "1", "--liveness-engine", engine])
    }

    @Test(.timeLimit(.minutes(5)))
    func `A liveness network's score is a signal, and below the threshold a finding`() async throws {
        // Skin is redder than it is blue, so that the first number of the crop is the largest.
        let trusted = try await Self.inspect(Self.livenessEngine())
        let suspected = try await Self.inspect(Self.livenessEngine(["liveIndex": 2]))
        #expect(trusted.status == 0 && suspected.status == 0)
        let (high, low) = (try members(trusted.output), try members(suspected.output))
        for answer in [high, low] {
            #expect(answer.at("capabilities.liveness.0.decision.type") as? String == "WARNING")
            #expect(answer.at("capabilities.liveness.0.data.assurance") as? String == "evidence")
            #expect(answer.at("capabilities.liveness.0.data.network.name") as? String == "small/1.5")
            #expect((answer.at("engine.models") as? [String: String])?["small/1.5"]?.count == 64)
        }
        let live = try #require(high.at("capabilities.liveness.0.data.network.live") as? Double)
        let other = try #require(low.at("capabilities.liveness.0.data.network.live") as? Double)
        #expect(live > 0.33 && other < live && live + other < 1)
        let findings = try #require(low.at("capabilities.liveness.0.data.findings") as? [String])
        #expect(findings.contains("network"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A liveness network is refused that is another file, lacks a member or answers otherwise`() async throws {
        let cases: [(change: [String: Any?], says: String)] = [
            (["sha256": String(repeating: "0", count: 64)], "small.onnx is not the model"),
            (["threshold": nil], "without threshold"), (["liveIndex": nil], "without liveIndex"),
            (["cropScale": nil], "without cropScale"), (["output": nil], "without output"),
            (["name": nil], "without name"),
            (["input": nil], "without input"), (["threshold": 1.5], "no valid description"),
            (["liveIndex": 3], "none of index 3"),
            (["output": "probabilities"], "not probabilities"), (["file": "none.onnx"], "none.onnx is missing"),
        ]
        for (change, says) in cases {
            let refused = try await Self.inspect(Self.livenessEngine(change))
            #expect(refused.status == 1 && refused.errors.contains("MODEL_UNAVAILABLE"), "\(says): \(refused.errors)")
            #expect(refused.errors.contains(says), "\(refused.errors)")
        }
    }
}

import Foundation
import InspectCore
import TestSupport
import Testing
import Vision

/// An operator's own network in place of dlib's descriptor.
@Suite struct FaceNetworkTests {
    /// 128 numbers: red and green of a face in 8 by 8 squares, which tells images apart well enough to try the path.
    static func model(
        _ network: SmallNetwork = SmallNetwork(side: 64, square: 8, weights: [[1, 0, 0], [0, 1, 0]]),
        engine: String = "small/eyes2", table: [FaceCalibration.Row]? = nil
    ) throws -> FaceNetworkModel {
        let file = FileManager.default.temporaryDirectory.appending(path: "face-\(UUID()).onnx")
        try network.file.write(to: file)
        let rows =
            table ?? [
                FaceCalibration.Row(
                    0.5, falseMatches: 3, impostorPairs: 1000, falseNonMatches: 5, genuinePairs: 100)
            ]
        let description = """
            {"file": "\(file.path)", "sha256": "\(try SmallNetwork.sha256(file))",
             "input": {"width": \(network.side), "height": \(network.side), "channels": "RGB", "scale": [0.01, 0.01, 0.01]},
             "leftEye": {"x": 20, "y": 24}, "rightEye": {"x": 44, "y": 24}, "mirrored": true,
             "calibration": {"engine": "\(engine)", "metric": "cosine", "centre": 0.02, "width": 0.005, "norms": [0.1, 40],
              "table": \(String(decoding: try JSONEncoder().encode(rows), as: UTF8.self))}}
            """
        return try JSONDecoder().decode(FaceNetworkModel.self, from: Data(description.utf8))
    }

    @Test func `Embeddings of a network live in a space of their own, with its calibration`() async throws {
        let model = try Self.model()
        let engine = try FaceEngine(models: await FaceFixtures.models, network: model)
        #expect(engine.name == "small/eyes2" && engine.modelSHA256 == model.sha256)
        func embedding(_ image: DecodedImage) throws -> FaceEmbedding {
            let face = try #require(try engine.faces(in: image, embeddings: 1).first)
            return try #require(face.embedding)
        }
        let upright = try embedding(await FaceFixtures.photograph("obama.jpg"))
        #expect(upright.engine == "small/eyes2" && upright.hex.count == 1024)
        // The same image upside down is brought to the same place by the eyes.
        let turned = try embedding(await FaceFixtures.derived("down.png"))
        let other = try embedding(await FaceFixtures.photograph("biden.jpg"))
        let same = try FaceMatch.compare(upright, turned, threshold: 0.5, calibration: model.calibration)
        #expect(same.match && same.fmrAtThreshold == model.calibration.falseMatchBound(threshold: 0.5))
        let foreign = try FaceMatch.compare(upright, other, threshold: 0.5, calibration: model.calibration)
        #expect(same.similarity > foreign.similarity)
        // Neither its numbers nor its calibration mean anything to the default engine.
        #expect(throws: InspectError.self) { try FaceMatch.compare(upright, turned, threshold: 0.5) }
        let dlib = try FaceEngine(models: await FaceFixtures.models)
        let face = try dlib.faces(in: await FaceFixtures.photograph("obama.jpg"), embeddings: 1)[0]
        #expect(throws: InspectError.self) {
            try FaceMatch.compare(upright, #require(face.embedding), threshold: 0.5, calibration: model.calibration)
        }
    }

    @Test func `A network without a calibration, under dlib's name, or of another length is refused`() async throws {
        let models = try await FaceFixtures.models
        func refusal(_ model: FaceNetworkModel) -> ErrorCode? {
            do {
                _ = try FaceEngine(models: models, network: model)
                return nil
            } catch {
                return error.code
            }
        }
        #expect(refusal(try Self.model(table: [])) == .modelUnavailable)
        let noPairs = FaceCalibration.Row(
            0.5, falseMatches: 0, impostorPairs: 0, falseNonMatches: 0, genuinePairs: 10)
        #expect(refusal(try Self.model(table: [noPairs])) == .modelUnavailable)
        #expect(refusal(try Self.model(engine: FaceEmbedding.currentEngine)) == .modelUnavailable)
        let short = SmallNetwork(side: 64, square: 8, weights: [[1, 0, 0]])
        #expect(refusal(try Self.model(short)) == .modelUnavailable)
        #expect(refusal(try Self.model()) == nil)
    }
}

import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

/// What an operator's network is shown of a face, and what becomes of its numbers.
@Suite struct LivenessNetworkTests {
    private static func model(
        weights: [[Float]], output: LivenessNetworkModel.Output = .logits, liveIndex: Int = 0
    ) throws -> LivenessNetworkModel {
        let network = SmallNetwork(side: 8, square: 8, weights: weights)
        let file = FileManager.default.temporaryDirectory.appending(path: "liveness-\(UUID()).onnx")
        try network.file.write(to: file)
        return LivenessNetworkModel(
            file: file.path, sha256: try SmallNetwork.sha256(file),
            input: OnnxModel.Input(width: 8, height: 8, channels: .bgr), cropScale: 1, output: output,
            liveIndex: liveIndex, threshold: 0.5, name: "small")
    }

    @Test func `The crop keeps the face's centre, stays within the image, and shrinks where the image is small`() {
        func crop(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> Box {
            LivenessNetwork.crop(Box(x: x, y: y, width: 20, height: 20), scale: 3, width: width, height: height)
        }
        #expect(crop(40, 50, 100, 120) == Box(x: 20, y: 30, width: 60, height: 60))
        #expect(crop(5, 110, 100, 120) == Box(x: 0, y: 60, width: 60, height: 60))
        #expect(crop(15, 10, 50, 40) == Box(x: 5, y: 0, width: 40, height: 40))
        // A face that reaches beyond the image.
        #expect(crop(-10, 40, 100, 120) == Box(x: 0, y: 20, width: 60, height: 60))
    }

    @Test func `Logits become probabilities, and numbers that are none are refused`() throws {
        let card = try DecodedImage.testCard(width: 160, height: 120)
        let face = FaceFacts(
            box: Box(x: 60, y: 40, width: 40, height: 40), landmarks: [], detectionScore: 1,
            quality: FaceQuality(
                interEyeDistance: 20, roll: 0, yawOffset: 0, luminanceMean: 0.3, luminanceVariance: 0.02,
                overExposed: 0, underExposed: 0, illuminationUniformity: 1, dynamicRange: 7, chroma: 10,
                sharpness: 100, centreX: 0.5, eyeLineY: 0.5, headWidth: 0.3, visible: 1), embedding: nil)
        let even = try LivenessNetwork(Self.model(weights: [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]]))
        let score = try even.score(face, in: card)
        #expect(abs((score.live ?? 0) - 0.25) < 1e-6 && score.isSuspicious && score.name == "small")
        // Far beyond what an exponential holds.
        let sure = try LivenessNetwork(Self.model(weights: [[100, 100, 100], [0, 0, 0]]))
        #expect(try sure.score(face, in: card).live == 1)
        #expect(throws: InspectError.self) {
            _ = try LivenessNetwork(Self.model(weights: [[0, 0, 0], [0, 0, 0]], output: .probabilities))
        }
        #expect(throws: InspectError.self) { _ = try LivenessNetwork(Self.model(weights: [[0, 0, 0]])) }
        #expect(throws: InspectError.self) {
            _ = try LivenessNetwork(Self.model(weights: [[0, 0, 0], [0, 0, 0]], liveIndex: 2))
        }
    }
}

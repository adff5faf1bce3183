import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Vision

/// Networks of an operator's own, with an ONNX file whose answers can be worked out by hand.
@Suite struct OnnxNetworkTests {
    private static func model(_ network: SmallNetwork, _ input: OnnxModel.Input, named name: String = "small.onnx")
        throws -> OnnxModel
    {
        let folder = FileManager.default.temporaryDirectory.appending(path: "network-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        try network.file.write(to: file)
        return OnnxModel(file: file.path, sha256: try SmallNetwork.sha256(file), input: input)
    }

    /// Each output is the sum of a square's colours: red once, green ten times, blue a hundred times.
    private static let sums = SmallNetwork(side: 8, square: 4, weights: [[1, 10, 100]])

    @Test func `A region is stretched to the input, its channels in the order and on the scale asked for`() throws {
        let card = try DecodedImage.testCard(width: 160, height: 120)
        let network = try OnnxNetwork(
            Self.model(
                Self.sums,
                OnnxModel.Input(
                    width: 8, height: 8, channels: .rgb, mean: [1, 2, 3], scale: [0.5, 1, 2])))
        #expect(network.outputLength == 4)
        // Pixel for pixel: a region of the input's size.
        let answer = try network.run(card, region: Box(x: 40, y: 30, width: 8, height: 8))
        var expected: [Double] = []
        for (top, left) in [(30, 40), (30, 44), (34, 40), (34, 44)] {
            var sum = 0.0
            for y in top..<top + 4 {
                for x in left..<left + 4 {
                    let pixel = try #require(card.rgb(x: x, y: y))
                    sum +=
                        (Double(pixel.red) - 1) * 0.5 + 10 * (Double(pixel.green) - 2) + 100
                        * (Double(pixel.blue) - 3) * 2
                }
            }
            expected.append(sum / 16)
        }
        for (value, wanted) in zip(answer, expected) { #expect(abs(Double(value) - wanted) < 0.5) }
    }

    @Test func `Beyond the image its edge is repeated`() throws {
        let card = try DecodedImage.testCard(width: 160, height: 120)
        let network = try OnnxNetwork(
            Self.model(Self.sums, OnnxModel.Input(width: 8, height: 8, channels: .bgr)))
        let corner = try #require(card.rgb(x: 0, y: 0))
        let sum = Float(corner.blue) + 10 * Float(corner.green) + 100 * Float(corner.red)
        for value in try network.run(card, region: Box(x: -20, y: -20, width: 8, height: 8)) {
            #expect(abs(value - sum) < 0.5)
        }
    }

    @Test func `Two points come to lie where the network wants them, whichever way up and how large`() throws {
        let card = try DecodedImage.testCard(width: 160, height: 120)
        let network = try OnnxNetwork(
            Self.model(
                SmallNetwork(side: 8, square: 1, weights: [[1, 0, 0]]),
                OnnxModel.Input(width: 8, height: 8, channels: .rgb)))
        // Moved only: pixel for pixel.
        let moved = try network.run(
            card, left: Point(x: 42, y: 33), right: Point(x: 45, y: 33),
            wanted: (Point(x: 2, y: 3), Point(x: 5, y: 3)))
        // Upside down: what lies right of and below the points comes to lie left of and above them.
        let turned = try network.run(
            card, left: Point(x: 45, y: 34), right: Point(x: 42, y: 34),
            wanted: (Point(x: 2, y: 3), Point(x: 5, y: 3)))
        let mirrored = try network.run(
            card, left: Point(x: 42, y: 33), right: Point(x: 45, y: 33),
            wanted: (Point(x: 2, y: 3), Point(x: 5, y: 3)), mirrored: true)
        for y in 0..<8 {
            for x in 0..<8 {
                let plain = try #require(card.rgb(x: 40 + x, y: 30 + y)).red
                #expect(abs(moved[8 * y + x] - Float(plain)) < 1)
                #expect(abs(mirrored[8 * y + (7 - x)] - Float(plain)) < 1)
                let opposite = try #require(card.rgb(x: 47 - x, y: 37 - y)).red
                #expect(abs(turned[8 * y + x] - Float(opposite)) < 1)
            }
        }
    }

    @Test func `Another file, no file and no network are refused by name, without their folder`() throws {
        let input = OnnxModel.Input(width: 8, height: 8, channels: .rgb)
        func refusal(_ model: OnnxModel) -> InspectError? {
            do {
                _ = try OnnxNetwork(model)
                return nil
            } catch {
                return error
            }
        }
        let good = try Self.model(Self.sums, input)
        #expect(refusal(good) == nil)
        var other = good
        other.sha256 = String(repeating: "0", count: 64)
        #expect(refusal(other) == InspectError(.modelUnavailable, "small.onnx is not the model that was calibrated"))
        var missing = good
        missing.file += ".not"
        #expect(
            refusal(missing) == InspectError(.modelUnavailable, "small.onnx.not is missing or not readable"))
        // An image that the pooling does not fit into.
        var small = good
        small.input.width = 2
        small.input.height = 2
        #expect(refusal(small)?.code == .modelUnavailable)
        let text = URL(fileURLWithPath: good.file).deletingLastPathComponent().appending(path: "text.onnx")
        try Data("no network".utf8).write(to: text)
        var words = good
        words.file = text.path
        words.sha256 = try SmallNetwork.sha256(text)
        #expect(
            refusal(words)
                == InspectError(.modelUnavailable, "text.onnx is not a network that can be run on its input"))
    }
}

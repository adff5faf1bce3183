internal import Foundation
package import InspectCore

/// An ONNX network, such as MiniFASNet, that distinguishes living faces from prints and screens, as configured by an operator.
///
/// Every member that affects the score is required: without one the description does not decode.
package struct LivenessNetworkModel: Codable, Sendable, Hashable {
    /// What the network's outputs are.
    package enum Output: String, Codable, Sendable {
        /// Softmax turns them into probabilities.
        case logits = "logits"
        /// They add up to 1.
        case probabilities = "probabilities"
    }

    /// An ONNX file.
    package var file: String
    /// SHA-256 of the file in hex: another file is refused.
    package var sha256: String
    /// Size and form of the crop that the network takes.
    package var input: OnnxModel.Input
    /// Side of the crop over that of the face's box, which is square and reaches from the brows to the chin.
    package var cropScale: Double
    /// What its numbers are.
    package var output: Output
    /// Index of the output for a living face, from 0.
    package var liveIndex: Int
    /// The probability of a living face below which an artefact is suspected.
    package var threshold: Double
    /// Names the network in results.
    package var name: String
}

/// Rates one face with a network, in the analyzer.
package final class LivenessNetwork {
    private let network: OnnxNetwork
    private let model: LivenessNetworkModel

    /// Loads the network and runs it once, so that the analyzers share what it allocates.
    ///
    /// - Throws: `MODEL_UNAVAILABLE` if the network cannot be run or its output does not match its description.
    package init(_ model: LivenessNetworkModel) throws(InspectError) {
        let file = URL(fileURLWithPath: model.file).lastPathComponent
        guard (0.5...10).contains(model.cropScale), model.threshold > 0, model.threshold < 1,
            (1...100).contains(model.name.count), model.name.allSatisfy({ $0.isASCII && !$0.isNewline })
        else { throw InspectError(.modelUnavailable, "\(file) has no valid description as a liveness engine") }
        self.network = try OnnxNetwork(OnnxModel(file: model.file, sha256: model.sha256, input: model.input))
        self.model = model
        guard (2...1000).contains(self.network.outputLength), (0..<self.network.outputLength).contains(model.liveIndex)
        else {
            throw InspectError(
                .modelUnavailable,
                "\(file) has \(self.network.outputLength) outputs, none of index \(model.liveIndex)")
        }
        let card = try DecodedImage.testCard(width: 160, height: 160)
        guard try self.probability(card, Box(x: 40, y: 40, width: 80, height: 80)) != nil else {
            throw InspectError(.modelUnavailable, "\(file) has outputs that are not probabilities")
        }
    }

    /// The network's score for one face of `image`.
    package func score(_ face: FaceFacts, in image: DecodedImage) throws(InspectError) -> LivenessNetworkScore {
        LivenessNetworkScore(
            name: self.model.name, modelSHA256: self.model.sha256.lowercased(),
            live: try self.probability(image, face.box), threshold: self.model.threshold)
    }

    /// `nil` if the network's output is not a probability.
    private func probability(_ image: DecodedImage, _ box: Box) throws(InspectError) -> Double? {
        let region = Self.crop(
            box, scale: self.model.cropScale, width: Double(image.facts.width), height: Double(image.facts.height))
        let numbers: [Double]
        do throws(InspectError) {
            numbers = try self.network.run(image, region: region).map(Double.init)
        } catch {
            guard error.code == .internalError else { throw error }
            return nil
        }
        switch self.model.output {
        case .logits:
            // The largest is subtracted first, so that no exponential overflows.
            let largest = numbers.max() ?? 0
            let powers = numbers.map { exp($0 - largest) }
            return powers[self.model.liveIndex] / powers.reduce(0, +)
        case .probabilities:
            guard numbers.allSatisfy({ $0 > -0.001 }), abs(numbers.reduce(0, +) - 1) < 0.01 else { return nil }
            return min(1, max(0, numbers[self.model.liveIndex]))
        }
    }

    /// The face with its surroundings, limited to the image's size and moved inside it, as MiniFASNet's images were cropped
    /// (Silent-Face-Anti-Spoofing, `generate_patches.py`).
    static func crop(_ box: Box, scale: Double, width: Double, height: Double) -> Box {
        let scale = min(scale, width / box.width, height / box.height)
        let (across, down) = (box.width * scale, box.height * scale)
        return Box(
            x: min(max(0, box.x + (box.width - across) / 2), width - across),
            y: min(max(0, box.y + (box.height - down) / 2), height - down), width: across, height: down)
    }
}

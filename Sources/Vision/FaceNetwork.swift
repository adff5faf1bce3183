internal import Foundation
package import InspectCore

/// Maps a face to 128 numbers: dlib's network, or one of the operator's.
protocol FaceDescriptor {
    /// The space of the embeddings.
    var name: String { get }
    /// SHA-256 of the model file, lower-case hex.
    var modelSHA256: String { get }

    /// - Parameter landmarks: The five points of ``FaceFacts/landmarks``.
    /// - Returns: ``FaceEmbedding/length`` numbers.
    func describe(_ landmarks: [Point], in image: DecodedImage) throws(InspectError) -> [Float]
}

/// An ONNX network that computes embeddings of faces, with its calibration, without which it is refused.
package struct FaceNetworkModel: Codable, Sendable, Hashable {
    /// An ONNX file.
    package var file: String
    /// Of the file, lower-case hex.
    package var sha256: String
    /// Size and form of the image that the network takes.
    package var input: OnnxModel.Input
    /// The centres of the eyes in the input, in pixels; the one on the image's left first.
    package var leftEye: Point
    /// The one on the image's right.
    package var rightEye: Point
    /// Whether to average with the mirrored face.
    package var mirrored: Bool?
    /// Names the engine, too.
    package var calibration: FaceCalibration
}

/// The operator's choices for faces.
package struct FaceModels: Sendable {
    /// The file of dlib's 68-point model.
    package var contour: String?
    /// `nil`: dlib's network computes embeddings.
    package var network: FaceNetworkModel?
    /// A network that rates selfies in addition to the signals.
    package var liveness: LivenessNetworkModel?

    package init(
        contour: String? = nil, network: FaceNetworkModel? = nil, liveness: LivenessNetworkModel? = nil
    ) {
        self.contour = contour
        self.network = network
        self.liveness = liveness
    }
}

/// A face descriptor in an ONNX file.
final class FaceNetwork: FaceDescriptor {
    private let network: OnnxNetwork
    private let model: FaceNetworkModel

    var name: String { self.model.calibration.engine }
    let modelSHA256: String

    /// - Throws: `MODEL_UNAVAILABLE` if the network cannot be run, has no 128 outputs, or has no calibration.
    init(_ model: FaceNetworkModel) throws(InspectError) {
        let file = URL(fileURLWithPath: model.file).lastPathComponent
        guard model.calibration.isComplete, model.calibration.engine != FaceEmbedding.currentEngine else {
            throw InspectError(.modelUnavailable, "\(file) has no complete calibration with its own name")
        }
        self.network = try OnnxNetwork(OnnxModel(file: model.file, sha256: model.sha256, input: model.input))
        guard self.network.outputLength == FaceEmbedding.length else {
            throw InspectError(
                .modelUnavailable, "\(file) has \(self.network.outputLength) outputs, not 128")
        }
        self.model = model
        self.modelSHA256 = model.sha256.lowercased()
    }

    func describe(_ landmarks: [Point], in image: DecodedImage) throws(InspectError) -> [Float] {
        guard landmarks.count == 5 else { throw InspectError(.internalError, "a face without five points") }
        func middle(_ a: Point, _ b: Point) -> Point { Point(x: (a.x + b.x) / 2, y: (a.y + b.y) / 2) }
        // The first two points belong to the eye on the left of the upright face, whatever the image's orientation.
        let (left, right) = (middle(landmarks[0], landmarks[1]), middle(landmarks[2], landmarks[3]))
        let wanted = (left: self.model.leftEye, right: self.model.rightEye)
        let plain = try self.network.run(image, left: left, right: right, wanted: wanted)
        guard self.model.mirrored == true else { return plain }
        let mirrored = try self.network.run(image, left: left, right: right, wanted: wanted, mirrored: true)
        return zip(plain, mirrored).map { ($0 + $1) / 2 }
    }
}

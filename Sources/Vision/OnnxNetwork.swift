internal import CVision
internal import Foundation
internal import InspectCore

/// A network in an ONNX file, as configured by an operator.
package struct OnnxModel: Codable, Sendable, Hashable {
    /// The network's input image.
    package struct Input: Codable, Sendable, Hashable {
        /// The order of the colour channels.
        package enum Channels: String, Codable, Sendable {
            case rgb = "RGB"
            case bgr = "BGR"
        }

        /// Pixels.
        package var width: Int
        /// Pixels.
        package var height: Int
        /// The order in which the network takes them.
        package var channels: Channels
        /// Subtracted from each channel's values 0–255, in the order of ``channels``; 0 if absent.
        package var mean: [Float]?
        /// The factor for each channel's difference; 1 if absent.
        package var scale: [Float]?
    }

    /// Path of the file.
    package var file: String
    /// SHA-256 of the file, lower-case hex: another file is refused.
    package var sha256: String
    /// Size and form of the image that it takes.
    package var input: Input
}

/// A network that runs in the analyzer, over OpenCV's own engine on one thread.
///
/// Loaded and run once in the warm parent, so that analyzers share its weights and open no file. Not `Sendable`: it holds
/// scratch memory.
final class OnnxNetwork {
    private let pointer: OpaquePointer
    /// The length of the output.
    let outputLength: Int

    /// Loads the network.
    ///
    /// - Throws: `MODEL_UNAVAILABLE` if the file is missing, has another digest, or contains no network that OpenCV can run on such
    ///   an input; the message names the file without its folder.
    package init(_ model: OnnxModel) throws(InspectError) {
        let sides = 1...4096
        guard sides.contains(model.input.width), sides.contains(model.input.height),
            [nil, 3].contains(model.input.mean?.count), [nil, 3].contains(model.input.scale?.count)
        else { throw InspectError(.modelUnavailable, "a network's input description is incomplete or invalid") }
        let mean = model.input.mean ?? [0, 0, 0]
        let scale = model.input.scale ?? [1, 1, 1]
        var input = cv_network_input(
            width: UInt32(model.input.width), height: UInt32(model.input.height), rgb: model.input.channels == .rgb,
            mean: (mean[0], mean[1], mean[2]), scale: (scale[0], scale[1], scale[2]))
        let name = URL(fileURLWithPath: model.file).lastPathComponent
        var network: OpaquePointer?
        try callVision { error in
            cv_network_create(model.file, name, model.sha256.lowercased(), &input, &network, &error)
        }
        guard let network else { throw InspectError(.internalError, "loading returned no network") }
        self.pointer = network
        self.outputLength = cv_network_output_length(network)
    }

    deinit { cv_network_free(self.pointer) }

    /// Runs the network on one rectangle of `image`, stretched to the input. Outside the image, the pixels of its edge are repeated.
    ///
    /// - Returns: ``outputLength`` numbers of the network's last output.
    package func run(_ image: DecodedImage, region: Box) throws(InspectError) -> [Float] {
        try self.run { output, error in
            cv_network_run_region(
                self.pointer, image.pointer, region.x, region.y, region.width, region.height, output, &error)
        }
    }

    /// Runs the network on `image` rotated, scaled and moved so that two of its points lie at `wanted`, in pixels of the input.
    /// Outside the image, pixels are black.
    ///
    /// - Parameter mirrored: Whether the input is mirrored after that.
    package func run(
        _ image: DecodedImage, left: Point, right: Point, wanted: (left: Point, right: Point), mirrored: Bool = false
    ) throws(InspectError) -> [Float] {
        try self.run { output, error in
            cv_network_run_aligned(
                self.pointer, image.pointer, cv_point(left), cv_point(right), cv_point(wanted.left),
                cv_point(wanted.right), mirrored, output, &error)
        }
    }

    private func run(
        _ call: (UnsafeMutablePointer<Float>?, inout cv_error) -> cv_status
    ) throws(InspectError) -> [Float] {
        var output = [Float](repeating: 0, count: self.outputLength)
        try callVision { error in
            output.withUnsafeMutableBufferPointer { call($0.baseAddress, &error) }
        }
        guard output.allSatisfy(\.isFinite) else {
            throw InspectError(.internalError, "a network's output is not finite")
        }
        return output
    }
}

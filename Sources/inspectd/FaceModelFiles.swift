import Foundation
import InspectCore
import Vision

/// The files that an operator names for faces, and the words by which an analyzer is told of them.
struct FaceModelFiles: Sendable {
    /// JSON that describes an ONNX network (``FaceNetworkModel``); its `file` is beside it unless it is an absolute path.
    var engine: String?
    /// dlib's 68-point model.
    var contour: String?

    private static let engineWord = "--face-engine="
    private static let contourWord = "--face-contour="

    init(engine: String?, contour: String?) {
        self.engine = engine
        self.contour = contour
    }

    /// From the words of an analyzer's command line.
    init(words: some Sequence<String>) {
        for word in words {
            if word.hasPrefix(Self.engineWord) { self.engine = String(word.dropFirst(Self.engineWord.count)) }
            if word.hasPrefix(Self.contourWord) { self.contour = String(word.dropFirst(Self.contourWord.count)) }
        }
    }

    static func isWord(_ word: String) -> Bool { word.hasPrefix(self.engineWord) || word.hasPrefix(self.contourWord) }

    var words: [String] {
        [self.engine.map { Self.engineWord + $0 }, self.contour.map { Self.contourWord + $0 }].compactMap { $0 }
    }

    func models() throws(InspectError) -> FaceModels {
        FaceModels(contour: self.contour, network: try self.network())
    }

    /// What was measured of the engine that compares.
    ///
    /// - Throws: `MODEL_UNAVAILABLE` if a network is described without it.
    func calibration() throws(InspectError) -> FaceCalibration {
        guard let network = try self.network() else { return .dlib }
        guard network.calibration.isComplete else {
            throw InspectError(.modelUnavailable, "the face engine has no complete calibration")
        }
        return network.calibration
    }

    private func network() throws(InspectError) -> FaceNetworkModel? {
        guard let engine else { return nil }
        let name = URL(fileURLWithPath: engine).lastPathComponent
        guard let data = FileManager.default.contents(atPath: engine) else {
            throw InspectError(.modelUnavailable, "\(name) is missing or not readable")
        }
        do {
            var model = try JSONDecoder().decode(FaceNetworkModel.self, from: data)
            model.file = URL(fileURLWithPath: model.file, relativeTo: URL(fileURLWithPath: engine)).path
            return model
        } catch let DecodingError.keyNotFound(key, _) {
            throw InspectError(.modelUnavailable, "\(name) describes a face engine without \(key.stringValue)")
        } catch {
            throw InspectError(.modelUnavailable, "\(name) does not describe a face engine")
        }
    }
}

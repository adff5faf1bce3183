import Foundation
import InspectCore
import Vision

/// The operator's model files for faces, and the arguments that pass them to an analyzer.
struct FaceModelFiles: Sendable {
    /// JSON that describes an ONNX network (``FaceNetworkModel``); its `file` is in the same folder unless it is an absolute path.
    var engine: String?
    /// dlib's 68-point model.
    var contour: String?
    /// JSON that describes an ONNX network that scores selfies (``LivenessNetworkModel``); its `file` follows the same rule.
    var liveness: String?

    private static var words: [(prefix: String, file: WritableKeyPath<FaceModelFiles, String?>)] {
        [("--face-engine=", \.engine), ("--face-contour=", \.contour), ("--liveness-engine=", \.liveness)]
    }

    init(engine: String?, contour: String?, liveness: String?) {
        self.engine = engine
        self.contour = contour
        self.liveness = liveness
    }

    /// From an analyzer's command line.
    init(words: some Sequence<String>) {
        for word in words {
            for (prefix, file) in Self.words where word.hasPrefix(prefix) {
                self[keyPath: file] = String(word.dropFirst(prefix.count))
            }
        }
    }

    static func isWord(_ word: String) -> Bool { self.words.contains { word.hasPrefix($0.prefix) } }

    var words: [String] {
        Self.words.compactMap { prefix, file in self[keyPath: file].map { prefix + $0 } }
    }

    func models() throws(InspectError) -> FaceModels {
        FaceModels(contour: self.contour, network: try self.network(), liveness: try self.livenessNetwork())
    }

    /// The calibration of the engine that compares faces.
    ///
    /// - Throws: `MODEL_UNAVAILABLE` if a network's description lacks it.
    func calibration() throws(InspectError) -> FaceCalibration {
        guard let network = try self.network() else { return .dlib }
        guard network.calibration.isComplete else {
            throw InspectError(.modelUnavailable, "the face engine has no complete calibration")
        }
        return network.calibration
    }

    private func network() throws(InspectError) -> FaceNetworkModel? {
        guard let engine else { return nil }
        var model = try Self.read(FaceNetworkModel.self, from: engine, of: "--face-engine", describing: "a face engine")
        model.file = Self.path(model.file, beside: engine)
        return model
    }

    private func livenessNetwork() throws(InspectError) -> LivenessNetworkModel? {
        guard let liveness else { return nil }
        var model = try Self.read(
            LivenessNetworkModel.self, from: liveness, of: "--liveness-engine", describing: "a liveness engine")
        model.file = Self.path(model.file, beside: liveness)
        return model
    }

    private static func path(_ file: String, beside description: String) -> String {
        URL(fileURLWithPath: file, relativeTo: URL(fileURLWithPath: description)).path
    }

    private static func read<Model: Decodable>(
        _ type: Model.Type, from path: String, of option: String, describing what: String
    ) throws(InspectError) -> Model {
        let name = URL(fileURLWithPath: path).lastPathComponent
        let data: Data
        do {
            data = try InputFile.read(path, of: option, isSetting: true)
        } catch {
            throw InspectError(.modelUnavailable, error.description)
        }
        do {
            return try JSONDecoder().decode(type, from: data)
        } catch let DecodingError.keyNotFound(key, _) {
            throw InspectError(.modelUnavailable, "\(name) describes \(what) without \(key.stringValue)")
        } catch {
            throw InspectError(.modelUnavailable, "\(name) does not describe \(what)")
        }
    }
}

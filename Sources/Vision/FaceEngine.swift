internal import CVision
package import InspectCore

/// Finds and describes faces with dlib's models: frontal HOG detector, 5-point shape predictor, 29-layer residual network.
///
/// Loading takes about 0.7 s, so an analyzer's warm parent loads one engine and forks. Not `Sendable`: the models hold
/// scratch memory, and dlib promises nothing to two threads.
package final class FaceEngine {
    /// Names the space that the features live in: network, alignment, averaging. Features of other names never compare.
    package static let name = FaceEmbedding.currentEngine

    /// The faces of one image that are described at most: a class photo must not take minutes.
    static let capacity = 32

    /// The native engine; valid as long as this object. Never leaves this target.
    let pointer: OpaquePointer
    /// The descriptor in place of dlib's.
    private let descriptor: (any FaceDescriptor)?
    /// The space that this engine's features live in.
    package let name: String
    /// SHA-256 of the descriptor's model file, lower-case hex.
    package let modelSHA256: String

    /// Loads the models.
    ///
    /// - Parameters:
    ///   - models: The folder that `deploy/install-models.sh` fills.
    ///   - contour: The file of dlib's 68-point model, which tells eyes, mouth and pose; its training data forbids commercial
    ///     use, so only an operator may name it.
    ///   - network: A network in place of dlib's descriptor.
    /// - Throws: `MODEL_UNAVAILABLE` if a file is missing or is not the one that was calibrated.
    package init(
        models: String, contour: String? = nil, network: FaceNetworkModel? = nil
    ) throws(InspectError) {
        var engine: OpaquePointer?
        try callVision { error in cv_face_engine_create(models, contour, &engine, &error) }
        guard let engine else { throw InspectError(.internalError, "loading returned no face engine") }
        self.pointer = engine
        if let network {
            let descriptor = try FaceNetwork(network)
            self.descriptor = descriptor
            self.name = descriptor.name
            self.modelSHA256 = descriptor.modelSHA256
        } else {
            self.descriptor = nil
            self.name = Self.name
            self.modelSHA256 = String(cString: cv_face_engine_model_sha256(engine))
        }
    }

    deinit { cv_face_engine_free(self.pointer) }

    /// The faces of `image`, largest first, whichever way up they are.
    ///
    /// An upright face of an eighth of the image's longer side or more costs one look at 640 px (25 ms). Smaller faces,
    /// tight crops and images taken sideways cost further looks, an image without a face about 0.4 s.
    ///
    /// - Parameters:
    ///   - features: How many of the largest faces get a feature (18 ms each).
    ///   - turn: Degrees by which the content is turned clockwise, where something else in the image told; the other
    ///     ways up are then left out.
    ///   - onlyLargest: Whether smaller faces beside the largest may be left out, which halves the search.
    ///   - document: What is known of the document that the image shows, if it shows one.
    package func faces(
        in image: DecodedImage, features: Int, turn: Double? = nil, onlyLargest: Bool = false,
        on document: DocumentSide? = nil
    ) throws(InspectError) -> [FaceFacts] {
        // Turned back to the nearest quarter.
        let quarters = turn.map { (8 - Int(($0 / 90).rounded())) % 4 }
        let found = try self.detect(image, knownTurns: quarters ?? -1, onlyLargest: onlyLargest, on: document)
        if self.descriptor != nil {
            var facts = found.map { FaceFacts($0, feature: nil) }
            for index in facts.indices.prefix(max(0, features)) {
                facts[index].feature = try self.describe(facts[index].landmarks, in: image)
            }
            return facts
        }
        let described = found.prefix(max(0, features))
        var numbers = [Float](repeating: 0, count: described.count * FaceEmbedding.length)
        if !described.isEmpty {
            try callVision { error in
                Array(described).withUnsafeBufferPointer { faces in
                    cv_face_features(
                        self.pointer, image.pointer, faces.baseAddress, faces.count, &numbers, &error)
                }
            }
        }
        return found.enumerated().map { index, face in
            guard index < described.count else { return FaceFacts(face, feature: nil) }
            let start = index * FaceEmbedding.length
            let values = numbers[start..<start + FaceEmbedding.length]
            return FaceFacts(face, feature: FaceEmbedding(values: values, modelSHA256: self.modelSHA256))
        }
    }

    /// PAD signals around one face of `image`, as evidence to weigh; they never prove a living person.
    package func liveness(in image: DecodedImage, face: FaceFacts) throws(InspectError) -> LivenessFacts {
        var native = cv_face()
        native.x = face.box.x
        native.y = face.box.y
        native.width = face.box.width
        native.height = face.box.height
        native.chroma = face.quality.chroma
        native.sharpness = face.quality.sharpness
        var signals = cv_face_signals()
        try callVision { error in cv_face_liveness(image.pointer, &native, &signals, &error) }
        return LivenessFacts(signals)
    }

    /// The feature of a face whose points are known, by the network that compares faces here.
    package func describe(_ landmarks: [Point], in image: DecodedImage) throws(InspectError) -> FaceEmbedding? {
        guard let descriptor = self.descriptor else { return try self.feature(in: image, landmarks: landmarks) }
        let values = try descriptor.describe(landmarks, in: image)
        return FaceEmbedding(values: values, engine: descriptor.name, modelSHA256: descriptor.modelSHA256)
    }

    /// The feature that dlib's network makes of a face whose points are known, also where another network compares faces: what
    /// holds within a capture (``CaptureRules``) was measured in its distances.
    package func feature(in image: DecodedImage, landmarks: [Point]) throws(InspectError) -> FaceEmbedding? {
        guard landmarks.count == Int(CV_FACE_LANDMARKS) else { return nil }
        var native = cv_face()
        withUnsafeMutableBytes(of: &native.landmarks) { bytes in
            let points = bytes.bindMemory(to: cv_point.self)
            for (index, point) in landmarks.enumerated() { points[index] = cv_point(point) }
        }
        var numbers = [Float](repeating: 0, count: FaceEmbedding.length)
        try callVision { error in cv_face_features(self.pointer, image.pointer, &native, 1, &numbers, &error) }
        return FaceEmbedding(
            values: numbers[...], modelSHA256: String(cString: cv_face_engine_model_sha256(self.pointer)))
    }

    /// Where a document's faces are looked for, and how thoroughly.
    package struct DocumentSide {
        var outline: OutlineFacts?
        var zone: Quad?
        var bearsPortrait: Bool

        /// - Parameters:
        ///   - outline: The outline, if one was found.
        ///   - zone: The MRZ, if one was found: no face is sought in it, nor below.
        ///   - bearsPortrait: Whether the side may bear the portrait. Backs are looked at once, at the size that portraits have.
        package init(outline: OutlineFacts?, zone: Quad? = nil, bearsPortrait: Bool) {
            self.outline = outline
            self.zone = zone
            self.bearsPortrait = bearsPortrait
        }
    }

    private func detect(
        _ image: DecodedImage, knownTurns: Int, onlyLargest: Bool, on document: DocumentSide?
    ) throws(InspectError) -> [cv_face] {
        var faces = [cv_face](repeating: cv_face(), count: Self.capacity)
        var count = 0
        try callVision { error in
            let turns = Int32(knownTurns)
            guard let document else {
                return cv_face_detect(
                    self.pointer, image.pointer, turns, onlyLargest, &faces, faces.count, &count, &error)
            }
            var native = cv_document_side()
            native.bears_portrait = document.bearsPortrait
            if let outline = document.outline {
                native.has_outline = true
                native.outline = outline.quad.corners
            }
            if let zone = document.zone {
                native.has_mrz = true
                native.mrz = zone.corners
            }
            return cv_face_detect_on_document(
                self.pointer, image.pointer, &native, turns, &faces, faces.count, &count, &error)
        }
        return Array(faces.prefix(count))
    }
}

extension FaceFacts {
    fileprivate init(_ face: cv_face, feature: FaceEmbedding?) {
        let points = withUnsafeBytes(of: face.landmarks) { Array($0.bindMemory(to: cv_point.self)) }
        self.init(
            box: Box(x: face.x, y: face.y, width: face.width, height: face.height),
            landmarks: points.map { Point(x: $0.x, y: $0.y) }, detectionScore: face.score,
            quality: FaceQuality(face), feature: feature)
    }
}

extension FaceQuality {
    fileprivate init(_ face: cv_face) {
        self.init(
            interEyeDistance: face.inter_eye_distance, roll: face.roll, yawOffset: face.yaw_offset,
            luminanceMean: face.luminance_mean, luminanceVariance: face.luminance_variance,
            overExposed: face.over_exposed, underExposed: face.under_exposed,
            illuminationUniformity: face.illumination_uniformity, dynamicRange: face.dynamic_range,
            chroma: face.chroma, sharpness: face.sharpness, centreX: face.centre_x, eyeLineY: face.eye_line_y,
            headWidth: face.head_width, visible: face.visible, colourDistance: face.colour_distance,
            backgroundGradient: face.background_gradient >= 0 ? face.background_gradient : nil,
            contour: face.has_contour
                ? FaceContour(
                    eyeOpening: face.eye_opening, eyeAspect: face.eye_aspect, mouthOpening: face.mouth_opening,
                    smileWidth: face.smile_width, pitch: face.pitch, yaw: face.yaw, length: face.face_length) : nil)
    }
}

extension LivenessFacts {
    fileprivate init(_ signals: cv_face_signals) {
        let values: [Signal: Double] = [
            .moire: signals.moire, .specular: signals.specular, .frame: signals.frame, .flatFocus: signals.flat_focus,
            .narrowColour: signals.narrow_colour, .grey: signals.grey, .soft: signals.soft,
        ]
        self.init(signals: Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) }))
    }
}

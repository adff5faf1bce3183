internal import CVision
package import InspectCore

/// Finds faces and computes their embeddings with dlib's models: frontal HOG detector, 5-point shape predictor, 29-layer
/// residual network.
///
/// Loading takes a while, so an analyzer's warm parent loads one engine and forks. Not `Sendable`: the models hold
/// scratch memory, and dlib promises nothing to two threads.
package final class FaceEngine {
    /// Names the space of the embeddings: network, alignment, averaging. Embeddings of different names are never compared.
    package static let name = FaceEmbedding.currentEngine

    /// The most faces of one image that get an embedding: a group photo must not take minutes.
    static let capacity = 32

    /// The native engine; valid as long as this object. Never leaves this target.
    let pointer: OpaquePointer
    /// The network that replaces dlib's.
    private let descriptor: (any FaceDescriptor)?
    /// The space of this engine's embeddings.
    package let name: String
    /// SHA-256 of the descriptor's model file, lower-case hex.
    package let modelSHA256: String

    /// Loads the models.
    ///
    /// - Parameters:
    ///   - models: The folder that `deploy/install-models.sh` fills.
    ///   - contour: The file of dlib's 68-point model, for measures of eyes, mouth and pose; its training data forbids commercial
    ///     use, so only an operator may configure it.
    ///   - network: A network instead of dlib's descriptor.
    ///   - describes: `false`: faces are found and measured, and have no embeddings; this loads in a fraction of the time.
    /// - Throws: `MODEL_UNAVAILABLE` if a file is missing or is not the one that was calibrated.
    package init(
        models: String, contour: String? = nil, network: FaceNetworkModel? = nil, describes: Bool = true
    ) throws(InspectError) {
        var engine: OpaquePointer?
        try callVision { error in cv_face_engine_create(models, contour, describes, &engine, &error) }
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

    /// Whether images are searched at a quarter of the size from now on: for code that is to run and to find nothing.
    package func rehearse(_ rehearses: Bool) { cv_face_engine_rehearse(self.pointer, rehearses) }

    /// The faces of `image` in any orientation, largest first.
    ///
    /// An upright face of an eighth of the image's longer side or more costs one pass at 640 px. Smaller faces, tight
    /// crops and images taken sideways cost more passes, an image without a face about 0.4 s.
    ///
    /// - Parameters:
    ///   - embeddings: How many of the largest faces get an embedding (10 ms each); none if a face is seen at a low angle.
    ///   - turn: The clockwise rotation of the content in degrees, if known; other orientations are then skipped.
    ///   - onlyLargest: Whether smaller faces may be missed, which halves the search.
    ///   - document: What is known about the document in the image, if there is one.
    package func faces(
        in image: DecodedImage, embeddings: Int, turn: Double? = nil, onlyLargest: Bool = false,
        on document: DocumentSide? = nil
    ) throws(InspectError) -> [FaceFacts] {
        // The nearest quarter turn that undoes the rotation.
        let quarters = turn.map { (8 - Int(($0 / 90).rounded())) % 4 }
        let found = try self.detect(image, knownTurns: quarters ?? -1, onlyLargest: onlyLargest, on: document)
        if self.descriptor != nil {
            var facts = found.map { FaceFacts($0, embedding: nil) }
            for index in facts.indices.prefix(max(0, embeddings)).prefix(while: { facts[$0].box.isComparable }) {
                facts[index].embedding = try self.describe(facts[index].landmarks, in: image)
            }
            return facts
        }
        let described = found.prefix(max(0, embeddings)).prefix { Box($0).isComparable }
        var numbers = [Float](repeating: 0, count: described.count * FaceEmbedding.length)
        if !described.isEmpty {
            try callVision { error in
                Array(described).withUnsafeBufferPointer { faces in
                    cv_face_embeddings(
                        self.pointer, image.pointer, faces.baseAddress, faces.count, &numbers, &error)
                }
            }
        }
        return found.enumerated().map { index, face in
            guard index < described.count else { return FaceFacts(face, embedding: nil) }
            let start = index * FaceEmbedding.length
            let values = numbers[start..<start + FaceEmbedding.length]
            return FaceFacts(face, embedding: FaceEmbedding(values: values, modelSHA256: self.modelSHA256))
        }
    }

    /// PAD signals around one face of `image`. They never prove that a person is live.
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

    /// The embedding of a face whose points are known, by the network that compares faces here.
    package func describe(_ landmarks: [Point], in image: DecodedImage) throws(InspectError) -> FaceEmbedding? {
        guard let descriptor = self.descriptor else { return try self.embedding(in: image, landmarks: landmarks) }
        let values = try descriptor.describe(landmarks, in: image)
        return FaceEmbedding(values: values, engine: descriptor.name, modelSHA256: descriptor.modelSHA256)
    }

    /// The embedding of a face whose points are known by dlib's network, even if another network compares faces: the limits
    /// within a capture (``CaptureRules``) were measured in its distances.
    package func embedding(in image: DecodedImage, landmarks: [Point]) throws(InspectError) -> FaceEmbedding? {
        guard landmarks.count == Int(CV_FACE_LANDMARKS) else { return nil }
        var native = cv_face()
        withUnsafeMutableBytes(of: &native.landmarks) { bytes in
            let points = bytes.bindMemory(to: cv_point.self)
            for (index, point) in landmarks.enumerated() { points[index] = cv_point(point) }
        }
        var numbers = [Float](repeating: 0, count: FaceEmbedding.length)
        try callVision { error in cv_face_embeddings(self.pointer, image.pointer, &native, 1, &numbers, &error) }
        return FaceEmbedding(
            values: numbers[...], modelSHA256: String(cString: cv_face_engine_model_sha256(self.pointer)))
    }

    /// Searches for a document's ghost image beside its portrait and compares both by dlib's network, in whose distances the
    /// limit was measured. The search takes 5 to 40 ms, the comparison 10 ms for each face that has no such embedding yet.
    ///
    /// - Returns: `nil` if no ghost image could be compared, because the portrait itself is too small.
    package func ghost(
        of portrait: FaceFacts, in image: DecodedImage, on document: DocumentSide
    ) throws(InspectError) -> GhostFacts? {
        guard Limits.ghostEyeDistance.allows(portrait.quality.interEyeDistance), portrait.box.isComparable else {
            return nil
        }
        var native = cv_face()
        native.x = portrait.box.x
        native.y = portrait.box.y
        native.width = portrait.box.width
        native.height = portrait.box.height
        native.quarter_turns = Int32((8 - Int((portrait.quality.roll / 90).rounded())) % 4)
        var side = cv_document_side(document)
        var ghost = cv_face()
        var found = false
        try callVision { error in
            cv_face_ghost(
                self.pointer, image.pointer, &side, &native, Limits.leastGhostEyeDistance, &ghost, &found, &error)
        }
        guard found else { return GhostFacts() }
        let face = FaceFacts(ghost, embedding: nil)
        var facts = GhostFacts(
            box: face.box, detectionScore: face.detectionScore, interEyeDistance: face.quality.interEyeDistance)
        guard Limits.ghostScore.allows(face.detectionScore),
            Limits.ghostEyeDistance.allows(face.quality.interEyeDistance)
        else { return facts }
        var known = portrait.embedding
        if known?.engine != FaceEmbedding.currentEngine {
            known = try self.embedding(in: image, landmarks: portrait.landmarks)
        }
        if let known, let other = try self.embedding(in: image, landmarks: face.landmarks) {
            facts.distance = try known.distance(to: other)
        }
        return facts
    }

    /// Where a document's faces are sought, and how thoroughly.
    package struct DocumentSide {
        var outline: OutlineFacts?
        var mrz: Quad?
        var bearsPortrait: Bool

        /// - Parameters:
        ///   - outline: The outline, if one was found.
        ///   - mrz: The MRZ, if one was found: no face is sought in or below it.
        ///   - bearsPortrait: Whether the side may have the portrait. Backs get one pass, at the size of portraits.
        package init(outline: OutlineFacts?, mrz: Quad? = nil, bearsPortrait: Bool) {
            self.outline = outline
            self.mrz = mrz
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
            var native = cv_document_side(document)
            return cv_face_detect_on_document(
                self.pointer, image.pointer, &native, turns, &faces, faces.count, &count, &error)
        }
        return Array(faces.prefix(count))
    }
}

extension cv_document_side {
    fileprivate init(_ document: FaceEngine.DocumentSide) {
        self.init()
        self.bears_portrait = document.bearsPortrait
        if let outline = document.outline {
            self.has_outline = true
            self.outline = outline.quad.corners
        }
        if let mrz = document.mrz {
            self.has_mrz = true
            self.mrz = mrz.corners
        }
    }
}

extension Box {
    fileprivate init(_ face: cv_face) { self.init(x: face.x, y: face.y, width: face.width, height: face.height) }

    /// Whether a face's box is not flat, as on a page seen at a low angle. Of 294 pairs of one person, 1 was beyond a distance of 0.6
    /// where one face was 1.4 times as flat as it is, and 36 at a factor of 1.7.
    fileprivate var isComparable: Bool { max(self.width, self.height) <= 1.4 * min(self.width, self.height) }
}

extension FaceFacts {
    fileprivate init(_ face: cv_face, embedding: FaceEmbedding?) {
        let points = withUnsafeBytes(of: face.landmarks) { Array($0.bindMemory(to: cv_point.self)) }
        self.init(
            box: Box(face), landmarks: points.map { Point(x: $0.x, y: $0.y) }, detectionScore: face.score,
            quality: FaceQuality(face), embedding: embedding)
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

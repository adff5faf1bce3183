/// One face in an image.
package struct FaceFacts: Codable, Sendable, Hashable {
    /// As the detector frames faces.
    package var box: Box
    /// Five points: outer and inner corner of the eye on the image's left, of the eye on its right, base of the nose.
    package var landmarks: [Point]
    /// The detector's score; comparable only between faces of the same detector, and never a similarity.
    package var detectionScore: Double
    /// Measures of the face's pixels.
    package var quality: FaceQuality
    /// 128 float32, little-endian, lower-case hex: 1,024 characters; `nil` when none was requested.
    package var embedding: FaceEmbedding?

    package init(box: Box, landmarks: [Point], detectionScore: Double, quality: FaceQuality, embedding: FaceEmbedding?)
    {
        self.box = box
        self.landmarks = landmarks
        self.detectionScore = detectionScore
        self.quality = quality
        self.embedding = embedding
    }
}

/// Fitness of a face image by the measures of ISO/IEC 29794-5 that need no neural network.
///
/// Compression, occlusion, head covering and expression are not assessed: they need further networks.
package struct FaceQuality: Codable, Sendable, Hashable {
    /// Distance between the eye centres in pixels.
    package var interEyeDistance: Double
    /// Rotation in the image plane in degrees, clockwise positive, from the line between the eyes.
    package var roll: Double
    /// How far the base of the nose lies from the eyes' perpendicular bisector, in eye distances: 0 is frontal, and a head
    /// turned by 40° shows about 0.25 (measured on labelled profiles).
    package var yawOffset: Double
    /// Mean luminance of the face, 0–1 (linearised sRGB).
    package var luminanceMean: Double
    /// Variance of the luminance of the face, of values 0–1.
    package var luminanceVariance: Double
    /// Share (0–1) of the face that is burnt out (luminance 247–255).
    package var overExposed: Double
    /// Share (0–1) of the face that is black (luminance 0–25).
    package var underExposed: Double
    /// How evenly both cheeks are lit, 0–1 (intersection of their luminance histograms).
    package var illuminationUniformity: Double
    /// Entropy of the luminance of the face in bits, 0–8.
    package var dynamicRange: Double
    /// Mean distance of the face's colours from grey in CIELAB; below about 2 in a grey image.
    package var chroma: Double
    /// Variance of the Laplacian of the face at a fixed chip size; a measure of sharpness.
    package var sharpness: Double
    /// Horizontal position of the face's centre over the image's width (ISO/IEC 19794-5 full frontal: 0.45–0.55).
    package var centreX: Double
    /// Vertical position of the eye line from the bottom over the image's height (ISO/IEC 19794-5: 0.5–0.7).
    package var eyeLineY: Double
    /// Width of the head, estimated from the eye distance, over the image's width (ISO/IEC 19794-5: 0.5–0.75).
    package var headWidth: Double
    /// Share (0–1) of the head's estimated rectangle that lies inside the image.
    package var visible: Double
    /// How far the cheeks' mean colour lies from that of skin in daylight, in CIELAB; `nil`: measured by an earlier version.
    package var colourDistance: Double?
    /// Mean gradient around the head, in steps of 0–255 from pixel to pixel at 320 px; `nil` if nothing is around it, or
    /// another face.
    package var backgroundGradient: Double?
    /// `nil` unless the operator configured the 68-point model.
    package var contour: FaceContour?

    package init(
        interEyeDistance: Double, roll: Double, yawOffset: Double, luminanceMean: Double, luminanceVariance: Double,
        overExposed: Double, underExposed: Double, illuminationUniformity: Double, dynamicRange: Double,
        chroma:
            Double, sharpness: Double, centreX: Double, eyeLineY: Double, headWidth: Double, visible: Double,
        colourDistance: Double? = nil, backgroundGradient: Double? = nil, contour: FaceContour? = nil
    ) {
        self.interEyeDistance = interEyeDistance
        self.roll = roll
        self.yawOffset = yawOffset
        self.luminanceMean = luminanceMean
        self.luminanceVariance = luminanceVariance
        self.overExposed = overExposed
        self.underExposed = underExposed
        self.illuminationUniformity = illuminationUniformity
        self.dynamicRange = dynamicRange
        self.chroma = chroma
        self.sharpness = sharpness
        self.centreX = centreX
        self.eyeLineY = eyeLineY
        self.headWidth = headWidth
        self.visible = visible
        self.colourDistance = colourDistance
        self.backgroundGradient = backgroundGradient
        self.contour = contour
    }
}

/// Eyes, mouth and pose of a face, measured on 68 points.
package struct FaceContour: Codable, Sendable, Hashable {
    /// Gap of the lids of the eye that is less open, over ``length``.
    package var eyeOpening: Double
    /// Gap of the lids over the eye's width (eye aspect ratio), mean of both eyes.
    package var eyeAspect: Double
    /// Gap between the inner lips over ``length``.
    package var mouthOpening: Double
    /// Distance of the corners of the mouth over that of the eyes.
    package var smileWidth: Double
    /// Degrees; positive is down.
    package var pitch: Double
    /// Degrees; positive is towards the image's right.
    package var yaw: Double
    /// From the middle between the eyes to the chin, in pixels.
    package var length: Double

    package init(
        eyeOpening: Double, eyeAspect: Double, mouthOpening: Double, smileWidth: Double, pitch: Double, yaw: Double,
        length: Double
    ) {
        self.eyeOpening = eyeOpening
        self.eyeAspect = eyeAspect
        self.mouthOpening = mouthOpening
        self.smileWidth = smileWidth
        self.pitch = pitch
        self.yaw = yaw
        self.length = length
    }
}

/// Passive PAD signals of one selfie: evidence for a person to weigh, never proof of a live face.
package struct LivenessFacts: Codable, Sendable, Hashable {
    /// Named signals, 0–1 each where 1 is most suspicious; the names are those of ``Signal``.
    package var signals: [String: Double]
    /// The score of the operator's network; `nil` if none is configured.
    package var network: LivenessNetworkScore?
    /// The image file's metadata; `nil` in facts stored by earlier versions.
    package var metadata: ImageMetadata?

    package init(
        signals: [String: Double], network: LivenessNetworkScore? = nil, metadata: ImageMetadata? = nil
    ) {
        self.signals = signals
        self.network = network
        self.metadata = metadata
    }
}

/// The score of an operator's network for a living face: one PAD signal among others.
package struct LivenessNetworkScore: Codable, Sendable, Hashable {
    /// The operator's name for the network.
    package var name: String
    /// SHA-256 of its file, lower-case hex.
    package var modelSHA256: String
    /// Probability (0–1) of a living face; `nil` if the network returned no valid number.
    package var live: Double?
    /// Below this an artefact is suspected.
    package var threshold: Double

    package init(name: String, modelSHA256: String, live: Double?, threshold: Double) {
        self.name = name
        self.modelSHA256 = modelSHA256
        self.live = live
        self.threshold = threshold
    }

    /// Whether an artefact is suspected.
    package var isSuspicious: Bool { self.live.map { $0 < self.threshold } ?? false }
}

extension LivenessFacts {
    /// PAD signals that a single image can show (ISO/IEC 30107-1).
    package enum Signal: String, CaseIterable, Sendable {
        /// Isolated peaks in the spectrum of the face, as a screen's raster leaves them.
        case moire = "moire"
        /// Colourless burnt-out spots on the face.
        case specular = "specular"
        /// Straight edges around the face: bezel of a screen, border of a print.
        case frame = "frame"
        /// Face and surroundings equally sharp, as on a plane.
        case flatFocus = "flatFocus"
        /// Little variety of colour on the skin.
        case narrowColour = "narrowColour"
        /// No colour at all.
        case grey = "grey"
        /// Little fine detail on the face.
        case soft = "soft"
    }

    /// The strength of a signal; `nil`: not measured.
    package subscript(signal: Signal) -> Double? { self.signals[signal.rawValue] }
}

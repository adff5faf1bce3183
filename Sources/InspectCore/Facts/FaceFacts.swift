/// One face in a picture.
public struct FaceFacts: Codable, Sendable, Hashable {
    public var box: Box
    /// Five points: outer and inner corner of the eye on the image's left, of the eye on its right, base of the nose.
    public var landmarks: [Point]
    /// The detector's score; comparable only between faces of the same detector, and never a similarity.
    public var detectionScore: Double
    public var quality: FaceQuality
    /// 128 float32, little-endian, lower-case hex: 1,024 characters; `nil` when none was asked for.
    public var feature: FaceFeature?

    public init(box: Box, landmarks: [Point], detectionScore: Double, quality: FaceQuality, feature: FaceFeature?) {
        self.box = box
        self.landmarks = landmarks
        self.detectionScore = detectionScore
        self.quality = quality
        self.feature = feature
    }
}

/// Fitness of a face picture by the measures of ISO/IEC 29794-5 that need no neural network.
public struct FaceQuality: Codable, Sendable, Hashable {
    /// Distance between the eye centres in pixels.
    public var interEyeDistance: Double
    /// Rotation in the image plane in degrees, from the line between the eyes.
    public var roll: Double
    /// Mean luminance of the face, 0–1 (linearised sRGB).
    public var luminanceMean: Double
    /// Share (0–1) of the face that is burnt out (luminance 247–255).
    public var overExposed: Double
    /// Share (0–1) of the face that is black (luminance 0–25).
    public var underExposed: Double
    /// Variance of the Laplacian of the face at a fixed chip size; a measure of sharpness.
    public var sharpness: Double
    /// Horizontal position of the face's centre over the picture's width (ISO/IEC 19794-5 full frontal: 0.45–0.55).
    public var centreX: Double
    /// Vertical position of the eye line from the bottom over the picture's height (ISO/IEC 19794-5: 0.5–0.7).
    public var eyeLineY: Double

    public init(
        interEyeDistance: Double, roll: Double, luminanceMean: Double, overExposed: Double, underExposed: Double,
        sharpness: Double, centreX: Double, eyeLineY: Double
    ) {
        self.interEyeDistance = interEyeDistance
        self.roll = roll
        self.luminanceMean = luminanceMean
        self.overExposed = overExposed
        self.underExposed = underExposed
        self.sharpness = sharpness
        self.centreX = centreX
        self.eyeLineY = eyeLineY
    }
}

/// Passive liveness cues of one selfie: evidence for a person to weigh, never proof of a live face.
public struct LivenessFacts: Codable, Sendable, Hashable {
    /// Named cues, 0–1 each where 1 is most suspicious, for example `moire`, `specular`, `bezel`.
    public var cues: [String: Double]

    public init(cues: [String: Double]) {
        self.cues = cues
    }
}

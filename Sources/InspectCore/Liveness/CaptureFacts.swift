/// The measurements on the frames of a liveness capture: numbers only, no image and no embedding.
package struct CaptureFacts: Codable, Sendable, Hashable {
    /// The measurements on one frame.
    package struct Frame: Codable, Sendable, Hashable {
        /// `nil` if no face was found or followed; then only ``scene`` and ``isRepeated`` are known.
        package var face: Face?
        /// Correlation (−1 to 1) of the whole image, made small, with the frame before it; 1 for the first. A cut gives
        /// lower values than any motion or light.
        package var scene: Double
        /// Whether the small image equals that of the previous frame, pixel by pixel.
        package var isRepeated: Bool

        package init(face: Face?, scene: Double = 1, isRepeated: Bool = false) {
            self.face = face
            self.scene = scene
            self.isRepeated = isRepeated
        }
    }

    /// The face of one frame. Lengths without a unit are in eye distances.
    package struct Face: Codable, Sendable, Hashable {
        /// As the detector frames faces.
        package var box: Box
        /// The five points of ``FaceFacts/landmarks``.
        package var landmarks: [Point]
        /// Height of the dark between the lids over the eye's width, mean of both eyes: about 0.25 to 0.6 open, near 0 closed.
        /// Dark is judged by the darkest that the same eyes have shown before.
        package var eyeOpening: Double
        /// Share of the mouth's middle columns that is as dark as the inside of a mouth.
        package var mouthOpening: Double
        /// Length of the dark line between the lips.
        package var mouthWidth: Double
        /// Turn of the head in degrees, positive towards the right of the image, from how far the base of the nose lies
        /// before the eyes: a plane that is turned shows none.
        package var yaw: Double
        /// How far the base of the nose lies below the eyes. Grows as the head is lowered, since the nose lies before the
        /// eyes; a plane that is tilted only shrinks it.
        package var noseDrop: Double
        /// Distance between the eyes in pixels.
        package var eyeDistance: Double
        /// Light from the forehead.
        package var forehead: LinearColour
        /// Light from both cheeks.
        package var cheeks: LinearColour
        /// Light from the nose's ridge.
        package var nose: LinearColour
        /// Light from the sides of the head; `nil` if the image shows too little of it.
        package var background: LinearColour?
        /// Share (0–1) of the skin that is burnt out.
        package var saturated: Double
        /// Mean absolute difference (0–1) of the aligned face's luminance from that of the frame before it.
        package var change: Double?

        package init(
            box: Box, landmarks: [Point], eyeOpening: Double, mouthOpening: Double, mouthWidth: Double, yaw: Double,
            noseDrop: Double, eyeDistance: Double, forehead: LinearColour, cheeks: LinearColour, nose: LinearColour,
            background: LinearColour?, saturated: Double, change: Double? = nil
        ) {
            self.box = box
            self.landmarks = landmarks
            self.eyeOpening = eyeOpening
            self.mouthOpening = mouthOpening
            self.mouthWidth = mouthWidth
            self.yaw = yaw
            self.noseDrop = noseDrop
            self.eyeDistance = eyeDistance
            self.forehead = forehead
            self.cheeks = cheeks
            self.nose = nose
            self.background = background
            self.saturated = saturated
            self.change = change
        }

        /// Centre between the eyes in pixels of the frame.
        var eyeCentre: Point {
            let eyes = self.landmarks.prefix(4)
            guard eyes.count == 4 else { return Point(x: self.box.x, y: self.box.y) }
            return Point(x: eyes.map(\.x).reduce(0, +) / 4, y: eyes.map(\.y).reduce(0, +) / 4)
        }

        /// Base of the nose in pixels of the frame.
        var noseBase: Point { self.landmarks.count == 5 ? self.landmarks[4] : self.eyeCentre }
    }

    /// A frame with an embedding, to check that the person stays the same.
    package struct KeyFrame: Codable, Sendable, Hashable {
        /// Of the frame, from 0.
        package var index: Int
        /// Distance of its embedding from that of the first key frame.
        package var distance: Double
        /// Distance of its embedding from the selfie's, if the job has a selfie.
        package var distanceToFace: Double?

        package init(index: Int, distance: Double, distanceToFace: Double?) {
            self.index = index
            self.distance = distance
            self.distanceToFace = distanceToFace
        }
    }

    /// Pixels of the frames; all have the same.
    package var width: Int
    /// Pixels, as ``width``.
    package var height: Int
    /// In the order of the capture.
    package var frames: [Frame]
    /// The first is the reference of the others.
    package var keyFrames: [KeyFrame]

    package init(width: Int, height: Int, frames: [Frame], keyFrames: [KeyFrame]) {
        self.width = width
        self.height = height
        self.frames = frames
        self.keyFrames = keyFrames
    }
}

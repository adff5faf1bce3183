import InspectCore
import Vision

/// The frames of a liveness capture. Each is decoded, measured and freed; only numbers remain.
enum CaptureStage {
    static func isFrame(_ part: PartView) -> Bool { part.kind == PartKind.frames.rawValue }

    /// A frame's least longer side after reduction: eyes 60 px apart, as in a selfie.
    private static let enoughSide = 640
    /// Frames whose faces get an embedding: the most frontal one of each quarter.
    private static let keyFrames = 4

    /// - Parameter face: The embedding of the selfie sent with the frames, if any.
    /// - Returns: `nil` if there are no frames.
    static func facts(_ parts: [PartView], engine: FaceEngine, face: FaceEmbedding?) throws(InspectError)
        -> CaptureFacts?
    {
        let frames = parts.filter(self.isFrame)
        guard !frames.isEmpty else { return nil }
        let tracker = try FaceTracker(engine: engine)
        var facts = CaptureFacts(width: 0, height: 0, frames: [], keyFrames: [])
        var best: (index: Int, turn: Double, image: DecodedImage, landmarks: [Point])?
        var first: FaceEmbedding?
        for (index, part) in frames.enumerated() {
            let image: DecodedImage
            do {
                image = try part.withBytes { bytes throws(InspectError) in
                    try DecodedImage.decode(bytes, limits: ImageLimits(enoughSide: self.enoughSide))
                }
            } catch {
                throw InspectError(error.code, "FRAMES \(index): \(error.detail)")
            }
            if index == 0 { (facts.width, facts.height) = (image.facts.width, image.facts.height) }
            var frame = try tracker.next(image)
            // A camera's frames have one size.
            if image.facts.width != facts.width || image.facts.height != facts.height { frame.scene = 0 }
            if let seen = frame.face, best.map({ abs(seen.yaw) < $0.turn }) ?? true {
                best = (index, abs(seen.yaw), image, seen.landmarks)
            }
            facts.frames.append(frame)
            let isQuarter = (index + 1) * self.keyFrames / frames.count > index * self.keyFrames / frames.count
            guard isQuarter, let key = best else { continue }
            best = nil
            guard let embedding = try engine.embedding(in: key.image, landmarks: key.landmarks) else { continue }
            let origin = first ?? embedding
            first = origin
            facts.keyFrames.append(
                CaptureFacts.KeyFrame(
                    index: key.index, distance: try origin.distance(to: embedding),
                    distanceToFace: try self.distance(embedding, face)))
        }
        return facts
    }

    private static func distance(_ embedding: FaceEmbedding, _ other: FaceEmbedding?) throws(InspectError) -> Double? {
        guard let other else { return nil }
        return try embedding.distance(to: other)
    }
}

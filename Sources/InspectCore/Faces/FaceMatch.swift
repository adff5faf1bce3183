/// The outcome of one comparison of two faces.
package struct FaceMatch: Codable, Sendable, Hashable {
    /// 0–1 on the ``SimilarityScale``; not a probability.
    package var similarity: Double
    /// Euclidean distance of the embeddings.
    package var distance: Double
    /// Whether the similarity reaches the threshold.
    package var match: Bool
    /// The similarity from which two faces match.
    package var threshold: Double
    /// Upper bound (95 %) of the false match rate at the threshold, from ``FaceCalibration``; `nil` below the lowest
    /// threshold measured.
    package var fmrAtThreshold: Double?
    /// The engine that made both embeddings.
    package var engine: String

    /// Compares two embeddings.
    ///
    /// - Throws: `PAYLOAD_INVALID` if one is malformed, if they come from different engines or models, or if their engine
    ///   has no calibration.
    package static func compare(
        _ first: FaceEmbedding, _ second: FaceEmbedding, threshold: Double = SimilarityScale.defaultThreshold,
        calibration: FaceCalibration = .dlib
    ) throws(InspectError) -> FaceMatch {
        guard first.engine == calibration.engine else {
            throw InspectError(.payloadInvalid, "the embeddings' engine has no calibration")
        }
        let distance = try first.distance(to: second, calibration: calibration)
        let similarity = calibration.similarity(distance: distance)
        return FaceMatch(
            similarity: similarity, distance: distance, match: similarity >= threshold, threshold: threshold,
            fmrAtThreshold: calibration.falseMatchBound(threshold: threshold), engine: first.engine)
    }
}

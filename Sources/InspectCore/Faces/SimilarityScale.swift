/// Thresholds on the scale that partners see: 0–1, calibrated for each engine (``FaceCalibration``), not a probability.
package enum SimilarityScale {
    /// Default threshold: from this similarity on, two faces count as the same person's.
    package static let defaultThreshold = 0.85

    /// The same if one of the faces is the portrait of a document. Not lower than the default, since no such pair was
    /// measured; a separate gate keeps out small and faint portraits (``SimilarityRules``).
    static let portraitThreshold = 0.85
}

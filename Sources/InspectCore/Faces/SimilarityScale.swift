/// Thresholds on the scale that partners see: 0–1, calibrated for each engine (``FaceCalibration``), not a probability.
package enum SimilarityScale {
    /// Similarity from which two faces are taken for the same person, unless the request says otherwise.
    package static let defaultThreshold = 0.85

    /// The same where one of the faces is the portrait of a document. No pair with one has been measured, so it is no lower;
    /// small and faint portraits are kept out by a gate of their own (``SimilarityRules``).
    package static let portraitThreshold = 0.85
}

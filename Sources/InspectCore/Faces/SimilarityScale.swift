internal import Foundation

/// Turns the distance of two features into the similarity that partners see, 0–1.
///
/// `s(d) = 1 / (1 + exp((d − 0.60) / 0.0461))`: 0.60, the limit that dlib publishes for its descriptor (99.38 % on LFW), becomes
/// one half, and 0.52, where mirror-averaged descriptors meet one false match in 5,506 impostor pairs, becomes 0.85.
public enum SimilarityScale {
    /// Similarity from which two faces are taken for the same person, unless the partner chose another.
    public static let defaultThreshold = 0.85

    /// Distance of similarity one half.
    static let centre = 0.60
    /// Distance over which the odds change by a factor of e.
    static let width = 0.0461

    /// - Parameter distance: Euclidean distance of two features of one engine.
    public static func similarity(distance: Double) -> Double {
        1 / (1 + exp((distance - self.centre) / self.width))
    }

    /// The distance at which a similarity is reached; infinite for 0, minus infinite for 1.
    public static func distance(similarity: Double) -> Double {
        self.centre - self.width * log(similarity / (1 - similarity))
    }
}

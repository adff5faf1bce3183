internal import Foundation

/// The measured distances of one engine's embeddings, and the error rates of each threshold.
///
/// An engine without a calibration decides nothing: its distances alone mean nothing.
package struct FaceCalibration: Codable, Sendable, Hashable {
    /// The metric between two embeddings.
    package enum Metric: String, Codable, Sendable {
        /// Euclidean distance.
        case euclidean = "euclidean"
        /// One minus the cosine of the angle.
        case cosine = "cosine"
    }

    /// One threshold with the counts measured at it.
    package struct Row: Codable, Sendable, Hashable {
        /// The threshold, on the ``SimilarityScale``.
        package var similarity: Double
        /// Impostor pairs that reach it.
        package var falseMatches: Int
        /// Impostor pairs in all.
        package var impostorPairs: Int
        /// Genuine pairs below it.
        package var falseNonMatches: Int
        /// Genuine pairs in all.
        package var genuinePairs: Int

        package init(
            _ similarity: Double, falseMatches: Int, impostorPairs: Int, falseNonMatches: Int, genuinePairs: Int
        ) {
            self.similarity = similarity
            self.falseMatches = falseMatches
            self.impostorPairs = impostorPairs
            self.falseNonMatches = falseNonMatches
            self.genuinePairs = genuinePairs
        }
    }

    /// The engine that was measured: network, alignment and averaging.
    package var engine: String
    /// How embeddings are compared.
    package var metric: Metric
    /// Distance of similarity one half.
    package var centre: Double
    /// Distance over which the odds of a match change by a factor of e.
    package var width: Double
    /// Norms that an embedding can have; a vector outside this range does not come from the network.
    package var norms: ClosedRange<Double>
    /// Rising thresholds.
    package var table: [Row]

    /// Whether it is complete: an engine's name, a scale, and rising thresholds that each rest on pairs of both kinds.
    package var isComplete: Bool {
        !self.engine.isEmpty && self.centre.isFinite && self.width > 0 && self.width.isFinite
            && self.norms.lowerBound >= 0
            && !self.table.isEmpty
            && self.table.allSatisfy { row in
                (0...1).contains(row.similarity) && row.impostorPairs > 0 && row.genuinePairs > 0
                    && (0...row.impostorPairs).contains(row.falseMatches)
                    && (0...row.genuinePairs).contains(row.falseNonMatches)
            }
            && zip(self.table, self.table.dropFirst()).allSatisfy { $0.similarity < $1.similarity }
    }

    /// Similarity of two embeddings on the calibrated scale: `1 / (1 + exp((d − centre) / width))`.
    package func similarity(distance: Double) -> Double {
        1 / (1 + exp((distance - self.centre) / self.width))
    }

    /// The row that applies to a threshold: the highest one that is not stricter. `nil` below the table.
    package func row(threshold: Double) -> Row? {
        self.table.last { $0.similarity <= threshold }
    }

    /// Upper end of the one-sided 95 % confidence interval of the false match rate at a threshold; `nil` below the table.
    ///
    /// If no impostor matched, this is the "rule of three" (3 / pairs): the rate that the measurement cannot exclude, not
    /// an estimate.
    package func falseMatchBound(threshold: Double) -> Double? {
        self.row(threshold: threshold).map { Self.upperBound(events: $0.falseMatches, trials: $0.impostorPairs) }
    }

    /// The upper limit of Clopper and Pearson (1934), one-sided 95 %: the rate at which this many events or fewer have a
    /// probability of 5 %.
    static func upperBound(events: Int, trials: Int) -> Double {
        guard events < trials else { return 1 }
        var (low, high) = (Double(events) / Double(trials), 1.0)
        // 60 halvings exhaust a double's precision.
        for _ in 0..<60 {
            let rate = (low + high) / 2
            if self.probability(atMost: events, of: trials, rate: rate) > 0.05 { low = rate } else { high = rate }
        }
        return high
    }

    /// Cumulative binomial distribution.
    private static func probability(atMost events: Int, of trials: Int, rate: Double) -> Double {
        let n = Double(trials)
        return (0...events).reduce(0) { sum, count in
            let k = Double(count)
            let ways = lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
            return sum + exp(ways + k * log(rate) + (n - k) * log1p(-rate))
        }
    }
}

extension FaceCalibration {
    /// Eye distance in pixels below which a face is not compared: at 16 px one genuine pair in ten is missed, at 12 px four.
    static let leastEyeDistance = 16.0

    /// The default engine's.
    ///
    /// Measured over all pairs of 93 public test images of 18 persons (press photos, film stills, webcams): 276 genuine
    /// pairs, of which 28 show one person's extreme expressions, and 4,002 impostor pairs; the most similar impostors reach
    /// 0.79. Limits of this measurement: half of the persons are celebrities, on whom the network was trained; no pair has
    /// a document's portrait; and eighteen persons make 153 pairs of persons, so the pairs are not independent. The bound
    /// stays the same above 0.8 because 4,002 pairs cannot show a lower one.
    ///
    /// 0.60, the limit that dlib publishes for its descriptor (99.38 % on LFW), becomes one half, and 0.52, where
    /// mirror-averaged descriptors meet one false match in 5,506 impostor pairs, becomes 0.85.
    ///
    /// Small faces, the other image at full size: with eyes 40, 30, 24, 20, 16 and 12 px apart 2.8, 3.4, 4.0, 6.2, 10.4 and
    /// 41 % of the genuine pairs (expressions apart) miss 0.85, with no false match in 1,804 pairs at any size.
    package static let dlib = FaceCalibration(
        engine: FaceEmbedding.currentEngine, metric: .euclidean, centre: 0.60, width: 0.0461,
        norms: FaceEmbedding.norms,
        table: [
            (0.02, 723, 0), (0.05, 307, 0), (0.10, 107, 0), (0.20, 46, 0), (0.30, 21, 0), (0.50, 5, 6), (0.60, 5, 9),
            (0.70, 1, 13), (0.80, 0, 16), (0.85, 0, 20), (0.90, 0, 22), (0.95, 0, 45), (0.99, 0, 94),
        ].map { similarity, falseMatches, falseNonMatches in
            Row(
                similarity, falseMatches: falseMatches, impostorPairs: 4_002, falseNonMatches: falseNonMatches,
                genuinePairs: 276)
        })
}

internal import Foundation

/// What was measured about the distances of one engine's features, and what follows for a threshold.
///
/// Measured with this engine over 1,180 labelled pairs of public test pictures (93 pictures of 18 persons: press
/// photographs, film stills, webcams; 276 genuine pairs of which 28 show one person's extreme expressions, 904 impostor
/// pairs). Read with care: half of the persons are celebrities of the kind the network was trained on, no pair has a
/// document's portrait, and persons repeat, so that the pairs are not independent.
///
/// Small faces, the other picture at full size: with eyes 40, 30, 24, 20, 16 and 12 px apart 2.8, 3.4, 4.0, 6.2, 10.4 and 41 % of
/// the genuine pairs (expressions apart) miss 0.85, with no false match in 1,804 pairs at any size.
public enum FaceCalibration {
    /// The engine that was measured; others have no calibration and decide nothing.
    public static let engine = FaceFeature.currentEngine

    /// Eye distance in pixels below which a face is not compared: at 16 px one genuine pair in ten is missed, at 12 px four.
    public static let leastEyeDistance = 16.0

    /// One threshold and what was counted at it.
    public struct Row: Sendable, Hashable {
        public var similarity: Double
        public var falseMatches: Int
        public var impostorPairs: Int
        public var falseNonMatches: Int
        public var genuinePairs: Int

        /// Share of impostor pairs that matched.
        public var falseMatchRate: Double { Double(self.falseMatches) / Double(self.impostorPairs) }
        /// Share of genuine pairs that did not.
        public var falseNonMatchRate: Double { Double(self.falseNonMatches) / Double(self.genuinePairs) }

        init(_ similarity: Double, falseMatches: Int, falseNonMatches: Int) {
            self.similarity = similarity
            self.falseMatches = falseMatches
            self.impostorPairs = 904
            self.falseNonMatches = falseNonMatches
            self.genuinePairs = 276
        }
    }

    /// Rising thresholds.
    public static let table: [Row] = [
        Row(0.02, falseMatches: 191, falseNonMatches: 0),
        Row(0.05, falseMatches: 65, falseNonMatches: 0),
        Row(0.10, falseMatches: 10, falseNonMatches: 0),
        Row(0.20, falseMatches: 1, falseNonMatches: 0),
        Row(0.30, falseMatches: 1, falseNonMatches: 0),
        Row(0.50, falseMatches: 0, falseNonMatches: 6),
        Row(0.60, falseMatches: 0, falseNonMatches: 9),
        Row(0.70, falseMatches: 0, falseNonMatches: 13),
        Row(0.80, falseMatches: 0, falseNonMatches: 17),
        Row(0.85, falseMatches: 0, falseNonMatches: 20),
        Row(0.90, falseMatches: 0, falseNonMatches: 22),
        Row(0.95, falseMatches: 0, falseNonMatches: 45),
        Row(0.99, falseMatches: 0, falseNonMatches: 95),
    ]

    /// The row that speaks for a threshold: the highest one that is not stricter. `nil` below the table.
    public static func row(threshold: Double) -> Row? {
        self.table.last { $0.similarity <= threshold }
    }

    /// Upper end of the one-sided 95 % confidence interval of the false match rate at a threshold; `nil` below the table.
    ///
    /// Where no impostor matched this is the "rule of three" (3 / pairs): what the measurement could not exclude, not what is
    /// to be expected. It stays the same above 0.5 because 904 pairs cannot tell more.
    public static func falseMatchBound(threshold: Double) -> Double? {
        self.row(threshold: threshold).map { upperBound(events: $0.falseMatches, trials: $0.impostorPairs) }
    }

    /// The upper limit of Clopper and Pearson (1934), one-sided 95 %: the rate at which so few events or fewer have a
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

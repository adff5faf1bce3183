/// One possible layout of an MRZ as the line reader saw it, before any rule of Doc 9303 was applied.
package struct MRZLattice: Sendable {
    /// For every line and every cell the probabilities of A–Z, 0–9 and `<`, in this order.
    package var lines: [[[Float]]]
    /// Mean log-likelihood per cell that the lines have this layout; 0 is perfect.
    package var layoutScore: Double

    package init(lines: [[[Float]]], layoutScore: Double) {
        self.lines = lines
        self.layoutScore = layoutScore
    }
}

/// The most probable MRZ of a layout, by the alphabets and check digits of Doc 9303.
package struct MRZDecoding: Sendable, Hashable {
    /// The layout that fits best.
    package var format: MRZFormat
    /// A–Z, 0–9 and `<` only.
    package var lines: [String]
    /// For every character the reader's probability for it.
    package var confidences: [[Double]]
    /// The same, given what the character's position may hold.
    package var posteriors: [[Double]]
    /// Characters that are not what the reader alone would have chosen.
    package var corrections: Int
    /// Which of the lattices given was chosen.
    package var lattice: Int
}

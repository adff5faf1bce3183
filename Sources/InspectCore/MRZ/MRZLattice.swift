/// One possible layout of a zone as the line reader saw it, before any rule of Doc 9303 was applied.
public struct MRZLattice: Sendable {
    /// For every line and every cell the probabilities of A–Z, 0–9 and `<`, in this order.
    public var lines: [[[Float]]]
    /// Mean log-likelihood per cell that the lines have this layout; 0 is perfect.
    public var layoutScore: Double

    public init(lines: [[[Float]]], layoutScore: Double) {
        self.lines = lines
        self.layoutScore = layoutScore
    }
}

/// What the decoder made of a zone.
public struct MRZDecoding: Sendable, Hashable {
    public var format: MRZFormat
    public var lines: [String]
    /// For every character the reader's probability for it.
    public var confidences: [[Double]]
    /// The same, given what the character's position may hold.
    public var posteriors: [[Double]]
    /// Characters that are not what the reader alone would have chosen.
    public var corrections: Int
    /// Which of the lattices given was chosen.
    public var lattice: Int
}

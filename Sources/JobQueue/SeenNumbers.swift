/// Numbers that the database must never give out again.
package struct SeenNumbers: Sendable {
    /// The epoch of the floors (`insp.epoch`).
    package var epoch: Int64 = 0
    /// The highest fence and the highest place in any answer.
    package var fence: Int64 = 0
    package var seq: Int64 = 0

    package mutating func learn(fence: Int64, seq: Int64 = 0) {
        self.fence = max(self.fence, fence)
        self.seq = max(self.seq, seq)
    }
}

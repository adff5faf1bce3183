/// Numbers that follow from a seed (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }

    /// A number from 0 to below the bound.
    mutating func below(_ bound: Int) -> Int { Int(self.next() % UInt64(bound)) }

    mutating func chance(_ percent: Int) -> Bool { self.below(100) < percent }
}

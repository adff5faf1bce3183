import Foundation

/// Numbers that follow from the run's seed (SplitMix64). Each use has a sequence of its own, which others do not shift.
///
/// `TEST_SEED` draws the numbers of one seed again; else each run has its own, which is printed.
package struct TestRandom: RandomNumberGenerator, Sendable {
    package static let seed: UInt64 = {
        let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64(UInt32.random(in: 0...UInt32.max))
        print("TEST_SEED=\(seed)")
        return seed
    }()

    private var state: UInt64

    package init(_ use: String) {
        // FNV-1a: Swift's own hash is another one in each run.
        self.state = use.utf8.reduce(Self.seed ^ 0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    package mutating func next() -> UInt64 {
        self.state &+= 0x9e37_79b9_7f4a_7c15
        var value = self.state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}

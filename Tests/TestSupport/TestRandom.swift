import Foundation
import InspectCore

/// Numbers that follow from the run's seed. Each use has its own sequence, which others do not shift.
///
/// `TEST_SEED` draws the numbers of one seed again; else each run has its own, which is printed.
package struct TestRandom: RandomNumberGenerator, Sendable {
    package static let seed: UInt64 = {
        let given = ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
        let seed = given ?? UInt64(UInt32.random(in: 0...UInt32.max))
        print("TEST_SEED=\(seed)")
        return seed
    }()

    private var numbers: SplitMix64

    package init(_ use: String) {
        // FNV-1a: Swift's own hash is another one in each run.
        self.numbers = SplitMix64(
            seed: use.utf8.reduce(Self.seed ^ 0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 })
    }

    package mutating func next() -> UInt64 { self.numbers.next() }
}

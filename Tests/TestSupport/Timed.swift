import Synchronization
package import Testing

/// Judges a test of a promise about time in up to three rounds, each with a suite of its own; it fails only if each round fails: a
/// stall of the machine shows in one round, a fault of ours in each. What an earlier round found stands in the log as a known
/// issue.
///
/// Only for tests that can fail for the machine's speed, never for one of what must not happen even once.
package struct TimedTrait: TestTrait, TestScoping {
    private static let rounds = 3

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing body: @Sendable () async throws -> Void
    ) async throws {
        for round in 1..<Self.rounds {
            let isGood = Mutex(true)
            try await withKnownIssue("round \(round) of \(Self.rounds) failed; judged again", isIntermittent: true) {
                try await body()
            } matching: { _ in
                isGood.withLock { $0 = false }
                return true
            }
            if isGood.withLock({ $0 }) || Task.isCancelled { return }
        }
        try await body()
    }
}

extension Trait where Self == TimedTrait {
    /// Judged in up to three rounds.
    package static var timed: Self { Self() }
}

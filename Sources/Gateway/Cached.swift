internal import Synchronization

/// A value that is looked up at most once in its lifetime, for calls that anyone may make.
final class Cached<Value: Sendable, Failure: Error>: Sendable {
    private let lifetime: Duration
    private let lookUp: @Sendable (_ former: Value?) async throws(Failure) -> Value
    private let known = Mutex<(value: Value, until: ContinuousClock.Instant)?>(nil)

    /// - Parameter lookUp: Gets the value whose lifetime is over, if there was one. Errors that it throws are not cached.
    init(for lifetime: Duration, lookUp: @escaping @Sendable (_ former: Value?) async throws(Failure) -> Value) {
        self.lifetime = lifetime
        self.lookUp = lookUp
    }

    func value() async throws(Failure) -> Value {
        let known = self.known.withLock { $0 }
        if let known, known.until > .now { return known.value }
        let value = try await self.lookUp(known?.value)
        self.known.withLock { $0 = (value, .now + self.lifetime) }
        return value
    }
}

internal import Synchronization

/// A token bucket for each name: `burst` at once after a quiet time, `rate` a second in the long run.
///
/// It counts requests of one process; with several gateways, the limits add up.
final class RateLimiter: Sendable {
    private struct Bucket {
        var tokens: Double
        var at: ContinuousClock.Instant
        var rate: Double
        var burst: Double

        mutating func fill(_ now: ContinuousClock.Instant) {
            self.tokens = min(self.burst, self.tokens + self.rate * ((now - self.at) / .seconds(1)))
            self.at = now
        }
    }

    /// Limit on names in memory; beyond it, those with a full bucket are forgotten, then all.
    private static let capacity = 65_536
    private let buckets = Mutex<[String: Bucket]>([:])

    /// Takes a token.
    ///
    /// - Returns: `nil`, or the seconds until one is available.
    func take(
        _ name: String, rate: Double, burst: Double, now: ContinuousClock.Instant = .now
    ) -> Double? {
        self.buckets.withLock { buckets in
            if buckets.count >= Self.capacity, buckets[name] == nil { Self.forget(&buckets, now) }
            var bucket = buckets[name] ?? Bucket(tokens: burst, at: now, rate: rate, burst: burst)
            bucket.rate = rate
            bucket.burst = burst
            bucket.fill(now)
            defer { buckets[name] = bucket }
            guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / rate }
            bucket.tokens -= 1
            return nil
        }
    }

    private static func forget(_ buckets: inout [String: Bucket], _ now: ContinuousClock.Instant) {
        buckets = buckets.filter { _, bucket in
            var bucket = bucket
            bucket.fill(now)
            return bucket.tokens < bucket.burst
        }
        if buckets.count >= Self.capacity { buckets.removeAll() }
    }
}

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

    /// Limit on names in memory; beyond it, those with a full bucket are forgotten, then all. Chosen: with fewer, a client with many
    /// addresses makes it forget what others owe; with more, it takes more memory.
    private static let capacity = 65_536
    private let buckets = Mutex<[String: Bucket]>([:])

    /// Takes tokens if there is at least one; missing ones are owed.
    ///
    /// - Returns: `nil`, or the seconds until one is available.
    func take(
        _ name: String, _ count: Double = 1, rate: Double, burst: Double, now: ContinuousClock.Instant = .now
    ) -> Double? {
        self.buckets.withLock { buckets in
            if buckets.count >= Self.capacity, buckets[name] == nil { Self.forget(&buckets, now) }
            var bucket = buckets[name] ?? Bucket(tokens: burst, at: now, rate: rate, burst: burst)
            bucket.rate = rate
            bucket.burst = burst
            bucket.fill(now)
            defer { buckets[name] = bucket }
            guard bucket.tokens >= 1 else { return (1 - bucket.tokens) / rate }
            bucket.tokens -= count
            return nil
        }
    }

    /// Returns tokens that were taken and not needed; a negative number takes more.
    func put(_ name: String, _ count: Double) {
        self.buckets.withLock { buckets in buckets[name]?.tokens += count }
    }

    /// The headers that say how much a client may still ask (draft-ietf-httpapi-ratelimit-headers-10): how many requests at
    /// once, within the seconds in which that many come back, and how many are left now.
    func headers(_ name: String, now: ContinuousClock.Instant = .now) -> [(name: String, value: String)] {
        self.buckets.withLock { buckets in
            guard var bucket = buckets[name] else { return [] }
            bucket.fill(now)
            func seconds(_ tokens: Double) -> Int { Int(min(tokens / bucket.rate, 86_400).rounded(.up)) }
            return [
                ("RateLimit-Policy", #""requests";q=\#(Int(bucket.burst));w=\#(max(1, seconds(bucket.burst)))"#),
                ("RateLimit", #""requests";r=\#(Int(bucket.tokens));t=\#(seconds(bucket.burst - bucket.tokens))"#),
            ]
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

/// Waits that double up to a longest one.
package struct Backoff: Sendable {
    private let first: Duration
    private let longest: Duration
    private var count = 0

    /// The defaults suit a database: after a restart it is back within seconds, and its workers must send heartbeats before they are
    /// declared dead.
    package init(from first: Duration = .milliseconds(100), to longest: Duration = .seconds(2)) {
        self.first = first
        self.longest = longest
    }

    /// The next wait.
    ///
    /// - Parameter factor: A random factor that spreads out clients that failed together; 1 for a single client.
    package mutating func next(_ factor: Double) -> Duration {
        // After this many waits, all are the longest.
        self.count = min(self.count + 1, 100)
        return Self.wait(self.count, from: self.first, to: self.longest) * factor
    }

    /// After a success: the next wait is the first one again.
    package mutating func reset() { self.count = 0 }

    /// The wait of that number, counted from 1.
    package static func wait(_ number: Int, from first: Duration, to longest: Duration) -> Duration {
        // 2³⁰ times the first is far beyond any longest, and shifting further would overflow.
        min(longest, first * (1 << min(max(number, 1) - 1, 30)))
    }
}

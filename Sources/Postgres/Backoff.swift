/// Waits that double from 0.1 s to 2 s, varied by ±20 %: a restarted database is back within seconds, and its workers must send
/// heartbeats before they are declared dead.
package struct Backoff: Sendable {
    private var pause = Duration.milliseconds(100)

    package init() {}

    package mutating func next() -> Duration {
        defer { self.pause = min(self.pause * 2, .seconds(2)) }
        return self.pause * Double.random(in: 0.8...1.2)
    }

    package mutating func reset() { self.pause = .milliseconds(100) }
}

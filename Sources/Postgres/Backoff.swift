/// Waits that double from 0.1 s to 2 s, varied by ±20 %: a restarted database is back within seconds, and its workers must send
/// heartbeats before they are declared dead.
package struct Backoff: Sendable {
    private var seconds = 0.1

    package init() {}

    package mutating func next() -> Double {
        defer { self.seconds = min(self.seconds * 2, 2) }
        return self.seconds * Double.random(in: 0.8...1.2)
    }

    package mutating func reset() { self.seconds = 0.1 }
}

package import InspectCore

extension Backoff {
    /// The next wait, varied by ±20 %.
    package mutating func next() -> Duration { self.next(Double.random(in: 0.8...1.2)) }
}

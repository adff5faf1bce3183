internal import Foundation
internal import JobQueue

/// Watches how many jobs are finished while something is opened and held: before, during, and in the last while.
struct ThroughputTimeline: Sendable {
    /// Jobs a second up to a moment, given in seconds since the opening.
    struct Sample: Codable, Sendable {
        var second: Double
        var rate: Double
    }

    struct Outcome: Sendable {
        var samples: [Sample]
        /// Jobs a second in the window before the opening, and in the last window of holding.
        var before: Double
        var after: Double
    }

    /// The progress of the measurement, for simultaneous measurements.
    enum Moment: Sendable {
        /// The window before the opening begins.
        case before
        /// A sample was taken.
        case sample
        /// It was opened.
        case opened
        /// The last window begins.
        case last
    }

    /// Time between two samples.
    let intervalSeconds: Double
    /// Samples in a window, and while it is held.
    let window: Int
    let held: Int

    /// A sample each 5 s, windows of a minute or, for less than three minutes of holding, 20 s; less for short trials.
    init(holding seconds: Double) {
        self.intervalSeconds = seconds >= 40 ? 5 : seconds / 12
        self.window = seconds >= 180 ? 12 : 4
        self.held = max(Int((seconds / self.intervalSeconds).rounded()), self.window)
    }

    var windowSeconds: Double { Double(self.window) * self.intervalSeconds }

    /// Runs through: a window to warm up, one to compare with, `open`, and the time of holding.
    func run(
        finished: @Sendable () -> Int, open: @Sendable () async throws -> Void,
        at moment: @Sendable (Moment) async throws -> Void = { _ in }
    ) async throws -> Outcome {
        let start = ContinuousClock.now
        var counts: [(seconds: Double, count: Int)] = [(0, finished())]
        var openedSeconds = 0.0
        let before = 2 * self.window
        for tick in 1...(before + self.held) {
            try await Task.sleep(until: start + .seconds(Double(tick) * self.intervalSeconds), clock: .continuous)
            counts.append(((.now - start).seconds, finished()))
            try await moment(.sample)
            if tick == self.window { try await moment(.before) }
            if tick == before {
                try await open()
                openedSeconds = (.now - start).seconds
                try await moment(.opened)
            }
            if tick == before + self.held - self.window { try await moment(.last) }
        }
        func rate(_ first: Int, _ last: Int) -> Double {
            let seconds = counts[last].seconds - counts[first].seconds
            return seconds > 0 ? Double(counts[last].count - counts[first].count) / seconds : 0
        }
        let samples = counts.indices.dropFirst().map { index in
            Sample(
                second: ((counts[index].seconds - openedSeconds) * 10).rounded() / 10,
                rate: rate(index - 1, index).rounded())
        }
        return Outcome(
            samples: samples, before: rate(before - self.window, before).rounded(),
            after: rate(counts.count - 1 - self.window, counts.count - 1).rounded())
    }
}

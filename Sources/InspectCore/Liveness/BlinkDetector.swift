/// Finds blinks in a series of eye openings: dips below a share of the same eyes' usual opening.
///
/// The measure's scale does not matter, so it serves the eye aspect ratio of landmarks as well as the opening that is measured on
/// patches. Ask for 15 frames a second at least: at 25 a blink may be deep for one frame only.
package enum BlinkDetector {
    /// A blink that was found.
    package struct Blink: Sendable, Hashable {
        /// On the clock of the frames' times, in milliseconds.
        package var startMs: Double
        /// When the lids are open again, in milliseconds.
        package var endMs: Double
        /// Deepest opening over the usual one.
        package var depth: Double
    }

    /// A blink reaches below this share of the usual opening. The published 0.65 of EAR finds the same blinks with more false
    /// ones (EyeBlink8: F1 0.95 at 0.65, 0.96 at 0.60).
    static let closed = 0.62
    /// From here on the eyes are open again.
    static let open = 0.8
    /// The usual opening is this percentile of the openings within ``windowMs`` around.
    static let usual = 0.7
    static let windowMs = 5000.0
    /// Eyes closed for longer mean sleep, or a look down.
    static let longestMs = 1000.0

    /// - Parameters:
    ///   - timesMs: Rising.
    ///   - openings: `nil` if the eyes were not seen.
    package static func blinks(timesMs: [Double], openings: [Double?]) -> [Blink] {
        let ratios = self.ratios(timesMs: timesMs, openings: openings)
        var blinks: [Blink] = []
        var index = 0
        while index < ratios.count {
            guard let ratio = ratios[index], ratio < self.closed else {
                index += 1
                continue
            }
            var start = index
            while start > 0, (ratios[start - 1] ?? 1) < self.open, timesMs[index] - timesMs[start - 1] < 500 {
                start -= 1
            }
            var end = index
            var depth = ratio
            while end + 1 < ratios.count, (ratios[end + 1] ?? 0) < self.open {
                end += 1
                depth = min(depth, ratios[end] ?? depth)
            }
            // Eyes that stay closed to the end have not blinked.
            let recovers = end + 1 < ratios.count
            if recovers, start > 0, timesMs[end] - timesMs[start] <= self.longestMs {
                blinks.append(Blink(startMs: timesMs[start], endMs: timesMs[end], depth: depth))
            }
            index = end + 1
        }
        return blinks
    }

    /// Every opening over the usual one around it.
    static func ratios(timesMs: [Double], openings: [Double?]) -> [Double?] {
        var first = 0
        var last = 0
        // The openings around, in order: from one frame to the next, one or two of them change.
        var near: [Double] = []
        return zip(timesMs, openings).map { timeMs, opening in
            while last < timesMs.count, timesMs[last] <= timeMs + self.windowMs / 2 {
                if let value = openings[last] { near.insert(value, at: Statistics.place(of: value, in: near)) }
                last += 1
            }
            while timesMs[first] < timeMs - self.windowMs / 2 {
                if let value = openings[first] { near.remove(at: Statistics.place(of: value, in: near)) }
                first += 1
            }
            guard let opening, near.count >= 5, let usual = Statistics.percentile(sorted: near, self.usual), usual > 0
            else { return nil }
            return opening / usual
        }
    }
}

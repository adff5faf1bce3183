/// How far floors may rise without passing rows that an open transaction may still commit.
///
/// Each place is drawn by a transaction that already has its id. So a place drawn before a scan belongs to a transaction below the
/// scan's next id, and once a later scan finds none of these running, no more rows can appear below.
package struct FloorHorizon: Sendable {
    /// The transactions seen by a scan of all queues.
    package struct Scan: Sendable {
        /// The queues' last place, read before the other two.
        package var high: Int64
        /// The lowest running transaction.
        package var running: Int64
        /// The id of the next one.
        package var next: Int64
    }

    /// A transaction open for longer is left to the sweep; otherwise claims would scan all rows claimed meanwhile.
    package static let patience = Duration.seconds(60)
    /// A floor does not stay further behind than this.
    package static let reach: Int64 = 200_000

    /// Scans whose transactions may still run, oldest first.
    private var open: [(scan: Scan, at: ContinuousClock.Instant)] = []
    /// No floor may be above it; `nil`: unknown.
    private(set) var bound: Int64?

    package mutating func learn(_ scan: Scan, at now: ContinuousClock.Instant) {
        var bound = self.bound ?? 0
        let over = self.open.prefix { $0.scan.next <= scan.running }
        if let last = over.last { bound = max(bound, last.scan.high) }
        self.open.removeFirst(over.count)
        let left = self.open.prefix { now - $0.at > Self.patience }
        if let last = left.last { bound = max(bound, last.scan.high) }
        self.open.removeFirst(left.count)
        self.bound = max(bound, scan.high - Self.reach)
        // At most one for each tenth of a second.
        if let last = self.open.last, now - last.at < .milliseconds(90) { return }
        self.open.append((scan, now))
    }
}

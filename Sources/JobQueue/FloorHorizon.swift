/// How far floors may rise without passing what a transaction that is under way may still commit.
///
/// Every place is drawn by a transaction that has its number by then. So what was drawn before a scan has a transaction below
/// the next number of that scan, and once a later scan finds none of these running, nothing more can come from below.
package struct FloorHorizon: Sendable {
    /// What a scan of all queues tells of transactions.
    package struct Scan: Sendable {
        /// How far the queues reached, read before the other two.
        package var high: Int64
        /// The lowest transaction that runs.
        package var running: Int64
        /// The number of the next one.
        package var next: Int64
    }

    /// One that stays open for longer is left to the sweep, or claims would wade through all that is claimed meanwhile.
    package static let patience = Duration.seconds(60)
    /// Nor does a floor stay further behind than this.
    package static let reach: Int64 = 200_000

    /// Looks behind which some transaction may still run, oldest first.
    private var open: [(scan: Scan, at: ContinuousClock.Instant)] = []
    /// No floor may lie above it; `nil`: nothing is known.
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
        // One for each tenth of a second, however often is looked.
        if let last = self.open.last, now - last.at < .milliseconds(90) { return }
        self.open.append((scan, now))
    }
}

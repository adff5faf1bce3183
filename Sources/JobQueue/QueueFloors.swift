/// Where a worker scans for waiting jobs, and in what order.
///
/// Each (region, lane, partner) is a separate queue. The worker does not scan below a queue's floor: while a transaction keeps
/// VACUUM from removing claimed rows, a scan from the start would read all of them each time.
package struct QueueFloors: Sendable {
    /// How far a floor stays behind the last place seen, at least. Places drawn by open transactions are above ``horizon`` as well;
    /// rows committed even later are found by the sweep.
    package static let slack: Int64 = 20_000

    /// A queue and the jobs it is for; all are numbers from the database.
    package struct Queue: Hashable, Sendable {
        /// `insp.queue.id`.
        package var id: Int
        /// `insp.region.id`; 0: any region.
        package var region: Int
        /// The priority class (`insp.control.lane`).
        package var lane: Int
        /// `insp.partner.id`.
        package var partner: Int
    }

    /// The scans of one claim.
    package struct Plan: Sendable {
        /// In the order in which the claim makes them.
        package var scans: [Scan]
        /// Whether all queues are scanned, from their floors on.
        package var isFull: Bool
        fileprivate var generation: Int

        /// Adopts the limits that the database allowed, if it lowered any.
        ///
        /// - Returns: Whether it lowered any.
        mutating func restrict(to limits: [Int]?) -> Bool {
            guard let limits, limits.count == self.scans.count else { return false }
            for (index, limit) in limits.enumerated() { self.scans[index].most = limit }
            // Nothing was seen of a queue with limit 0.
            self.scans.removeAll { $0.most == 0 }
            return true
        }
    }

    /// One scan of one queue.
    package struct Scan: Sendable {
        /// `insp.queue.id`.
        package var queue: Int
        /// The scan begins at this place (`seq`).
        package var floor: Int64
        /// Most jobs to take from it.
        package var most: Int
    }

    private let regions: Set<Int>
    private let lanes: [Int]
    private var queues: [Int: Queue] = [:]
    /// The queues of each lane, ordered by partner; partners take turns.
    private var rings: [Int: [Queue]] = [:]
    private var floors: [Int: Int64] = [:]
    /// Where scans of busy queues alone begin: after the last claimed job. Frequent scans thus skip everything between a floor and
    /// its front. A scan of everything starts from the floors and sets the fronts back to what it found there: late commits are
    /// claimed before the scans continue.
    private var fronts: [Int: Int64] = [:]
    /// Counts the scans of everything: the result of an older plan must not move the fronts past what the newest found.
    private var generation = 0
    /// The queue that was served last, by lane: the next scan starts after it.
    private var lastServed: [Int: Queue] = [:]
    /// Queues that had jobs at their last scan.
    private var active: Set<Int> = []
    /// The share of each lane while others wait too (`insp.control.weight`).
    private var weights: [Int: Double]
    /// Jobs claimed from each lane over its weight: the lane furthest behind comes first (stride scheduling).
    private var passes: [Int: Double] = [:]
    /// The highest known queue id, of any region and lane. Reset from time to time, since a queue with a lower id may become
    /// visible later.
    package private(set) var newest = 0

    package init(regions: [Int], lanes: [Int], floors: [(queue: Int64, seq: Int64)]) {
        self.regions = Set(regions)
        self.lanes = Set(lanes).sorted()
        self.weights = Dictionary(uniqueKeysWithValues: self.lanes.map { ($0, 1) })
        for (queue, seq) in floors { self.floors[Int(queue)] = seq }
    }

    /// The partner of a queue; 0 if the queue is unknown.
    package func partner(of queue: Int) -> Int { self.queues[queue]?.partner ?? 0 }

    /// Limits the floors by what open transactions may still commit.
    private var horizon = FloorHorizon()

    /// The number of known queues.
    package var count: Int { self.queues.count }

    /// Whether any queue had jobs recently.
    var hasActive: Bool { !self.active.isEmpty }

    /// The floors for a heartbeat.
    package var reported: (queues: [Int64], seqs: [Int64]) {
        let raised = self.floors.filter { $0.value > 0 && self.queues[$0.key] != nil }
        return (raised.map { Int64($0.key) }, raised.map(\.value))
    }

    /// Adopts the weights of the lanes, from lane 0 on; one below 1 counts as 1.
    package mutating func set(weights: [Int64]) {
        for (lane, weight) in weights.enumerated() { self.weights[lane] = Double(max(1, weight)) }
    }

    /// Forgets every queue and place: the database is another one, or was set back to an earlier state.
    package mutating func reset() {
        let weights = self.weights
        self = QueueFloors(regions: Array(self.regions), lanes: self.lanes, floors: [])
        self.weights = weights
    }

    /// Requests all queues again with the next claim.
    mutating func forgetNewest() { self.newest = 0 }

    /// Adds queues; those of other regions and lanes are ignored.
    ///
    /// - Returns: Whether any queue to be served was new.
    package mutating func add(_ new: [Queue]) -> Bool {
        var isChanged = false
        for queue in new {
            self.newest = max(self.newest, queue.id)
            guard self.regions.contains(queue.region), self.lanes.contains(queue.lane), self.queues[queue.id] == nil
            else { continue }
            self.queues[queue.id] = queue
            isChanged = true
        }
        if isChanged {
            self.rings = Dictionary(grouping: self.queues.values, by: \.lane)
                .mapValues { $0.sorted { ($0.partner, $0.region) < ($1.partner, $1.region) } }
        }
        return isChanged
    }

    /// The queues to scan next, in order: lane after lane, the one furthest behind its share first, and within each the partners
    /// in turn.
    ///
    /// - Parameters:
    ///   - limit: Jobs wanted.
    ///   - onlyActive: Leave out queues that were empty at the last scan. Otherwise these come first: with few jobs wanted, they
    ///     would hardly ever be scanned.
    ///   - most: The most jobs wanted of some partners. The queues of those with 0 are left out, and nothing is learned
    ///     about them.
    package mutating func plan(limit: Int, onlyActive: Bool, most: [Int: Int] = [:]) -> Plan {
        if !onlyActive { self.generation += 1 }
        var busy: [Int: Int] = [:]
        for id in self.active {
            if let queue = self.queues[id], most[queue.partner] != 0 { busy[queue.lane, default: 0] += 1 }
        }
        let served = self.lanes.filter { self.rings[$0] != nil && (!onlyActive || busy[$0] != nil) }
        let weight = served.reduce(0) { $0 + (self.weights[$1] ?? 1) }
        // A fair share for each lane and, in it, for each busy partner; the rest follows with the next claim.
        let shares = Dictionary(
            uniqueKeysWithValues: served.map { lane in
                let share = (Double(limit) * (self.weights[lane] ?? 1) / weight).rounded(.up)
                return (lane, min(limit, max(1, Int((share / Double(max(1, busy[lane] ?? 1))).rounded(.up)))))
            })
        var scans: [Scan] = []
        func add(_ queue: Queue) {
            let wanted = min(shares[queue.lane] ?? 1, most.isEmpty ? .max : most[queue.partner] ?? .max)
            guard wanted > 0 else { return }
            let floor = (onlyActive ? self.fronts[queue.id] : nil) ?? self.floors[queue.id] ?? 0
            scans.append(Scan(queue: queue.id, floor: floor, most: wanted))
        }
        if !onlyActive {
            for lane in served { self.rings[lane]?.filter { !self.active.contains($0.id) }.forEach(add) }
        }
        for lane in served.sorted(by: { (self.passes[$0] ?? 0, $0) < (self.passes[$1] ?? 0, $1) }) {
            let ring = (self.rings[lane] ?? []).filter { self.active.contains($0.id) }
            let first =
                self.lastServed[lane].flatMap { last in
                    ring.firstIndex { ($0.partner, $0.region) > (last.partner, last.region) }
                } ?? 0
            for offset in ring.indices { add(ring[(first + offset) % ring.count]) }
        }
        return Plan(scans: scans, isFull: !onlyActive, generation: self.generation)
    }

    /// Learns from a claim.
    ///
    /// - Parameters:
    ///   - plan: The claim's plan, with the limits that the database allowed.
    ///   - limit: Jobs wanted.
    ///   - claimed: Queue and sequence number of each job that was claimed.
    ///   - high: The sequence's last number before the claim.
    ///   - scan: Transactions that ran at the time of the claim, if requested.
    ///   - now: The time.
    package mutating func learn(
        _ plan: Plan, limit: Int, claimed: [(queue: Int, seq: Int64)], high: Int64,
        horizon scan: FloorHorizon.Scan? = nil, at now: ContinuousClock.Instant
    ) {
        if let scan { self.horizon.learn(scan, at: now) }
        var counts: [Int: Int] = [:]
        var last: [Int: Int64] = [:]
        for (queue, seq) in claimed {
            counts[queue, default: 0] += 1
            last[queue] = max(last[queue] ?? 0, seq)
        }
        self.pay(for: counts)
        // When the limit was reached, queues towards the end were not scanned, and nothing is known about them.
        let sawAll = claimed.count < limit
        for scan in plan.scans {
            let count = counts[scan.queue] ?? 0
            if count > 0 {
                self.active.insert(scan.queue)
                let seq = last[scan.queue] ?? 0
                self.raise(scan.queue, to: seq - Self.slack)
                if plan.isFull {
                    self.fronts[scan.queue] = seq + 1
                } else if plan.generation == self.generation {
                    self.fronts[scan.queue] = max(self.fronts[scan.queue] ?? 0, seq + 1)
                }
                // The last in the requested order, not the highest.
                if let queue = self.queues[scan.queue] { self.lastServed[queue.lane] = queue }
            }
            if sawAll && count < scan.most {
                if count == 0 { self.active.remove(scan.queue) }
                // A scan from a front says nothing about what is before it.
                if plan.isFull { self.raise(scan.queue, to: high - Self.slack) }
            }
        }
    }

    /// Advances lanes by the jobs they got. A lane that was empty starts level with the others: it accumulates no credit.
    private mutating func pay(for counts: [Int: Int]) {
        let activeLanes = Set(self.active.compactMap { self.queues[$0]?.lane })
        let level = activeLanes.map { self.passes[$0] ?? 0 }.min() ?? 0
        for (id, count) in counts {
            guard let lane = self.queues[id]?.lane else { continue }
            let pass = self.passes[lane] ?? 0
            self.passes[lane] =
                (activeLanes.contains(lane) ? pass : max(pass, level)) + Double(count) / (self.weights[lane] ?? 1)
        }
    }

    private mutating func raise(_ queue: Int, to seq: Int64) {
        let seq = min(seq, self.horizon.bound ?? .max)
        if seq > self.floors[queue] ?? 0 { self.floors[queue] = seq }
    }
}

/// How high floors may rise without passing rows that an open transaction may still commit.
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

    /// Adopts a scan of all queues, which may raise ``bound``.
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

/// Numbers that the database must never issue again.
package struct SeenNumbers: Sendable {
    /// The epoch of the floors (`insp.epoch`).
    package var epoch: Int64 = 0
    /// The highest fence and the highest place in any answer.
    package var fence: Int64 = 0
    /// The highest place in any answer.
    package var seq: Int64 = 0

    /// Adopts the numbers of an answer, if they are higher.
    package mutating func learn(fence: Int64, seq: Int64 = 0) {
        self.fence = max(self.fence, fence)
        self.seq = max(self.seq, seq)
    }
}

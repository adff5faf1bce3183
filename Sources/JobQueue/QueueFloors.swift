/// Where a worker looks for waiting jobs, and in what order.
///
/// Each (region, lane, partner) is a queue of its own. Below a queue's floor the worker does not look: while some
/// transaction keeps VACUUM from removing claimed rows, a look from the start would wade through all of them each time.
struct QueueFloors: Sendable {
    /// How far a floor stays behind what was seen: numbers that producers drew but have not yet committed. Later ones are
    /// found by the sweep.
    static let slack: Int64 = 20_000

    struct Queue: Hashable, Sendable {
        /// `insp.queue.id`.
        var id: Int
        var region: Int
        var lane: Int
        var partner: Int
    }

    /// One look at one queue.
    struct Look: Sendable {
        var queue: Int
        var floor: Int64
        /// Most jobs to take from it.
        var cap: Int
    }

    private let regions: Set<Int>
    private let lanes: [Int]
    private var queues: [Int: Queue] = [:]
    /// The queues of each lane in the order of partners, who take turns.
    private var rings: [Int: [Queue]] = [:]
    private var floors: [Int: Int64] = [:]
    /// Behind the last job that was claimed from each queue. Looks at busy queues alone begin here: what lies between a
    /// floor and this is mostly claimed, and the frequent looks need not wade through it.
    private var fronts: [Int: Int64] = [:]
    /// The queue that was served last, by lane: the next look starts behind it.
    private var lastServed: [Int: Queue] = [:]
    /// Queues that gave jobs at the last look at them.
    private var active: Set<Int> = []
    /// Share of each lane while others wait as well (`insp.control.weight`).
    private var weights: [Int: Double]
    /// Jobs taken from each lane by its weight: the lane that is furthest behind comes first (stride scheduling).
    private var passes: [Int: Double] = [:]
    /// The highest number of a queue that was learnt, of any region and lane. Reset from time to time, as a queue with a
    /// lower number may become visible later.
    private(set) var newest = 0

    init(regions: [Int], lanes: [Int], floors: [(queue: Int64, seq: Int64)]) {
        self.regions = Set(regions)
        self.lanes = lanes.sorted()
        self.weights = Dictionary(uniqueKeysWithValues: lanes.map { ($0, 1) })
        for (queue, seq) in floors { self.floors[Int(queue)] = seq }
    }

    /// Queues that this worker serves.
    var count: Int { self.queues.count }

    /// Whether any queue gave jobs lately.
    var hasActive: Bool { !self.active.isEmpty }

    /// The floors for a heartbeat.
    var reported: (queues: [Int64], seqs: [Int64]) {
        let raised = self.floors.filter { $0.value > 0 && self.queues[$0.key] != nil }
        return (raised.map { Int64($0.key) }, raised.map(\.value))
    }

    mutating func set(weights: [Int64]) {
        for (lane, weight) in weights.enumerated() { self.weights[lane] = Double(max(1, weight)) }
    }

    /// Has all queues told again with the next claim.
    mutating func forgetNewest() { self.newest = 0 }

    /// Learns of queues; those of other regions and lanes are left out.
    ///
    /// - Returns: Whether there was one to be served that was not known.
    mutating func add(_ new: [Queue]) -> Bool {
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

    /// The queues to look at next, in order: lane after lane, the one furthest behind its share first, and in each the
    /// partners in turn.
    ///
    /// - Parameters:
    ///   - limit: Jobs wanted.
    ///   - onlyActive: Leave out queues that were empty at the last look. A look at everything keeps a share for every
    ///     lane, or those that are busy would use it up before the others are looked at.
    func plan(limit: Int, onlyActive: Bool) -> [Look] {
        var busy: [Int: Int] = [:]
        for id in self.active {
            if let queue = self.queues[id] { busy[queue.lane, default: 0] += 1 }
        }
        let served = self.lanes.filter { self.rings[$0] != nil && (!onlyActive || busy[$0] != nil) }
            .sorted { (self.passes[$0] ?? 0, $0) < (self.passes[$1] ?? 0, $1) }
        let weight = served.reduce(0) { $0 + (self.weights[$1] ?? 1) }
        var looks: [Look] = []
        for lane in served {
            let ring = self.rings[lane] ?? []
            // A fair share for each lane and, in it, for each busy partner; the rest follows with the next claim.
            let share = (Double(limit) * (self.weights[lane] ?? 1) / weight).rounded(.up)
            let cap = max(1, Int((share / Double(max(1, busy[lane] ?? 1))).rounded(.up)))
            let first =
                self.lastServed[lane].flatMap { last in
                    ring.firstIndex { ($0.partner, $0.region) > (last.partner, last.region) }
                } ?? 0
            for offset in ring.indices {
                let queue = ring[(first + offset) % ring.count]
                if onlyActive && !self.active.contains(queue.id) { continue }
                let floor = (onlyActive ? self.fronts[queue.id] : nil) ?? self.floors[queue.id] ?? 0
                looks.append(Look(queue: queue.id, floor: floor, cap: min(limit, cap)))
            }
        }
        return looks
    }

    /// Learns from a claim.
    ///
    /// - Parameters:
    ///   - looks: What was asked, with the caps that the database allowed.
    ///   - limit: Jobs wanted.
    ///   - claimed: Queue and sequence number of each job that was claimed.
    ///   - high: The sequence's last number before the claim.
    mutating func learn(_ looks: [Look], limit: Int, claimed: [(queue: Int, seq: Int64)], high: Int64) {
        var counts: [Int: Int] = [:]
        var last: [Int: Int64] = [:]
        for (queue, seq) in claimed {
            counts[queue, default: 0] += 1
            last[queue] = max(last[queue] ?? 0, seq)
        }
        self.pay(for: counts)
        // With the limit reached, queues towards the end were not looked at and nothing is known of them.
        let sawAll = claimed.count < limit
        for look in looks {
            let count = counts[look.queue] ?? 0
            if count > 0 {
                self.active.insert(look.queue)
                let seq = last[look.queue] ?? 0
                self.raise(look.queue, to: seq - Self.slack)
                self.fronts[look.queue] = max(self.fronts[look.queue] ?? 0, seq + 1)
                // The last in the order asked for, not the highest.
                if let queue = self.queues[look.queue] { self.lastServed[queue.lane] = queue }
            }
            if sawAll && count < look.cap {
                if count == 0 { self.active.remove(look.queue) }
                self.raise(look.queue, to: high - Self.slack)
            }
        }
    }

    /// Moves lanes on by what they were given. A lane that was empty starts level with the others: it has not saved up.
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
        if seq > self.floors[queue] ?? 0 { self.floors[queue] = seq }
    }
}

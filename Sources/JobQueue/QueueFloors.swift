/// Where a worker looks for waiting jobs, and in what order.
///
/// Each (region, lane, slot) is a queue of its own. Below a queue's floor the worker does not look: while some transaction
/// keeps VACUUM from removing claimed rows, a look from the start would wade through all of them each time.
struct QueueFloors: Sendable {
    /// Slots in each lane (a partner's is its number modulo this).
    static let slotCount = 64
    /// How far a floor stays behind what was seen: numbers that producers drew but have not yet committed. Later ones are
    /// found by the sweep.
    static let slack: Int64 = 20_000

    struct Queue: Hashable, Sendable {
        var region: Int
        var lane: Int
        var slot: Int

        /// The queue's number in heartbeats: (region · 3 + lane) · 64 + slot, as `insp.sweep` takes it apart.
        var number: Int64 { Int64((self.region * 3 + self.lane) * QueueFloors.slotCount + self.slot) }
    }

    /// One look at one queue.
    struct Look: Sendable {
        var queue: Queue
        var floor: Int64
        /// Most jobs to take from it.
        var cap: Int
    }

    private let regions: [Int]
    private let lanes: [Int]
    private var floors: [Queue: Int64] = [:]
    /// The slot that was served last, by lane: the next look starts behind it, so that partners take turns.
    private var lastSlot: [Int: Int] = [:]
    private var claims = 0
    /// Queues that gave jobs at the last look at them.
    private var active: Set<Queue> = []

    init(regions: [Int], lanes: [Int], floors: [(number: Int64, seq: Int64)]) {
        self.regions = regions
        self.lanes = lanes.sorted()
        for (number, seq) in floors {
            let number = Int(number)
            let queue = Queue(
                region: number / (3 * Self.slotCount), lane: number / Self.slotCount % 3, slot: number % Self.slotCount)
            self.floors[queue] = seq
        }
    }

    /// The floors for a heartbeat.
    var reported: (numbers: [Int64], seqs: [Int64]) {
        let raised = self.floors.filter { $0.value > 0 }
        return (raised.map(\.key.number), raised.map(\.value))
    }

    /// Whether any queue gave jobs lately.
    var hasActive: Bool { !self.active.isEmpty }

    /// The queues to look at next, in order.
    ///
    /// - Parameters:
    ///   - limit: Jobs wanted.
    ///   - onlyActive: Leave out queues that were empty at the last look.
    mutating func plan(limit: Int, onlyActive: Bool) -> [Look] {
        self.claims += 1
        // One claim in ten begins at the other end, so that a lane is never starved by those before it.
        let order = self.claims % 10 == 0 ? self.lanes.reversed() : self.lanes
        // A fair share of what is wanted for each busy queue; the rest follows with the next claim.
        let share = max(1, (limit + self.active.count - 1) / max(1, self.active.count))
        var looks: [Look] = []
        for lane in order {
            let first = (self.lastSlot[lane] ?? -1) + 1
            for offset in 0..<Self.slotCount {
                for region in self.regions {
                    let queue = Queue(region: region, lane: lane, slot: (first + offset) % Self.slotCount)
                    if onlyActive && !self.active.contains(queue) { continue }
                    looks.append(Look(queue: queue, floor: self.floors[queue] ?? 0, cap: share))
                }
            }
        }
        return looks
    }

    /// Learns from a claim.
    ///
    /// - Parameters:
    ///   - looks: What was asked.
    ///   - limit: Jobs wanted.
    ///   - claimed: Queue and sequence number of each job that was claimed.
    ///   - high: The sequence's last number before the claim.
    mutating func learn(_ looks: [Look], limit: Int, claimed: [(queue: Queue, seq: Int64)], high: Int64) {
        var counts: [Queue: Int] = [:]
        var last: [Queue: Int64] = [:]
        for (queue, seq) in claimed {
            counts[queue, default: 0] += 1
            last[queue] = max(last[queue] ?? 0, seq)
        }
        // With the limit reached, queues towards the end were not looked at and nothing is known of them.
        let sawAll = claimed.count < limit
        for look in looks {
            let count = counts[look.queue] ?? 0
            if count > 0 {
                self.active.insert(look.queue)
                self.raise(look.queue, to: (last[look.queue] ?? 0) - Self.slack)
            }
            if sawAll && count < look.cap {
                if count == 0 { self.active.remove(look.queue) }
                self.raise(look.queue, to: high - Self.slack)
            }
        }
        // The last in the order asked for, not the highest.
        for look in looks where (counts[look.queue] ?? 0) > 0 { self.lastSlot[look.queue.lane] = look.queue.slot }
    }

    private mutating func raise(_ queue: Queue, to seq: Int64) {
        if seq > self.floors[queue] ?? 0 { self.floors[queue] = seq }
    }
}

import InspectCore
import Testing

@testable import JobQueue

/// Where a worker looks, and in what order.
@Suite struct QueueFloorsTests {
    /// Waiting jobs of one lane, as a database would show them.
    private struct Waiting {
        var seqs: [Int: Set<Int64>] = [:]
        var high: Int64 = 0

        mutating func claim(_ floors: inout QueueFloors, limit: Int, onlyActive: Bool) -> [(queue: Int, seq: Int64)] {
            let plan = floors.plan(limit: limit, onlyActive: onlyActive)
            var claimed: [(queue: Int, seq: Int64)] = []
            for scan in plan.scans {
                let found = (self.seqs[scan.queue] ?? []).filter { $0 >= scan.floor }.sorted()
                    .prefix(min(scan.most, limit - claimed.count))
                claimed += found.map { (scan.queue, $0) }
                self.seqs[scan.queue]?.subtract(found)
            }
            floors.learn(plan, limit: limit, claimed: claimed, high: self.high, at: .now)
            return claimed
        }
    }

    private func floors(_ queues: [QueueFloors.Queue], lanes: [Int] = [1]) -> QueueFloors {
        var floors = QueueFloors(regions: [0], lanes: lanes, floors: [])
        _ = floors.add(queues)
        return floors
    }

    @Test func `A lane that is listed twice is served as if listed once`() {
        var floors = self.floors([.init(id: 1, region: 0, lane: 1, partner: 1)], lanes: [1, 1])
        #expect(floors.plan(limit: 8, onlyActive: false).scans.map(\.queue) == [1])
    }

    @Test func `Jobs that were committed late come before the scans go on`() {
        var floors = self.floors([QueueFloors.Queue(id: 1, region: 0, lane: 1, partner: 1)])
        var waiting = Waiting(seqs: [1: Set(1000..<30_000)], high: 30_000)
        #expect(waiting.claim(&floors, limit: 100, onlyActive: false).first?.seq == 1000)
        // A thousand jobs before what was claimed, more than one scan takes.
        waiting.seqs[1]?.formUnion(0..<1000)
        #expect(waiting.claim(&floors, limit: 100, onlyActive: true).first?.seq == 1100)
        var late: [Int64] = []
        late += waiting.claim(&floors, limit: 100, onlyActive: false).map(\.seq)
        for _ in 0..<9 { late += waiting.claim(&floors, limit: 100, onlyActive: true).map(\.seq) }
        #expect(late == Array(0..<1000))
        #expect(waiting.claim(&floors, limit: 100, onlyActive: true).first?.seq == 1200)
    }

    @Test func `However many come late, none is passed by the floor`() {
        var floors = self.floors([QueueFloors.Queue(id: 1, region: 0, lane: 1, partner: 1)])
        var waiting = Waiting()
        var random = SplitMix64(seed: 7)
        var claimed = 0
        var delayed: [(round: Int, seqs: [Int64])] = []
        for round in 0..<600 {
            // Two producers draw numbers in turn; one of them commits up to five rounds later.
            let seqs = (0..<100).map { waiting.high + $0 }
            waiting.high += 100
            waiting.seqs[1, default: []].formUnion(seqs.filter { $0 % 2 == 0 })
            delayed.append((round + Int.random(in: 1...5, using: &random), seqs.filter { $0 % 2 == 1 }))
            for late in delayed where late.round <= round { waiting.seqs[1]?.formUnion(late.seqs) }
            delayed.removeAll { $0.round <= round }
            claimed += waiting.claim(&floors, limit: 110, onlyActive: round % 10 != 0).count
        }
        // All but what has just come: nothing has been left behind below a floor.
        let oldest = waiting.seqs[1]?.min() ?? waiting.high
        #expect(waiting.high - oldest < QueueFloors.slack)
        #expect(claimed > 58_000)
    }

    @Test func `Lanes share by weight while all have jobs, partners in turn`() {
        var queues: [QueueFloors.Queue] = []
        for lane in 0..<3 {
            for partner in 1...3 {
                queues.append(QueueFloors.Queue(id: lane * 3 + partner, region: 0, lane: lane, partner: partner))
            }
        }
        var floors = self.floors(queues, lanes: [0, 1, 2])
        floors.set(weights: [16, 4, 1])
        var waiting = Waiting(
            seqs: Dictionary(uniqueKeysWithValues: queues.map { ($0.id, Set<Int64>(0..<300)) }), high: 300)
        var taken: [Int: Int] = [:]
        for round in 0..<630 {
            for (queue, _) in waiting.claim(&floors, limit: 1, onlyActive: round % 10 != 0) {
                taken[queue, default: 0] += 1
            }
        }
        let lanes = (0..<3).map { lane in (1...3).map { taken[lane * 3 + $0] ?? 0 } }
        let shares = lanes.map { $0.reduce(0, +) }
        #expect(abs(shares[0] - 480) < 20 && abs(shares[1] - 120) < 20 && abs(shares[2] - 30) < 10, "\(shares)")
        // Those that are found first are ahead by a round or so.
        for lane in lanes { #expect(lane.max()! - lane.min()! < 20, "\(lanes)") }
    }
}

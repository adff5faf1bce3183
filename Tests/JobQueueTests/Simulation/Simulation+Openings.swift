import Foundation
import Postgres

/// Situations that lots alone seldom bring about.
extension Simulation {
    /// What a run begins with.
    enum Opening: CaseIterable {
        case nothing
        /// One worker has claimed what a partner may run, and has not committed it; the others want more.
        case limit
        /// A producer's transaction stays open until the workers no longer look where its jobs will be.
        case lateCommit
        /// Jobs that were claimed since the copy was kept wait again once the database goes back, below the workers' floors.
        case earlierCopy
    }

    /// Brings about the run's opening, with nobody in another's way.
    mutating func begin() async throws -> Opening {
        let opening = Opening.allCases[self.random.below(Opening.allCases.count)]
        let partner = SimulatedDatabase.partners[self.random.below(3)]
        if opening == .nothing { return opening }
        self.note("the opening: \(opening) for \(partner)")
        self.isCalm = true
        // The queue must have been seen before.
        try await self.enqueue(1, for: partner)
        try await self.claimAll()
        for index in self.workers.indices { try await self.finish(index) }
        switch opening {
        case .nothing: break
        case .limit:
            _ = try await self.operators.run(
                self.world, PostgresStatement("SELECT insp.limit_partner($1, 1)", [.text(partner)]))
            // The first claim under a limit makes its row.
            try await self.claimAll()
            try await self.enqueue(3, for: partner)
            self.leavesOpen = true
            for _ in 0..<3 where self.openPumps.isEmpty { try await self.pump(0, 0) }
            self.leavesOpen = nil
            try await self.claimAll()
        case .lateCommit:
            try await self.enqueue(2, for: partner, leaveOpen: true)
            try await self.raiseFloors(after: .seconds(31))
        case .earlierCopy:
            try await self.enqueue(2, for: partner)
            try await self.world.keep()
            try await self.raiseFloors(after: .seconds(1))
            if self.random.chance(70) { try await self.goBack() }
        }
        self.isCalm = false
        try await self.check()
        return opening
    }

    private mutating func enqueue(_ count: Int, for partner: String, leaveOpen: Bool = false) async throws {
        let request: [String: Any] = [
            "partner": partner, "workflow": "id", "lane": "normal",
            "parts": ["FRONT": ["url": "https://img.example.com/a", "sha256": QueueFixture.digest]],
        ]
        try await self.enqueue(request, count: count, by: 0, leaveOpen: leaveOpen)
    }

    private mutating func claimAll() async throws {
        for index in self.workers.indices {
            try await self.heartbeat(index)
            for _ in 0..<2 { try await self.pump(index, 0) }
        }
    }

    /// Jobs of others pass, and all workers look at their queues three times.
    private mutating func raiseFloors(after time: Duration) async throws {
        try await self.world.pass(jobs: 30_000)
        for _ in 0..<3 {
            try await self.pass(time)
            try await self.claimAll()
        }
        for index in self.workers.indices { try await self.heartbeat(index) }
    }
}

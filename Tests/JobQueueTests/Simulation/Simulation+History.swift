import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// Databases that go back, operators who leave transactions open, and persons who are to be forgotten.
extension Simulation {
    /// Every connection breaks, and what was not committed is gone.
    mutating func disconnect() async {
        for index in self.workers.indices { await self.disconnect(index) }
        for index in self.producers.indices { await self.producers[index].drop(self.world) }
        await self.maintenance.drop(self.world)
        await self.operators.drop(self.world)
        await self.ghost.drop(self.world)
    }

    /// An earlier state takes the database's place; workers and what they hold in memory live on.
    mutating func goBack() async throws {
        let way = SimulatedDatabase.Return.allCases[self.random.below(3)]
        await self.disconnect()
        guard try await self.world.goBack(way) else { return self.note("the database's connections break") }
        self.note("the database goes back: \(way)")
        // Only what the surviving history accepted counts from here on.
        let known = try await self.world.known(self.jobs)
        self.jobs.removeAll { !known.contains($0) }
        self.keys = self.keys.filter { known.contains($0.value) }
    }

    /// An operator looks at rows and does not let go of them, or steers and forgets to commit.
    mutating func hold() async throws {
        guard !self.operators.isOpen else { return }
        let partner = SimulatedDatabase.partners[self.random.below(3)]
        let statement = [
            "SELECT FROM insp.lease ORDER BY job_id LIMIT 2 FOR UPDATE",
            "SELECT FROM insp.ready ORDER BY queue, seq LIMIT 3 FOR UPDATE",
            "SELECT FROM insp.job WHERE status < 128 ORDER BY id LIMIT 2 FOR UPDATE",
            "SELECT FROM insp.worker ORDER BY id LIMIT 1 FOR UPDATE",
            "SELECT insp.pause(partner => '\(partner)')", "SELECT insp.limit_partner('\(partner)', 2)",
        ][self.random.below(6)]
        guard
            case .rows = try await self.operators.run(self.world, [PostgresStatement(statement)], leaveOpen: true)
        else { return self.note("an operator waits for a lock") }
        self.note("\(statement), not committed")
    }

    mutating func erase() async throws {
        guard !self.operators.isOpen else { return }
        let statement = PostgresStatement(
            """
            SELECT count(insp.erase(j.public_id)) FROM insp.job j
            WHERE j.id = (SELECT min(x.id) FROM insp.job x WHERE x.status = 128 AND insp.personal(x.personal) ? 'customerInternalReference')
            """)
        let leaveOpen = self.random.chance(25)
        guard case .rows(let rows) = try await self.operators.run(self.world, [statement], leaveOpen: leaveOpen) else {
            return self.note("an erasure waits for a lock")
        }
        self.note("\(try rows[0][0].int(0)) jobs are erased\(leaveOpen ? ", not committed yet" : "")")
    }
}

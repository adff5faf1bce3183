import Foundation
import InspectCore
import Postgres

@testable import JobQueue

/// What producers, maintenance and operators do.
extension Simulation {
    // MARK: Producers

    /// So many like jobs at once.
    ///
    /// - Returns: `nil` if the same is under way elsewhere.
    @discardableResult
    mutating func enqueue(
        _ request: [String: Any], count: Int, by index: Int, leaveOpen: Bool
    ) async throws -> [String]? {
        let data = try JSONSerialization.data(withJSONObject: request, options: [.sortedKeys])
        let payloads = Array(repeating: String(decoding: data, as: UTF8.self), count: count)
        let outcome = try await self.producers[index].run(
            self.world,
            [PostgresStatement("SELECT insp.enqueue_many($1::jsonb[])", [.textArray(payloads)])], leaveOpen: leaveOpen)
        guard case .rows(let rows) = outcome else { return nil }
        let ids = try rows[0].map { try $0.string(0) }
        self.jobs += ids
        return ids
    }

    mutating func enqueue() async throws {
        let index = self.random.below(self.producers.count)
        guard !self.producers[index].isOpen else { return }
        var request: [String: Any] = [
            "partner": SimulatedDatabase.partners[self.random.below(3)], "workflow": "id",
            "parts": ["FRONT": ["url": "https://img.example.com/a", "sha256": QueueFixture.digest]],
            "lane": ["urgent", "normal", "normal", "bulk"][self.random.below(4)],
            "customerInternalReference": "who it is",
        ]
        if self.random.chance(20) { request["delaySeconds"] = [1, 20, 300][self.random.below(3)] }
        if self.random.chance(15) {
            let now = try await self.world.control.query(
                "SELECT to_char(fake.clock_timestamp() AT TIME ZONE 'UTC' + $1 * interval '1 s', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')",
                [.double([310, 350, 900][self.random.below(3)])])
            request["expiresAt"] = try now[0].string(0)
        }
        let key = self.random.chance(15) ? self.random.below(4) : nil
        if let key {
            // Under a key always the same request: another one would be refused.
            request = request.filter { ["workflow", "parts"].contains($0.key) }
            request["partner"] = SimulatedDatabase.partners[key % 3]
            request["idempotencyKey"] = "key \(key)"
        }
        let count = key == nil ? 1 + self.random.below(3) : 1
        let leaveOpen = self.random.chance(25)
        guard let ids = try await self.enqueue(request, count: count, by: index, leaveOpen: leaveOpen) else {
            return self.note("an enqueue waits for a key that is under way")
        }
        self.note(
            "producer \(index) enqueues \(count) for \(request["partner"]!)\(request["delaySeconds"].map { ", in \($0) s" } ?? "")\(request["expiresAt"] == nil ? "" : ", with a deadline")\(key.map { ", key \($0)" } ?? "")\(leaveOpen ? ", not committed yet" : "")"
        )
        guard let key, !leaveOpen else { return }
        if let known = self.keys[key], known != ids[0] {
            self.violations.append("key \(key) stands for two jobs")
        }
        self.keys[key] = ids[0]
    }

    // MARK: Open transactions

    /// Somebody's open transaction ends: committed late, rolled back, or lost with its connection.
    mutating func resolve() async throws {
        let commit = self.random.chance(70)
        let breaks = self.random.chance(20)
        let open = self.openPumps
        if !open.isEmpty, self.random.chance(60) {
            let (index, number) = open[self.random.below(open.count)]
            return try await self.end(index, number, commit: commit, breaks: breaks)
        }
        for index in self.producers.indices where self.producers[index].isOpen {
            self.note("producer \(index)'s transaction is \(commit ? "committed" : "rolled back")")
            return try await self.producers[index].end(commit: commit)
        }
        if self.maintenance.isOpen {
            self.note("maintenance is \(commit ? "committed" : "rolled back")")
            return try await self.maintenance.end(commit: commit)
        }
        if self.operators.isOpen {
            self.note("the operator's transaction is \(commit ? "committed" : "rolled back")")
            try await self.operators.end(commit: commit)
        }
    }

    // MARK: Maintenance and operators

    mutating func maintain() async throws {
        guard !self.maintenance.isOpen else { return }
        let duty = Duty.allCases[self.random.below(Duty.allCases.count)]
        let leaveOpen = self.random.chance(15)
        let outcome = try await self.maintenance.run(self.world, [duty.statement], leaveOpen: leaveOpen)
        guard case .rows(let rows) = outcome else { return self.note("\(duty) waits for a lock") }
        if !leaveOpen && (duty == .rescue || duty == .orphans) { self.clockWasSeen = true }
        self.note("\(duty): \(try rows[0][0].int(0))\(leaveOpen ? ", not committed yet" : "")")
    }

    mutating func cancel() async throws {
        guard !self.operators.isOpen, !self.jobs.isEmpty else { return }
        let place = self.random.below(self.jobs.count)
        let leaveOpen = self.random.chance(15)
        let statement = PostgresStatement(
            "SELECT count(insp.cancel(public_id)) FROM insp.job WHERE public_id = $1", [.text(self.jobs[place])])
        let outcome = try await self.operators.run(self.world, [statement], leaveOpen: leaveOpen)
        if case .blocked = outcome { return self.note("a cancellation waits for a lock") }
        self.note("job number \(place) is cancelled\(leaveOpen ? ", not committed yet" : "")")
    }

    /// A person confirms a decision, or finds that nothing waits for one.
    mutating func review() async throws {
        guard !self.operators.isOpen else { return }
        let statement = PostgresStatement(
            """
            SELECT count(insp.review(j.public_id, 'PASSED')) FROM insp.job j
            WHERE j.id = (SELECT min(r.job_id) FROM insp.review_wait r)
            """)
        let leaveOpen = self.random.chance(15)
        guard case .rows(let rows) = try await self.operators.run(self.world, [statement], leaveOpen: leaveOpen) else {
            return self.note("a review waits for a lock")
        }
        self.note("\(try rows[0][0].int(0)) decisions are confirmed\(leaveOpen ? ", not committed yet" : "")")
    }

    mutating func pause() async throws {
        guard !self.operators.isOpen else { return }
        let partner = SimulatedDatabase.partners[self.random.below(3)]
        let statement = [
            "SELECT insp.pause('normal')", "SELECT insp.pause('bulk')", "SELECT insp.resume('normal')",
            "SELECT insp.resume('bulk')", "UPDATE insp.partner SET paused = NOT paused WHERE name = '\(partner)'",
            "UPDATE insp.partner SET max_running = 1 WHERE name = 'cat'",
            "UPDATE insp.partner SET rate_per_second = 0.5, rate_burst = 2 WHERE name = 'bee'",
        ][self.random.below(7)]
        self.note(statement)
        _ = try await self.operators.run(self.world, PostgresStatement(statement))
    }

    mutating func drain(_ index: Int) async throws {
        guard !self.operators.isOpen, let identity = self.workers[index].machine.identity else { return }
        self.note("worker \(index) is to drain")
        self.workers[index].isDraining = true
        _ = try await self.operators.run(
            self.world, PostgresStatement("SELECT insp.drain_worker($1)", [.int(identity.id)]))
    }
}

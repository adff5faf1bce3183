import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Databases that went back, and clocks that were set.
@Suite struct FailoverTests {
    private func number(_ sql: String, _ fixture: QueueFixture) async throws -> Int64 {
        try await fixture.admin.query("SELECT \(sql)")[0].int(0)
    }

    // MARK: Numbers that went back

    @Test
    func `After its numbers went back the database's jobs are claimed at once, by the workers that were there before`()
        async throws
    {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            "SELECT setval('insp.ready_seq', 1000000), setval('insp.fence', 500000), setval('insp.job_id', 300000)")
        _ = try await fixture.enqueue(1)
        let log = EventLog()
        var configuration = fixture.configuration()
        // Nobody sweeps or rescues: what is claimed, the claim itself found.
        configuration.maintains = false
        try await withWorker(configuration, ClosureHandler(), log: log) { _ in
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 1")
            try await fixture.wait(
                for: "(SELECT count(*) FROM insp.worker WHERE 900000 < ALL (floor_seqs) AND floor_seqs <> '{}') = 1")
            // The new primary never saw the last 950,000 places.
            try await fixture.admin.execute(
                "SELECT setval('insp.ready_seq', 50000), setval('insp.fence', 400000), setval('insp.job_id', 300001)")
            _ = try await fixture.enqueue(3)
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 4")
        }
        #expect(log.count { if case .newEpoch = $0 { true } else { false } } >= 1)
        #expect(log.count { if case .leaseLost = $0 { true } else { false } } == 0)
        #expect(
            try await self.number("min(fence) FROM insp.step WHERE job_id > 300002", fixture) > 500_000 + 4_294_967_296)
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A pair of job and fence is never given out twice`() async throws {
        let fixture = try await QueueFixture()
        var old = try await Hand(fixture.admin)
        _ = try await fixture.enqueue(1)
        let before = try #require(try await old.claim(1, on: fixture.admin).jobs.first?.job)
        // Neither claim nor job was ever seen by the server that is promoted, nor how far the sequences had come.
        try await fixture.admin.execute(
            """
            DELETE FROM insp.lease; DELETE FROM insp.job; DELETE FROM insp.part; DELETE FROM insp.event;
            SELECT setval('insp.job_id', \(before.id), false), setval('insp.fence', \(before.fence), false),
                setval('insp.ready_seq', 1, false);
            """)
        // As a standby would have it: another server's start.
        try await fixture.admin.execute("UPDATE insp.epoch SET timeline = '00000000'")
        _ = try await fixture.enqueue(1)
        #expect(try await self.number("max(id) FROM insp.job", fixture) == before.id)
        var new = try await Hand(fixture.admin)
        let after = try #require(try await new.claim(1, on: fixture.admin).jobs.first?.job)
        #expect(after.id == before.id && after.fence > before.fence + 4_294_967_296)
        // The worker from before writes what it had.
        let stale = QueueStatements.writes([
            QueueWrite(
                kind: .finish(StorableResult(summary: #"{"decision":{"type":"PASSED"}}"#, body: Data("{}".utf8))),
                job: before, claimedAt: .now)
        ])[0].statement
        #expect(try await fixture.admin.query(stale.sql, stale.parameters).isEmpty)
        #expect(try await fixture.count("insp.step") == 0)
        // Job ids have moved on as far as there are partitions.
        _ = try await fixture.enqueue(1)
        #expect(try await self.number("max(id) FROM insp.job", fixture) > before.id + 1_000_000)
        #expect(try await self.number("last_value FROM insp.callback_claim", fixture) > 4_294_967_296)
    }

    @Test func `Another server is noticed by the first call, whatever it is`() async throws {
        let fixture = try await QueueFixture()
        for call in ["heartbeat", "claim", "rescue", "registration"] {
            var hand = try await Hand(fixture.admin)
            let before = try await self.number("id FROM insp.epoch", fixture)
            try await fixture.admin.execute("UPDATE insp.epoch SET started_at = started_at - interval '1 s'")
            switch call {
            case "heartbeat": _ = try await hand.beat(on: fixture.admin)
            case "claim": _ = try await hand.claim(1, on: fixture.admin)
            case "rescue": _ = try await self.rescue("NULL", fixture)
            default: hand = try await Hand(fixture.admin)
            }
            let after = try await self.number("id FROM insp.epoch", fixture)
            #expect(after > before + 4_294_967_296, "\(call)")
            #expect(try await self.number("last_value FROM insp.fence", fixture) == after)
        }
    }

    @Test func `A crash that the server recovers from by itself is noticed without a restart`() async throws {
        let fixture = try await QueueFixture()
        var hand = try await Hand(fixture.admin)
        let before = try await hand.claim(1, on: fixture.admin).epoch
        try await fixture.admin.execute("UPDATE insp.epoch SET recovered_at = recovered_at - interval '1 s'")
        #expect(try await hand.claim(1, on: fixture.admin).epoch > before)
        #expect(try await fixture.count("insp.epoch WHERE reason = 'the server recovered from a crash'") == 1)
        #expect(try await hand.claim(1, on: fixture.admin).epoch == hand.seen.epoch)
    }

    @Test func `A claim alone waits for no disk; beside results, or with a new epoch, it does`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(4)
        var hand = try await Hand(fixture.admin)
        func durability(beginning: String? = nil) async throws -> String {
            try await fixture.admin.execute("BEGIN")
            if let beginning { try await fixture.admin.execute(beginning) }
            _ = try await hand.claim(1, on: fixture.admin)
            let now = try await fixture.admin.query("SELECT current_setting('synchronous_commit')")[0].string(0)
            try await fixture.admin.execute("COMMIT")
            return now
        }
        #expect(try await durability() == "off")
        #expect(try await durability(beginning: "UPDATE insp.control SET paused = paused") == "on")
        try await fixture.admin.execute("UPDATE insp.epoch SET started_at = started_at - interval '1 s'")
        #expect(try await durability() == "on")
        // A setting of one transaction: the next on the same connection waits again.
        #expect(try await fixture.admin.query("SELECT current_setting('synchronous_commit')")[0].string(0) == "on")
    }

    @Test func `Another epoch begins once, however many notice it`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(40)
        try await fixture.admin.execute("UPDATE insp.epoch SET started_at = started_at - interval '1 hour'")
        let epochs = try await withThrowingTaskGroup(of: Set<Int64>.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let connection = try await fixture.database.connect()
                    var hand = try await Hand(connection)
                    var epochs: Set<Int64> = [hand.seen.epoch]
                    for _ in 0..<4 { epochs.insert(try await hand.claim(1, on: connection).epoch) }
                    await connection.close()
                    return epochs
                }
            }
            return try await group.reduce(into: Set<Int64>()) { $0.formUnion($1) }
        }
        // What a registration read before it may still be the one from before.
        #expect(epochs.subtracting([0]).count == 1)
        #expect(try await fixture.count("(SELECT DISTINCT fence FROM insp.lease) l") == 24)
        let epoch = try await self.number("id FROM insp.epoch", fixture)
        #expect(try await fixture.count("insp.lease WHERE fence <= \(epoch)") == 0)
        // A restart lost nothing: job ids go on.
        #expect(try await self.number("last_value FROM insp.job_id", fixture) == 40)
    }

    @Test func `Floors and fences of another epoch are neither kept nor passed on`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute("SELECT setval('insp.ready_seq', 100000), setval('insp.fence', 5000)")
        var hand = try await Hand(fixture.admin)
        _ = try await hand.beat(fenceFloor: 5000, floors: ([1], [80_000]), on: fixture.admin)
        try await fixture.admin.execute("SELECT setval('insp.ready_seq', 70000), setval('insp.fence', 4800)")
        _ = try await fixture.enqueue(2)
        // Whoever comes now does not take over floors that lie above all places.
        var other = try await Hand(fixture.admin)
        #expect(try await fixture.count("insp.worker WHERE floor_seqs <> '{}'") == 0)
        #expect(try await other.claim(1, on: fixture.admin).jobs.count == 1)
        // The former one is notified, and what it still writes is ignored.
        let row = try await hand.beat(fenceFloor: 5000, floors: ([1], [80_000]), on: fixture.admin)
        #expect(try row.int("epoch") != hand.seen.epoch)
        #expect(try await fixture.count("insp.worker WHERE floor_seqs <> '{}' OR fence_floor > 5000") == 1)
        #expect(try await fixture.count("insp.worker WHERE floor_seqs <> '{}'") == 0)
        #expect(try await hand.claim(1, on: fixture.admin).jobs.count == 1)
    }

    @Test func `A lease that no heartbeat of its worker shows is rescued at once`() async throws {
        let fixture = try await QueueFixture()
        var hand = try await Hand(fixture.admin)
        _ = try await fixture.enqueue(1)
        _ = try await hand.claim(1, on: fixture.admin)
        try await fixture.admin.execute("SELECT setval('insp.fence', 100)")
        try await fixture.admin.execute("UPDATE insp.worker SET fence_floor = 100")
        let row = try await fixture.admin.query("SELECT requeued FROM insp.rescue()")[0]
        #expect(try row.int(0) == 1)
    }

    @Test func `Numbers that nobody can have seen move nothing`() async throws {
        let fixture = try await QueueFixture()
        let numbers = "SELECT f.last_value + s.last_value FROM insp.fence f, insp.ready_seq s"
        let before = try await fixture.admin.query(numbers)[0].int(0)
        func beat(_ worker: String, _ incarnation: String) async throws -> Bool {
            try await fixture.admin.query(
                "SELECT alive FROM insp.heartbeat(\(worker), \(incarnation), 0, 0, '{}', '{}', 0, 9000000000000000000, 9000000000000000000)"
            )[0].bool(0)
        }
        #expect(try await !beat("999", "gen_random_uuid()"))
        try await fixture.admin.execute(
            "SELECT insp.worker_register('00000000-0000-0000-0000-000000000007', 'h', 1, '0', NULL, '{0,1,2}', 4)")
        let refused = await #expect(throws: PostgresError.self) {
            try await beat("(SELECT id FROM insp.worker)", "'00000000-0000-0000-0000-000000000007'")
        }
        #expect(refused?.sqlState == "22003")
        #expect(try await fixture.admin.query(numbers)[0].int(0) == before)
    }

    // MARK: Clocks

    /// Sets the database's clock, as far as what is stored can tell: everything lies so much further back.
    private func step(_ interval: String, _ fixture: QueueFixture) async throws {
        try await fixture.admin.execute(
            """
            UPDATE insp.worker SET heartbeat_at = heartbeat_at - interval '\(interval)';
            UPDATE insp.lease SET deadline = deadline - interval '\(interval)', claimed_at = claimed_at - interval '\(interval)';
            UPDATE insp.delayed SET run_at = run_at - interval '\(interval)';
            UPDATE insp.partner_tokens SET at = at - interval '\(interval)';
            SELECT setval('insp.scanned', last_value - (extract(epoch FROM interval '\(interval)') * 1000000)::bigint)
            FROM insp.scanned;
            """)
    }

    private func rescue(_ elapsed: String, _ fixture: QueueFixture) async throws -> Int64 {
        let row = try await fixture.admin.query(
            "SELECT requeued + dead_lettered + workers FROM insp.rescue(p_elapsed => \(elapsed))")[0]
        return try row.int(0)
    }

    @Test(arguments: ["20 s", "330 s", "1 h", "-1 h"])
    func `A clock that is set takes no job from a worker that lives`(_ interval: String) async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(4)
        var hand = try await Hand(fixture.admin)
        _ = try await hand.claim(2, on: fixture.admin)
        _ = try await self.rescue("NULL", fixture)
        for _ in 0..<3 {
            // Each time when its last heartbeat is five seconds old.
            try await fixture.admin.execute(
                """
                UPDATE insp.worker SET heartbeat_at = heartbeat_at - interval '5 s', beat_microseconds = beat_microseconds - 5000000;
                SELECT setval('insp.scanned', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint);
                """)
            try await self.step(interval, fixture)
            for _ in 0..<3 { #expect(try await self.rescue("'0.5 s'", fixture) == 0) }
            #expect(try await hand.beat(on: fixture.admin).bool("alive"))
            // What is claimed after it runs by the clock as it is.
            _ = try await hand.claim(1, on: fixture.admin)
            let left = "min(extract(epoch FROM deadline - clock_timestamp()))::bigint FROM insp.lease"
            #expect(try await self.number(left, fixture) > 200)
        }
        #expect(try await fixture.count("insp.lease") == 4)
    }

    @Test func `A worker that died is rescued after so much watched time, whoever watched and whatever the clock did`()
        async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        var hand = try await Hand(fixture.admin)
        _ = try await hand.claim(1, on: fixture.admin)
        func scan(_ seconds: Double, _ elapsed: String) async throws -> Int64 {
            try await fixture.admin.execute(
                """
                UPDATE insp.worker SET heartbeat_at = heartbeat_at - interval '\(seconds) s';
                SELECT setval('insp.scanned', last_value - \(Int(seconds * 1_000_000))) FROM insp.scanned
                """)
            return try await self.rescue(elapsed, fixture)
        }
        _ = try await self.rescue("NULL", fixture)
        // Set back for an hour: the clock says that it has just been heard of.
        try await self.step("-1 h", fixture)
        var scans = 1
        while scans < 60, try await scan(1, "'1 s'") == 0 { scans += 1 }
        #expect(12...16 ~= scans)
        #expect(try await fixture.count("insp.worker") == 0)
        // Alone in the fleet, killed and restarted after a minute: it scans soon after.
        hand = try await Hand(fixture.admin)
        _ = try await hand.claim(1, on: fixture.admin)
        #expect(try await scan(60, "NULL") == 0)
        scans = 1
        while scans < 60, try await scan(1, "'1 s'") == 0 { scans += 1 }
        #expect(scans <= 10)
    }

    @Test func `A clock that is set back holds up neither a limited partner nor a failed job`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.limit_partner('acme', rate_per_second => 100, rate_burst => 1)")
        _ = try await fixture.enqueue(3)
        var hand = try await Hand(fixture.admin)
        let first = try await hand.claim(1, on: fixture.admin).jobs[0].job
        _ = try await self.rescue("NULL", fixture)
        let retry = QueueStatements.writes([
            QueueWrite(kind: .retry(InspectError(.partUnreachable), after: .seconds(1)), job: first, claimedAt: .now)
        ])[0].statement
        _ = try await fixture.admin.query(retry.sql, retry.parameters)
        try await self.step("-1 h", fixture)
        try await waitUntil("a job is claimed", every: .milliseconds(20)) {
            try await hand.claim(1, on: fixture.admin).jobs.count == 1
        }
        _ = try await self.rescue("'0.5 s'", fixture)
        #expect(try await fixture.count("insp.delayed WHERE run_at < now() + interval '5 s'") == 1)
    }

    // MARK: Order and cost

    @Test func `A long transaction's jobs keep their place, and need no sweep`() async throws {
        let fixture = try await QueueFixture()
        let order = Mutex<[Int64]>([])
        let handler = ClosureHandler { job, _ in
            order.withLock { $0.append(job.id) }
            return ClosureHandler.passed
        }
        var configuration = fixture.configuration(slots: 1)
        configuration.maintains = false
        let late = try await fixture.database.connect()
        try await withWorker(configuration, handler) { _ in
            _ = try await fixture.enqueue(1)
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
            try await late.execute("BEGIN")
            _ = try await late.query(
                "SELECT count(*) FROM insp.enqueue_many(ARRAY[$1::jsonb, $1::jsonb, $1::jsonb])",
                [.text(QueueFixture.byURL)])
            // The transaction's own sixty thousand, over which many scans and heartbeats go.
            try await fixture.admin.execute("SELECT setval('insp.ready_seq', last_value + 60000) FROM insp.ready_seq")
            _ = try await fixture.enqueue(1)
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 2")
            try await fixture.waitForHeartbeats(5)
            try await late.execute("COMMIT")
            _ = try await fixture.enqueue(1)
            try await fixture.wait(for: "(SELECT count(*) FROM insp.job WHERE status = 128) = 6")
            // Nothing is held back for good: once it is over, floors rise.
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.worker WHERE 40000 < ANY (floor_seqs))")
        }
        let ids = try await fixture.admin.query("SELECT id FROM insp.job ORDER BY id").map { try $0.int(0) }
        #expect(Set(order.withLock { $0 }) == Set(ids) && order.withLock { $0 }.count == 6)
        // The late ones first, then the one that came after them.
        #expect(order.withLock { Array($0[2...4]) } == Array(ids[1...3]))
    }

    @Test func `Floors wait for open transactions, but not for ever`() {
        var horizon = FloorHorizon()
        let start = ContinuousClock.now
        #expect(horizon.bound == nil)
        horizon.learn(.init(high: 1000, running: 50, next: 60), at: start)
        #expect(horizon.bound == 0)
        // Number 50 still runs; then it has ended, but 60 runs.
        horizon.learn(.init(high: 2000, running: 50, next: 70), at: start + .milliseconds(100))
        #expect(horizon.bound == 0)
        horizon.learn(.init(high: 3000, running: 60, next: 80), at: start + .milliseconds(200))
        #expect(horizon.bound == 1000)
        horizon.learn(.init(high: 4000, running: 60, next: 90), at: start + .seconds(50))
        #expect(horizon.bound == 1000)
        horizon.learn(.init(high: 5000, running: 60, next: 95), at: start + .seconds(61))
        #expect(horizon.bound == 3000)
        horizon.learn(.init(high: 500_000, running: 60, next: 99), at: start + .seconds(62))
        #expect(horizon.bound == 300_000)
        horizon.learn(.init(high: 500_000, running: 99, next: 99), at: start + .seconds(63))
        #expect(horizon.bound == 500_000)
    }

    @Test func `Scans of all queues are bounded in number, however many queues there are`() {
        #expect(WorkerMachine.fullScanInterval(queues: 10, isHinted: false) == .milliseconds(100))
        for queues in [200, 2000, 20_000] {
            let idle = Double(queues) / WorkerMachine.fullScanInterval(queues: queues, isHinted: false).seconds
            let woken = Double(queues) / WorkerMachine.fullScanInterval(queues: queues, isHinted: true).seconds
            #expect(idle <= max(2000.01, Double(queues)) && woken <= 20_000.01)
            #expect(WorkerMachine.fullScanInterval(queues: queues, isHinted: false) <= .seconds(1))
        }
    }
}

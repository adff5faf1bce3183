import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// Quotas on a partner's waiting jobs and on the bytes of its parts.
@Suite struct QuotaTests {
    private static let good = Data(QueueFixture.byURL.utf8)

    private func code(_ body: () async throws -> Void) async -> ErrorCode? {
        do {
            try await body()
            return nil
        } catch { return (error as? InspectError)?.code }
    }

    @Test func `Jobs beyond the quota are refused until others are claimed, and other partners' are not`() async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('club')")
        // What waits already counts.
        _ = try await fixture.enqueue(3)
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', max_waiting => 10)")
        let keyed = Data((QueueFixture.byURL.dropLast() + #","idempotencyKey":"k"}"#).utf8)
        let delayed = Data((QueueFixture.byURL.dropLast() + #","delaySeconds":600}"#).utf8)
        let first = try await fixture.client.enqueue(payload: keyed)
        _ = try await fixture.enqueue(many: [Self.good, delayed])
        _ = try await fixture.enqueue(4)
        let front: [PartKind: [Data]] = [.front: [Data("front".utf8)]]
        let bytes = Data(#"{"partner":"acme","workflow":"id"}"#.utf8)
        for _ in 0..<2 {
            #expect(await self.code { _ = try await fixture.enqueue(1) } == .waitingQuotaReached)
            #expect(await self.code { _ = try await fixture.client.enqueue(payload: delayed) } == .waitingQuotaReached)
            #expect(
                await self.code { _ = try await fixture.client.enqueue(payload: bytes, parts: front) }
                    == .waitingQuotaReached)
            // A request that is repeated is the job that it was.
            #expect(try await fixture.client.enqueue(payload: keyed) == first)
            let club = Data(QueueFixture.byURL.replacing("acme", with: "club").utf8)
            _ = try await fixture.enqueue(many: [club, club])
            // Counted again, it is as full.
            _ = try await fixture.admin.query("SELECT insp.measure_quotas()")
        }
        let view = try await fixture.admin.query(
            "SELECT max_waiting, waiting FROM insp.v_quota WHERE partner = 'acme'")[0]
        #expect(try view.int(0) == 10 && view.int(1) == 10)
        #expect(ErrorCode.waitingQuotaReached.isRetryable && ErrorCode.storageQuotaReached.isRetryable)

        // Workers claim, and their maintenance measures.
        try await withWorker(fixture.configuration(), ClosureHandler()) { _ in
            try await fixture.wait(for: "(SELECT waiting <= 1 FROM insp.v_quota)")
        }
        #expect(await self.code { _ = try await fixture.enqueue(9) } == nil)
        #expect(await self.code { _ = try await fixture.enqueue(1) } == .waitingQuotaReached)
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme')")
        #expect(await self.code { _ = try await fixture.enqueue(20) } == nil)
        #expect(try await fixture.count("insp.quota") + fixture.count("insp.quota_use") == 0)
        // The largest number of all is as good as none.
        _ = try await fixture.admin.query("SELECT insp.set_quota('club', max_waiting => 9223372036854775807)")
        _ = try await fixture.admin.query("SELECT insp.measure_quotas()")
    }

    @Test func `Concurrent producers exceed the quota by no more than they had under way`() async throws {
        let fixture = try await QueueFixture()
        let producers = 6
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', max_waiting => 60)")
        // Measured all the time: a count takes nothing away that it did not see.
        let measuring = Task {
            while !Task.isCancelled { _ = try await fixture.admin.query("SELECT insp.measure_quotas()") }
        }
        let count = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<producers {
                group.addTask {
                    let client = JobClient(databaseURL: fixture.database.url)
                    var accepted = 0
                    for _ in 0..<30 {
                        do {
                            _ = try await client.enqueue(payload: Self.good)
                            accepted += 1
                        } catch let error as InspectError where error.code == .waitingQuotaReached {}
                    }
                    await client.close()
                    return accepted
                }
            }
            return try await group.reduce(0, +)
        }
        measuring.cancel()
        _ = try? await measuring.value(within: .seconds(120))
        #expect(count >= 60 - producers && count < 60 + producers, "\(count)")
        #expect(try await fixture.count("insp.ready") == count)
        _ = try await fixture.admin.query("SELECT insp.measure_quotas()")
        #expect(try await fixture.admin.query("SELECT waiting FROM insp.v_quota")[0].int(0) == min(Int64(count), 61))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A transaction that stays open holds up no other producer of a partner with a quota`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', max_waiting => 100, max_bytes => 1000)")
        for isolation in ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"] {
            let session = try await fixture.database.connect()
            try await session.execute("BEGIN ISOLATION LEVEL \(isolation)")
            _ = try await session.query("SELECT count(*) FROM insp.v_quota")
            _ = try await fixture.enqueue(2)
            _ = try await session.query("SELECT insp.enqueue($1)", [.text(QueueFixture.byURL)])
            _ = try await fixture.enqueue(2)
            _ = try await fixture.admin.query("SELECT insp.measure_quotas()")
            _ = try await fixture.enqueue(2)
            try await session.execute("COMMIT")
            await session.close()
        }
        _ = try await fixture.admin.query("SELECT insp.measure_quotas()")
        #expect(try await fixture.admin.query("SELECT waiting FROM insp.v_quota")[0].int(0) == 22)
    }

    @Test func `Bytes count until they are removed`() async throws {
        let fixture = try await QueueFixture()
        let payload = Data(#"{"partner":"acme","workflow":"id"}"#.utf8)
        func enqueue(_ size: Int) async throws -> String {
            try await fixture.client.enqueue(
                payload: payload, parts: [.front: [Data(count: size)], .frames: [Data(count: 10), Data(count: 20)]])
        }
        func bytes() async throws -> Int64 { try await fixture.admin.query("SELECT bytes FROM insp.v_quota")[0].int(0) }
        let before = try await enqueue(970)
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', max_bytes => 5000)")
        #expect(try await bytes() == 1000)
        let second = try await enqueue(2970)
        #expect(await self.code { _ = try await enqueue(1000) } == .storageQuotaReached)
        _ = try await fixture.admin.query("SELECT insp.measure_quotas()")
        #expect(await self.code { _ = try await enqueue(1000) } == .storageQuotaReached)
        // By URL, nothing is stored.
        _ = try await fixture.enqueue(1)
        #expect(try await bytes() == 4000)
        for id in [before, second] { #expect(try await fixture.client.cancel(id)) }
        // A rerun stores nothing: its bytes count once, until the last job that refers to them is gone.
        let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(second)])[0].string(0)
        let copy = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(before)])[0].string(0)
        #expect(try await bytes() == 4000)
        for id in [again, copy] { #expect(try await fixture.client.cancel(id)) }
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', max_bytes => 5000)")
        #expect(try await bytes() == 4000)
        _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(copy)])
        #expect(try await bytes() == 3000)
        _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(second)])
        #expect(try await bytes() == 0)
        let first = try await enqueue(970)
        _ = try await enqueue(3970)
        #expect(try await fixture.client.cancel(first))
        // Retention takes the first one's bytes.
        try await fixture.admin.execute(
            "UPDATE insp.job SET completed_at = completed_at - interval '31 days', created_at = created_at - interval '32 days'"
        )
        _ = try await fixture.admin.query("SELECT * FROM insp.purge()")
        #expect(
            try await fixture.count(
                "insp.content c JOIN insp.job j ON j.id = c.id WHERE j.status = 128") == 0)
        #expect(try await bytes() == 4000)
        _ = try await fixture.admin.query("SELECT insp.measure_quotas(), insp.set_quota('acme', max_bytes => 5000)")
        #expect(try await bytes() == 4000)
    }

    @Test func `A rerun is a waiting job like others`() async throws {
        let fixture = try await QueueFixture()
        let done = try await fixture.enqueue(1)[0]
        #expect(try await fixture.client.cancel(done))
        try await fixture.admin.execute("DELETE FROM insp.ready; SELECT insp.set_quota('acme', max_waiting => 2)")
        _ = try await fixture.enqueue(1)
        _ = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(done)])
        #expect(try await fixture.admin.query("SELECT waiting FROM insp.v_quota")[0].int(0) == 2)
        let refused = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.rerun($1)", [.text(done)])
        }
        #expect(refused?.sqlState == ErrorCode.waitingQuotaReached.sqlState)
        #expect(try await fixture.count("insp.job") == 3)
    }

    @Test func `A measurement reads what waits, not what was claimed while an old transaction runs`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.enqueue(1)
        _ = try await fixture.admin.query("SELECT insp.set_quota('acme', max_waiting => 100)")
        let old = try await fixture.database.connect()
        try await old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM insp.ready")
        // Claimed by a worker whose floor says so.
        try await fixture.admin.execute(
            """
            INSERT INTO insp.ready (job_id, queue) SELECT 1000000 + n, q.id FROM insp.queue q, generate_series(1, 30000) n;
            DELETE FROM insp.ready WHERE job_id > 1000000;
            """)
        _ = try await fixture.enqueue(5)
        try await fixture.admin.execute(
            """
            INSERT INTO insp.worker (incarnation, host, process, version, lanes, slots, floor_queues, floor_seqs)
            SELECT gen_random_uuid(), 'h', 1, '0', '{1}', 1, ARRAY[min(queue)], ARRAY[min(seq)] FROM insp.ready WHERE job_id <> 1
            """)
        var pages: [Int] = []
        for _ in 0..<5 {
            let plan = try await fixture.admin.query(
                "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT insp.measure_quotas()")[0].data(0)
            let document = try JSONSerialization.jsonObject(with: plan) as? [[String: Any]]
            let top = try #require(document?.first?["Plan"] as? [String: Any])
            pages.append(["Shared Hit Blocks", "Shared Read Blocks"].reduce(0) { $0 + (top[$1] as? Int ?? 0) })
        }
        // The entries of thirty thousand rows fill more than eighty pages, the rows themselves some two hundred.
        #expect(pages.min()! < 60, "\(pages)")
        #expect(try await fixture.admin.query("SELECT waiting FROM insp.v_quota")[0].int(0) == 5)
        try await old.execute("ROLLBACK")
        await old.close()
    }

    @Test func `A partner without a quota writes no usage, and invalid numbers are refused`()
        async throws
    {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('club'), insp.set_quota('club', 1, 1)")
        _ = try await fixture.enqueue(5)
        _ = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"id"}"#.utf8), parts: [.front: [Data(count: 9)]])
        #expect(try await fixture.count("insp.quota_use") == 0)
        for call in ["insp.set_quota('acme', 0)", "insp.set_quota('acme', NULL, -1)"] {
            let error = await #expect(throws: PostgresError.self) { try await fixture.admin.query("SELECT \(call)") }
            #expect(error?.sqlState == ErrorCode.parameterInvalid.sqlState)
        }
        let unknown = await #expect(throws: PostgresError.self) {
            try await fixture.admin.query("SELECT insp.set_quota('nobody', 1)")
        }
        #expect(unknown?.sqlState == ErrorCode.partnerUnknown.sqlState)
    }
}

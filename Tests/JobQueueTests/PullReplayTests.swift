import Foundation
import Postgres
import TestSupport
import Testing

/// Events that are replayed again and again, and pulled.
@Suite struct PullReplayTests {
    private func replay(_ puller: PullTests.Puller, on connection: PostgresConnection? = nil) async throws -> Int64 {
        try await (connection ?? puller.fixture.admin).query(
            "SELECT insp.callback_replay($1, now() - interval '1 hour', now() + interval '1 hour', true)",
            [.int(puller.endpoint)])[0].int(0)
    }

    private func finished(_ puller: PullTests.Puller, _ count: Int) async throws -> [Int64] {
        let jobs = try await puller.enqueue(count)
        for job in jobs {
            try await puller.fixture.admin.execute("SELECT insp.cancel(public_id) FROM insp.job WHERE id = \(job)")
        }
        return jobs
    }

    @Test func `An event that is replayed again and again has two places, and whoever pulls it misses none`()
        async throws
    {
        let fixture = try await QueueFixture()
        let puller = try await PullTests.Puller(fixture)
        let jobs = try await self.finished(puller, 3)
        let first = try await puller.page()
        #expect(first.jobs == jobs)
        // Pulls half of each replay, and then the rest with what was replayed meanwhile.
        var next = first.next
        for turn in 0..<10 {
            #expect(try await self.replay(puller) == 3)
            let page = try await puller.page(after: next, limit: 2)
            #expect(page.jobs == Array(jobs[..<2]), "\(turn)")
            #expect(try await self.replay(puller) == 3)
            let rest = try await puller.page(after: page.next)
            #expect(rest.jobs == jobs, "\(turn): what it had not pulled comes with the next replay")
            next = rest.next
            #expect(try await fixture.count("insp.callback_pull") == 6, "\(turn)")
        }
        // Whoever is behind gets the first places in their order, and each event once more.
        #expect(try await puller.page().jobs == jobs + jobs)
        #expect(try await puller.page(after: first.next).jobs == jobs)
        let names = try await fixture.admin.query("SELECT webhook_id FROM insp.callback ORDER BY id")
        for _ in 0..<5 {
            // The second one finds it waiting for its place.
            for _ in 0..<2 {
                let done = try await fixture.admin.query(
                    "SELECT insp.callback_replay($1)", [.text(try names[0].string(0))])[0].bool(0)
                #expect(done)
            }
            let page = try await puller.page(after: next)
            #expect(page.jobs == [jobs[0]])
            next = page.next
        }
        #expect(try await fixture.count("insp.callback_pull") == 6)
        #expect(try await puller.page().jobs == jobs + [jobs[1], jobs[2], jobs[0]])
    }

    @Test func `A replay in an open transaction delays nobody`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await PullTests.Puller(fixture)
        let jobs = try await self.finished(puller, 2)
        var page = try await puller.page()
        _ = try await self.replay(puller)
        page = try await puller.page(after: page.next)
        #expect(page.jobs == jobs)
        // One waits for its place meanwhile.
        _ = try await fixture.admin.query("SELECT insp.callback_replay(min(webhook_id)) FROM insp.callback")
        let held = try await fixture.database.connect()
        try await held.execute("BEGIN")
        for name in try await held.query("SELECT webhook_id FROM insp.callback") {
            _ = try await held.query("SELECT insp.callback_replay($1)", [.text(try name.string(0))])
        }
        let late = try await self.finished(puller, 1)
        try await fixture.admin.execute("SET statement_timeout = '30s'")
        let during = try await puller.page(after: page.next)
        #expect(during.jobs.count == 2 && during.jobs.contains(late[0]))
        try await held.execute("COMMIT")
        let after = try await puller.page(after: during.next)
        #expect(Set(during.jobs + after.jobs) == Set(jobs + late), "each that was replayed comes")
        await held.close()
    }

    @Test func `Two replays of one event at once give it one more place`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await PullTests.Puller(fixture)
        let jobs = try await self.finished(puller, 1)
        let first = try await puller.page()
        let name = try await fixture.admin.query("SELECT webhook_id FROM insp.callback")[0].string(0)
        let (one, two) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await one.execute("BEGIN")
        _ = try await one.query("SELECT insp.callback_replay($1)", [.text(name)])
        let second = Task { try await two.query("SELECT insp.callback_replay($1)", [.text(name)])[0].bool(0) }
        try await self.waitForReplay(fixture)
        try await one.execute("COMMIT")
        #expect(try await second.value(within: .seconds(120)))
        #expect(try await fixture.count("insp.callback_pull") == 2)
        #expect(try await puller.page(after: first.next).jobs == jobs)
        for connection in [one, two] { await connection.close() }
    }

    @Test func `An event that gets its place during a replay has two places`() async throws {
        let fixture = try await QueueFixture()
        let puller = try await PullTests.Puller(fixture)
        _ = try await self.finished(puller, 2)
        _ = try await puller.page()
        let names = try await fixture.admin.query("SELECT webhook_id FROM insp.callback ORDER BY id")
        // The second one's replay has its place, the first one's waits for it.
        _ = try await fixture.admin.query("SELECT insp.callback_replay($1)", [.text(try names[1].string(0))])
        _ = try await puller.page()
        _ = try await fixture.admin.query("SELECT insp.callback_replay($1)", [.text(try names[0].string(0))])
        // The replay of both waits where it removes a place.
        let (holder, other) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await holder.execute("BEGIN")
        let held = try await holder.query(
            "SELECT FROM insp.callback_pull ORDER BY position DESC NULLS LAST LIMIT 1 FOR UPDATE")
        #expect(held.count == 1)
        let replay = Task { try await self.replay(puller, on: other) }
        try await self.waitForReplay(fixture)
        #expect(try await fixture.admin.query("SELECT insp.number_pulls()")[0].int(0) == 1)
        try await holder.execute("ROLLBACK")
        let replayed = try await replay.value(within: .seconds(120))
        // The first one's still waited when this one began, and is pulled anyway.
        #expect(replayed == 1)
        #expect(try await fixture.count("insp.callback_pull") == 4)
        for connection in [holder, other] { await connection.close() }
    }

    private func waitForReplay(_ fixture: QueueFixture) async throws {
        try await fixture.wait(
            for:
                "EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%callback_replay%' AND datname = current_database())"
        )
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Deletions read again after locking: they must see what others have committed meanwhile.
@Suite struct IsolationTests {
    private static let request = Data(#"{"partner":"acme","workflow":"id","userReference":"ann"}"#.utf8)

    private func enqueue(_ fixture: QueueFixture) async throws -> String {
        try await fixture.client.enqueue(payload: Self.request, parts: [.front: [Data("x".utf8)]])
    }

    @Test(arguments: ["REPEATABLE READ", "SERIALIZABLE"])
    func `A call with one snapshot for the whole transaction erases and copies nothing`(isolation: String) async throws
    {
        let fixture = try await QueueFixture()
        let id = try await self.enqueue(fixture)
        #expect(try await fixture.client.cancel(id))
        let session = try await fixture.database.connect()
        for call in [
            "erase('\(id)')", "erase_person('acme', 'ann')", "rerun('\(id)')", "face_delete('acme', 'f')", "purge()",
            "drop_history()", "face_purge()",
        ] {
            try await session.execute("BEGIN ISOLATION LEVEL \(isolation); SELECT count(*) FROM insp.job")
            let refused = await #expect(throws: PostgresError.self, "\(call)") {
                try await session.query("SELECT insp.\(call)")
            }
            #expect(refused?.sqlState == ErrorCode.isolationLevelInvalid.sqlState, "\(call)")
            #expect(refused?.hint?.contains("READ COMMITTED") == true)
            try await session.execute("ROLLBACK")
        }
        await session.close()
    }

    @Test(.timeLimit(.minutes(5)))
    func `An erasure that waited for a rerun finds it, whatever the database's default is`() async throws {
        let fixture = try await QueueFixture()
        let id = try await self.enqueue(fixture)
        #expect(try await fixture.client.cancel(id))
        try await Self.beginWith("repeatable read", fixture)
        let (holder, eraser) = (try await fixture.database.connect(), try await fixture.database.connect())
        try await holder.execute("BEGIN ISOLATION LEVEL READ COMMITTED; SELECT insp.rerun('\(id)')")
        let erasing = Task { try await eraser.query("SELECT insp.erase($1)", [.text(id)]) }
        try await fixture.wait(
            for: "EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')"
        )
        try await holder.execute("COMMIT")
        let refused = await #expect(throws: PostgresError.self) { try await erasing.value(within: .seconds(120)) }
        #expect(refused?.sqlState == ErrorCode.jobNotFinished.sqlState)
        await holder.close()
        await eraser.close()
    }

    private static func beginWith(_ isolation: String, _ fixture: QueueFixture) async throws {
        let name = try await fixture.admin.query("SELECT current_database()")[0].string(0)
        try await fixture.admin.execute("ALTER DATABASE \(name) SET default_transaction_isolation = '\(isolation)'")
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `Workers work and maintain where transactions begin with a snapshot that stays`(isolation: String) async throws
    {
        let fixture = try await QueueFixture()
        try await Self.beginWith(isolation, fixture)
        let old = try await self.enqueue(fixture)
        #expect(try await fixture.client.cancel(old))
        try await fixture.admin.execute(
            """
            UPDATE insp.job SET created_at = created_at - interval '40 days', completed_at = completed_at - interval '40 days'
            """)
        let log = EventLog()
        let handler = ClosureHandler { job, context in
            if job.attempt == 1, job.publicID.hasSuffix("0") { throw InspectError(.partUnreachable) }
            try await context.complete(.document, output: Data(#"{"x":1}"#.utf8))
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(slots: 8), handler, log: log) { _ in
            try await withWorker(fixture.configuration(slots: 8), handler, log: log) { _ in
                for _ in 0..<20 {
                    _ = try await fixture.enqueue(10)
                    _ = try await self.enqueue(fixture)
                }
                try await fixture.wait(
                    for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128) AND NOT EXISTS (SELECT FROM insp.lease)")
                try await fixture.wait(
                    for: "NOT EXISTS (SELECT FROM insp.v_maintenance WHERE finished_at IS NULL)")
                try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE forgotten_at IS NOT NULL)")
            }
        }
        #expect(try await fixture.violations() == [])
        #expect(try await fixture.count("insp.event WHERE kind = 'rescued'") == 0)
        #expect(try await fixture.count("insp.duty WHERE failures > 0 OR error LIKE '40001%'") == 0)
        // Every producer and worker says itself what it needs.
        #expect(log.count { if case .databaseUnavailable = $0 { true } else { false } } == 0)
    }
}

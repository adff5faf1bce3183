import Foundation
import InspectCore
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct RerunTests {
    private static let payload = Data(
        #"{"partner":"acme","workflow":"id_identity","lane":"urgent","region":"EU","userReference":"u1","review":"never"}"#
            .utf8)

    private func drain(_ fixture: QueueFixture, _ handler: ClosureHandler = ClosureHandler()) async throws {
        var configuration = fixture.configuration()
        configuration.region = "EU"
        configuration.drains = true
        try await JobWorker(configuration, handler: handler).run()
    }

    private func rerun(_ fixture: QueueFixture, _ id: String) async throws -> String {
        try await fixture.admin.query("SELECT insp.rerun($1)", [.text(id)])[0].string(0)
    }

    @Test func `A finished job runs again as a new job with the same request and parts`() async throws {
        let fixture = try await QueueFixture()
        let parts: [PartKind: [Data]] = [.front: [Data("front".utf8)], .face: [Data("face".utf8)]]
        let old = try await fixture.client.enqueue(payload: Self.payload, parts: parts)
        let early = await #expect(throws: PostgresError.self) { try await self.rerun(fixture, old) }
        #expect(early?.sqlState == ErrorCode.jobNotFinished.sqlState)
        try await self.drain(fixture, ClosureHandler { _, _ in throw InspectError(.corruptImage) })
        #expect(try await fixture.count("insp.v_dead WHERE id = '\(old)' AND resolved_at IS NULL") == 1)

        let new = try await self.rerun(fixture, old)
        #expect(new != old)
        #expect(try await fixture.count("insp.v_dead WHERE resolved_by = session_user AND resolved_at <= now()") == 1)
        let seen = Mutex<[Data]>([])
        try await self.drain(
            fixture,
            ClosureHandler { _, context in
                for part in try await context.parts() {
                    if case .bytes(let bytes) = part.source { seen.withLock { $0.append(bytes) } }
                }
                return ClosureHandler.passed
            })
        #expect(seen.withLock { $0 } == [Data("face".utf8), Data("front".utf8)])
        let result = try await fixture.result(of: new)
        #expect(result["rerunOf"] as? String == old)
        #expect(result["userReference"] as? String == "u1")
        #expect((result["decision"] as? [String: Any])?["type"] as? String == "PASSED")
        #expect(try await fixture.result(of: old)["rerunOf"] == nil)
        #expect(try await fixture.errorCode(of: old) == "CORRUPT_IMAGE")
        #expect(
            try await fixture.count(
                """
                insp.job a JOIN insp.job b ON a.id < b.id AND (a.partner_id, a.lane, a.region, a.endpoint_id)
                    = (b.partner_id, b.lane, b.region, b.endpoint_id) AND b.expires_at > a.expires_at
                """) == 1)
        #expect(
            try await fixture.count("insp.v_operator_events WHERE action = 'rerun' AND detail ->> 'as' = '\(new)'") == 1
        )
        #expect(try await fixture.violations().isEmpty)
    }

    @Test func `A rerun's id begins with its time, as every job's does`() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.client.enqueue(payload: Self.payload, parts: [.front: [Data("front".utf8)]])
        #expect(try await fixture.client.cancel(old))
        let new = try await self.rerun(fixture, old)
        let later = try await fixture.client.enqueue(payload: Self.payload, parts: [.front: [Data("front".utf8)]])
        for id in [old, new, later] { #expect(Array(id)[14] == "7", "\(id) is not of version 7") }
        #expect([later, new, old].sorted().map { $0.prefix(13) } == [old, new, later].map { $0.prefix(13) })
    }

    @Test func `Two reruns at once are two jobs, and one of a purged or disabled one is refused`() async throws {
        let fixture = try await QueueFixture()
        let old = try await fixture.client.enqueue(payload: Self.payload, parts: [.front: [Data("front".utf8)]])
        #expect(try await fixture.client.cancel(old))
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    let connection = try await fixture.database.connect()
                    let id = try await connection.query("SELECT insp.rerun($1)", [.text(old)])[0].string(0)
                    await connection.close()
                    return id
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 4)
        try await self.drain(fixture)
        #expect(
            try await fixture.count("insp.part p JOIN insp.content c ON c.id = p.content_id WHERE c.bytes = 'front'")
                == 5)
        #expect(try await fixture.count("insp.content") == 1)
        #expect(try await fixture.violations().isEmpty)
        try await fixture.admin.execute("DELETE FROM insp.part WHERE job_id = (SELECT min(id) FROM insp.job)")
        let purged = await #expect(throws: PostgresError.self) { try await self.rerun(fixture, old) }
        #expect(purged?.sqlState == ErrorCode.partsPurged.sqlState)
        try await fixture.admin.execute("SELECT insp.set_partner('acme', enabled => false)")
        let disabled = await #expect(throws: PostgresError.self) { try await self.rerun(fixture, ids.first!) }
        #expect(disabled?.sqlState == ErrorCode.partnerDisabled.sqlState)
    }

    @Test func `The partner's policies of today on consent and regions judge a rerun`() async throws {
        let fixture = try await QueueFixture()
        func finished(_ more: String) async throws -> String {
            let id = try await fixture.client.enqueue(
                payload: Data(#"{"partner":"acme","workflow":"id"\#(more)}"#.utf8),
                parts: [.front: [Data("front".utf8)]])
            #expect(try await fixture.client.cancel(id))
            return id
        }
        func refusal(_ id: String) async -> ErrorCode? {
            do {
                _ = try await self.rerun(fixture, id)
                return nil
            } catch {
                return (error as? PostgresError)?.sqlState.flatMap { ErrorCode(sqlState: $0) }
            }
        }
        let far = try await finished(#","region":"US""#)
        let anywhere = try await finished("")
        let consented = try await finished(
            #","consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z","policyVersion":"v3"}"#)
        for id in [far, anywhere, consented] { #expect(await refusal(id) == nil) }

        try await fixture.admin.execute("SELECT insp.set_region_policy('acme', 'EU')")
        #expect(await refusal(far) == .regionRefused)
        let moved = try await self.rerun(fixture, anywhere)
        #expect(
            try await fixture.count(
                "insp.job j JOIN insp.region g ON g.id = j.region WHERE g.name = 'EU' AND j.public_id = '\(moved)'")
                == 1)
        try await fixture.admin.execute("SELECT insp.set_region_policy('acme', 'EU', true)")
        #expect(await refusal(far) == nil)

        try await fixture.admin.execute("SELECT insp.set_consent_policy('acme', true, NULL, 'v3')")
        let jobs = try await fixture.count("insp.job")
        for id in [far, anywhere] { #expect(await refusal(id) == .consentMissing) }
        #expect(try await fixture.count("insp.job") == jobs)
        #expect(await refusal(consented) == nil)
        try await fixture.admin.execute("SELECT insp.set_consent_policy('acme', true, NULL, 'v4')")
        #expect(await refusal(consented) == .consentMissing)
    }

    @Test func `A rerun is called back on a host that is listed today alone`() async throws {
        let fixture = try await QueueFixture()
        let part = #""parts":{"FRONT":{"url":"https://img.example.com/a","sha256":"\#(QueueFixture.digest)"}}"#
        func finished(_ more: String) async throws -> String {
            let payload = #"{"partner":"acme","workflow":"id",\#(part)\#(more)}"#
            let id = try await fixture.client.enqueue(payload: Data(payload.utf8))
            #expect(try await fixture.client.cancel(id))
            return id
        }
        let own = try await finished(#","callbackUrl":"https://old.example.com/y""#)
        let standard = try await finished("")
        _ = try await self.rerun(fixture, own)
        try await fixture.admin.execute("SELECT insp.set_callback_policy('acme', '{new.example.com}')")
        let jobs = try await fixture.count("insp.job")
        let error = await #expect(throws: PostgresError.self) { try await self.rerun(fixture, own) }
        #expect(error?.refusal?.code == .callbackURLInvalid && error?.refusal?.field == "callbackUrl")
        #expect(try await fixture.count("insp.job") == jobs)
        // The endpoint's own URL is the operator's.
        _ = try await self.rerun(fixture, standard)
        try await fixture.admin.execute("SELECT insp.set_callback_policy('acme', '{*.example.com}')")
        _ = try await self.rerun(fixture, own)
    }

    @Test func `Bytes stay for as long as a job of the chain has parts`() async throws {
        let fixture = try await QueueFixture()
        let parts: [PartKind: [Data]] = [.front: [Data("front".utf8)], .frames: [Data("a".utf8), Data("b".utf8)]]
        let first = try await fixture.client.enqueue(payload: Self.payload, parts: parts)
        let other = try await fixture.client.enqueue(payload: Self.payload, parts: parts)
        for id in [first, other] { #expect(try await fixture.client.cancel(id)) }
        let second = try await self.rerun(fixture, first)
        #expect(try await fixture.client.cancel(second))
        func retire(_ ids: String...) async throws {
            try await fixture.admin.execute(
                """
                UPDATE insp.job SET created_at = created_at - interval '40 days', completed_at = completed_at - interval '40 days'
                WHERE public_id = ANY ('{\(ids.joined(separator: ","))}') AND created_at > now() - interval '1 day';
                UPDATE insp.purge_later SET due_at = now()
                """)
            try await fixture.purgeAll()
        }
        try await retire(first, other)
        #expect(try await fixture.count("insp.part") == 3)
        #expect(try await fixture.count("insp.content") == 3)
        // What it refers to came with a job that has no parts any more.
        let third = try await self.rerun(fixture, second)
        let seen = Mutex<[Data]>([])
        try await self.drain(
            fixture,
            ClosureHandler { _, context in
                for part in try await context.parts() {
                    if case .bytes(let bytes) = part.source { seen.withLock { $0.append(bytes) } }
                }
                return ClosureHandler.passed
            })
        #expect(seen.withLock { $0.map { String(decoding: $0, as: UTF8.self) } } == ["a", "b", "front"])
        try await retire(second)
        #expect(try await fixture.count("insp.content") == 3)
        try await retire(third)
        #expect(try await fixture.count("insp.part") == 0)
        #expect(try await fixture.count("insp.content") == 0)
    }

    @Test func `A dead-lettered job is resolved without a rerun, once`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        var configuration = fixture.configuration()
        configuration.drains = true
        try await JobWorker(configuration, handler: ClosureHandler { _, _ in throw InspectError(.corruptImage) }).run()
        let sql = "SELECT insp.resolve_dead('\(id)', 'their scanner is broken')"
        #expect(try await fixture.admin.query(sql)[0].bool(0))
        #expect(try await !fixture.admin.query(sql)[0].bool(0))
        #expect(
            try await fixture.count(
                "insp.v_operator_events WHERE action = 'resolve_dead' AND detail ->> 'note' LIKE 'their%'") == 1)
        #expect(try await fixture.count("insp.v_partner WHERE dead_lettered = 0") == 1)
    }
}

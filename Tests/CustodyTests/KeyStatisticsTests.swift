import InspectCore
import Testing

@testable import Custody

/// What the server itself keeps about keys.
@Suite struct KeyStatisticsTests {
    @Test func `The planner's statistics hold no sample of keys or pseudonyms`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        _ = try await store.jobKeys((0..<100).map { KeyOwner(partner: 7, .user("user \($0)")) })
        try await fixture.admin.execute("ANALYZE insp.key")
        let columns = try await fixture.admin.query(
            """
            SELECT coalesce(string_agg(s.attname, ' ' ORDER BY s.attname), '') FROM pg_stats s
            WHERE (s.schemaname, s.tablename) = ('insp', 'key') AND s.attname IN ('wrapped', 'subject', 'kind')
            """)[0].string(0)
        // Others have statistics, so the table was analysed.
        #expect(columns == "kind")
    }
}

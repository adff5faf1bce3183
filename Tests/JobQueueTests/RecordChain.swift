import Postgres
import Testing

/// What `insp.verify_record` says.
struct RecordVerdict: Equatable {
    var outcome: String
    var brokenAt: Int64?
    var reason: String?
}

/// The record's chains, as tests ask about them.
protocol RecordChain {}

extension RecordChain {
    func verify(_ chain: String, _ fixture: QueueFixture) async throws -> RecordVerdict {
        let row = try await fixture.admin.query("SELECT * FROM insp.verify_record($1)", [.text(chain)])[0]
        return RecordVerdict(
            outcome: try row.string("outcome"), brokenAt: try row.optionalInt("broken_at"),
            reason: try row.optionalString("reason"))
    }

    @discardableResult
    func link(_ fixture: QueueFixture) async throws -> Int64 {
        try await fixture.admin.query("SELECT insp.link_record()")[0].int(0)
    }

    /// A chain of operators' rows with a place each, the first of which says that the partner was made.
    func chain(of count: Int) async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        for number in 1..<count {
            _ = try await fixture.admin.query("SELECT insp.pause('bulk', reason => $1)", [.text("why \(number)")])
        }
        #expect(try await self.link(fixture) == count)
        #expect(try await self.verify("operator", fixture).outcome == "whole")
        return fixture
    }

    /// What somebody does who may do anything, the triggers included.
    func tamper(_ sql: String, _ fixture: QueueFixture) async throws {
        try await fixture.admin.execute(
            "BEGIN; SET LOCAL session_replication_role = replica; \(sql); COMMIT")
    }

    func rows(_ chain: String, _ fixture: QueueFixture) async throws -> [String] {
        try await fixture.admin.query(
            """
            SELECT concat_ws(' ', actor, action, subject, purpose, detail) FROM insp.record WHERE chain = $1 ORDER BY id
            """, [.text(chain)]
        ).map { try $0.string(0) }
    }
}

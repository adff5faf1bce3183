import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// What a stolen worker's login says of itself and of the object store.
@Suite struct StolenWorkerTests {
    /// The code of a refusal; `nil`: it was taken.
    private func refusal(_ sql: String, _ fixture: QueueFixture) async throws -> String? {
        do {
            _ = try await fixture.admin.query(sql)
            return nil
        } catch let error as PostgresError {
            return error.refusal?.code.rawValue ?? error.reason
        }
    }

    @Test func `The object sweep cannot be said to be further than two days ago`() async throws {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query(
            "SELECT insp.set_custody(gen_random_uuid(), insp.database_id(), 'one')")
        let days = try await fixture.admin.query(
            "SELECT to_char((now() AT TIME ZONE 'UTC')::date - d, 'YYYY-MM-DD') FROM unnest(ARRAY[-1, 0, 1, 2, 9]) d"
        ).map { try $0.string(0) }
        for place in ["9999-12-31~", "~", "zz"] + days[..<3].map({ $0 + "/x" }) {
            #expect(
                try await self.refusal("SELECT insp.objects_swept('\(place)')", fixture) == "PARAMETER_INVALID",
                "\(place)")
        }
        #expect(try await fixture.count("insp.custody WHERE objects_swept_to IS NULL") == 1)
        for place in [days[4] + "/x", days[3] + "/x", days[3] + "~"] {
            #expect(try await self.refusal("SELECT insp.objects_swept('\(place)')", fixture) == nil, "\(place)")
            #expect(try await fixture.count("insp.custody WHERE objects_swept_to = '\(place)'") == 1)
        }
        // It never goes back by itself.
        #expect(try await self.refusal("SELECT insp.objects_swept('\(days[4])/x')", fixture) == nil)
        #expect(try await fixture.count("insp.custody WHERE objects_swept_to = '\(days[3])~'") == 1)
    }

    @Test(arguments: [
        "'{}'", "'5'", "'null'", "'[5]'", "'[{}]'", #"'[{"kid":5}]'"#, #"'[{"kid":""}]'"#,
        #"'[{"kid":"a"},{"kid":"a"}]'"#,
        "(SELECT jsonb_agg(jsonb_build_object('kid', n)) FROM generate_series(1, 101) n)",
        "(SELECT jsonb_agg(jsonb_build_object('kid', n::text)) FROM generate_series(1, 101) n)",
    ])
    func `Keys of a worker that are none are refused with a code`(keys: String) async throws {
        let fixture = try await QueueFixture()
        #expect(try await self.refusal("SELECT insp.worker_keys(1, \(keys))", fixture) == "PARAMETER_INVALID")
        #expect(try await fixture.count("insp.worker_key") == 0)
        for good in ["'[]'", "NULL", #"'[{"kid":"a"},{"kid":"b"}]'"#, #"'[{"kid":"a"}]'"#] {
            #expect(try await self.refusal("SELECT insp.worker_keys(1, \(good))", fixture) == nil)
        }
    }
}

import Foundation
import InspectCore
import Postgres
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Bodies of steps are sealed where a key store is configured: nothing in the database may need to read one.
@Suite struct StepBodyTests {
    private static let summary =
        #"{"decision":{"type":"REJECTED","details":{"label":"REJECTED"}},"rejectReasons":[],"labels":[{"capability":"usability","label":"BLURRED"}]}"#
    private static let body =
        #"{"mark":7,"capabilities":{"liveness":[{"data":{"vendor":{"success":true,"sessionResponseBlob":"blob"}}}]}}"#
    private static let sealed = Data([1, 255, 0, 128, 34, 92])

    /// Stores a stage at its first attempt, and a result at the second.
    private final class Handler: JobHandler {
        static let stage = #"{ "order" : [3,1] , "a":1.50}"#
        let seen = Mutex<[Data?]>([])
        func run(_ context: JobContext) async throws -> JobResult {
            self.seen.withLock { $0.append(context.job.steps[.document]) }
            if context.job.attempt == 1 {
                try await context.complete(.document, output: Data(Self.stage.utf8))
                throw InspectError(.analyzerTimeout)
            }
            return JobResult(
                decision: .rejected, summary: Data(StepBodyTests.summary.utf8), body: Data(StepBodyTests.body.utf8))
        }
    }

    @Test func `A result is summary and body, and a stage is returned as it was stored`() async throws {
        let fixture = try await QueueFixture()
        let id = try await fixture.enqueue(1)[0]
        let handler = Handler()
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 128)")
        }
        #expect(handler.seen.withLock { $0 } == [nil, Data(Handler.stage.utf8)])
        let result = try await fixture.result(of: id)
        #expect((result["decision"] as? [String: Any])?["type"] as? String == "REJECTED")
        #expect(result["mark"] as? Int == 7)
        #expect(result["labels"] == nil)
        #expect(try await fixture.count("insp.step WHERE status = 128 AND seal = 0 AND body = '\(Self.body)'") == 1)
        let session = try await fixture.admin.query("SELECT insp.session_result($1)", [.text(id)])[0].string(0)
        #expect(session.contains(#""sessionResponseBlob": "blob""#))
    }

    @Test func `A review needs no body`() async throws {
        let fixture = try await QueueFixture()
        let request = Data((QueueFixture.byURL.dropLast() + #","review":"always"}"#).utf8)
        let id = try await fixture.enqueue(many: [request])[0]
        try await withWorker(fixture.configuration(), Handler()) { _ in
            try await fixture.wait(for: "EXISTS (SELECT FROM insp.v_review)")
        }
        _ = try await fixture.admin.query("UPDATE insp.step SET seal = 1, body = $1", [.bytes(Self.sealed)])
        let review = try await fixture.admin.query("SELECT decision, because FROM insp.v_review")[0]
        #expect(try (review.string(0), review.string(1)) == ("REJECTED", "usability BLURRED"))
        _ = try await fixture.admin.query("SELECT insp.review($1, 'PASSED')", [.text(id)])
        // The body goes along as it is, and so does what opens it.
        #expect(try await fixture.count("insp.step WHERE status = 128 AND seal = 1 AND body = '\\x01ff0080225c'") == 1)
        let result = try await fixture.result(of: id)
        #expect((result["decision"] as? [String: Any])?["type"] as? String == "PASSED")
        #expect(try await fixture.admin.query("SELECT insp.erase($1)", [.text(id)])[0].bool(0))
        #expect(try await fixture.count("insp.step WHERE body IS NOT NULL") == 0)
    }

    @Test func `What may identify a person is stored separately, and no job needs it`() async throws {
        let fixture = try await QueueFixture()
        let named =
            #","customerInternalReference":"zqmark","userReference":"zqmark","reportingCriteria":"zqmark","consent":{"userIp":"zqmark"},"callbackUrl":"https://hooks.example.com/zqmark"}"#
        let ids = try await fixture.enqueue(
            many: [Data((QueueFixture.byURL.dropLast() + named).utf8), Data(QueueFixture.byURL.utf8)])
        #expect(try await fixture.count("insp.job WHERE request::text || workflow LIKE '%zqmark%'") == 0)
        #expect(try await fixture.count("insp.job WHERE personal IS NOT NULL AND sealed IS NULL") == 1)
        #expect(try await fixture.result(of: ids[0])["userReference"] as? String == "zqmark")
        _ = try await fixture.admin.query(
            "UPDATE insp.job SET key_id = gen_random_uuid(), sealed = $1 WHERE personal IS NOT NULL",
            [.bytes(Self.sealed)])
        // What a sealed job has there are pseudonyms.
        #expect(try await fixture.result(of: ids[0])["userReference"] == nil)
        let told = Mutex<[Data]>([])
        let handler = ClosureHandler { job, _ in
            told.withLock { $0.append(job.payload) }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: "NOT EXISTS (SELECT FROM insp.job WHERE status < 128)")
        }
        #expect(told.withLock { Set($0) } == [Data(#"{"partner": "acme", "workflow": "id"}"#.utf8)])
        #expect(try await fixture.violations().isEmpty)
        let again = try await fixture.admin.query("SELECT insp.rerun($1)", [.text(ids[0])])[0].string(0)
        #expect(
            try await fixture.count(
                "insp.job WHERE public_id = '\(again)' AND sealed IS NOT NULL AND key_id IS NOT NULL") == 1)
        #expect(try await fixture.client.cancel(again))
        #expect(try await fixture.admin.query("SELECT insp.erase($1)", [.text(again)])[0].bool(0))
        #expect(try await fixture.count("insp.job WHERE personal IS NOT NULL OR sealed IS NOT NULL") == 0)
    }

    /// What turns bytes into text reads them.
    @Test func `Only these functions open bytes`() async throws {
        let fixture = try await QueueFixture()
        let readers = try await fixture.admin.query(
            """
            SELECT proname::text FROM pg_proc WHERE pronamespace = 'insp'::regnamespace AND prosrc ~ 'convert_from\\([a-z_.]*(body|personal)'
            UNION SELECT viewname::text FROM pg_views WHERE schemaname = 'insp' AND definition ~ 'convert_from'
            ORDER BY 1
            """
        ).map { try $0.string(0) }
        #expect(readers == ["personal", "step_document"])
    }
}

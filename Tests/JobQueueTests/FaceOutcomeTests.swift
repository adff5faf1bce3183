import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

@testable import InspectCore

/// What results and callbacks contain of enrolments, authentications and liveness checks, however they end.
@Suite struct FaceOutcomeTests {
    private func enqueue(_ fixture: QueueFixture, _ workflow: String, _ more: String = "") async throws -> String {
        let face = ["authentication", "enrollment"].contains(workflow) ? #","faceId":"f-\#(UUID().uuidString)""# : ""
        return try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"\#(workflow)"\#(face)\#(more)}"#.utf8),
            parts: workflow == "id" ? [.front: [Data("x".utf8)]] : [.face: [Data("x".utf8)]])
    }

    private func event(_ fixture: QueueFixture, _ id: String) async throws -> String? {
        try await fixture.admin.query("SELECT (insp.job_result($1) -> 'faceSdk')::text", [.text(id)])[0]
            .optionalString(0)
    }

    /// What a callback contains, from its decision on.
    private func told(_ fixture: QueueFixture, _ id: String) async throws -> String? {
        try await fixture.admin.query(
            "SELECT insp.callback_decision(c) FROM insp.callback c WHERE c.public_id = $1", [.text(id)])[0]
            .optionalString(0)
    }

    @Test func `Every failed job of the face SDK has its event, and other jobs have none`() async throws {
        let fixture = try await QueueFixture()
        let kinds = ["enrollment": "enrollment", "authentication": "verification", "liveness": "liveness"]
        for (workflow, type) in kinds {
            let cancelled = try await self.enqueue(fixture, workflow)
            _ = try await fixture.admin.query("SELECT insp.cancel($1)", [.text(cancelled)])
            #expect(
                try await self.event(fixture, cancelled)
                    == #"{"code": 0, "type": "\#(type)", "error": "ENROLL_CANCELLED", "status": "cancelled", "outcome": "cancelled"}"#
            )
            #expect(
                try await self.told(fixture, cancelled)
                    == #""NOT_EXECUTED","faceSdk":{"type":"\#(type)","outcome":"cancelled","code":0}"#)
        }
        var configuration = fixture.configuration(slots: 1)
        configuration.drains = true
        for (code, outcome) in [(ErrorCode.corruptImage, "unusable"), (.vendorRefused, "liveness_failed")] {
            let id = try await self.enqueue(fixture, "liveness")
            try await JobWorker(configuration, handler: ClosureHandler { _, _ in throw InspectError(code) }).run()
            #expect(try await self.event(fixture, id)?.contains(#""outcome": "\#(outcome)""#) == true, "\(code)")
            #expect(try await self.told(fixture, id)?.contains(#""outcome":"\#(outcome)""#) == true, "\(code)")
        }
        let document = try await self.enqueue(fixture, "id")
        _ = try await fixture.admin.query("SELECT insp.cancel($1)", [.text(document)])
        #expect(try await self.event(fixture, document) == nil)
        #expect(try await self.told(fixture, document) == #""NOT_EXECUTED""#)
    }

    @Test func `A callback tells enrolled, matched and not matched, and nothing once the job is erased`() async throws {
        let fixture = try await QueueFixture()
        var configuration = fixture.configuration(slots: 1)
        configuration.drains = true
        func finish(_ type: DecisionType, _ event: FaceSDKEvent) async throws -> String {
            let id = try await self.enqueue(fixture, "liveness")
            let summary = ResultSummary(
                decision: Decision(type, type.rawValue, risk: type.riskBand.lowerBound), reasons: [],
                rejectReasons: [], faceSdk: event)
            struct Handler: JobHandler {
                let type: DecisionType
                let summary: Data
                func run(_ context: JobContext) async throws -> JobResult {
                    JobResult(decision: self.type, summary: self.summary, body: Data("{}".utf8))
                }
            }
            try await JobWorker(
                configuration, handler: Handler(type: type, summary: ResultEnvelope.json(summary))
            ).run()
            return id
        }
        let enrolled = try await finish(.passed, FaceSDKEvent(.enrollment, .success))
        #expect(
            try await self.told(fixture, enrolled)
                == #""PASSED","faceSdk":{"type":"enrollment","outcome":"success","code":1}"#)
        let matched = try await finish(.passed, FaceSDKEvent(.verification, .success))
        #expect(
            try await self.told(fixture, matched)
                == #""PASSED","faceSdk":{"type":"verification","outcome":"success","code":1,"result":"Verify"}"#)
        let other = try await finish(.rejected, FaceSDKEvent(.verification, .noMatch))
        #expect(
            try await self.told(fixture, other)
                == #""REJECTED","faceSdk":{"type":"verification","outcome":"no_match","code":6,"result":"Not Verify"}"#)
        // As dispatchers get it.
        let claimed = try await fixture.admin.query(
            "SELECT decision FROM insp.callback_claim(10, interval '1 minute', 10) c WHERE c.job = $1::uuid",
            [.text(other)])
        #expect(try claimed.map { try $0.string(0) } == [try await self.told(fixture, other) ?? ""])
        _ = try await fixture.admin.query("SELECT insp.erase($1)", [.text(matched)])
        #expect(try await fixture.count("insp.callback WHERE public_id = '\(matched)' AND face IS NOT NULL") == 0)
    }
}

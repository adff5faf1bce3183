import Foundation
import TestSupport
import Testing

/// An analyzer that crashes, hangs or exhausts memory costs one attempt of one job, and the worker survives.
@Suite struct AnalyzerFaultTests {
    /// Every second call of the stage in a process fails, so each fault is followed by a success.
    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("segfault", "ANALYZER_CRASHED"), ("abort", "ANALYZER_CRASHED"), ("spin", "ANALYZER_TIMEOUT"),
            ("allocate", "ANALYZER_OUT_OF_MEMORY"),
        ])
    func `A fault costs one attempt`(fault: String, code: String) async throws {
        let service = try await Service.start()
        // Only the fault that hangs has a short deadline.
        let worker = try service.worker([
            "--slots", "1", "--stage-deadline", fault == "spin" ? "6" : "60", "--analyzer-memory", "256", "--analyzer",
            FaultyAnalyzer.script("--fault face=\(fault) --every 2"),
        ])
        defer { worker.send(SIGKILL) }
        let image = PNG.noise(width: 64, height: 64)
        for _ in 0..<2 { _ = try await service.enqueue(["workflow": "liveness"], face: image) }
        try await service.finishAll()
        let rows = try await service.connection.query(
            "SELECT detail ->> 'code' AS code FROM insp.event WHERE kind = 'retry'")
        let codes = try rows.map { try $0.string("code") }
        #expect(codes == [code])
        let dead = try await service.connection.query("SELECT count(*) FROM insp.dead")[0].int(0)
        #expect(dead == 0)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `An image that always crashes the analyzer is dead-lettered after three crashes`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--analyzer", FaultyAnalyzer.script("--fault face=segfault"),
        ])
        defer { worker.send(SIGKILL) }
        let id = try await service.enqueue(["workflow": "liveness"], face: PNG.noise(width: 64, height: 64))
        try await service.finishAll(within: .seconds(120))
        let result = try await service.result(of: id)
        #expect(result["status"] as? Int == 128)
        #expect(result.at("decision.type") as? String == "NOT_EXECUTED")
        #expect(result.at("error.code") as? String == "ANALYZER_CRASHED")
        #expect(
            try await service.connection.query("SELECT crashes FROM insp.dead")[0].int(0) == 3)
    }
}

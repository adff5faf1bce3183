internal import Custody
internal import Foundation
internal import InspectCore
internal import JobQueue

/// Analyses nothing: stores a small result for each of some stages, pauses if configured, and returns a result.
struct BenchmarkHandler: JobHandler {
    /// Stages whose result is stored before the job's own.
    var stages: [JobStatus] = []
    /// How long each job pauses, without using the processor.
    var duration: Duration?
    var onStart: (@Sendable (ClaimedJob) -> Void)?
    /// Opens the keys of sealed jobs.
    var keys: KeyStore?

    private static let output = Data(#"{"timingsMs":{"total":0}}"#.utf8)
    private static let summary = Data(
        #"{"decision":{"type":"PASSED","details":{"label":"OK"},"risk":{"score":0}},"rejectReasons":[]}"#.utf8)
    private static let body = Data(#"{"capabilities":{}}"#.utf8)
    static let result = JobResult(decision: .passed, summary: Self.summary, body: Self.body)

    func run(_ context: JobContext) async throws -> JobResult {
        self.onStart?(context.job)
        if let duration { try await Task.sleep(for: duration) }
        for stage in self.stages { try await context.complete(stage, output: Self.output) }
        guard let keys, let id = context.job.key else { return Self.result }
        let seal = try JobSeal(try await keys.key(id), partner: context.job.partner)
        return JobResult(decision: .passed, summary: Self.summary, body: Self.body, seal: seal)
    }
}

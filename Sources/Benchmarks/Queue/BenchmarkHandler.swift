internal import Foundation
internal import InspectCore
internal import JobQueue

/// Analyses nothing: stores a small result for each of some stages, pauses if configured, and returns a result.
struct BenchmarkHandler: JobHandler {
    /// Stages whose result is stored before the job's own.
    var stages: [JobStatus] = []
    /// Time that each job takes, without using the processor.
    var duration: Duration?
    var onStart: (@Sendable (ClaimedJob) -> Void)?

    private static let output = Data(#"{"timingsMs":{"total":0}}"#.utf8)
    static let result = JobResult(
        decision: .passed,
        summary: Data(
            #"{"decision":{"type":"PASSED","details":{"label":"OK"},"risk":{"score":0}},"rejectReasons":[]}"#.utf8),
        body: Data(#"{"capabilities":{}}"#.utf8))

    func run(_ context: JobContext) async throws -> JobResult {
        self.onStart?(context.job)
        if let duration { try await Task.sleep(for: duration) }
        for stage in self.stages { try await context.complete(stage, output: Self.output) }
        return Self.result
    }
}

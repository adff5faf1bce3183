package import Foundation
package import InspectCore

/// A job's result; its two parts together are the result document.
package struct JobResult: Sendable {
    /// Decides whether the result waits for a review.
    package let decision: DecisionType
    /// `nil` if it is no JSON that PostgreSQL can store; the job then ends with an error.
    package let stored: StorableResult?

    /// - Parameters:
    ///   - summary: The part that the database reads, as JSON: ``ResultSummary``.
    ///   - body: The rest, as JSON: ``ResultBody``. The database does not read it, so it is checked here.
    package init(decision: DecisionType, summary: Data, body: Data) {
        self.decision = decision
        self.stored = StorableJSON.checked(body).map {
            StorableResult(summary: StorableJSON.text(summary), body: $0)
        }
    }
}

/// Processes jobs.
package protocol JobHandler: Sendable {
    /// Processes a job.
    ///
    /// The task is cancelled when the lease is lost, when the job takes longer than its deadline, or when the worker must
    /// stop at once; its result or error is then not stored.
    ///
    /// - Returns: The job's result; it is stored with status 128.
    /// - Throws: ``InspectError``: a retryable one is tried again later, a permanent one finishes the job with decision
    ///   NOT_EXECUTED. Any other error counts as ``ErrorCode/internalError``.
    func run(_ job: ClaimedJob, _ context: JobContext) async throws -> JobResult
}

/// A handler's operations on its job.
package final class JobContext: Sendable {
    package let job: ClaimedJob
    package let worker: JobWorker

    package init(_ job: ClaimedJob, _ worker: JobWorker) {
        self.job = job
        self.worker = worker
    }

    /// Reads the job's inputs.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, ``ErrorCode/partNotFound`` if retention removed the bytes, or
    ///   ``ErrorCode/databaseUnavailable``.
    package func parts() async throws -> [JobPart] {
        try await self.worker.parts(of: self.job)
    }

    /// Reads the templates of the job's face id, all from one snapshot.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, ``ErrorCode/faceIDInvalid`` if it has none, or
    ///   ``ErrorCode/databaseUnavailable``.
    package func enrolledFace() async throws -> EnrolledFace {
        try await self.worker.enrolledFace(of: self.job)
    }

    /// Hands over the feature of an enrolment. The transaction that finishes the job decides whether it becomes a template; with
    /// any other outcome the feature is deleted with the job.
    ///
    /// - Parameter generation: The face id's generation on which the decision is based.
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, or ``ErrorCode/faceBusy`` if the face id has changed since or
    ///   another job is enrolling it, or ``ErrorCode/faceTaken`` if it is another person's.
    package func hand(over feature: FaceEmbedding, generation: Int64) async throws {
        try await self.worker.hand(over: feature, generation: generation, of: self.job)
    }

    /// Stores the result of a stage.
    ///
    /// It is written with the next batch, in the order of the calls and before the job's own result. After a crash before that,
    /// the next attempt repeats the stage.
    ///
    /// - Parameters:
    ///   - stage: The status that the job thereby reaches.
    ///   - output: The result as JSON.
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost`` if the job is known to be no longer this worker's.
    package func complete(_ stage: JobStatus, output: Data) async throws {
        precondition(stage.isStage, "\(stage.name) is not a stage whose result is stored")
        try self.worker.store(stage, output, of: self.job)
    }

    /// Records that the job's session is about to be sent to a vendor's server.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/leaseLost``, or ``ErrorCode/vendorOutcomeUnknown`` where an earlier attempt may
    ///   have sent it: a session can be used once.
    package func beginSession() async throws {
        guard try await self.worker.beginSession(of: self.job) else {
            throw InspectError(.vendorOutcomeUnknown, "an earlier attempt ended while it was under way")
        }
    }

    /// Records the outcome of the session that was sent.
    ///
    /// - Parameters:
    ///   - outcome: `answered`, `refused`, `not_sent`, `invalid` or `lost`.
    ///   - output: The liveness stage's result as JSON; stored at once, since the session cannot be used again.
    package func endSession(outcome: String, status: Int?, output: Data? = nil) async throws {
        try await self.worker.endSession(of: self.job, outcome: outcome, status: status, output: output)
    }
}

package import Custody
package import Foundation
internal import Glibc
package import InspectCore

/// A job that this worker may work on until its lease ends.
///
/// A class, since it is often passed around and never changes.
package final class ClaimedJob: Sendable {
    /// Internal number; for logs of this system only.
    package let id: Int64
    /// The id that callers know.
    package let publicID: String
    /// Number of the lease: every write for the job carries it.
    package let fence: Int64
    /// Number of this attempt, from 1.
    package let attempt: Int
    /// Earlier attempts that ended in the death of a process or worker.
    package let crashes: Int
    /// Furthest stage that was stored when it was claimed.
    package let status: JobStatus
    /// The worker's instructions as JSON: workflow, partner, preselection; nothing that identifies a person.
    package let payload: Data
    /// Results of stages that earlier attempts completed, as JSON or sealed: they are not computed again.
    package let steps: [JobStatus: Data]
    /// W3C trace context of the caller.
    package let traceparent: String?
    /// `insp.queue.id` of the queue it was claimed from; 0 if unknown.
    package let queue: Int
    /// The key that sealed it, with its parts and results; `nil`: it is not sealed.
    package let key: KeyID?
    /// Number of its partner (`insp.partner.id`); 0 if unknown.
    package let partner: Int64
    /// Whether it is a test, with a fixed outcome.
    package let isTest: Bool

    package init(
        id: Int64, publicID: String, fence: Int64, attempt: Int, crashes: Int, status: JobStatus, payload: Data,
        steps: [JobStatus: Data], traceparent: String?, queue: Int = 0, key: KeyID? = nil,
        partner: Int64 = 0
    ) {
        self.id = id
        self.publicID = publicID
        self.fence = fence
        self.attempt = attempt
        self.crashes = crashes
        self.status = status
        self.payload = payload
        self.steps = steps
        self.traceparent = traceparent
        self.queue = queue
        self.key = key
        self.partner = partner
        self.isTest = Self.isTest(payload)
    }
}

extension ClaimedJob {
    /// The job as named in logs.
    ///
    /// - Parameter stage: Its present stage.
    package func reference(at stage: JobStatus) -> JobReference {
        JobReference(
            id: self.publicID, attempt: self.attempt, stage: max(stage, .started),
            trace: self.traceparent.flatMap { TraceContext(traceparent: $0) }, isTest: self.isTest)
    }

    private struct ReviewKey: Decodable { var review: ReviewPolicy }

    private static func names(_ word: StaticString, _ payload: Data) -> Bool {
        payload.withUnsafeBytes { payload in
            let length = word.utf8CodeUnitCount
            guard let start = payload.baseAddress, payload.count >= length else { return false }
            return (0...(payload.count - length)).contains {
                payload[$0] == word.utf8Start[0] && memcmp(start + $0, word.utf8Start, length) == 0
            }
        }
    }

    private struct TestKey: Decodable { var test: Bool? }

    /// Whether the payload is a test's: only the database can set that.
    fileprivate static func isTest(_ payload: Data) -> Bool {
        // A search for a word, as for reviews: nearly no payload contains it.
        self.names(#""test""#, payload) && (try? JSONDecoder().decode(TestKey.self, from: payload).test) == true
    }

    /// Whether a result must wait for a review, according to the payload and the decision.
    ///
    /// The database mentions a review only in payloads of jobs that may need one, so for all others this is one search for a word
    /// in a short text.
    func waitsForReview(of decision: DecisionType) -> Bool {
        guard Self.names(#""review""#, self.payload),
            let policy = try? JSONDecoder().decode(ReviewKey.self, from: self.payload).review
        else { return false }
        return policy.holds(decision)
    }
}

/// A job as logs identify it: id, attempt, stage and trace. Contains no personal data.
package struct JobReference: Sendable, Equatable {
    /// The public id.
    package var id: String
    /// Number of the attempt, from 1.
    package var attempt: Int
    /// Furthest stage that is stored, or about to be.
    package var stage: JobStatus
    /// The caller's trace context, if it sent a valid one.
    package var trace: TraceContext?
    /// Whether the job is a test.
    package var isTest = false
}

/// One write for a claimed job.
///
/// A class, since it moves from list to list and never changes.
package final class QueueWrite: Sendable {
    /// What is written for a job; all but ``step`` end the attempt.
    package enum Kind: Sendable {
        /// The result of a stage.
        case step(JobStatus, Data)
        /// The job's result: 128.
        case finish(StorableResult)
        /// The job's result, decided but awaiting review: 64.
        case holdForReview(StorableResult)
        case deadLetter(InspectError)
        case retry(InspectError, after: Duration)
        /// Back to the queue, with the attempt refunded.
        case release
    }

    /// What is to be written.
    package let kind: Kind
    /// Its fence goes with the write, so that the write of a worker that lost the lease changes nothing.
    package let job: ClaimedJob
    /// When the job was claimed, for its duration.
    package let claimedAt: ContinuousClock.Instant
    /// The job's stage before this write; `nil`: as it was claimed.
    package let stage: JobStatus?

    package init(kind: Kind, job: ClaimedJob, claimedAt: ContinuousClock.Instant, stage: JobStatus? = nil) {
        self.kind = kind
        self.job = job
        self.claimedAt = claimedAt
        self.stage = stage
    }

    /// The job as named in reports about the write.
    package var reference: JobReference {
        if case .finish = self.kind { return self.job.reference(at: .finished) }
        if case .holdForReview = self.kind { return self.job.reference(at: .decided) }
        return self.job.reference(at: self.stage ?? self.job.status)
    }

    /// Removes writes of lost claims from a batch: a job has one lease, so a later claim shows that the earlier one is over.
    /// Statements return jobs, not fences, so one batch must not contain two claims of one job.
    package static func split(_ batch: [QueueWrite]) -> (current: [QueueWrite], superseded: [QueueWrite]) {
        var newest: [Int64: Int64] = [:]
        newest.reserveCapacity(batch.count)
        var isMixed = false
        for write in batch {
            let (job, fence) = (write.job.id, write.job.fence)
            if let known = newest[job] {
                if known == fence { continue }
                isMixed = true
                newest[job] = max(known, fence)
            } else {
                newest[job] = fence
            }
        }
        guard isMixed else { return (batch, []) }
        return (
            batch.filter { newest[$0.job.id] == $0.job.fence }, batch.filter { newest[$0.job.id] != $0.job.fence }
        )
    }

    /// Whether it has the job's result.
    var hasResult: Bool {
        switch self.kind {
        case .finish, .holdForReview: true
        case .step, .deadLetter, .retry, .release: false
        }
    }

    /// What the database did instead if the job's row or result cannot be processed.
    var deadLetteredAsDamaged: QueueWrite {
        QueueWrite(
            kind: .deadLetter(InspectError(.internalError, "the job's row or result cannot be processed")),
            job: self.job, claimedAt: self.claimedAt, stage: self.stage)
    }

    /// Whether the lease ends with this write.
    var endsLease: Bool {
        if case .step = self.kind { return false }
        return true
    }
}

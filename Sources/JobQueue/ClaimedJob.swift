package import Foundation
internal import Glibc
package import InspectCore

/// A job that this worker may work on until its lease ends.
///
/// A class, since it is passed around a lot and never changes.
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
    /// Results of stages that earlier attempts completed, as JSON: they are not computed again.
    package let steps: [JobStatus: Data]
    /// W3C trace context of the caller.
    package let traceparent: String?
    /// `insp.queue.id` of the queue it was claimed from; 0 if unknown.
    package let queue: Int

    package init(
        id: Int64, publicID: String, fence: Int64, attempt: Int, crashes: Int, status: JobStatus, payload: Data,
        steps: [JobStatus: Data], traceparent: String?, queue: Int = 0
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
    }
}

extension ClaimedJob {
    /// The job as named in logs.
    ///
    /// - Parameter stage: Its present stage.
    package func reference(at stage: JobStatus) -> JobReference {
        JobReference(
            id: self.publicID, attempt: self.attempt, stage: max(stage, .started),
            trace: self.traceparent.flatMap { TraceContext(traceparent: $0) })
    }

    private struct ReviewKey: Decodable { var review: ReviewPolicy }

    private var namesReview: Bool {
        let word: StaticString = #""review""#
        return self.payload.withUnsafeBytes { payload in
            let length = word.utf8CodeUnitCount
            guard let start = payload.baseAddress, payload.count >= length else { return false }
            return (0...(payload.count - length)).contains { memcmp(start + $0, word.utf8Start, length) == 0 }
        }
    }

    /// Whether a result must wait for a review, by the payload's demand and the decision.
    ///
    /// The database mentions a review only in payloads of jobs that may need one, so for all others this is one search for a word
    /// in a short text.
    package func waitsForReview(of decision: DecisionType) -> Bool {
        guard self.namesReview,
            let policy = try? JSONDecoder().decode(ReviewKey.self, from: self.payload).review
        else { return false }
        return policy.holds(decision)
    }
}

/// One input of a job.
package struct JobPart: Sendable {
    /// The most bytes that all parts of one job may have together.
    package static let limit = 64 << 20

    /// The source of the bytes.
    package enum Source: Sendable {
        case bytes(Data)
        case url(Remote)
    }

    /// A part to fetch, and what the job's endpoint allows.
    package struct Remote: Sendable {
        package var url: String
        /// Whether plain http is allowed.
        package var allowHTTP: Bool
        /// Whether private addresses are allowed: all, or those of ``networks``.
        package var allowPrivate: Bool
        /// In CIDR notation; `nil`: no list.
        package var networks: [String]?
    }

    package var kind: PartKind
    /// Place among the frames; 0 for other kinds.
    package var ordinal: Int
    package var source: Source
    /// Whether it must be fetched.
    package var isRemote: Bool { if case .url = self.source { true } else { false } }
    /// SHA-256 that the bytes must have.
    package var sha256: Data
}

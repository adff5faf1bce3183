public import Foundation
internal import Glibc
public import InspectCore

/// A job that this worker may work on until its lease ends.
///
/// A class, for it is passed around a lot and never changes.
public final class ClaimedJob: Sendable {
    /// Internal number; for logs of this system only.
    public let id: Int64
    /// The id that callers know.
    public let publicID: String
    /// Number of the lease: every write for the job carries it.
    public let fence: Int64
    /// Number of this attempt, from 1.
    public let attempt: Int
    /// Earlier attempts that ended in the death of a process or worker.
    public let crashes: Int
    /// Furthest stage that was stored when it was claimed.
    public let status: JobStatus
    /// The request as JSON, normalised: workflow, partner, references, preselection.
    public let payload: Data
    /// Results of stages that earlier attempts completed, as JSON: they are not computed again.
    public let steps: [JobStatus: Data]
    /// W3C trace context of the caller.
    public let traceparent: String?

    init(
        id: Int64, publicID: String, fence: Int64, attempt: Int, crashes: Int, status: JobStatus, payload: Data,
        steps: [JobStatus: Data], traceparent: String?
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
    }
}

extension ClaimedJob {
    /// The job as logs speak of it.
    ///
    /// - Parameter stage: How far it is by now.
    public func reference(at stage: JobStatus) -> JobReference {
        JobReference(
            id: self.publicID, attempt: self.attempt, stage: max(stage, .started),
            trace: self.traceparent.flatMap { TraceContext(traceparent: $0) })
    }

    private struct ReviewKey: Decodable { var review: ReviewPolicy }
    private struct Outcome: Decodable {
        struct Decision: Decodable { var type: DecisionType }
        var decision: Decision
    }

    private var namesReview: Bool {
        let word: StaticString = #""review""#
        return self.payload.withUnsafeBytes { payload in
            let length = word.utf8CodeUnitCount
            guard let start = payload.baseAddress, payload.count >= length else { return false }
            return (0...(payload.count - length)).contains { memcmp(start + $0, word.utf8Start, length) == 0 }
        }
    }

    /// Whether a result must wait for a person: what the payload demands, and what was decided.
    ///
    /// The database names a review only in payloads of jobs that may need one, so for all others this is one look for a
    /// word in a short text.
    func waitsForReview(with output: Data) -> Bool {
        guard self.namesReview,
            let policy = try? JSONDecoder().decode(ReviewKey.self, from: self.payload).review,
            let decision = try? JSONDecoder().decode(Outcome.self, from: output).decision.type
        else { return false }
        return policy.holds(decision)
    }
}

/// One input of a job.
public struct JobPart: Sendable {
    /// Where the bytes are.
    public enum Source: Sendable {
        case bytes(Data)
        /// To be fetched; plain http and private addresses only where the partner's endpoint allows them.
        case url(String, allowHTTP: Bool, allowPrivate: Bool)
    }

    public var kind: PartKind
    /// Place among the frames; 0 for other kinds.
    public var ordinal: Int
    public var source: Source
    /// SHA-256 that the bytes must have.
    public var sha256: Data

    public init(kind: PartKind, ordinal: Int, source: Source, sha256: Data) {
        self.kind = kind
        self.ordinal = ordinal
        self.source = source
        self.sha256 = sha256
    }
}

public import Foundation
public import InspectCore

/// A job that this worker may work on until its lease ends.
public struct ClaimedJob: Sendable {
    /// Internal number; for logs of this system only.
    public var id: Int64
    /// The id that callers know.
    public var publicID: String
    /// Number of the lease: every write for the job carries it.
    public var fence: Int64
    /// Number of this attempt, from 1.
    public var attempt: Int
    /// Earlier attempts that ended in the death of a process or worker.
    public var crashes: Int
    /// Furthest stage that is stored.
    public var status: JobStatus
    /// The request as JSON, normalised: workflow, partner, references, preselection.
    public var payload: Data
    /// Results of stages that earlier attempts completed, as JSON: they are not computed again.
    public var steps: [JobStatus: Data]
    /// W3C trace context of the caller.
    public var traceparent: String?
}

extension ClaimedJob {
    /// The job as logs speak of it.
    public var reference: JobReference {
        JobReference(
            id: self.publicID, attempt: self.attempt, stage: self.status,
            trace: self.traceparent.flatMap { TraceContext(traceparent: $0) })
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

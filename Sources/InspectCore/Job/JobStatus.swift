/// How far a job has come: the furthest stage that is stored.
///
/// The value only rises; stages that a workflow lacks are skipped. ``finished`` is the one terminal status: results are
/// valid only there, and cancelled, expired and dead-lettered jobs also end there.
package enum JobStatus: Int16, Codable, Sendable, CaseIterable, Comparable {
    /// Accepted; waits to be claimed.
    case queued = 1
    /// Claimed at least once.
    case started = 2
    /// Every part is present, matches its digest and decodes.
    case acquired = 4
    /// Document analysis is stored.
    case document = 8
    /// Face analysis is stored.
    case face = 16
    /// Liveness analysis is stored.
    case liveness = 32
    /// The decision is stored but waits for the review that the request or its partner requires (``ReviewPolicy``).
    case decided = 64
    /// Final and immutable; the callback was put into the outbox in the same transaction.
    case finished = 128

    package static func < (left: JobStatus, right: JobStatus) -> Bool { left.rawValue < right.rawValue }
}

extension JobStatus {
    /// Whether a worker stores a separate result for this status before the job is finished.
    package var isStage: Bool {
        switch self {
        case .queued, .started, .decided, .finished: false
        case .acquired, .document, .face, .liveness: true
        }
    }
}

extension JobStatus {
    /// Its name in results and views, such as QUEUED.
    package var name: String {
        switch self {
        case .queued: "QUEUED"
        case .started: "STARTED"
        case .acquired: "ACQUIRED"
        case .document: "DOCUMENT"
        case .face: "FACE"
        case .liveness: "LIVENESS"
        case .decided: "DECIDED"
        case .finished: "FINISHED"
        }
    }
}

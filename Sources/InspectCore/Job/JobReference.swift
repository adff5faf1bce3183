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

    package init(id: String, attempt: Int, stage: JobStatus, trace: TraceContext?) {
        self.id = id
        self.attempt = attempt
        self.stage = stage
        self.trace = trace
    }
}

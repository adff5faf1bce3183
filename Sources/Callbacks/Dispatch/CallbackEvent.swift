package import InspectCore

/// An event that a dispatcher reports, for logs and metrics. Contains no URL, no body and no secret.
package enum CallbackEvent: Sendable {
    case attempted(Attempt)
    /// The database did not answer; the dispatcher keeps trying.
    case databaseUnavailable(reason: String)
    case databaseRestored
    /// An endpoint's breaker opened or closed, or the endpoint was disabled: `failing`, `recovered`, `disabled`.
    case endpointChanged(endpoint: Int64, kind: String, isTest: Bool)
    /// A token of a removed authorization was revoked; with a code: dispatchers stopped trying.
    case revocationEnded(endpoint: Int64, code: ErrorCode?)
    /// The database permanently refuses an attempt's outcome. The claim lapses, and the callback is sent again.
    case settlementRefused(webhookID: String, reason: String)

    /// One attempt, after it was settled.
    package struct Attempt: Sendable {
        /// How an attempt ended; the raw values are a metric's labels.
        package enum Outcome: String, Sendable {
            case delivered = "delivered"
            /// Will be tried again.
            case failed = "failed"
            case deadLettered = "dead_lettered"
            /// Will be tried again; not counted, since the fault was ours.
            case released = "released"
            /// The claim had lapsed, so nothing was settled; another dispatcher has the callback.
            case stale = "stale"
        }

        /// The header `webhook-id` (Standard Webhooks), the same at every attempt.
        package let webhookID: String
        /// `insp.endpoint.id`.
        package let endpoint: Int64
        /// Whether the endpoint gets the callbacks of tests.
        package let isTest: Bool
        /// The id of the event's job.
        package let job: String?
        /// The trace context that was sent, if the job has one: the job's trace and this attempt's span.
        package let trace: TraceContext?
        /// Number among the counted attempts, from 1.
        package let number: Int
        /// How it was settled, or that it was not.
        package let outcome: Outcome
        /// HTTP status, if an answer came.
        package let status: Int?
        /// What was wrong, or `nil`.
        package let error: String?
        /// Why it was not delivered; `nil`: it was.
        package let code: ErrorCode?
        /// Of the request.
        package let milliseconds: Int
        /// The time from due to claimed.
        package let waitedMilliseconds: Double
        /// The time from the claim to the request on the wire, if an answer came.
        package let claimToSendMilliseconds: Double?
    }
}

extension CallbackEvent.Attempt {
    init(_ settlement: CallbackSettlement, isSettled: Bool) {
        self.webhookID = settlement.callback.webhookID
        self.endpoint = settlement.callback.endpoint.id
        self.isTest = settlement.callback.endpoint.isTest
        self.job = settlement.callback.job
        self.trace = settlement.trace
        self.number = settlement.callback.attempts + 1
        self.outcome =
            if isSettled {
                switch settlement.outcome {
                case .delivered: .delivered
                case .retry: .failed
                case .deadLetter: .deadLettered
                case .release: .released
                }
            } else {
                .stale
            }
        self.status = settlement.status
        self.error = settlement.error
        self.code = settlement.code
        self.milliseconds = settlement.milliseconds
        self.waitedMilliseconds = settlement.callback.waitedMilliseconds
        self.claimToSendMilliseconds = settlement.sent.map { ($0 - settlement.claimed) / .milliseconds(1) }
    }
}

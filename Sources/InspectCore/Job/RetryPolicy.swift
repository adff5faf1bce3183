/// When a failed job is retried, and when it is dead-lettered.
package struct RetryPolicy: Sendable, Equatable {
    /// Attempts in all; after the last one fails, the job is dead-lettered.
    package var maxAttempts = 8
    /// Crashes of the analyzer or worker that held the job. A job that reaches this number is dead-lettered, since it
    /// probably causes them.
    package var maxCrashes = 3
    /// The delay before the second attempt; it doubles with each attempt.
    package var base: Duration = .seconds(5)
    /// The longest delay.
    package var cap: Duration = .seconds(600)
    /// The delay after an attempt that ended because the object store was unavailable.
    package var outageDelay: Duration = .seconds(30)
    /// The delay after an attempt that ended because the key store does not have the job's key: it may be older than the data.
    package var keyDelay: Duration = .seconds(300)
    /// The random share by which a delay is longer or shorter, so that jobs that failed together do not return together.
    package var jitter = 0.2

    package init() {}

    /// The delay after failed attempt n: min(cap, base · 2ⁿ⁻¹), varied by the jitter.
    ///
    /// - Parameters:
    ///   - attempt: The attempt that failed, counted from 1.
    ///   - random: A uniform random number of -1…1; 0 gives the delay without jitter.
    package func delay(afterAttempt attempt: Int, random: Double) -> Duration {
        self.varied(Backoff.wait(attempt, from: self.base, to: self.cap), random)
    }

    private func varied(_ wait: Duration, _ random: Double) -> Duration {
        wait * (1 + self.jitter * min(max(random, -1), 1))
    }

    /// What follows a failed attempt.
    package enum Verdict: Sendable, Equatable {
        case retry(after: Duration)
        /// Finish the job with this error.
        case deadLetter(InspectError)
    }

    /// Decides the consequence of a failed attempt.
    ///
    /// - Parameters:
    ///   - error: What went wrong.
    ///   - attempt: The attempt that failed, counted from 1.
    ///   - crashes: Crashes including this failure, if it was one.
    ///   - random: A uniform random number of -1…1.
    package func verdict(after error: InspectError, attempt: Int, crashes: Int, random: Double) -> Verdict {
        // Not at once, or the worker that lacks the key would claim the job again before any other.
        if error.code.isUncounted {
            let delay =
                switch error.code {
                case .keyUnknown: self.keyDelay
                case .objectStoreUnavailable: self.outageDelay
                default: self.base
                }
            return .retry(after: self.varied(delay, random))
        }
        if !error.code.isRetryable { return .deadLetter(error) }
        // A job that keeps crashing its process ends with the crash's code, which names the fault to look for.
        if error.code.isCrash && crashes >= self.maxCrashes { return .deadLetter(error) }
        if attempt >= self.maxAttempts {
            return .deadLetter(InspectError(.attemptsExhausted, "last: \(error.code.rawValue)"))
        }
        return .retry(after: self.delay(afterAttempt: attempt, random: random))
    }
}

extension ErrorCode {
    /// Whether the attempt is refunded (`insp.retry_later`): the job is sound, but its key or parts are temporarily unavailable, or this
    /// worker lacks its key. Such a job ends only at its deadline.
    package var isUncounted: Bool {
        switch self {
        case .keysUnavailable, .keyUnknown, .keyMissing, .keyMismatch, .objectStoreUnavailable: true
        default: false
        }
    }

    /// Whether the process that held the job died instead of reporting an error.
    package var isCrash: Bool {
        switch self {
        case .analyzerCrashed, .analyzerTimeout, .analyzerOutOfMemory, .workerLost: true
        default: false
        }
    }
}

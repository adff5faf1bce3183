internal import Foundation
internal import HTTPClient
internal import InspectCore

/// Decides a callback's outcome after an attempt; has no effects.
struct CallbackRetryPolicy: Sendable {
    enum Outcome: Sendable, Equatable {
        case delivered
        /// Counted, and tried again later.
        case retry(after: Duration)
        case deadLetter
        /// Waits again; the attempt does not count towards the schedule.
        ///
        /// - Parameter isCounted: Whether it is settled and counts as a release: the attempt failed through our fault. Otherwise
        ///   nothing was sent, and the callback waits as before.
        case release(after: Duration, isCounted: Bool)

        /// Whether there was an attempt to settle.
        var isAttempt: Bool { if case .release(_, false) = self { false } else { true } }
    }

    /// Delays after the first, second, … attempt: Standard Webhooks' schedule ("Deliverability and reliability": 5 s,
    /// 5 min, 30 min, 2 h, 5 h, 10 h …) with more tries in the first minutes, in which a partner's restart ends. Twelve
    /// attempts, over two days together.
    static let delays: [Duration] = [
        5, 30, 120, 600, 1_800, 7_200, 18_000, 36_000, 36_000, 36_000, 36_000,
    ].map { .seconds($0) }
    static let attempts = Self.delays.count + 1
    /// The longest wait that a `Retry-After` can ask for: ten hours.
    static let longestHint: Duration = .seconds(36_000)
    /// The number of releases after which faults count after all, so that nothing is tried for ever.
    static let releases = 100

    /// - Parameters:
    ///   - result: The attempt's result.
    ///   - attempt: Its number among the counted ones, from 1.
    ///   - released: Uncounted attempts so far.
    ///   - isOurFault: Whether the cause is on our side.
    ///   - now: For a `Retry-After` that names a date.
    ///   - jitter: A factor from 0.8 to 1.2, so that callbacks that failed together are not retried together.
    func outcome(
        of result: Result<HTTPResponse, HTTPError>, attempt: Int, released: Int, isOurFault: Bool,
        now: @autoclosure () -> Date, jitter: @autoclosure () -> Double
    ) -> Outcome {
        switch result {
        // The status decides, even if the rest of the answer was lost.
        case .success(let response) where (200..<300).contains(response.status): return .delivered
        // Gone: the partner accepts no further callbacks (Standard Webhooks, "Operational considerations").
        case .success(let response) where response.status == 410: return .deadLetter
        case .failure(let error) where error.code == .cancelled: return .release(after: .zero, isCounted: true)
        // No later attempt can differ: the URL is part of the callback.
        case .failure(let error) where error.code == .requestInvalid: return .deadLetter
        default: break
        }
        if isOurFault, released < Self.releases {
            return .release(
                after: Backoff.wait(released + 1, from: .seconds(30), to: .seconds(600)) * jitter(), isCounted: true)
        }
        guard attempt < Self.attempts else { return .deadLetter }
        let scheduled = Self.delays[max(attempt, 1) - 1] * jitter()
        guard case .success(let response) = result, response.status == 429 || response.status == 503,
            let hint = response.retryAfter(now: now())
        else { return .retry(after: scheduled) }
        return .retry(after: max(scheduled, min(hint, Self.longestHint)))
    }
}

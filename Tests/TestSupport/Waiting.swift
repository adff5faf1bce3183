import Synchronization

extension Duration {
    /// After this long, a test takes what it waits for to hang. It says nothing of how long that should take.
    package static var hangDeadline: Duration { .seconds(120) }
}

/// Waits until a condition holds.
///
/// - Parameter longest: The longest pause; each is a quarter longer than the one before. `nil`: all are `interval`.
/// - Throws: ``WaitTimedOut`` once the time is over, so that a test fails where it waits instead of hanging.
package func waitUntil(
    _ what: String, within limit: Duration = .hangDeadline, every interval: Duration = .milliseconds(10),
    upTo longest: Duration? = nil, isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    var pause = interval
    while try await !condition() {
        guard .now < deadline else { throw WaitTimedOut(what: what, limit: limit) }
        try await Task.sleep(for: pause)
        pause = min(pause * 1.25, longest ?? interval)
    }
}

/// Does something again as long as it says that more is left.
///
/// - Throws: ``NeverDone`` after more times than any test needs: what is done never gets done.
package func repeatWhile(
    _ what: String, atMost limit: Int = 1000, isolation: isolated (any Actor)? = #isolation,
    _ step: () async throws -> Bool
) async throws {
    for _ in 0..<limit { guard try await step() else { return } }
    throw NeverDone(what: what, limit: limit)
}

extension Task where Success: Sendable {
    /// What the task returns or throws. A task that takes longer than the limit is cancelled.
    ///
    /// - Throws: ``WaitTimedOut`` as well: `value` alone would hang with a task that hangs, whatever time limit the test has.
    package func value(within limit: Duration) async throws -> Success {
        let result = Mutex<Result<Success, Failure>?>(nil)
        let watching = Task<Void, Never> {
            let ended = await self.result
            result.withLock { $0 = ended }
        }
        defer { watching.cancel() }
        do {
            try await waitUntil("the task ends", within: limit) { result.withLock { $0 != nil } }
        } catch {
            self.cancel()
            throw error
        }
        return try result.withLock { $0 }!.get()
    }
}

/// What a test waited for did not happen.
package struct WaitTimedOut: Error, CustomStringConvertible {
    var what: String
    var limit: Duration

    package init(what: String, limit: Duration) {
        self.what = what
        self.limit = limit
    }

    package var description: String { "not within \(self.limit): \(self.what)" }
}

/// What a test did again and again left always more to do.
package struct NeverDone: Error, CustomStringConvertible {
    var what: String
    var limit: Int

    package var description: String { "still after \(self.limit) times: \(self.what)" }
}

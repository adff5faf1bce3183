/// Waits until a condition holds.
///
/// - Throws: ``WaitTimedOut`` once the time is over, so that a test fails where it waits instead of hanging.
package func waitUntil(
    _ what: String, within limit: Duration = .seconds(60), every interval: Duration = .milliseconds(10),
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + limit
    while try await !condition() {
        guard .now < deadline else { throw WaitTimedOut(what: what, limit: limit) }
        try await Task.sleep(for: interval)
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

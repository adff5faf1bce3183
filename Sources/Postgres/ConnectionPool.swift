internal import InspectCore
internal import Synchronization

/// A few connections shared by many callers, each for one statement at a time.
///
/// While the database does not answer, callers are refused at once instead of each waiting for a time-out.
package final class ConnectionPool: Sendable {
    /// How long no caller tries again after a failure to connect.
    private static let breather = Duration.seconds(1)

    private struct State {
        var idle: [ReconnectingConnection]
        var waiting: [CheckedContinuation<ReconnectingConnection?, Never>] = []
        var closedUntil = ContinuousClock.now
        var isConnected = true
    }

    private let state: Mutex<State>
    private let all: [ReconnectingConnection]
    private let queueLimit: Int

    /// - Parameters:
    ///   - size: Connections.
    ///   - queueLimit: Callers that may wait for one; more are refused at once.
    package init(_ url: String, options: ConnectionOptions, size: Int, queueLimit: Int) {
        self.all = (0..<max(1, size)).map { _ in ReconnectingConnection(url, options: options) }
        self.state = Mutex(State(idle: self.all))
        self.queueLimit = queueLimit
    }

    /// Whether the last statement reached the database; true before the first.
    package var isConnected: Bool { self.state.withLock { $0.isConnected } }

    /// - Throws: ``InspectError``: a refusal of the database, ``ErrorCode/databaseUnavailable``, or
    ///   ``ErrorCode/gatewayOverloaded`` if too many wait already.
    package func run<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        guard let lent = await self.lend() else { throw InspectError(.gatewayOverloaded) }
        defer { self.release(lent) }
        if self.state.withLock({ $0.closedUntil > .now }) { throw InspectError(.databaseUnavailable) }
        do {
            let connection: PostgresConnection
            do { connection = try await lent.open() } catch {
                self.state.withLock { $0.closedUntil = .now + Self.breather }
                throw error
            }
            let result = try await body(connection)
            self.state.withLock { $0.isConnected = true }
            return result
        } catch let error as PostgresError {
            if error.isTransient { self.state.withLock { $0.isConnected = false } }
            throw error.meaning
        }
    }

    /// Closes all connections, including those in use.
    package func close() async {
        for connection in self.all { await connection.close() }
    }

    private func lend() async -> ReconnectingConnection? {
        await withCheckedContinuation { continuation in
            let (ready, lent) = self.state.withLock { state -> (Bool, ReconnectingConnection?) in
                if let connection = state.idle.popLast() { return (true, connection) }
                if state.waiting.count >= self.queueLimit { return (true, nil) }
                state.waiting.append(continuation)
                return (false, nil)
            }
            if ready { continuation.resume(returning: lent) }
        }
    }

    private func release(_ connection: ReconnectingConnection) {
        let next = self.state.withLock { state -> CheckedContinuation<ReconnectingConnection?, Never>? in
            if state.waiting.isEmpty {
                state.idle.append(connection)
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume(returning: connection)
    }
}

internal import InspectCore

/// Listens for notifications, and reconnects when the connection is lost.
package struct NotificationListener: Sendable {
    /// A listener's events.
    package enum Event: Sendable {
        /// It is listening; earlier notifications were missed. `isAgain`: a connection was lost before.
        case listening(isAgain: Bool)
        case notification(PostgresNotification)
        /// It will try again after a while.
        case lost(any Error, retryAfter: Duration)
    }

    private let url: String
    private let options: ConnectionOptions
    private let channels: [String]

    /// - Parameters:
    ///   - url: A libpq connection string or URL of the server itself: a pooler in transaction mode forwards no notifications.
    ///     Never logged.
    ///   - channels: Names that need no quoting.
    package init(_ url: String, options: ConnectionOptions, channels: [String]) {
        self.url = url
        self.options = options
        self.channels = channels
    }

    /// Listens until the task is cancelled.
    package func run(_ handle: @Sendable (Event) async -> Void) async {
        var backoff = Backoff()
        var wasLost = false
        while !Task.isCancelled {
            do {
                let connection = try await PostgresConnection.connect(self.url, options: self.options)
                let stream = try await connection.listen(self.channels[0])
                for channel in self.channels.dropFirst() { try await connection.execute("LISTEN \(channel)") }
                backoff.reset()
                await handle(.listening(isAgain: wasLost))
                let check = Task { await Self.check(connection) }
                await withTaskCancellationHandler {
                    for await notification in stream { await handle(.notification(notification)) }
                } onCancel: {
                    check.cancel()
                    Task { await connection.close() }
                }
                check.cancel()
                await connection.close()
                if Task.isCancelled { return }
                throw PostgresError(.connectionLost, "the listening connection ended")
            } catch {
                wasLost = true
                let wait = backoff.next()
                await handle(.lost(error, retryAfter: wait))
                try? await Task.sleep(for: wait)
            }
        }
    }

    /// A dead listening connection is as silent as a live one usually is, so it is queried.
    private static func check(_ connection: PostgresConnection) async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(10))
            let listens = try? await connection.query(
                "SELECT count(*) > 0 FROM pg_listening_channels()", timeout: .seconds(5)
            ).single().bool(0)
            if listens != true { return await connection.close() }
        }
    }
}

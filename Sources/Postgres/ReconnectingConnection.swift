internal import InspectCore

/// A connection that connects when needed, and again when lost.
package actor ReconnectingConnection {
    private let url: String
    private let options: ConnectionOptions
    private let onReconnect: @Sendable () -> Void
    private var connection: PostgresConnection?
    private var hasConnected = false

    /// - Parameters:
    ///   - url: A libpq connection string or URL. Never logged.
    ///   - onReconnect: Called when a lost connection was replaced.
    package init(_ url: String, options: ConnectionOptions, onReconnect: @escaping @Sendable () -> Void = {}) {
        self.url = url
        self.options = options
        self.onReconnect = onReconnect
    }

    /// The connection; connects if necessary.
    package func open() async throws -> PostgresConnection {
        if let connection, await connection.isOpen { return connection }
        let connection = try await PostgresConnection.connect(self.url, options: self.options)
        // Another caller may have been faster while this one connected.
        if let other = self.connection, await other.isOpen {
            await connection.close()
            return other
        }
        self.connection = connection
        if self.hasConnected { self.onReconnect() }
        self.hasConnected = true
        return connection
    }

    /// Runs work that may be repeated, retrying on new connections until the time is over.
    package func retrying<Result: Sendable>(
        for time: Duration, _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + time
        var backoff = Backoff()
        while true {
            do {
                return try await body(try await self.open())
            } catch let error as PostgresError where error.isTransient && .now < deadline {
                try await Task.sleep(for: backoff.next())
            }
        }
    }

    /// Closes the connection; a later call connects again.
    package func close() async {
        await self.connection?.close()
        self.connection = nil
        // A connection closed on purpose was not lost.
        self.hasConnected = false
    }
}

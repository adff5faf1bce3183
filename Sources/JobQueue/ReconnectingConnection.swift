internal import Postgres

/// A connection that is made when it is needed and made anew when it was lost.
actor ReconnectingConnection {
    private let url: String
    private let options: ConnectionOptions
    private var connection: PostgresConnection?
    private let role: String
    private let report: @Sendable (JobQueueEvent) -> Void
    private var hasConnected = false

    init(
        _ configuration: JobWorkerConfiguration, role: String, timeout: Duration? = nil,
        report: @escaping @Sendable (JobQueueEvent) -> Void = { _ in }
    ) {
        self.role = role
        self.report = report
        self.url = configuration.databaseURL
        var options = configuration.connection
        options.name += " \(role)"
        if let timeout {
            options.timeout = timeout
            options.connectTimeout = min(timeout, options.connectTimeout)
        }
        self.options = options
    }

    /// The connection, connecting if need be.
    func open() async throws -> PostgresConnection {
        if let connection, await connection.isOpen { return connection }
        let connection = try await PostgresConnection.connect(self.url, options: self.options)
        // Another caller may have been faster while this one connected.
        if let other = self.connection, await other.isOpen {
            await connection.close()
            return other
        }
        self.connection = connection
        if self.hasConnected { self.report(.reconnected(role: self.role)) }
        self.hasConnected = true
        return connection
    }

    /// Runs work that may be repeated, again and again on new connections until so many seconds have passed.
    func retrying<Result: Sendable>(
        for seconds: Double, _ body: @Sendable (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let deadline = ContinuousClock.now + .seconds(seconds)
        var backoff = Backoff()
        while true {
            do {
                return try await body(try await self.open())
            } catch let error as PostgresError where error.isTransient && .now < deadline {
                try await Task.sleep(for: .seconds(backoff.next()))
            }
        }
    }

    func close() async {
        await self.connection?.close()
        self.connection = nil
        // What was closed on purpose was not lost.
        self.hasConnected = false
    }
}

/// Waits that double from 0.1 s to 2 s, varied by ±20 %: a restarted database is back within seconds, and its workers must
/// be heard before they are taken for dead.
struct Backoff: Sendable {
    private var seconds = 0.1

    mutating func next() -> Double {
        defer { self.seconds = min(self.seconds * 2, 2) }
        return self.seconds * Double.random(in: 0.8...1.2)
    }

    mutating func reset() { self.seconds = 0.1 }
}

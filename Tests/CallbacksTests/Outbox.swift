import Foundation
import Postgres
import TestSupport

@testable import Callbacks

/// A real database with partners, endpoints and callbacks to send.
struct Outbox {
    let database: ScratchDatabase
    let connection: PostgresConnection

    init() async throws {
        self.database = try await ScratchDatabase.migrated()
        self.connection = try await self.database.connect()
    }

    struct Row: Equatable {
        var state: String
        var attempts: Int64
        var released: Int64
        var lastStatus: Int64?
        var lastError: String?
        var isClaimed: Bool
        /// From now to `due_at`; 0 once it is delivered.
        var dueInSeconds: Double
        /// From the begin of the last attempt to `due_at`.
        var pauseSeconds: Double
    }

    /// Adds a partner with an endpoint that may be plain HTTP on a private address, as the receiver of these tests is.
    func endpoint(
        secret: String, allowHTTP: Bool = true, allowPrivate: Bool = true, inFlight: Int = 8
    ) async throws -> Int64 {
        let rows = try await self.connection.query(
            "SELECT endpoint_id FROM insp.create_partner($1, 'https://partner.example/', $2, $3)",
            [.text("partner-\(UUID().uuidString.lowercased())"), .bool(allowHTTP), .bool(allowPrivate)])
        let endpoint = try rows[0].int(0)
        // Not as an operator's act: some tests count those.
        _ = try await self.connection.query(
            "UPDATE insp.secret SET value = convert_to($2, 'UTF8') WHERE owner = 'endpoint ' || $1::text",
            [.int(endpoint), .text(secret)])
        _ = try await self.connection.query(
            "UPDATE insp.endpoint SET max_inflight = $2 WHERE id = $1", [.int(endpoint), .int(Int64(inFlight))])
        return endpoint
    }

    /// Adds callbacks of one endpoint to one URL, which concern no job; returns their webhook-ids.
    ///
    /// - Parameter isOwn: Whether the URL's origin becomes one of the endpoint's.
    @discardableResult
    func add(
        _ count: Int = 1, endpoint: Int64, url: String, body: String = #"{"type":"job.finished"}"#, attempts: Int = 0,
        isOwn: Bool = true
    ) async throws -> [String] {
        if isOwn {
            _ = try await self.connection.query(
                "UPDATE insp.endpoint SET origins = array_append(array_remove(origins, o), o) FROM insp.url_origin($2) o WHERE id = $1 AND o IS NOT NULL",
                [.int(endpoint), .text(url)])
        }
        let rows = try await self.connection.query(
            """
            INSERT INTO insp.callback (job_id, endpoint_id, url, body)
            SELECT (SELECT least(min(job_id), 0) FROM insp.callback) - g, $1, $2, $3
            FROM generate_series(1, $4) AS g RETURNING webhook_id, id
            """,
            [.int(endpoint), .text(url), .bytes(Data(body.utf8)), .int(Int64(count))])
        if attempts > 0 {
            _ = try await self.connection.query(
                "UPDATE insp.callback_waiting SET attempts = $2 WHERE callback_id = ANY ($1)",
                [.intArray(try rows.map { try $0.int(1) }), .int(Int64(attempts))])
        }
        return try rows.map { try $0.string(0) }
    }

    func row(_ webhookID: String) async throws -> Row {
        let rows = try await self.connection.query(
            """
            SELECT c.state, c.attempts, c.released, c.last_http_status, c.last_error, c.is_claimed,
                coalesce(extract(epoch FROM c.due_at - clock_timestamp()), 0)::double precision,
                coalesce(extract(epoch FROM c.due_at - (SELECT max(a.started_at) FROM insp.callback_attempt a
                    WHERE a.callback_id = c.id)), 0)::double precision
            FROM insp.v_callback c WHERE c.webhook_id = $1
            """, [.text(webhookID)])
        let row = rows[0]
        return Row(
            state: try row.string(0), attempts: try row.int(1), released: try row.int(2),
            lastStatus: try row.optionalInt(3), lastError: try row.optionalString(4), isClaimed: try row.bool(5),
            dueInSeconds: try row.double(6), pauseSeconds: try row.double(7))
    }

    func count(_ condition: String = "true") async throws -> Int64 {
        try await self.connection.query("SELECT count(*) FROM insp.v_callback WHERE \(condition)")[0].int(0)
    }

    /// How many are being sent.
    func countUnderWay() async throws -> Int64 {
        try await self.connection.query("SELECT count(*) FROM insp.callback_lease WHERE lease_until > now()")[0].int(0)
    }

    /// Makes waiting retries due now, as if their time had come.
    func hurry() async throws {
        _ = try await self.connection.query("UPDATE insp.callback_waiting SET due_at = now() WHERE state = 'pending'")
    }

    /// The recorded attempts of a callback: number, status, error.
    func attempts(_ webhookID: String) async throws -> [(number: Int64, status: Int64?, error: String?, worker: String)]
    {
        try await self.connection.query(
            """
            SELECT a.attempt, a.http_status, a.error, a.worker FROM insp.callback_attempt a
            JOIN insp.callback c ON c.id = a.callback_id WHERE c.webhook_id = $1 ORDER BY a.attempt
            """, [.text(webhookID)]
        ).map { (try $0.int(0), try $0.optionalInt(1), try $0.optionalString(2), try $0.string(3)) }
    }

    func configuration(_ change: (inout CallbackConfiguration) -> Void = { _ in }) -> CallbackConfiguration {
        var configuration = CallbackConfiguration(
            databaseURL: self.database.url, listenURL: self.database.url, worker: "test")
        change(&configuration)
        return configuration
    }

    /// Runs a dispatcher until nothing is due and nothing is under way.
    @discardableResult
    func dispatch(_ change: (inout CallbackConfiguration) -> Void = { _ in }) async -> [CallbackEvent.Attempt] {
        let events = EventLog()
        let dispatcher = CallbackDispatcher(configuration: self.configuration(change), onEvent: events.append)
        dispatcher.drain()
        await dispatcher.run()
        return events.attempts
    }

    /// Runs a dispatcher while `body` works, then stops it.
    func whileDispatching<Value: Sendable>(
        _ change: (inout CallbackConfiguration) -> Void = { _ in },
        _ body: @Sendable (CallbackDispatcher, EventLog) async throws -> Value
    ) async throws -> Value {
        let events = EventLog()
        let dispatcher = CallbackDispatcher(configuration: self.configuration(change), onEvent: events.append)
        let run = Task { await dispatcher.run() }
        let result: Result<Value, any Error>
        do { result = .success(try await body(dispatcher, events)) } catch { result = .failure(error) }
        run.cancel()
        try await run.value(within: .seconds(120))
        return try result.get()
    }

    /// Waits for a condition in the database.
    func wait(within seconds: Double, for condition: @Sendable () async throws -> Bool) async throws -> Bool {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < deadline {
            if try await condition() { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}

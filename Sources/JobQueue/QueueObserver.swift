internal import Foundation
internal import Postgres

/// Reads the queue's state and changes nothing. It connects on first use, and again after a lost connection.
package actor QueueObserver {
    private let connection: ReconnectingConnection

    /// - Parameter databaseURL: A libpq connection string or URL. Never logged.
    package init(databaseURL: String) {
        var options = ConnectionOptions(name: "inspectd observer")
        options.timeout = .seconds(10)
        self.connection = ReconnectingConnection(databaseURL, options: options)
    }

    /// Depth and age, for metrics.
    package func depth() async throws -> QueueDepth {
        let answers = try await self.connection.open().pipeline([
            PostgresStatement("SELECT measure, lane, value FROM insp.depth()"),
            PostgresStatement(
                "SELECT duty, extract(epoch FROM age)::float8, state = 'fails' FROM insp.v_maintenance"),
        ])
        var depth = QueueDepth()
        for row in answers[0] {
            let value = try row.double(2)
            let lane = try row.optionalString(1) ?? ""
            switch try row.string(0) {
            case "waiting": depth.lanes[lane, default: .init()].waiting = value
            case "oldest_seconds": depth.lanes[lane, default: .init()].oldestSeconds = value
            case "running": depth.lanes[lane, default: .init()].running = value
            case "delayed": depth.lanes[lane, default: .init()].delayed = value
            case "paused": depth.lanes[lane, default: .init()].isPaused = value != 0
            case "workers": depth.workers = value
            case "callbacks_pending": depth.callbacksPending = value
            case "callbacks_oldest_seconds": depth.callbacksOldestSeconds = value
            case "events_unnumbered_oldest_seconds": depth.eventsUnnumberedOldestSeconds = value
            case "keys_gone": depth.keysGone = value
            case "keys_gone_oldest_seconds": depth.keysGoneOldestSeconds = value
            case "objects_gone": depth.objectsGone = value
            case "objects_gone_oldest_seconds": depth.objectsGoneOldestSeconds = value
            // A newer schema has more columns.
            default: break
            }
        }
        for row in answers[1] {
            depth.duties[try row.string(0)] = QueueDepth.Duty(ageSeconds: try row.double(1), fails: try row.bool(2))
        }
        return depth
    }

    /// Everything that an operator needs to see.
    ///
    /// - Parameter time: The period for rates.
    package func snapshot(rateOver time: Duration) async throws -> QueueSnapshot {
        let row = try await self.connection.open().query(
            "SELECT insp.snapshot(make_interval(secs => $1))", [.double(time.seconds)]
        ).single()
        return try JSONDecoder().decode(QueueSnapshot.self, from: try row.data(0))
    }

    /// Closes the connection; a later call connects again.
    package func close() async {
        await self.connection.close()
    }
}

/// How much waits, for how long, and what runs: `insp.depth()`.
package struct QueueDepth: Sendable {
    package struct Lane: Sendable {
        package var waiting = 0.0
        /// Seconds since the first waiting job was accepted; 0 if none waits.
        package var oldest = 0.0
        package var running = 0.0
        package var delayed = 0.0
        package var isPaused = false
    }

    /// A duty of maintenance.
    package struct Duty: Sendable {
        /// Seconds since a round last succeeded.
        package var age = 0.0
        /// Whether the last round failed.
        package var fails = false
    }

    /// By name: urgent, normal, bulk.
    package var lanes: [String: Lane] = [:]
    package var workers = 0.0
    /// At most 10,000.
    package var callbacksPending = 0.0
    /// Seconds since the oldest pending callback was written; 0 if there is none.
    package var callbacksOldest = 0.0
    /// Seconds since the first event without a place was written: it cannot be pulled yet. 0 if there is none.
    package var eventsUnnumberedOldest = 0.0
    /// Keys that wait to be destroyed; at most 10,000.
    package var keysGone = 0.0
    /// Seconds since the first of them was to be destroyed; 0 if none waits.
    package var keysGoneOldest = 0.0
    /// Objects that wait to be deleted; at most 10,000.
    package var objectsGone = 0.0
    /// Seconds since the first of them was to be deleted; 0 if none waits.
    package var objectsGoneOldest = 0.0
    /// By name, as in `insp.v_maintenance`.
    package var duties: [String: Duty] = [:]
}

/// The system's state from `insp.snapshot`. A `nil` time means that there is nothing to measure.
package struct QueueSnapshot: Sendable, Decodable {
    /// The backlog of a lane or a partner.
    package struct Lane: Sendable, Decodable {
        package var region: String
        package var lane: String
        package var paused: Bool
        package var waiting: Int
        package var isEstimate: Bool
        package var oldestSeconds: Double?
        package var delayed: Int
        package var running: Int

        private enum CodingKeys: String, CodingKey {
            case region, lane, paused, waiting, isEstimate, delayed, running
            case oldestSeconds = "oldest"
        }
    }

    package struct Partner: Sendable, Decodable {
        package var name: String
        package var paused: Bool
        package var waiting: Int
        package var isEstimate: Bool
        package var oldestSeconds: Double?
        package var delayed: Int
        package var running: Int

        private enum CodingKeys: String, CodingKey {
            case name, paused, waiting, isEstimate, delayed, running
            case oldestSeconds = "oldest"
        }
    }

    package struct Worker: Sendable, Decodable {
        package var id: Int64
        package var host: String
        package var process: Int
        package var version: String
        package var region: String
        package var slots: Int
        package var busy: Int
        package var upSeconds: Double
        package var silentSeconds: Double
        /// live, draining, silent or dead.
        package var state: String

        private enum CodingKeys: String, CodingKey {
            case id, host, process, version, region, slots, busy, state
            case upSeconds = "up"
            case silentSeconds = "silent"
        }
    }

    package struct Running: Sendable, Decodable {
        package var job: String
        package var partner: String
        package var workflow: String?
        package var status: Int16
        package var attempt: Int
        package var seconds: Double
        package var worker: Int64
    }

    package struct Failure: Sendable, Decodable {
        package var code: String
        package var partner: String
        /// Jobs dead-lettered within the last hour.
        package var deadLettered: Int
        /// Jobs that wait for another attempt.
        package var retrying: Int
    }

    /// Jobs that reached 128 within the last five minutes, up to a limit.
    package struct Finished: Sendable, Decodable {
        /// Those that were claimed. The times are theirs; the rate is that of all.
        package var count: Int
        package var perSecond: Double
        package var waitMedianSeconds: Double?
        package var wait95Seconds: Double?
        package var runMedianSeconds: Double?
        package var run95Seconds: Double?

        private enum CodingKeys: String, CodingKey {
            case count, perSecond
            case waitMedianSeconds = "waitMedian"
            case wait95Seconds = "wait95"
            case runMedianSeconds = "runMedian"
            case run95Seconds = "run95"
        }
    }

    package struct Callbacks: Sendable, Decodable {
        package var pending: Int
        /// Whether the count of pending stopped at its limit.
        package var isMore: Bool
        package var retrying: Int
        package var oldestSeconds: Double?
        package var dead: Int
        package var held: Int
        package var deliveredPerSecond: Double
        package var failedPerSecond: Double
        /// Of an attempt.
        package var medianSeconds: Double?
        package var p95Seconds: Double?

        private enum CodingKeys: String, CodingKey {
            case pending, isMore, retrying, dead, held, deliveredPerSecond, failedPerSecond
            case oldestSeconds = "oldest"
            case medianSeconds = "median"
            case p95Seconds = "p95"
        }
    }

    /// The database's time.
    package var secondsSince1970: Double
    package var database: String
    /// Jobs ever accepted: the last job number.
    package var accepted: Int64
    package var lanes: [Lane]
    package var partners: [Partner]
    package var workers: [Worker]
    package var running: [Running]
    package var errors: [Failure]
    package var finished: Finished
    package var callbacks: Callbacks

    private enum CodingKeys: String, CodingKey {
        case database, accepted, lanes, partners, workers, running, errors, finished, callbacks
        case secondsSince1970 = "at"
    }
}

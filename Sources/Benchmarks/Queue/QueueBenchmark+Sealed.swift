package import Custody
internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Postgres

extension QueueBenchmark {
    /// What sealing costs the queue: jobs that are plain, that have a key each, and that share their person's key, alternately.
    package struct Sealed: Sendable {
        /// A connection string or URL.
        package var databaseURL: String
        /// Makes the keys of the sealed jobs.
        package var keys: KeyStore
        /// Of the key store, whose WAL counts as well.
        package var keysURL: String
        /// Jobs for each measurement.
        package var jobs = 5_000
        /// Jobs that the worker has at once.
        package var slots = 256
        /// How often each kind is measured.
        package var rounds = 5
        /// Connections that enqueue, one job in a call.
        package var producers = 4
        /// Jobs of one person.
        var jobsOfPerson = 10

        package init(databaseURL: String, keys: KeyStore, keysURL: String) {
            self.databaseURL = databaseURL
            self.keys = keys
            self.keysURL = keysURL
        }
    }
}

extension QueueBenchmark.Sealed {
    /// Medians over the rounds. Rates are in jobs per second, WAL in bytes per job from acceptance to 128.
    package struct Report: Encodable, Sendable {
        /// One way of sealing, or none.
        package struct Kind: Encodable, Sendable {
            var enqueueRate: Double
            var drainRate: Double
            /// Of the database's cluster.
            var walBytes: Double
            /// Of the key store's cluster; the same bytes, if that is the database's.
            var keysWALBytes: Double
            /// Drain rate to that of plain jobs in the same round: median, lowest, highest.
            var drainRatio: [Double]
        }

        var benchmark = "sealed"
        var jobs: Int
        var rounds: Int
        var plain: Kind
        var keyPerJob: Kind
        var keyPerPerson: Kind
        /// Jobs without exactly one terminal event, result and callback, or lost: must be 0.
        package var violations: Int
    }

    private enum Key: String, CaseIterable {
        case none = "none"
        case job = "job"
        case person = "person"
    }

    private struct Turn {
        var enqueue: Double
        var drain: Double
        var wal: Double
        var keysWAL: Double
    }

    /// - Throws: ``InspectError`` if the queue is not empty: the database should be the benchmark's own.
    package func run(_ progress: @escaping QueueBenchmark.Progress = { _ in }) async throws -> Report {
        try await BenchmarkDatabase.with(self.databaseURL) { try await self.run(in: $0, progress) }
    }

    private func run(in database: BenchmarkDatabase, _ progress: QueueBenchmark.Progress) async throws -> Report {
        try await database.addPartners(["bench"])
        let store = try await PostgresConnection.connect(
            self.keysURL, options: ConnectionOptions(name: "inspectd benchmark"))
        var turns: [Key: [Turn]] = [:]
        for round in 1...self.rounds {
            for key in Key.allCases.shuffled() {
                progress("round \(round), \(key.rawValue)")
                turns[key, default: []].append(try await self.turn(key, database, store))
            }
        }
        await store.close()
        func kind(_ key: Key) -> Report.Kind {
            let own = turns[key] ?? []
            let ratios = zip(own, turns[.none] ?? []).map { $0.drain / $1.drain }
            func median(_ value: (Turn) -> Double) -> Double {
                QueueBenchmark.percentile(own.map(value), 0.5).rounded()
            }
            return Report.Kind(
                enqueueRate: median(\.enqueue), drainRate: median(\.drain), walBytes: median(\.wal),
                keysWALBytes: median(\.keysWAL),
                drainRatio: [0.5, 0, 1].map { QueueBenchmark.rounded(QueueBenchmark.percentile(ratios, $0)) })
        }
        let missing = 3 * self.rounds * self.jobs - (try await database.finished())
        return Report(
            jobs: self.jobs, rounds: self.rounds, plain: kind(.none), keyPerJob: kind(.job),
            keyPerPerson: kind(.person),
            violations: try await database.violations() + missing)
    }

    private func turn(_ key: Key, _ database: BenchmarkDatabase, _ store: PostgresConnection) async throws -> Turn {
        let place = try await Self.wal(database.admin)
        let keysPlace = try await Self.wal(store)
        let enqueue = try await self.enqueue(key, database)
        var handler = BenchmarkHandler()
        handler.keys = self.keys
        let draining = BenchmarkWorkers(database.url, count: 1, slots: self.slots, handler)
        try await draining.finish(self.jobs)
        let count = Double(self.jobs)
        return Turn(
            enqueue: count / enqueue, drain: draining.take().rate,
            wal: (try await Self.wal(database.admin) - place) / count,
            keysWAL: (try await Self.wal(store) - keysPlace) / count)
    }

    /// - Returns: Seconds.
    private func enqueue(_ key: Key, _ database: BenchmarkDatabase) async throws -> Double {
        let partner = try await database.admin.query("SELECT id FROM insp.partner WHERE name = 'bench'")[0].int(0)
        let request = BenchmarkDatabase.request(partner: "bench").dropLast()
        let run = UUID().uuidString
        let sealer = RequestSealer(self.keys, level: key == .person ? .person : .job)
        let left = BenchmarkProducers.Counter(self.jobs)
        let start = ContinuousClock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<self.producers {
                group.addTask {
                    let connection = try await PostgresConnection.connect(
                        database.url, options: ConnectionOptions(name: "inspectd benchmark producer"))
                    while true {
                        let number = left.value
                        guard left.take(1) == 1 else { break }
                        let text = request + #","userReference":"\#(run) \#(number / self.jobsOfPerson)"}"#
                        let sealed =
                            key == .none
                            ? nil : try await sealer.seal(payload: Data(text.utf8), parts: [:], partner: partner)
                        _ = try await connection.query(
                            "SELECT insp.enqueue_parts($1, '{}', '{}', $2, $3)",
                            [
                                .text(sealed.map { String(decoding: $0.payload, as: UTF8.self) } ?? String(text)),
                                .optional(sealed?.sealed), .optional(sealed?.hmac),
                            ])
                    }
                    await connection.close()
                }
            }
            try await group.waitForAll()
        }
        return (.now - start).seconds
    }

    private static func wal(_ connection: PostgresConnection) async throws -> Double {
        try await connection.query("SELECT (pg_current_wal_insert_lsn() - '0/0')::double precision")[0].double(0)
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import Synchronization
import TestSupport

/// A migrated database with a partner, and short ways to what tests look at.
struct QueueFixture: Sendable {
    let database: ScratchDatabase
    let admin: PostgresConnection
    let client: JobClient

    static let digest = String(repeating: "0", count: 64)
    /// A request without any part as bytes.
    static let byURL =
        #"{"partner":"acme","workflow":"id","parts":{"FRONT":{"url":"https://img.example.com/a","sha256":"\#(digest)"}}}"#

    init() async throws {
        self.database = try await ScratchDatabase.migrated()
        self.admin = try await self.database.connect()
        self.client = JobClient(databaseURL: self.database.url)
        _ = try await self.admin.query("SELECT insp.create_partner('acme', 'https://hooks.example.com/x')")
    }

    func enqueue(_ count: Int) async throws -> [String] {
        try await self.enqueue(many: Array(repeating: Data(Self.byURL.utf8), count: count))
    }

    /// As a producer that calls `insp.enqueue_many`.
    func enqueue(many payloads: [Data]) async throws -> [String] {
        let producer = try await self.database.connect()
        do {
            let texts = try payloads.map { try PostgresValue.json($0) }
            let ids = try await producer.query("SELECT * FROM insp.enqueue_many($1)", [.jsonbs(texts)])
                .map { try $0.string(0) }
            await producer.close()
            return ids
        } catch {
            await producer.close()
            throw (error as? PostgresError)?.meaning ?? error
        }
    }

    /// A configuration whose waits are short enough for tests.
    func configuration(slots: Int = 4) -> JobWorkerConfiguration {
        var configuration = JobWorkerConfiguration(
            databaseURL: self.database.url, host: "test", version: "0", slots: slots)
        configuration.retryPolicy.base = .milliseconds(50)
        configuration.pollInterval = .seconds(0.2)
        configuration.maintenanceInterval = .seconds(0.1)
        configuration.heartbeatInterval = .seconds(0.2)
        configuration.shutdownDeadline = .seconds(5)
        return configuration
    }

    func count(_ sql: String) async throws -> Int {
        Int(try await self.admin.query("SELECT count(*) FROM \(sql)")[0].int(0))
    }

    /// Waits until a condition of the database holds.
    func wait(for condition: String, within seconds: Double = 60) async throws {
        try await waitUntil(condition, within: .seconds(seconds), upTo: .milliseconds(50)) {
            try await self.admin.query("SELECT \(condition)")[0].bool(0)
        }
    }

    /// Waits for heartbeats of a worker, one after the other.
    func waitForHeartbeats(_ count: Int) async throws {
        for _ in 0..<count {
            let last = try await self.admin.query("SELECT max(heartbeat_at)::text FROM insp.worker").single().string(0)
            try await self.wait(for: "(SELECT max(heartbeat_at) FROM insp.worker) > '\(last)'")
        }
    }

    /// Purges until nothing is left to purge.
    ///
    /// - Parameter limit: How much at a time; `nil`: as much as workers do.
    func purgeAll(_ limit: Int? = nil) async throws {
        let call = "SELECT more FROM insp.purge(\(limit.map(String.init) ?? ""))"
        for _ in 0..<500 where try await !self.admin.query(call)[0].bool(0) { return }
        throw WaitTimedOut(what: "nothing is left to purge after 500 calls", limit: .zero)
    }

    /// Waits until a condition of the test's own holds.
    func wait(until condition: () -> Bool) async throws {
        try await waitUntil("a condition of the test's own", every: .milliseconds(5)) { condition() }
    }

    /// What must hold once every job is finished: one terminal event, one result and one callback each, and nothing left.
    func violations() async throws -> [String] {
        let checks = [
            ("a job is not finished", "insp.job WHERE status <> 128"),
            ("a lease is left", "insp.lease"),
            ("a job is delayed", "insp.delayed"),
            (
                "a finished job has no or several terminal events",
                """
                insp.job j WHERE (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') <> 1
                """
            ),
            (
                "a finished job has no result",
                "insp.job j WHERE NOT EXISTS (SELECT FROM insp.step s WHERE s.job_id = j.id AND s.status = 128)"
            ),
            (
                "a finished job has no or several callbacks",
                "insp.job j WHERE (SELECT count(*) FROM insp.callback c WHERE c.job_id = j.id) <> 1"
            ),
        ]
        var violations: [String] = []
        for (name, sql) in checks {
            let count = try await self.count(sql)
            if count > 0 { violations.append("\(name): \(count)") }
        }
        return violations
    }

    func result(of id: String) async throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: try await self.client.result(of: id)) as? [String: Any] ?? [:]
    }

    func errorCode(of id: String) async throws -> String? {
        (try await self.result(of: id)["error"] as? [String: Any])?["code"] as? String
    }
}

/// A handler made of a closure.
struct ClosureHandler: JobHandler {
    static let passed = Data(#"{"decision":{"type":"PASSED","details":{"label":"OK"},"risk":{"score":0}}}"#.utf8)

    var body: @Sendable (ClaimedJob, JobContext) async throws -> Data

    init(_ body: @escaping @Sendable (ClaimedJob, JobContext) async throws -> Data = { _, _ in Self.passed }) {
        self.body = body
    }

    func run(_ context: JobContext) async throws -> JobResult {
        JobResult(document: try await self.body(context.job, context))
    }
}

extension JobResult {
    /// A result document taken apart as a worker's is; what is not a JSON object is all body.
    init(document: Data) {
        let object = (try? JSONSerialization.jsonObject(with: document)) as? [String: Any]
        let decision = (object?["decision"] as? [String: Any])?["type"] as? String
        let isSummary = { (key: String) in ["decision", "rejectReasons", "error", "faceSdk"].contains(key) }
        func json(_ object: [String: Any]?) -> Data? {
            object.flatMap { try? JSONSerialization.data(withJSONObject: $0) }
        }
        self.init(
            decision: decision.flatMap(DecisionType.init(rawValue:)) ?? .notExecuted,
            summary: json(object?.filter { isSummary($0.key) }) ?? Data("{}".utf8),
            body: json(object?.filter { !isSummary($0.key) }) ?? document)
    }
}

/// What a worker reported.
final class EventLog: Sendable {
    private let events = Mutex<[JobQueueEvent]>([])

    func record(_ event: JobQueueEvent) { self.events.withLock { $0.append(event) } }

    func count(where isMeant: (JobQueueEvent) -> Bool) -> Int {
        self.events.withLock { $0.filter(isMeant).count }
    }
}

/// Runs a worker while the body does something, and stops it then.
func withWorker<Result: Sendable>(
    _ configuration: JobWorkerConfiguration, _ handler: any JobHandler, log: EventLog = EventLog(),
    _ body: @Sendable (JobWorker) async throws -> Result
) async throws -> Result {
    let worker = JobWorker(configuration, handler: handler) { log.record($0) }
    let running = Task { try await worker.run() }
    do {
        let result = try await body(worker)
        worker.stop()
        try await running.value(within: .seconds(120))
        return result
    } catch {
        worker.stop()
        _ = try? await running.value(within: .seconds(120))
        throw error
    }
}

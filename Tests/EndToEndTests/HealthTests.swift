import Foundation
import FoundationNetworking
import InspectCore
import Postgres
import TestSupport
import Testing

/// A worker's health port from outside: probes, metrics, and the log lines and callbacks of a traced job.
@Suite struct HealthTests {
    /// Asks a worker's health port.
    private struct Port {
        let port: Int

        /// Waits for the line in which the worker names its port.
        init(of worker: Program) async throws {
            self.port = try await worker.port("health port open")
        }

        func get(_ path: String) async throws -> (status: Int, type: String?, text: String) {
            let url = try #require(URL(string: "http://127.0.0.1:\(self.port)\(path)"))
            let (data, response) = try await URLSession.shared.data(from: url)
            let answer = try #require(response as? HTTPURLResponse)
            return (
                answer.statusCode, answer.value(forHTTPHeaderField: "Content-Type"),
                String(decoding: data, as: UTF8.self)
            )
        }

        func metrics() async throws -> MetricsText {
            let answer = try await self.get("/metrics")
            #expect(answer.status == 200 && answer.type == "text/plain; version=0.0.4; charset=utf-8")
            return try MetricsText(answer.text)
        }

        /// Waits until `/readyz` answers with a status; returns the checks that it names.
        func waitFor(_ status: Int) async throws -> [String] {
            var answer = try await self.get("/readyz")
            try await waitUntil("/readyz answers \(status)", every: .milliseconds(100)) {
                answer = try await self.get("/readyz")
                return answer.status == status
            }
            #expect(answer.type == "application/json", "\(answer.text)")
            let reasons = try members(Data(answer.text.utf8))["reasons"] as? [[String: Any]] ?? []
            return reasons.compactMap { $0["check"] as? String }
        }
    }

    private static func lines(_ worker: Program) throws -> [[String: Any]] {
        // A line without its end is still being written.
        try worker.standardError.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map {
            guard let object = try? members(Data($0.utf8)) else {
                throw Program.Failed(message: "no JSON line: \(worker.standardError)")
            }
            return object
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `Metrics count events and contain no personal data`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--health", "0", "--analyzer", FaultyAnalyzer.script("--fault face=segfault --every 2"),
        ])
        defer { worker.send(SIGKILL) }
        let port = try await Port(of: worker)
        #expect(try await port.waitFor(200).isEmpty)
        #expect(try await port.get("/healthz").status == 200)
        #expect(try await port.get("/nothing").status == 404)

        _ = try await service.connection.query("SELECT insp.pause('bulk', reason => 'a test')")
        let image = PNG.noise(width: 64, height: 64)
        var ids: [String] = []
        for lane in ["normal", "normal", "bulk", "bulk", "bulk"] {
            ids.append(try await service.enqueue(["workflow": "liveness", "lane": lane], face: image))
        }
        _ = try await service.enqueue(["workflow": "liveness", "delaySeconds": 900], face: image)
        #expect(
            try await service.waitForNone(
                "SELECT 2 - count(*) FROM insp.v_callback WHERE state = 'delivered'", within: .seconds(60)))

        // The queue is polled every five seconds.
        var metrics = try await port.metrics()
        try await waitUntil("the queue was polled", every: .milliseconds(200)) {
            metrics = try await port.metrics()
            return metrics.value("inspectd_queue_waiting_jobs", ["lane": "bulk"]) == 3
                // For a while also the job that crashed, in addition to the scheduled one.
                && metrics.value("inspectd_queue_delayed_jobs", ["lane": "normal"]) == 1
                && metrics.value("inspectd_callback_attempts_total", ["outcome": "delivered"]) == 2
        }
        #expect(metrics.value("inspectd_queue_waiting_jobs", ["lane": "normal"]) == 0)
        #expect(metrics.value("inspectd_queue_paused", ["lane": "bulk"]) == 1)
        let age = try #require(metrics.value("inspectd_queue_oldest_seconds", ["lane": "bulk"]))
        #expect(age > 0 && age < 120)
        #expect(metrics.value("inspectd_workers_live") == 1)
        #expect(metrics.value("inspectd_ready") == 1)
        #expect(metrics.value("inspectd_slots") == 1)

        // Two jobs, of which the second call of its stage crashed once.
        #expect(metrics.value("inspectd_jobs_finished_total", ["outcome": "completed"]) == 2)
        #expect(metrics.value("inspectd_jobs_finished_total", ["outcome": "dead_lettered"]) == 0)
        #expect(metrics.value("inspectd_job_retries_total", ["code": "ANALYZER_CRASHED"]) == 1)
        #expect(metrics.value("inspectd_analyzer_losses_total", ["kind": "crash"]) == 1)
        #expect(metrics.value("inspectd_job_attempts_started_total") == 3)
        #expect(metrics.value("inspectd_jobs_claimed_total") == 3)
        #expect(metrics.value("inspectd_jobs_promoted_total") == 1)
        #expect(metrics.value("inspectd_job_attempts_sum") == 3)
        #expect(metrics.value("inspectd_job_duration_seconds_count") == 2)
        #expect(metrics.value("inspectd_stage_duration_seconds_count", ["stage": "acquired"]) == 2)
        #expect(metrics.value("inspectd_stage_duration_seconds_count", ["stage": "face"]) == 2)
        #expect(
            metrics.value("inspectd_callback_attempt_duration_seconds_count", ["outcome": "delivered"]) == 2)
        let claims = try #require(metrics.value("inspectd_claim_duration_seconds_count"))
        #expect((1...3).contains(claims))
        let start = try #require(metrics.value("process_start_time_seconds"))
        #expect(abs(Date().timeIntervalSince1970 - start) < 180)
        #expect(try #require(metrics.value("process_resident_memory_bytes")) > 1_000_000)

        let text = try await port.get("/metrics").text
        #expect(!text.contains("bank"))
        for id in ids { #expect(!text.contains(id)) }
        if let complaint = try Self.promtool(text) { Issue.record("promtool: \(complaint)") }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    /// The output of Prometheus's own checker; `nil`: none, or it is not installed.
    private static func promtool(_ text: String) throws -> String? {
        let path = "/usr/bin/promtool"
        guard FileManager.default.isExecutableFile(atPath: path) else { return nil }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).prom").path
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        let command = "\(path) check metrics <'\(file)' >'\(file).out' 2>&1"
        let isGood = try ChildProcess.spawn("/bin/sh", ["-c", command]).blockingExitStatus() == 0
        return isGood ? nil : try String(contentsOfFile: "\(file).out", encoding: .utf8)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A worker without its database is alive but not ready, and comes back`() async throws {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "1", "--health", "0", "--analyzer", FaultyAnalyzer.script("")])
        defer { worker.send(SIGKILL) }
        let port = try await Port(of: worker)
        #expect(try await port.waitFor(200).isEmpty)

        var parts = try #require(URLComponents(string: service.database.url))
        let name = String(parts.path.dropFirst())
        parts.path = "/postgres"
        let administrator = try await PostgresConnection.connect(try #require(parts.string))
        try await administrator.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        _ = try await administrator.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(name)])
        // The dispatcher notices at once, the worker when its heartbeat is too old.
        var checks = try await port.waitFor(503)
        try await waitUntil("the worker notices", every: .milliseconds(200)) {
            checks = try await port.waitFor(503)
            return checks.contains("database")
        }
        #expect(Set(checks) == ["database", "callbacks"])
        #expect(try await port.get("/healthz").status == 200)
        var away = try await port.metrics()
        try await waitUntil("what is not known is not said", every: .milliseconds(200)) {
            away = try await port.metrics()
            return away.value("inspectd_workers_live") == nil
        }
        #expect(away.value("inspectd_ready") == 0)

        try await administrator.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
        await administrator.close()
        #expect(try await port.waitFor(200).isEmpty)
        let back = try await port.metrics()
        let reconnects = back.values.filter { $0.key.name == "inspectd_database_reconnects_total" }
        let failures = back.values.filter { $0.key.name == "inspectd_database_failures_total" }
        #expect(reconnects.values.reduce(0, +) >= 2 && failures.values.reduce(0, +) >= 2)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A worker that stops reports it while its last job ends`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--health", "127.0.0.1:0", "--stop-after", "3600", "--analyzer",
            FaultyAnalyzer.script("--fault face=sleep"),
        ])
        defer { worker.send(SIGKILL) }
        let port = try await Port(of: worker)
        #expect(try await port.waitFor(200).isEmpty)
        let id = try await service.enqueue(["workflow": "liveness"], face: PNG.noise(width: 64, height: 64))
        #expect(try await service.waitForNone("SELECT 1 - count(*) FROM insp.lease", within: .seconds(60)))
        worker.send(SIGTERM)
        #expect(try await port.waitFor(503).contains("worker"))
        #expect(try await port.get("/healthz").status == 200)
        // It stops as soon as it has no job.
        _ = try await service.connection.query("SELECT insp.cancel($1)", [.text(id)])
        #expect(try await worker.wait() == 0)
    }

    @Test func `An unavailable port is an error at once`() async throws {
        let taken = try await Program.run(["worker", "--health", "no-port"])
        #expect(taken.status == 2 && taken.errors.contains("--health"))
        // 192.0.2.1 is nobody's address (RFC 5737).
        let foreign = try await Program.run(["worker", "--health", "192.0.2.1:1"])
        #expect(foreign.status == 1 && foreign.errors.contains("192.0.2.1:1"))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A trace leads from the caller over every line to the callback`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--log-level", "debug", "--analyzer",
            FaultyAnalyzer.script("--fault face=segfault --every 2"),
        ])
        defer { worker.send(SIGKILL) }
        let trace = "0af7651916cd43dd8448eb211c80319c"
        let image = PNG.noise(width: 64, height: 64)
        func enqueue(_ traceparent: String?) async throws -> String {
            var payload = ["workflow": "liveness"]
            payload["traceparent"] = traceparent
            return try await service.enqueue(payload, face: image)
        }
        let plain = try await enqueue(nil)
        let traced = try await enqueue("00-\(trace)-b7ad6b7169203331-01")
        // Of the right form for the database, but no trace.
        let zero = try await enqueue("00-00000000000000000000000000000000-b7ad6b7169203331-01")
        let received = try await service.receiver.received(within: 120) { $0.count == 3 }
        #expect(received.count == 3 && received.allSatisfy(\.verified))
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)

        func header(_ id: String) -> String? { received.first { $0.body.contains(id) }?.headers["traceparent"] }
        #expect(header(plain) == nil && header(zero) == nil)
        let sent = try #require(header(traced).flatMap { TraceContext(traceparent: $0) })
        #expect(sent.traceID == trace && sent.spanID != "b7ad6b7169203331" && sent.flags == "01")

        let lines = try Self.lines(worker)
        for id in [plain, traced, zero] {
            let ours = lines.filter { $0["job"] as? String == id }
            let messages = Set(ours.compactMap { $0["message"] as? String })
            #expect(messages.isSuperset(of: ["job started", "stage done", "job finished", "callback delivered"]))
            for line in ours {
                #expect(line["traceId"] as? String == (id == traced ? trace : nil), "\(line)")
                let isCallback = line["callback"] != nil
                let span = isCallback ? sent.spanID : "b7ad6b7169203331"
                #expect(line["spanId"] as? String == (id == traced ? span : nil), "\(line)")
                #expect(line["attempt"] is Int && (isCallback || line["stage"] is String), "\(line)")
            }
            let finished = ours.first { $0["message"] as? String == "job finished" }
            #expect(finished?["stage"] as? String == "FINISHED")
        }
        let retried = try #require(lines.first { $0["message"] as? String == "job will be retried" })
        #expect(retried["stage"] as? String == "ACQUIRED" && retried["code"] as? String == "ANALYZER_CRASHED")
    }

    @Test(.timeLimit(.minutes(5)))
    func `Tests are left out of the metrics of outcomes, and counted apart`() async throws {
        let service = try await Service.start()
        _ = try await service.connection.query("SELECT insp.create_test_credential('bank')")
        _ = try await service.connection.query(
            """
            UPDATE insp.endpoint e SET url = $1, allow_http = true, allow_private = true
            FROM insp.partner p WHERE p.id = e.partner_id AND p.name = 'bank.test'
            """, [.text(service.receiver.url("/status/500"))])
        let worker = try service.worker(["--slots", "1", "--health", "0"])
        defer { worker.send(SIGKILL) }
        let port = try await Port(of: worker)
        for name in ["passed", "failed"] {
            _ = try await service.connection.query(
                "SELECT insp.enqueue('{\"partner\": \"bank.test\", \"workflow\": \"liveness\"}', face => $1)",
                [.bytes(Data("inspectd-specimen:\(name)".utf8))])
        }
        _ = try await service.enqueue(["workflow": "liveness"], face: PNG.noise(width: 64, height: 64))
        #expect(
            try await service.waitForNone(
                "SELECT 3 - count(*) FROM insp.job WHERE status = 128", within: .seconds(120)))
        var metrics = try await port.metrics()
        try await waitUntil("the metrics are complete", every: .milliseconds(200)) {
            metrics = try await port.metrics()
            return (metrics.value("inspectd_test_callback_attempts_total", ["outcome": "failed"]) ?? 0) >= 2
                && metrics.value("inspectd_callback_attempts_total", ["outcome": "delivered"]) == 1
                && metrics.value("inspectd_callbacks_pending") == 0
                && metrics.value("inspectd_jobs_finished_total", ["outcome": "completed"]) == 1
        }
        // A specimen's error is its result: nobody needs to examine it.
        for (outcome, count) in [("completed", 2.0), ("dead_lettered", 0)] {
            #expect(metrics.value("inspectd_test_jobs_finished_total", ["outcome": outcome]) == count, "\(outcome)")
        }
        #expect(metrics.value("inspectd_jobs_finished_total", ["outcome": "dead_lettered"]) == 0)
        #expect(metrics.value("inspectd_jobs_dead_lettered_total", ["code": "TOO_MANY_PIXELS"]) == nil)
        #expect(metrics.value("inspectd_job_duration_seconds_count") == 1)
        #expect(metrics.value("inspectd_callback_attempts_total", ["outcome": "failed"]) == 0)
        // They take capacity like all others.
        #expect(metrics.value("inspectd_job_attempts_started_total") == 3)
        #expect(metrics.value("inspectd_jobs_claimed_total") == 3)
        let waiting = try await service.connection.query(
            "SELECT (SELECT pending FROM insp.pending_callbacks()), (SELECT count(*) FROM insp.callback_waiting WHERE state = 'pending')"
        )[0]
        #expect(try waiting.int(0) == 0 && waiting.int(1) == 2)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }
}

import Benchmarks
import Foundation
import Synchronization
import TestSupport
import Testing

/// Every benchmark at its smallest: it runs to its end, reports what it promises, and leaves every job complete.
@Suite struct QueueBenchmarkTests {
    /// The members of a report as the command prints them.
    private func members(_ report: some Encodable) throws -> [String: Any] {
        try JSONSerialization.jsonObject(with: JSONEncoder().encode(report)) as? [String: Any] ?? [:]
    }

    private func count(_ sql: String, in database: ScratchDatabase) async throws -> Int64 {
        let connection = try await database.connect()
        let count = try await connection.query("SELECT count(*) FROM \(sql)")[0].int(0)
        await connection.close()
        return count
    }

    private func enqueue(_ count: Int, in database: ScratchDatabase) async throws {
        let connection = try await database.connect()
        _ = try await connection.query("SELECT insp.create_partner('acme', 'https://hooks.example.com/x')")
        let request =
            #"{"partner":"acme","workflow":"id","parts":{"FRONT":{"url":"https://img.example.com/a","sha256":"DIGEST"}}}"#
            .replacing("DIGEST", with: String(repeating: "0", count: 64))
        _ = try await connection.query(
            "SELECT insp.enqueue_many($1)", [.jsonbs(Array(repeating: request, count: count))])
        await connection.close()
    }

    @Test(arguments: [false, true])
    func `Throughput is measured on jobs that are whole`(storesStages: Bool) async throws {
        var benchmark = QueueBenchmark.Throughput(databaseURL: try await ScratchDatabase.migrated().url)
        benchmark.jobs = 300
        benchmark.workers = 2
        benchmark.slots = 32
        benchmark.batch = 50
        benchmark.storesStages = storesStages
        let report = try await benchmark.run()
        #expect(report.violations == 0)
        #expect(report.stepsPerJob == (storesStages ? 3 : 1))
        #expect(report.enqueueRate > 0)
        #expect(report.drainRate > 0)
        #expect(report.endToEndRate > 0)
        #expect(report.roundTripP50 > 0)
        #expect(report.roundTripP99 >= report.roundTripP50)
        #expect(report.jobsPerRoundTrip > 1)
        #expect(report.cpuMicrosecondsPerJob > 0)
        let names = Set(try self.members(report).keys)
        #expect(names.isSuperset(of: ["enqueueRate", "drainRate", "endToEndRate", "roundTripP50", "violations"]))
    }

    @Test func `Pickup is measured from the commit and from the call`() async throws {
        var benchmark = QueueBenchmark.Pickup(databaseURL: try await ScratchDatabase.migrated().url)
        benchmark.jobs = 20
        benchmark.pauseSeconds = 0.05...0.08
        let start = ContinuousClock.now
        let report = try await benchmark.run()
        let took = (ContinuousClock.now - start) / .milliseconds(1)
        #expect(report.violations == 0)
        #expect(report.jobs == 20)
        #expect(report.callToStartP50Ms > 0)
        #expect(report.callToStartP50Ms > report.p50Ms)
        #expect(report.maxMs >= report.p99Ms)
        #expect(report.maxMs < took, "no job takes longer than all")
        #expect(Set(try self.members(report).keys).isSuperset(of: ["p50Ms", "p99Ms", "violations"]))
    }

    @Test func `Claims are measured over each backlog, the shortest first`() async throws {
        let database = try await ScratchDatabase.migrated()
        var benchmark = QueueBenchmark.Backlog(databaseURL: database.url, backlogs: [4_000, 2_000])
        benchmark.claims = 100
        benchmark.seconds = 3
        benchmark.partners = 3
        let collected = Mutex<[QueueBenchmark.Backlog.Report]>([])
        try await benchmark.run { report in collected.withLock { $0.append(report) } }
        let reports = collected.withLock { $0 }
        #expect(reports.map(\.backlog) == [2_000, 4_000])
        for report in reports {
            #expect(report.violations == 0)
            #expect(report.claims == 100)
            #expect(report.claimP50Ms > 0)
            #expect(report.claimP99Ms >= report.claimP50Ms)
            #expect(report.claimSteadyP99Ms >= report.claimP50Ms)
            #expect(report.loadedClaims > 0)
            #expect(report.loadedClaimP99Ms > 0)
            #expect(report.jobsPerSecond > 0)
            #expect(report.roundTripP50Ms > 0)
        }
        #expect(reports[0].claimP99Ratio == 1)
        let names = Set(try self.members(reports[1]).keys)
        #expect(names.isSuperset(of: ["backlog", "claimP50Ms", "claimP99Ms", "claimP99Ratio", "jobsPerSecond"]))
        // What was copied is what the product makes: a part, a partner and a request for each job.
        #expect(
            try await self.count(
                "insp.job j WHERE NOT EXISTS (SELECT FROM insp.part p WHERE p.job_id = j.id)", in: database) == 0)
        #expect(
            try await self.count("(SELECT DISTINCT partner_id, request ->> 'partner' FROM insp.job) x", in: database)
                == 3)
        #expect(
            try await self.count("(SELECT public_id FROM insp.job GROUP BY 1 HAVING count(*) > 1) x", in: database) == 0
        )
        // What waits already counts towards the length, and so cannot be more.
        try await self.enqueue(5, in: database)
        benchmark.backlogs = [4]
        await #expect(throws: (any Error).self) { try await benchmark.run { _ in } }
    }

    @Test func `Throughput is watched while a snapshot is held, and beside it a conventional queue's`() async throws {
        let database = try await ScratchDatabase.migrated()
        var benchmark = QueueBenchmark.HeldXmin(databaseURL: database.url, seconds: 3)
        benchmark.slots = 32
        benchmark.depth = 2_000
        let report = try await benchmark.run()
        #expect(report.violations == 0)
        #expect(report.before > 0)
        #expect(report.after > 0)
        #expect(report.ratio > 0)
        #expect(report.heartbeatP50Ms > 0)
        #expect(report.claims > 0)
        #expect(report.claimP99Ms > 0)
        #expect(report.roundTripAfterP50Ms > 0)
        #expect(try #require(report.conventionalBefore) > 0)
        #expect(try #require(report.conventionalAfter) > 0)
        #expect(report.conventionalSeries?.count == report.series.count)
        // Two windows before the opening at second 0, the rest after it.
        #expect(report.series.contains { $0.second < 0 } && report.series.contains { $0.second > 0 })
        let names = Set(try self.members(report).keys)
        #expect(names.isSuperset(of: ["before", "after", "ratio", "conventionalRatio", "series"]))
        let plot = String(decoding: report.plot, as: UTF8.self)
        #expect(plot.hasPrefix("<svg") && plot.hasSuffix("</svg>\n"))
        #expect(plot.split(separator: "<polyline").count == 3)
        // Neither the other queue nor the transaction is left.
        #expect(try await self.count("pg_class WHERE relname = 'bench_conventional'", in: database) == 0)
        #expect(
            try await self.count(
                "pg_stat_activity WHERE application_name LIKE '%holder%' AND datname = current_database()", in: database
            ) == 0)
    }

    @Test func `Waits are measured alone and beside a backlog, and both lanes get their turn`() async throws {
        var benchmark = QueueBenchmark.Fairness(databaseURL: try await ScratchDatabase.migrated().url)
        benchmark.big = 5_000
        benchmark.small = 20
        benchmark.rounds = 2
        benchmark.laneSeconds = 3
        let report = try await benchmark.run()
        #expect(report.violations == 0)
        #expect(report.aloneP95Ms > 0)
        #expect(report.besideP95Ms > 0)
        #expect(report.ratio > 0)
        #expect(report.bigStarted > 0)
        #expect(report.laneJobs > 0)
        #expect(report.bulkShare > 0 && report.bulkShare < 1)
        let names = Set(try self.members(report).keys)
        #expect(names.isSuperset(of: ["aloneP95Ms", "besideP95Ms", "ratio", "bulkShare"]))
    }

    @Test func `The cost of limits is measured in turns with a partner without any`() async throws {
        let database = try await ScratchDatabase.migrated()
        var benchmark = QueueBenchmark.Limits(databaseURL: database.url)
        benchmark.jobs = 200
        benchmark.rounds = 2
        benchmark.slots = 32
        let report = try await benchmark.run()
        #expect(report.violations == 0)
        #expect(report.unlimitedRates.count == 2)
        #expect(report.limitedRates.count == 2)
        #expect(report.ratio > 0)
        // The limits were there, and were counted with.
        #expect(
            try await self.count(
                "insp.partner WHERE max_running IS NOT NULL AND rate_per_second IS NOT NULL", in: database) == 1)
        #expect(try await self.count("insp.partner_tokens", in: database) == 1)
        let names = Set(try self.members(report).keys)
        #expect(names.isSuperset(of: ["unlimitedRate", "limitedRate", "ratio", "violations"]))
    }

    @Test func `A queue that holds other work is left alone`() async throws {
        let database = try await ScratchDatabase.migrated()
        try await self.enqueue(1, in: database)
        await #expect(throws: (any Error).self) {
            try await QueueBenchmark.Throughput(databaseURL: database.url).run()
        }
        #expect(try await self.count("insp.ready", in: database) == 1)
    }
}

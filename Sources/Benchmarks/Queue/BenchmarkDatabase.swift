internal import Foundation
internal import InspectCore
internal import JobQueue
internal import Postgres

/// The database that a benchmark runs in: its partners and requests, and the check that every job is complete.
struct BenchmarkDatabase: Sendable {
    let url: String
    let admin: PostgresConnection
    /// Jobs with a higher number belong to the benchmark.
    let first: Int64

    /// Lends a connection to an empty queue, or to one with only the benchmark's waiting jobs from an earlier run.
    static func with<Result: Sendable>(
        _ url: String, allowingWaiting: Bool = false, _ body: @Sendable (BenchmarkDatabase) async throws -> Result
    ) async throws -> Result {
        var options = ConnectionOptions(name: "inspectd benchmark")
        options.timeout = .seconds(3600)
        let admin = try await PostgresConnection.connect(url, options: options)
        do {
            let row = try await admin.query(
                """
                SELECT EXISTS (SELECT FROM insp.ready) OR EXISTS (SELECT FROM insp.lease)
                    OR EXISTS (SELECT FROM insp.delayed) AS busy,
                    CASE WHEN s.is_called THEN s.last_value ELSE 0 END AS last
                FROM insp.job_id s
                """)[0]
            guard try allowingWaiting || !row.bool("busy") else {
                throw InspectError(.internalError, "the queue is not empty; use a separate database for the benchmark")
            }
            let result = try await body(
                BenchmarkDatabase(url: url, admin: admin, first: allowingWaiting ? 0 : try row.int("last")))
            await admin.close()
            return result
        } catch {
            await admin.close()
            throw error
        }
    }

    /// Creates missing partners of these names, each with an endpoint, so that a finished job leaves a callback in the
    /// outbox.
    func addPartners(_ names: [String]) async throws {
        _ = try await self.admin.query(
            """
            SELECT insp.create_partner(n, 'https://hooks.example.com/bench') FROM unnest($1::text[]) AS n
            WHERE NOT EXISTS (SELECT FROM insp.partner WHERE name = n)
            """, [.textArray(names)])
    }

    /// A minimal request with parts by URL.
    static func request(partner: String, workflow: Workflow = .id, lane: String? = nil) -> String {
        let digest = String(repeating: "0", count: 64)
        let parts = workflow.row.fewest.map {
            #""\#($0.rawValue)":{"url":"https://images.example.com/bench/front.jpg","sha256":"\#(digest)"}"#
        }.sorted().joined(separator: ",")
        let named = lane.map { #""lane":"\#($0)","# } ?? ""
        return #"{"partner":"\#(partner)","workflow":"\#(workflow.rawValue)",\#(named)"parts":{\#(parts)}}"#
    }

    /// Counts inconsistent jobs of the benchmark: finished without exactly one terminal event, one result, one callback and
    /// `results` stored rows, or unfinished without any place in the queue.
    func violations(results: Int = 1) async throws -> Int {
        let damaged = try await self.admin.query(
            """
            SELECT count(*) FROM insp.job j WHERE j.id > $1 AND j.status = 128 AND NOT (
                (SELECT count(*) FROM insp.event e WHERE e.job_id = j.id AND e.kind = 'finished') = 1
                AND (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id) = $2
                AND (SELECT count(*) FROM insp.step s WHERE s.job_id = j.id AND s.status = 128) = 1
                AND (SELECT count(*) FROM insp.callback c WHERE c.job_id = j.id) = 1)
            """, [.int(self.first), .int(Int64(results))])[0].int(0)
        let lost = try await self.admin.query(
            """
            SELECT count(*) FROM insp.job j WHERE j.id > $1 AND j.status < 128
                AND NOT EXISTS (SELECT FROM insp.ready r WHERE r.job_id = j.id)
                AND NOT EXISTS (SELECT FROM insp.lease l WHERE l.job_id = j.id)
                AND NOT EXISTS (SELECT FROM insp.delayed d WHERE d.job_id = j.id)
            """, [.int(self.first)])[0].int(0)
        return Int(damaged + lost)
    }

    /// How many of the benchmark's jobs are finished.
    func finished() async throws -> Int {
        Int(
            try await self.admin.query(
                "SELECT count(*) FROM insp.job j WHERE j.id > $1 AND j.status = 128", [.int(self.first)])[0].int(0))
    }

    /// How many jobs wait.
    func waiting() async throws -> Int {
        Int(try await self.admin.query("SELECT count(*) FROM insp.ready")[0].int(0))
    }

    func setting(_ name: String) async throws -> String {
        try await self.admin.query("SELECT current_setting($1)", [.text(name)])[0].string(0)
    }
}

internal import Foundation
internal import InspectCore
internal import Postgres

/// One thing that happened to a job.
struct TimelineRow: Sendable {
    var at: Date
    var kind: String
    var who: String?
    var detail: String?
}

/// Jobs in a region and lane, of all partners.
struct LaneRow: Sendable {
    var region: String
    var lane: String
    var isPaused: Bool
    var waiting: Int64
    var isEstimate: Bool
    var oldestSeconds: Double?
    var delayed: Int64
    var running: Int64
}

/// A partner's queue with waiting jobs.
struct QueueRow: Sendable {
    var region: String
    var lane: String
    var partner: String
    var waiting: Int64
    var isEstimate: Bool
    var oldestSeconds: Double?
    var why: String?
    var remedy: String?
}

struct WorkerRow: Sendable {
    var id: Int64
    var host: String
    var process: Int64
    var version: String
    var region: String
    var slots: Int64
    var busy: Int64
    var leases: Int64
    var state: String
    var silentSeconds: Double
}

struct EndpointRow: Sendable {
    var id: Int64
    var partner: String
    var origin: String?
    var pending: Int64
    var inFlight: Int64
    var held: Int64
    var dead: Int64
    var delivered: Int64
    var oldestSeconds: Double?
    var breaker: String
    var lastCode: String?
    var warnings: String?
}

struct DeadRow: Sendable {
    var id: String
    var partner: String
    var workflow: String
    var code: String
    var detail: String?
    var attempts: Int64
    /// Since 1970.
    var diedMicroseconds: Int64
}

extension ConsoleStore {
    func explanation(_ session: ConsoleSession, _ id: String) async throws -> [(aspect: String, explanation: String)] {
        try await self.ask(
            "SELECT aspect, explanation FROM insp.console_explain($1, $2)", [session.key, .text(id)]
        ).map { (try $0.string(0), try $0.string(1)) }
    }

    func timeline(_ session: ConsoleSession, _ id: String) async throws -> [TimelineRow] {
        try await self.ask(
            "SELECT at, kind, who, detail FROM insp.console_timeline($1, $2)", [session.key, .text(id)]
        ).map {
            TimelineRow(
                at: try $0.date(0), kind: try $0.string(1), who: try $0.optionalString(2),
                detail: try $0.optionalString(3))
        }
    }

    /// Lanes, for those who may see every partner, and queues with waiting jobs.
    func queue(_ session: ConsoleSession) async throws -> (lanes: [LaneRow], queues: [QueueRow]) {
        let rows = try await self.ask(
            """
            SELECT region, lane, partner, paused, waiting, is_estimate, oldest_seconds, delayed, running, why, remedy
            FROM insp.console_queue($1)
            """, [session.key])
        var (lanes, queues): ([LaneRow], [QueueRow]) = ([], [])
        for row in rows {
            if let partner = try row.optionalString("partner") {
                queues.append(
                    QueueRow(
                        region: try row.string("region"), lane: try row.string("lane"), partner: partner,
                        waiting: try row.int("waiting"), isEstimate: try row.bool("is_estimate"),
                        oldestSeconds: try row.optionalDouble("oldest_seconds"), why: try row.optionalString("why"),
                        remedy: try row.optionalString("remedy")))
            } else {
                lanes.append(
                    LaneRow(
                        region: try row.string("region"), lane: try row.string("lane"),
                        isPaused: try row.bool("paused"), waiting: try row.int("waiting"),
                        isEstimate: try row.bool("is_estimate"),
                        oldestSeconds: try row.optionalDouble("oldest_seconds"),
                        delayed: try row.int("delayed"), running: try row.int("running")))
            }
        }
        return (lanes, queues)
    }

    func workers(_ session: ConsoleSession) async throws -> [WorkerRow] {
        try await self.ask(
            """
            SELECT id, host, process, version, region, slots, busy, leases, state, silent_seconds FROM insp.console_workers($1)
            """, [session.key]
        ).map {
            WorkerRow(
                id: try $0.int(0), host: try $0.string(1), process: try $0.int(2), version: try $0.string(3),
                region: try $0.string(4), slots: try $0.int(5), busy: try $0.int(6), leases: try $0.int(7),
                state: try $0.string(8), silentSeconds: try $0.double(9))
        }
    }

    func endpoints(_ session: ConsoleSession) async throws -> [EndpointRow] {
        try await self.ask(
            """
            SELECT id, partner, origin, pending, in_flight, held, dead, delivered, oldest_seconds, breaker, last_code, warnings
            FROM insp.console_endpoints($1)
            """, [session.key]
        ).map {
            EndpointRow(
                id: try $0.int(0), partner: try $0.string(1), origin: try $0.optionalString(2), pending: try $0.int(3),
                inFlight: try $0.int(4), held: try $0.int(5), dead: try $0.int(6), delivered: try $0.int(7),
                oldestSeconds: try $0.optionalDouble(8), breaker: try $0.string(9), lastCode: try $0.optionalString(10),
                warnings: try $0.optionalString(11))
        }
    }

    func dead(
        _ session: ConsoleSession, partner: String?, code: String?, after: CaseList.Place?
    ) async throws -> (rows: [DeadRow], next: CaseList.Place?) {
        let rows = try await self.ask(
            "SELECT id, partner, workflow, code, detail, attempts, died_microseconds FROM insp.console_dead($1, $2, $3, $4, $5)",
            [
                session.key, .optional(partner), .optional(code), .optional(after?.sinceMicroseconds),
                .optional(after?.id),
            ])
        var letters: [DeadRow] = []
        for row in rows {
            let (id, died) = (try row.string("id"), try row.int("died_microseconds"))
            guard let partner = try row.optionalString("partner") else {
                return (letters, CaseList.Place(sinceMicroseconds: died, id: id))
            }
            letters.append(
                DeadRow(
                    id: id, partner: partner, workflow: try row.string("workflow"), code: try row.string("code"),
                    detail: try row.optionalString("detail"), attempts: try row.int("attempts"),
                    diedMicroseconds: died))
        }
        return (letters, nil)
    }
}

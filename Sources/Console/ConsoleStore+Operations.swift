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
    var oldest: Double?
    var delayed: Int64
    var running: Int64
}

/// A partner's queue with waiting jobs.
struct QueueRow: Sendable {
    var region: String
    var lane: String
    var partner: String
    var waiting: Int64
    var oldest: Double?
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
    var silent: Double
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
    var oldest: Double?
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
    /// Microseconds since 1970.
    var died: Int64
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
                at: Date(timeIntervalSince1970: try $0.double(0)), kind: try $0.string(1),
                who: try $0.optionalString(2),
                detail: try $0.optionalString(3))
        }
    }

    func lanes(_ session: ConsoleSession) async throws -> [LaneRow] {
        try await self.ask(
            "SELECT region, lane, paused, waiting, is_estimate, oldest, delayed, running FROM insp.console_lanes($1)",
            [session.key]
        ).map {
            LaneRow(
                region: try $0.string(0), lane: try $0.string(1), isPaused: try $0.bool(2), waiting: try $0.int(3),
                isEstimate: try $0.bool(4), oldest: try $0.optionalDouble(5), delayed: try $0.int(6),
                running: try $0.int(7))
        }
    }

    func queues(_ session: ConsoleSession) async throws -> [QueueRow] {
        try await self.ask(
            "SELECT region, lane, partner, waiting, oldest, why, remedy FROM insp.console_queues($1)", [session.key]
        ).map {
            QueueRow(
                region: try $0.string(0), lane: try $0.string(1), partner: try $0.string(2), waiting: try $0.int(3),
                oldest: try $0.optionalDouble(4), why: try $0.optionalString(5), remedy: try $0.optionalString(6))
        }
    }

    func workers(_ session: ConsoleSession) async throws -> [WorkerRow] {
        try await self.ask(
            """
            SELECT id, host, process, version, region, slots, busy, leases, state, silent FROM insp.console_workers($1)
            """, [session.key]
        ).map {
            WorkerRow(
                id: try $0.int(0), host: try $0.string(1), process: try $0.int(2), version: try $0.string(3),
                region: try $0.string(4), slots: try $0.int(5), busy: try $0.int(6), leases: try $0.int(7),
                state: try $0.string(8), silent: try $0.double(9))
        }
    }

    func endpoints(_ session: ConsoleSession) async throws -> [EndpointRow] {
        try await self.ask(
            """
            SELECT id, partner, origin, pending, in_flight, held, dead, delivered, oldest, breaker, last_code, warnings
            FROM insp.console_endpoints($1)
            """, [session.key]
        ).map {
            EndpointRow(
                id: try $0.int(0), partner: try $0.string(1), origin: try $0.optionalString(2), pending: try $0.int(3),
                inFlight: try $0.int(4), held: try $0.int(5), dead: try $0.int(6), delivered: try $0.int(7),
                oldest: try $0.optionalDouble(8), breaker: try $0.string(9), lastCode: try $0.optionalString(10),
                warnings: try $0.optionalString(11))
        }
    }

    /// - Parameter before: Those that died before, in microseconds since 1970.
    func dead(_ session: ConsoleSession, partner: String?, code: String?, before: Int64?) async throws -> [DeadRow] {
        try await self.ask(
            "SELECT id, partner, workflow, code, detail, attempts, died FROM insp.console_dead($1, $2, $3, $4)",
            [session.key, .optional(partner), .optional(code), .optional(before)]
        ).map {
            DeadRow(
                id: try $0.string(0), partner: try $0.string(1), workflow: try $0.string(2), code: try $0.string(3),
                detail: try $0.optionalString(4), attempts: try $0.int(5), died: try $0.int(6))
        }
    }
}

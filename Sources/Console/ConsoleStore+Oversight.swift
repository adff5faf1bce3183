internal import Foundation
internal import InspectCore
internal import Postgres

/// A change that one person proposed and another one may approve.
struct ProposalRow: Sendable {
    var id: Int64
    var action: String
    var arguments: String
    var proposedBy: String
    var proposed: Date
    var expires: Date
    var state: String
    var decidedBy: String?
    var decided: Date?
    /// Whether the person who asks has proposed it.
    var isOwn: Bool
    /// Whether it is approved in psql alone.
    var returnsSecret: Bool
}

/// A person who is signed in.
struct PersonRow: Sendable {
    var id: Int64
    var name: String
    /// `link`, or who says who it is.
    var issuer: String
    var subject: String
    var roles: String
    var since: Date
    var seen: Date
    var sessions: Int64
    /// Cases that the person holds.
    var cases: Int64
}

/// A search of the record.
struct RecordSearch: Sendable {
    var chain: String
    /// Since 1970.
    var fromSeconds: Int64?
    var toSeconds: Int64?
    var actor: String?
    var action: String?
    var object: String?
}

struct RecordRow: Sendable {
    var at: Date
    var who: String
    var action: String
    var object: String
    var purpose: String?
    var detail: String?
}

/// The state of keys, without any key.
struct KeysState: Sendable {
    /// Those that wait for their destruction; the database counts up to 10,000.
    struct Backlog: Sendable {
        var count: Int64
        /// For how long the oldest waits.
        var oldestSeconds: Double?
    }

    var keyStore: String?
    var wrappingKey: String?
    var formerKey: String?
    var changed: Date?
    var keys: Backlog
    var persons: Backlog
    var faces: Backlog
    var objects: Backlog
    var checkpoint: Int64?
    var signer: String?
    var signed: Date?
    /// Keys with which workers decrypt parts.
    var decryptionKeys: [(name: String, workers: Int64, isListed: Bool)]
    /// How many partners' keys each wrapping key wraps; `nil`: the key store does not answer, or the console has none.
    var wrapped: [(wrappingKey: String, partners: Int64)]?
}

/// A partner's limits and their use.
struct LimitsRow: Sendable {
    var partner: String
    var isEnabled: Bool
    var isPaused: Bool
    var pauseReason: String?
    var maxRunning: Int64?
    var running: Int64
    var ratePerSecond: Double?
    var rateBurst: Int64?
    var maxWaiting: Int64?
    var waiting: Int64?
    var maxBytes: Int64?
    var bytes: Int64?
    var mayChange: Bool

    var limits: Limits {
        Limits(
            running: self.maxRunning, rate: self.ratePerSecond, burst: self.rateBurst, waiting: self.maxWaiting,
            bytes: self.maxBytes)
    }

    /// The limits that can be set; `nil`: no limit.
    struct Limits: Encodable, Equatable, Sendable {
        var running: Int64?
        var rate: Double?
        var burst: Int64?
        var waiting: Int64?
        var bytes: Int64?
    }
}

extension ConsoleStore {
    func proposals(_ session: ConsoleSession) async throws -> [ProposalRow] {
        try await self.ask(
            """
            SELECT id, action, arguments, proposed_by, proposed, expires, state, decided_by, decided, is_own, returns_secret
            FROM insp.console_proposals($1)
            """, [session.key]
        ).map {
            ProposalRow(
                id: try $0.int(0), action: try $0.string(1), arguments: try $0.string(2), proposedBy: try $0.string(3),
                proposed: try $0.date(4), expires: try $0.date(5), state: try $0.string(6),
                decidedBy: try $0.optionalString(7), decided: try $0.optionalDate(8),
                isOwn: try $0.bool(9), returnsSecret: try $0.bool(10))
        }
    }

    func approve(_ session: ConsoleSession, _ proposal: Int64) async throws {
        _ = try await self.ask("SELECT insp.console_approve($1, $2)", [session.key, .int(proposal)])
    }

    func reject(_ session: ConsoleSession, _ proposal: Int64) async throws {
        _ = try await self.ask("SELECT insp.console_reject($1, $2)", [session.key, .int(proposal)])
    }

    func people(_ session: ConsoleSession) async throws -> [PersonRow] {
        try await self.ask(
            "SELECT id, name, issuer, subject, roles, since, seen, sessions, cases FROM insp.console_people($1)",
            [session.key]
        ).map {
            PersonRow(
                id: try $0.int(0), name: try $0.string(1), issuer: try $0.string(2), subject: try $0.string(3),
                roles: try $0.string(4), since: try $0.date(5), seen: try $0.date(6), sessions: try $0.int(7),
                cases: try $0.int(8))
        }
    }

    func endSessions(_ session: ConsoleSession, of person: Int64, reason: String) async throws {
        _ = try await self.ask(
            "SELECT insp.console_end_person($1, $2, $3)", [session.key, .int(person), .text(reason)])
    }

    /// - Parameter edge: Where the search goes on; `nil`: with the newest. Each call is recorded.
    /// - Returns: Rows, newest first, and where the search goes on; `nil`: there are no more.
    func record(
        _ session: ConsoleSession, _ search: RecordSearch, from edge: Int64?
    ) async throws -> (rows: [RecordRow], next: Int64?) {
        var next: Int64?
        let rows = try await self.ask(
            """
            SELECT id, at, who, action, object, purpose, detail
            FROM insp.console_record($1, $2, $3, $4, $5, $6, $7, $8)
            """,
            [
                session.key, .text(search.chain), .optional(search.fromSeconds), .optional(search.toSeconds),
                .optional(search.actor), .optional(search.action), .optional(search.object), .optional(edge),
            ]
        ).compactMap { row -> RecordRow? in
            guard let at = try row.optionalDate(1) else {
                next = try row.int(0)
                return nil
            }
            return RecordRow(
                at: at, who: try row.string(2), action: try row.string(3), object: try row.string(4),
                purpose: try row.optionalString(5), detail: try row.optionalString(6))
        }
        return (rows, next)
    }

    func keysState(_ session: ConsoleSession) async throws -> KeysState {
        let row = try await self.ask(
            """
            SELECT key_store, wrapping_key, former_key, changed, keys, keys_oldest_seconds, persons, persons_oldest_seconds,
                faces, objects, objects_oldest_seconds, checkpoint, signer, signed FROM insp.console_keys($1)
            """, [session.key]
        ).single()
        let decryptionKeys = try await self.ask(
            "SELECT kid, workers, is_listed FROM insp.console_decryption_keys($1)", [session.key]
        ).map { (name: try $0.string(0), workers: try $0.int(1), isListed: try $0.bool(2)) }
        return KeysState(
            keyStore: try row.optionalString(0), wrappingKey: try row.optionalString(1),
            formerKey: try row.optionalString(2), changed: try row.optionalDate(3),
            keys: .init(count: try row.int(4), oldestSeconds: try row.optionalDouble(5)),
            persons: .init(count: try row.int(6), oldestSeconds: try row.optionalDouble(7)),
            faces: .init(count: try row.int(8), oldestSeconds: nil),
            objects: .init(count: try row.int(9), oldestSeconds: try row.optionalDouble(10)),
            checkpoint: try row.optionalInt(11), signer: try row.optionalString(12),
            signed: try row.optionalDate(13), decryptionKeys: decryptionKeys,
            // An unavailable key store must not hide the rest.
            wrapped: try? await self.keys?.wrappedPartners())
    }

    /// - Parameter after: The page begins after this partner; `nil`: with the first.
    /// - Throws: ``InspectError`` with ``ErrorCode/partnerUnknown`` for a partner that is not the person's.
    /// Partners whose settings a person may see: one more than a page shows, if there are that many.
    func partnerNames(_ session: ConsoleSession) async throws -> [String] {
        try await self.ask("SELECT * FROM insp.console_partner_names($1)", [session.key]).map { try $0.string(0) }
    }

    func partner(_ session: ConsoleSession, _ name: String) async throws -> [PartnerRow] {
        try await self.ask(
            "SELECT kind, name, value, used FROM insp.console_partner($1, $2)", [session.key, .text(name)]
        ).map {
            PartnerRow(
                kind: try $0.string(0), name: try $0.string(1), value: try $0.optionalString(2),
                used: try $0.optionalDate(3))
        }
    }

    func limits(
        _ session: ConsoleSession, after: String? = nil, partner: String? = nil
    ) async throws -> [LimitsRow] {
        try await self.ask(
            """
            SELECT partner, enabled, paused, pause_reason, max_running, running, rate_per_second, rate_burst, max_waiting,
                waiting, max_bytes, bytes, may_change FROM insp.console_limits($1, $2, $3)
            """, [session.key, .optional(after), .optional(partner)]
        ).map {
            LimitsRow(
                partner: try $0.string(0), isEnabled: try $0.bool(1), isPaused: try $0.bool(2),
                pauseReason: try $0.optionalString(3), maxRunning: try $0.optionalInt(4), running: try $0.int(5),
                ratePerSecond: try $0.optionalDouble(6), rateBurst: try $0.optionalInt(7),
                maxWaiting: try $0.optionalInt(8), waiting: try $0.optionalInt(9), maxBytes: try $0.optionalInt(10),
                bytes: try $0.optionalInt(11), mayChange: try $0.bool(12))
        }
    }

    /// - Parameter was: What the person saw.
    /// - Returns: False: the limits have changed since, and nothing was set.
    func setLimits(
        _ session: ConsoleSession, _ partner: String, _ limits: LimitsRow.Limits, was: LimitsRow.Limits, reason: String
    ) async throws -> Bool {
        let seen = String(decoding: try JSONEncoder().encode(was), as: UTF8.self)
        return try await self.ask(
            "SELECT insp.console_set_limits($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb)",
            [
                session.key, .text(partner), .optional(limits.running), limits.rate.map { .double($0) } ?? .null,
                .optional(limits.burst), .optional(limits.waiting), .optional(limits.bytes), .text(reason), .text(seen),
            ]
        ).single().bool(0)
    }

    /// Pauses or resumes a partner or a lane.
    func pause(
        _ session: ConsoleSession, partner: String?, lane: String?, pauses: Bool, reason: String?
    ) async throws {
        _ = try await self.ask(
            "SELECT insp.console_pause($1, $2, $3, $4, $5)",
            [session.key, .optional(partner), .optional(lane), .bool(pauses), .optional(reason)])
    }
}

internal import Custody
internal import Foundation
internal import InspectCore
internal import ObjectStore
internal import Postgres

/// One row of the list of cases.
struct CaseRow: Sendable {
    var id: String
    var partner: String
    var workflow: String
    /// `nil`: the job is damaged, and only its cancellation ends it.
    var decision: String?
    var waitSeconds: Double
    var remainingSeconds: Double
    var because: [String]
    var holder: String?
    var isMine: Bool
    /// Who decided it first, if a second person must confirm.
    var firstBy: String?
    /// Whether the person may take it.
    var mayTake: Bool
}

/// Some cases, oldest first.
struct CaseList: Sendable {
    /// Where the next page begins.
    struct Place: Sendable {
        /// Since 1970.
        var sinceMicroseconds: Int64
        var id: String
    }

    struct Filter: Sendable {
        var partner: String?
        var reason: String?
        var minutes = 0
    }

    var rows: [CaseRow] = []
    var next: Place?
}

/// How far a case is, for every reviewer of its partner.
struct CaseState: Sendable {
    struct First: Sendable {
        var by: String
        var decision: String
        var label: String
        var isMine: Bool
    }

    /// What a review ended with.
    struct End: Sendable {
        var decision: String
        var label: String
        var at: Date?
        /// `nil`: the record no longer says.
        var by: String?
        /// Who had decided it first.
        var confirmed: String?
    }

    var id: String
    var partner: String
    var workflow: String
    var isWaiting: Bool
    var waitSeconds: Double
    /// `nil` once it is decided.
    var remainingSeconds: Double?
    /// What the program proposed.
    var decision: String
    var label: String
    var because: [String]
    var holder: String?
    var isMine: Bool
    var until: Date?
    /// Whether the partner requires a second person.
    var needsSecond: Bool
    /// One person's decision, which another must confirm.
    var first: First?
    /// `nil`: it waits, or ended without a review.
    var end: End?

    /// Whether the person decided it, and somebody else must confirm that.
    var isOwnDecision: Bool { self.isWaiting && self.needsSecond && self.first?.isMine == true }
    /// Whether the person may take it.
    var isFree: Bool { self.isWaiting && self.holder == nil && !self.isOwnDecision }
}

/// The contents of a case's page for the person who has it.
struct CaseMaterial: Sendable {
    struct Note: Codable, Sendable {
        var at: String
        var who: String
        var action: String
        var note: String
    }

    struct Run: Codable, Sendable {
        var id: String
        var at: String
        var status: Int
        var decision: String?
        var label: String?
    }

    var document: ResultDocument
    var facts: InspectionFacts
    /// The parts that may be shown.
    var images: [PartKind]
    var decidedAt: Date
    var notes: [Note]
    var runs: [Run]
}

extension ConsoleStore {
    func cases(_ session: ConsoleSession, _ filter: CaseList.Filter, after: CaseList.Place?) async throws -> CaseList {
        let rows = try await self.ask(
            """
            SELECT id, partner, workflow, decision, waits_seconds, remains_seconds, because, holder, is_mine,
                since_microseconds, first_by, may_take
            FROM insp.console_cases($1, $2, $3, $4, $5, $6)
            """,
            [
                session.key, .optional(filter.partner), .optional(filter.reason), .int(Int64(filter.minutes)),
                .optional(after?.sinceMicroseconds), .optional(after?.id),
            ])
        var list = CaseList()
        for row in rows {
            let id = try row.string("id")
            guard let partner = try row.optionalString("partner") else {
                list.next = CaseList.Place(sinceMicroseconds: try row.int("since_microseconds"), id: id)
                break
            }
            list.rows.append(
                CaseRow(
                    id: id, partner: partner, workflow: try row.string("workflow"),
                    decision: try row.optionalString("decision"), waitSeconds: try row.double("waits_seconds"),
                    remainingSeconds: try row.double("remains_seconds"), because: try row.textArray("because"),
                    holder: try row.optionalString("holder"), isMine: try row.bool("is_mine"),
                    firstBy: try row.optionalString("first_by"), mayTake: try row.bool("may_take")))
        }
        return list
    }

    /// Takes the oldest case that the person may take.
    ///
    /// - Returns: Its id; `nil`: there is none.
    func takeNext(_ session: ConsoleSession, _ filter: CaseList.Filter) async throws -> String? {
        try await self.ask(
            "SELECT insp.console_next($1, $2, $3, $4::integer)",
            [session.key, .optional(filter.partner), .optional(filter.reason), .int(Int64(filter.minutes))]
        ).single().optionalString(0)
    }

    func take(_ session: ConsoleSession, _ id: String) async throws {
        _ = try await self.ask("SELECT insp.console_take($1, $2)", [session.key, .text(id)])
    }

    /// Extends the lease of a case that the person has; does nothing about others.
    func keep(_ session: ConsoleSession, _ id: String) async throws {
        _ = try await self.ask("SELECT insp.console_keep($1, $2)", [session.key, .text(id)])
    }

    func release(_ session: ConsoleSession, _ id: String) async throws {
        _ = try await self.ask("SELECT insp.console_release($1, $2)", [session.key, .text(id)])
    }

    /// Decides a case that the person has taken, or had last. The note of a sealed job is sealed.
    func decide(
        _ session: ConsoleSession, _ id: String, as decision: String, label: String?, note: String?
    ) async throws {
        var text = note
        if let note {
            let row = try await self.ask(
                "SELECT key_id, partner_id FROM insp.console_key($1, $2)", [session.key, .text(id)]
            ).single()
            if let key = try row.optionalString("key_id").flatMap({ KeyID($0) }) {
                guard let keys = self.keys else { throw InspectError(.keyMissing, "the job is sealed") }
                text = try JobSeal(try await keys.key(key), partner: try row.int("partner_id")).seal(note: note)
            }
        }
        _ = try await self.ask(
            "SELECT insp.console_decide($1, $2, $3, $4, $5)",
            [session.key, .text(id), .text(decision), .optional(label), .optional(text)])
    }

    /// The access is recorded; for the person who has the case, ``material(_:_:)`` records it.
    func state(_ session: ConsoleSession, _ id: String) async throws -> CaseState {
        let row = try await self.ask(
            """
            SELECT status, partner, workflow, waits_seconds, remains_seconds, decision, label, because, holder, is_mine, until, second,
                first_by, first_decision, first_label, first_is_mine, decided_by, confirmed, decided_at, final_decision, final_label
            FROM insp.console_state($1, $2)
            """, [session.key, .text(id)]
        ).single()
        var state = CaseState(
            id: id, partner: try row.string("partner"), workflow: try row.string("workflow"),
            isWaiting: try row.int("status") == 64, waitSeconds: try row.double("waits_seconds"),
            remainingSeconds: try row.optionalDouble("remains_seconds"), decision: try row.string("decision"),
            label: try row.optionalString("label") ?? "", because: try row.textArray("because"),
            holder: try row.optionalString("holder"), isMine: try row.bool("is_mine"),
            until: try row.optionalDate("until"), needsSecond: try row.bool("second"))
        if let by = try row.optionalString("first_by") {
            state.first = CaseState.First(
                by: by, decision: try row.string("first_decision"), label: try row.string("first_label"),
                isMine: try row.bool("first_is_mine"))
        }
        if let decision = try row.optionalString("final_decision") {
            state.end = CaseState.End(
                decision: decision, label: try row.optionalString("final_label") ?? "",
                at: try row.optionalDate("decided_at"), by: try row.optionalString("decided_by"),
                confirmed: try row.optionalString("confirmed"))
        }
        return state
    }

    /// What the person who has the case sees. The access is recorded.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/caseTaken`` for anybody else.
    func material(_ session: ConsoleSession, _ id: String) async throws -> CaseMaterial {
        let row = try await self.ask(
            """
            SELECT request, decided_at, statuses, bodies, kinds, ordinals, document, sealed, body, partner_id, notes, runs
            FROM insp.console_case($1, $2)
            """, [session.key, .text(id)]
        ).single()
        let result = try SealedResult(row)
        let seal = try await result.seal(opening: self.keys)
        let stored = try StoredFacts(row, seal)
        let text = try await result.document(opening: self.keys)
        guard let document = try? JSONDecoder().decode(ResultDocument.self, from: text) else {
            throw InspectError(.internalError, "the result is of another version")
        }
        var notes = try JSONDecoder().decode([CaseMaterial.Note].self, from: try row.data("notes"))
        if let seal {
            for place in notes.indices { notes[place].note = try seal.open(note: notes[place].note) }
        }
        return CaseMaterial(
            document: document, facts: stored.facts, images: stored.images, decidedAt: stored.decidedAt, notes: notes,
            runs: try JSONDecoder().decode([CaseMaterial.Run].self, from: try row.data("runs")))
    }

    /// The bytes of a part of a case that the person has taken. The access is recorded.
    func part(_ session: ConsoleSession, _ id: String, _ kind: PartKind) async throws -> Data {
        let row = try await self.ask(
            "SELECT bytes, is_sealed, location, size, partner_id FROM insp.console_part($1, $2, $3, $4)",
            [session.key, .text(id), .text(kind.rawValue), .int(0)]
        ).single()
        return try await StoredPart(row).open(
            kind, partner: try row.int("partner_id"), in: self.objects, opening: self.keys)
    }
}

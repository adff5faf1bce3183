internal import Foundation
internal import InspectCore
internal import Postgres
internal import Synchronization

/// The kinds of objects on which operators act as a selection.
enum SelectionKind: String, Sendable, CaseIterable {
    case dead = "dead"
    case jobs = "jobs"
    case callbacks = "callbacks"
    case endpoints = "endpoints"

    /// What narrows a selection, in addition to the partner.
    var filters: [String] {
        switch self {
        case .dead: ["code"]
        case .jobs: ["lane", "state"]
        case .callbacks: ["endpoint"]
        case .endpoints: ["state"]
        }
    }

    var title: String {
        switch self {
        case .dead: "Dead letters"
        case .jobs: "Jobs"
        case .callbacks: "Dead-lettered callbacks"
        case .endpoints: "Endpoints"
        }
    }

    var actions: [(name: String, text: String)] {
        switch self {
        case .dead: [("rerun", "Run the jobs again"), ("resolve", "Mark as resolved")]
        case .jobs: [("cancel", "Cancel")]
        case .callbacks: [("replay", "Send again")]
        case .endpoints: [("pause", "Pause"), ("resume", "Resume"), ("enable", "Enable, and send what was held")]
        }
    }
}

/// A selection: the kind of objects, and the filters.
struct Selection: Sendable {
    var kind: SelectionKind
    /// `partner` and the kind's filters; none is empty.
    var filter: [(name: String, value: String)]

    /// - Parameter value: A field of a form or a parameter of a query.
    /// - Throws: ``InspectError`` for an unknown kind.
    init(_ value: (String) -> String?) throws(InspectError) {
        guard let kind = SelectionKind(rawValue: value("kind") ?? "dead") else {
            throw InspectError(.parameterInvalid, "kind must be dead, jobs, callbacks or endpoints", field: "kind")
        }
        self.kind = kind
        self.filter = (["partner"] + kind.filters).compactMap { name in value(name).map { (name, $0) } }
    }

    fileprivate var json: PostgresValue {
        get throws {
            let pairs = Dictionary(uniqueKeysWithValues: self.filter.map { ($0.name, $0.value) })
            return .text(String(decoding: try JSONEncoder().encode(pairs), as: UTF8.self))
        }
    }
}

/// What an action on a selection would touch.
struct SelectionPreview: Sendable {
    var total: Int64
    /// When it counted, since 1970.
    var beforeMicroseconds: Int64
    /// What the database saw then: objects that were added or changed since are left alone.
    var seen: String
    /// The first of them.
    var sample: [(id: String, partner: String, what: String)]

    /// The maximum size of a task, at which the database stops counting.
    static let most: Int64 = 1_000_000
    /// The number up to which jobs are counted: a queue may have any length.
    static let mostJobs: Int64 = 5000
}

/// An action on a selection, with its progress.
struct TaskRow: Sendable {
    var id: Int64
    var who: String
    var kind: String
    var action: String
    var partner: String?
    var filter: String?
    /// `nil`: removed when a person's data was erased.
    var reason: String?
    var began: Date
    var total: Int64
    var done: Int64
    var refused: Int64
    /// How many for each error code.
    var refusals: String?
    var ended: Date?
    var endedBy: String?
    /// SQLSTATE that ended it, or with which a batch failed and waits.
    var failure: String?
    /// Whether the person may stop it, which is open.
    var mayStop: Bool
}

extension ConsoleStore {
    func preview(_ session: ConsoleSession, _ selection: Selection) async throws -> SelectionPreview {
        let row = try await self.ask(
            "SELECT total, before_microseconds, seen, ids, partners, what FROM insp.console_preview($1, $2, $3::jsonb)",
            [session.key, .text(selection.kind.rawValue), try selection.json], on: self.counts
        ).single()
        let total = try row.int("total")
        // Without rows there are no lists.
        let (before, seen) = (try row.int("before_microseconds"), try row.string("seen"))
        guard total > 0 else {
            return SelectionPreview(total: 0, beforeMicroseconds: before, seen: seen, sample: [])
        }
        let (partners, what) = (try row.textArray("partners"), try row.textArray("what"))
        return SelectionPreview(
            total: total, beforeMicroseconds: before, seen: seen,
            sample: zip(try row.textArray("ids"), zip(partners, what)).map { ($0, $1.0, $1.1) })
    }

    func beginTask(
        _ session: ConsoleSession, _ action: String, _ selection: Selection, beforeMicroseconds before: Int64,
        seen: String,
        reason: String
    ) async throws {
        _ = try await self.ask(
            "SELECT insp.console_begin_task($1, $2, $3, $4::jsonb, $5, $6, $7)",
            [
                session.key, .text(selection.kind.rawValue), .text(action), try selection.json, .int(before),
                .text(reason), .text(seen),
            ], on: self.counts)
    }

    func stopTask(_ session: ConsoleSession, _ task: Int64) async throws {
        _ = try await self.ask("SELECT insp.console_stop_task($1, $2)", [session.key, .int(task)])
    }

    func tasks(_ session: ConsoleSession) async throws -> [TaskRow] {
        try await self.ask(
            """
            SELECT id, who, kind, action, partner, filter, reason, began, total, done, refused, refusals, ended, ended_by,
                failure, may_stop
            FROM insp.console_tasks($1)
            """, [session.key]
        ).map {
            TaskRow(
                id: try $0.int(0), who: try $0.string(1), kind: try $0.string(2), action: try $0.string(3),
                partner: try $0.optionalString(4), filter: try $0.optionalString(5), reason: try $0.optionalString(6),
                began: try $0.date(7), total: try $0.int(8), done: try $0.int(9),
                refused: try $0.int(10), refusals: try $0.optionalString(11),
                ended: try $0.optionalDate(12), endedBy: try $0.optionalString(13), failure: try $0.optionalString(14),
                mayStop: try $0.bool(15))
        }
    }

    /// Carries out a batch of an open task. The attempt is counted first: one that fails, or that this process does not survive, halves
    /// the batch, and an object that fails alone is refused.
    ///
    /// - Returns: False: there is none that another console does not have.
    package func step() async throws -> Bool {
        let row = try await self.ask(
            "SELECT task, batch, attempt FROM insp.console_batch_take()", [], on: self.tasks
        ).single()
        guard let task = try row.optionalInt(0) else { return false }
        let batch: [PostgresValue] = [.int(task), .int(try row.int(1)), .int(try row.int(2))]
        let state = Mutex<String?>(nil)
        do {
            _ = try await self.ask("SELECT insp.console_step($1, $2::integer, $3)", batch, on: self.tasks) {
                code in state.withLock { $0 = code }
            }
        } catch {
            // If this does not reach the database, the batch lapses.
            if let state = state.withLock({ $0 }) {
                _ = try? await self.ask(
                    "SELECT insp.console_batch_fail($1, $2::integer, $3, $4)", batch + [.text(state)],
                    on: self.tasks)
            }
            throw error
        }
        return true
    }
}

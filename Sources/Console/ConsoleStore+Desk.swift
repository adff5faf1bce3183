internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

/// Another run of a case, or another job of the same person.
struct HistoryRow: Sendable {
    var id: String
    var accepted: Date
    var isRun: Bool
    var status: Int64
    var result: Result

    enum Result: Sendable {
        case document(ResultDocument)
        case removed
        /// The job ended without one.
        case none
        /// Its key is missing or does not open it, or it is of another version.
        case unreadable
    }

    var document: ResultDocument? { if case .document(let document) = self.result { document } else { nil } }
}

/// A job that a worker has.
struct WorkRow: Sendable {
    var worker: Int64
    var id: String
    var partner: String
    var workflow: String
    var stage: String
    var attempt: Int64
    var sinceSeconds: Double
    var remainingSeconds: Double
}

/// The queue at one point of a plot. Values that were not measured are `nil`; counts are per minute.
struct SampleRow: Sendable {
    var at: Date
    /// `callbacks`: those of all lanes, with the number of workers as `running`; `nil`: the sum of some partners.
    var lane: String?
    var waiting: Double?
    var oldestSeconds: Double?
    var running: Double?
    var finished: Double?
    var failed: Double?
    var delivered: Double?
    var undelivered: Double?
}

extension ConsoleStore {
    /// Each job is recorded as looked at.
    func history(_ session: ConsoleSession, _ id: String) async throws -> [HistoryRow] {
        let rows = try await self.ask(
            """
            SELECT id, at, kind, status, document, sealed, body, partner_id, was_removed FROM insp.console_history($1, $2)
            """, [session.key, .text(id)])
        var history: [HistoryRow] = []
        for row in rows {
            var result = try row.bool("was_removed") ? HistoryRow.Result.removed : .none
            if try row.optionalData("document") != nil {
                result = .unreadable
                do {
                    let text = try await SealedResult(row).document(opening: self.keys)
                    if let document = try? JSONDecoder().decode(ResultDocument.self, from: text) {
                        result = .document(document)
                    }
                } catch let error as InspectError where [.keyUnknown, .sealBroken].contains(error.code) {
                    // One job's destroyed key must not hide other jobs.
                }
            }
            history.append(
                HistoryRow(
                    id: try row.string("id"), accepted: try row.date("at"),
                    isRun: try row.string("kind") == "run", status: try row.int("status"), result: result))
        }
        return history
    }

    func work(_ session: ConsoleSession, of worker: Int64?) async throws -> [WorkRow] {
        try await self.ask(
            """
            SELECT worker, id, partner, workflow, stage, attempt, since_seconds, remains_seconds FROM insp.console_work($1, $2)
            """, [session.key, .optional(worker)]
        ).map {
            WorkRow(
                worker: try $0.int(0), id: try $0.string(1), partner: try $0.string(2), workflow: try $0.string(3),
                stage: try $0.string(4), attempt: try $0.int(5), sinceSeconds: try $0.double(6),
                remainingSeconds: try $0.double(7))
        }
    }

    func samples(_ session: ConsoleSession, partner: String?, hours: Int) async throws -> [SampleRow] {
        try await self.ask(
            """
            SELECT at, lane, waiting, oldest_seconds, running, finished, failed, delivered, undelivered
            FROM insp.console_plots($1, $2, $3)
            """, [session.key, .optional(partner), .int(Int64(hours))]
        ).map {
            SampleRow(
                at: try $0.date(0), lane: try $0.optionalString(1), waiting: try $0.optionalDouble(2),
                oldestSeconds: try $0.optionalDouble(3), running: try $0.optionalDouble(4),
                finished: try $0.optionalDouble(5), failed: try $0.optionalDouble(6),
                delivered: try $0.optionalDouble(7), undelivered: try $0.optionalDouble(8))
        }
    }

    /// Refuses a person who may not review the job.
    func check(_ session: ConsoleSession, _ id: String) async throws {
        _ = try await self.ask(
            "SELECT key_id FROM insp.console_key($1, $2)", [session.key, .text(id)])
    }

    /// Stamps that change with what open pages show; none for a page whose session has ended, or may not see that.
    func pulse(_ pages: [LivePage]) async throws -> [LivePage: String] {
        let rows = try await self.ask(
            "SELECT page, stamp FROM insp.console_pulse($1, $2)",
            [.byteas(pages.map(\.session)), .texts(pages.map(\.subject.name))])
        return Dictionary(try rows.map { (pages[Int(try $0.int(0)) - 1], try $0.string(1)) }) { first, _ in first }
    }
}

package import Foundation
package import InspectCore
package import Postgres

/// The findings of a job's stages, as the database returns them.
package struct StoredFacts: Sendable {
    /// Opened.
    package var facts: InspectionFacts
    /// The images that may be shown: the first part of each kind.
    package var images: [PartKind]
    /// When the job was decided.
    package var decidedAt: Date

    /// - Parameters:
    ///   - row: Has columns `request`, `decided_at`, `statuses`, `bodies`, `kinds` and `ordinals`.
    ///   - seal: `nil`: the job is not sealed.
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``, or ``ErrorCode/internalError`` for data that a newer version wrote.
    package init(_ row: PostgresRow, _ seal: JobSeal?) throws {
        let kinds = try row.textArray("kinds").compactMap { PartKind(rawValue: $0) }
        let ordinals = try row.intArray("ordinals")
        guard kinds.count == ordinals.count,
            let request = try? JSONDecoder().decode(InspectionRequest.self, from: try row.data("request"))
        else { throw InspectError(.internalError, "the request is of a newer version") }
        self.facts = InspectionFacts(request: request, parts: kinds)
        for (status, body) in zip(try row.intArray("statuses"), try row.dataArray("bodies")) {
            guard let body, let stage = JobStatus(rawValue: Int16(status)) else { continue }
            try self.facts.take(try seal?.open(body, of: stage) ?? body, of: stage)
        }
        self.images = zip(kinds, ordinals).compactMap { kind, ordinal in
            ordinal == 0 && (kind.row.isImage || kind.row.faceStage != nil) ? kind : nil
        }
        self.decidedAt = try row.date("decided_at")
    }
}

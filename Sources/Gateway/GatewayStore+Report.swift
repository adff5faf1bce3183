internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

/// The contents of a report on a job.
struct ReportMaterial: Sendable {
    var document: ResultDocument
    var facts: InspectionFacts
    /// The parts that may be shown.
    var images: [PartKind]
    var decidedAt: Date
    var partner: String
    /// The partner's key, for which the page is encrypted.
    var key: Data?
}

extension GatewayStore {
    /// - Parameter purpose: What the page is read for; it is recorded.
    func report(_ credential: GatewayCredential, id: String, purpose: String) async throws -> ReportMaterial {
        let row = try await self.ask(
            """
            SELECT request, decided_at, statuses, bodies, kinds, ordinals, document, sealed, body, partner_id, partner,
                encryption
            FROM insp.gateway_report($1, $2, $3, $4)
            """,
            [.int(credential.id), .bytes(credential.secretSHA256), .text(id), .text(purpose)]
        ).single()
        let result = try SealedResult(row)
        let stored = try StoredFacts(row, try await result.seal(opening: self.keys))
        return ReportMaterial(
            document: try Self.document(try await self.opened(result)), facts: stored.facts, images: stored.images,
            decidedAt: stored.decidedAt, partner: try row.string("partner"),
            key: try row.optionalData("encryption"))
    }

    /// A job's result. A job that no worker decided has only an error.
    private static func document(_ text: Data) throws(InspectError) -> ResultDocument {
        if let document = try? JSONDecoder().decode(ResultDocument.self, from: text) { return document }
        struct Failed: Decodable {
            struct Failure: Decodable { var code: ErrorCode }
            var error: Failure
        }
        guard let failed = try? JSONDecoder().decode(Failed.self, from: text) else {
            throw InspectError(.internalError, "the result is of another version")
        }
        return .notExecuted(InspectError(failed.error.code))
    }
}

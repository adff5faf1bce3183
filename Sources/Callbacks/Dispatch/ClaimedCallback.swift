internal import Foundation
internal import InspectCore
internal import Postgres

/// One callback under a claim.
final class ClaimedCallback: Sendable {
    let id: Int64
    /// The right to settle it.
    let claim: Int64
    /// The same at every attempt, like the body: see ``CallbackBody``.
    let webhookID: String
    let endpoint: CallbackEndpoint
    let url: String
    /// `nil`: see ``fault``.
    let body: [UInt8]?
    /// Why there is no body: a newer version wrote the row, and only that version can compose it, or its job's key does not open.
    let fault: String?
    /// Counted attempts before this one.
    let attempts: Int
    /// Uncounted attempts before this one.
    let released: Int
    /// The time from due to claimed, in milliseconds.
    let waitedMilliseconds: Double
    /// The id of the event's job, unless retention removed it.
    let job: String?
    /// The trace that the job's caller started.
    let trace: TraceContext?
    /// Whether a job specified a URL at none of the endpoint's origins: it gets none of the endpoint's credentials and cannot reach
    /// our own networks.
    let isElsewhere: Bool

    /// The positions of a callback's columns, looked up once for a whole claim.
    struct Columns {
        let id, claim, webhookID, endpoint, url, body, attempts, released, waited, job, trace, elsewhere, isReduced: Int
        /// The columns of a body.
        let form, event, time, definitionKey, userReference, decision, isExpired, result, sealed, sealedBody,
            partner: Int

        init(_ row: PostgresRow) throws(PostgresError) {
            self.id = try row.position(of: "id")
            self.claim = try row.position(of: "claim_id")
            self.webhookID = try row.position(of: "webhook_id")
            self.endpoint = try row.position(of: "endpoint_id")
            self.url = try row.position(of: "url")
            self.body = try row.position(of: "body")
            self.attempts = try row.position(of: "attempts")
            self.released = try row.position(of: "released")
            self.waited = try row.position(of: "waited_ms")
            self.job = try row.position(of: "job")
            self.trace = try row.position(of: "traceparent")
            self.elsewhere = try row.position(of: "elsewhere")
            self.isReduced = try row.position(of: "is_reduced")
            self.form = try row.position(of: "form")
            self.event = try row.position(of: "event")
            self.time = try row.position(of: "created_at")
            self.definitionKey = try row.position(of: "definition_key")
            self.userReference = try row.position(of: "user_reference")
            self.decision = try row.position(of: "decision")
            self.isExpired = try row.position(of: "is_expired")
            self.result = try row.position(of: "result")
            self.sealed = try row.position(of: "sealed")
            self.sealedBody = try row.position(of: "sealed_body")
            self.partner = try row.position(of: "partner_id")
        }
    }

    /// - Parameters:
    ///   - row: A row of `insp.callback_claim` other than the first.
    ///   - opened: What is sealed of it, or why it does not open.
    init(
        _ row: PostgresRow, _ column: Columns, _ endpoint: CallbackEndpoint,
        _ opened: Result<OpenedCallback, InspectError>
    ) throws(PostgresError) {
        self.id = try row.int(column.id)
        self.claim = try row.int(column.claim)
        self.endpoint = endpoint
        let sealed = try? opened.get()
        let url = try row.string(column.url)
        self.url = sealed?.url(inPlaceOf: url) ?? url
        self.attempts = Int(try row.int(column.attempts))
        self.released = Int(try row.int(column.released))
        self.waitedMilliseconds = try row.double(column.waited)
        self.job = try row.optionalString(column.job)
        self.trace = try row.optionalString(column.trace).flatMap { TraceContext(traceparent: $0) }
        self.isElsewhere = try row.bool(column.elsewhere)
        let stored = try row.optionalData(column.body)
        let body =
            if let stored { [UInt8](stored) } else {
                try sealed.flatMap { sealed throws(PostgresError) in
                    try CallbackBody(row, column, sealed, isTest: endpoint.options?.test == true)?.bytes
                }
            }
        self.body = body
        if case .failure(let error) = opened {
            self.fault = "\(error.code.rawValue): \(error.code.row.message)"
        } else {
            self.fault = body == nil ? "the callback was created by a newer version, which must compose its body" : nil
        }
        let name = try row.string(column.webhookID)
        self.webhookID = try row.bool(column.isReduced) ? CallbackBody.name(name, ofReduced: body ?? []) : name
    }

    /// The callback's claim: after a lapse, the same callback may be under way twice.
    struct Key: Hashable, Sendable {
        let id: Int64
        let claim: Int64
    }

    var key: Key { Key(id: self.id, claim: self.claim) }
}

internal import Custody
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
        let job = try row.optionalString(column.job)
        self.job = job
        self.trace = try row.optionalString(column.trace).flatMap { TraceContext(traceparent: $0) }
        self.isElsewhere = try row.bool(column.elsewhere)
        let stored = try row.optionalData(column.body)
        let body =
            if let stored { [UInt8](stored) } else {
                try sealed.flatMap { sealed throws(PostgresError) in
                    try CallbackBody(row, column, sealed, job: job, isTest: endpoint.isTest)?.bytes
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

/// A claimed callback that waits for its turn.
struct WaitingCallback {
    let callback: ClaimedCallback
    /// When the claim's commit was known.
    let claimed: ContinuousClock.Instant
    /// When the claim lapses.
    let deadline: ContinuousClock.Instant

    /// The settlement if it is not sent after all.
    var released: CallbackSettlement {
        CallbackSettlement(
            callback: self.callback, outcome: .release(after: .zero, isCounted: false), started: nil,
            milliseconds: 0, status: nil, code: nil, error: nil, trace: nil, deadline: self.deadline, sent: nil,
            claimed: self.claimed)
    }
}

/// The body of a job's callback, composed from the claim's row of the event.
///
/// No body is stored, yet every attempt under a `webhook-id` has the same bytes, whichever dispatcher makes it: all values in a
/// body, and whether it includes the whole result, are written once, with the event, and never change. Three things can still
/// change the body. If retention or erasure removed values, or the result may no longer be sent (an operator switched
/// `inlineResult` off, or the URL left the endpoint's origins), the reduced body gets another `webhook-id`
/// (``name(_:ofReduced:)``). A version that composes bodies in another way gives new rows another `form`.
///
/// To store a body before its first byte is sent would cost each callback another write and commit; to store it with the record
/// of the attempt would be too late after kill -9.
struct CallbackBody {
    let bytes: [UInt8]

    /// The only form so far.
    private static let form = 1

    /// - Parameters:
    ///   - row: One of `insp.callback_claim`, of a job's event.
    ///   - opened: What is sealed of it.
    ///   - job: The job's id, which the row has as well.
    ///   - isTest: Whether it is a test's; that never changes.
    /// - Returns: `nil` if the row has a form that this program does not know.
    init?(
        _ row: PostgresRow, _ column: ClaimedCallback.Columns, _ opened: OpenedCallback, job: String?, isTest: Bool
    ) throws(PostgresError) {
        guard try row.int(column.form) == Self.form else { return nil }
        let event = try row.string(column.event)
        guard let job else { throw PostgresError(.decoding, "a job's event has no job") }
        let time = try Self.time(try row.date(column.time))
        // Texts of any length stay bytes: as strings, they would be checked and copied again.
        let key = try row.optionalBytes(column.definitionKey) ?? []
        var user = try row.optionalBytes(column.userReference)
        if let own = opened.userReference { user = ArraySlice(own.utf8) }
        var (type, execution, status) = (event, "ACQUIRED", "64")
        var (decision, result): (ArraySlice<UInt8>?, ArraySlice<UInt8>?)
        switch event {
        case "job.finished":
            execution = try row.bool(column.isExpired) ? "SESSION_EXPIRED" : "PROCESSED"
            status = "128"
            decision = try row.optionalBytes(column.decision) ?? ArraySlice("null".utf8)
            if let own = opened.result {
                result = ArraySlice(own.utf8)
            } else if !opened.withholdsResult {
                result = try row.optionalBytes(column.result)
            }
        case "job.review_needed": break
        default:
            // job.status.N
            let dot = event.lastIndex(of: ".") ?? event.endIndex
            type = String(event[..<dot])
            status = String(event[dot...].dropFirst())
        }
        // Written out rather than encoded: these bytes are signed, so the order of the keys is fixed.
        var bytes: [UInt8] = []
        let lengths = key.count + (user?.count ?? 0) + (decision?.count ?? 0) + (result?.count ?? 0)
        // Everything else takes less than 400.
        bytes.reserveCapacity(lengths + 400)
        bytes += #"{"type":""#.utf8
        bytes += type.utf8
        bytes += #"","timestamp":""#.utf8
        bytes += time.utf8
        bytes += #"","callbackSentAt":""#.utf8
        bytes += time.utf8
        bytes += (isTest ? #"","test":true,"# : #"","#).utf8
        if let user {
            bytes += #""userReference":"#.utf8
            bytes += user
            bytes += ",".utf8
        }
        bytes += #""workflowExecution":{"id":""#.utf8
        bytes += job.utf8
        bytes += #"","definitionKey":""#.utf8
        bytes += key
        bytes += #"","status":""#.utf8
        bytes += execution.utf8
        bytes += #""},"data":{"id":""#.utf8
        bytes += job.utf8
        bytes += #"","status":"#.utf8
        bytes += status.utf8
        if let decision {
            bytes += #","decision":"#.utf8
            bytes += decision
        }
        if let result {
            bytes += #","result":"#.utf8
            bytes += result
        }
        bytes += "}}".utf8
        self.bytes = bytes
    }

    /// The `webhook-id` of a reduced body: different for each content, and different from the complete one, which may have arrived
    /// already. `insp.callback_by_webhook_id` recognises it.
    static func name(_ name: String, ofReduced body: [UInt8]) -> String {
        name + "_r" + SHA256.digest(body).prefix(4).hexadecimal
    }

    /// As ISO 8601 in UTC with milliseconds, truncated.
    ///
    /// - Throws: ``PostgresError/Code/decoding`` for a time outside the years 1970 to 9999, `infinity` included.
    static func time(_ date: Date) throws(PostgresError) -> String {
        // The years 1970 to 9999.
        guard (0..<253_402_300_800).contains(date.timeIntervalSince1970) else {
            throw PostgresError(.decoding, "a callback's time is not in the years 1970 to 9999")
        }
        let microseconds = Int64((date.timeIntervalSince1970 * 1_000_000).rounded())
        var seconds = time_t(microseconds / 1_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = Array("0000-00-00T00:00:00.000Z".utf8)
        func write(_ number: Int, before end: Int) {
            var (rest, index) = (number, end - 1)
            while rest > 0, index >= 0 {
                text[index] += UInt8(rest % 10)
                (rest, index) = (rest / 10, index - 1)
            }
        }
        write(Int(parts.tm_year) + 1900, before: 4)
        write(Int(parts.tm_mon) + 1, before: 7)
        write(Int(parts.tm_mday), before: 10)
        write(Int(parts.tm_hour), before: 13)
        write(Int(parts.tm_min), before: 16)
        write(Int(parts.tm_sec), before: 19)
        write(Int(microseconds / 1000 % 1000), before: 23)
        return String(decoding: text, as: UTF8.self)
    }
}

internal import Custody
internal import Foundation
internal import Postgres

/// The body of a job's callback, composed from what the claim says of the event.
///
/// No body is stored, and still every attempt under a `webhook-id` has the same bytes, whichever dispatcher makes it and
/// whatever became of the one before: all that a body is made of is written once, with the event, and never changes, and so is
/// whether the whole result belongs in it. Three things could change it, so they change something else with it. What retention
/// or erasure takes away makes another body, which gets another `webhook-id` (``name(_:ofReduced:)``), and so does a result that
/// may not be sent any more, because an operator switched `inlineResult` off or the URL left the endpoint's origins. A release
/// that composes bodies in another way gives new rows another `form`.
///
/// A body that is composed when it is first sent and stored before its first byte goes out would cost each callback another
/// write and another commit; one that is stored with the record of the attempt would come too late after kill -9.
struct CallbackBody {
    let bytes: [UInt8]

    /// The only form that there is.
    private static let form = 1

    /// - Parameter row: One of `insp.callback_claim`, of a job's event.
    /// - Returns: `nil` if the row has a form that this program does not know.
    init?(_ row: PostgresRow, _ column: ClaimedCallback.Columns) throws(PostgresError) {
        guard try row.int(column.form) == Self.form else { return nil }
        let event = try row.string(column.event)
        let job = try row.string(column.job)
        let time = Self.time(try row.date(column.time))
        let key = try row.optionalString(column.definitionKey) ?? ""
        let reference = try row.optionalString(column.userReference).map { #""userReference":\#($0),"# } ?? ""
        // Written out, not encoded: these bytes are signed, and their keys stay in this order.
        func compose(_ type: Substring, _ execution: String, _ data: String) -> [UInt8] {
            Array(
                (#"{"type":"\#(type)","timestamp":"\#(time)","callbackSentAt":"\#(time)",\#(reference)"workflowExecution":"#
                    + #"{"id":"\#(job)","definitionKey":"\#(key)","status":"\#(execution)"},"data":{"id":"\#(job)",\#(data)}}"#)
                    .utf8)
        }
        switch event {
        case "job.finished":
            let decision = try row.optionalString(column.decision) ?? "null"
            let result = try row.optionalString(column.result).map { #","result":\#($0)"# } ?? ""
            self.bytes = compose(
                event[...], try row.bool(column.isExpired) ? "SESSION_EXPIRED" : "PROCESSED",
                #""status":128,"decision":\#(decision)\#(result)"#)
        case "job.review_needed":
            self.bytes = compose(event[...], "ACQUIRED", #""status":64"#)
        default:
            // job.status.N
            let dot = event.lastIndex(of: ".") ?? event.endIndex
            self.bytes = compose(event[..<dot], "ACQUIRED", #""status":\#(event[dot...].dropFirst())"#)
        }
    }

    /// The `webhook-id` of a body that was reduced: it tells one content from another, and from the whole one that may have
    /// arrived already. `insp.callback_by_webhook_id` knows it.
    static func name(_ name: String, ofReduced body: [UInt8]) -> String {
        name + "_r" + SHA256.digest(body).prefix(4).map { String(format: "%02x", $0) }.joined()
    }

    /// As ISO 8601 in UTC with milliseconds, cut and not rounded.
    static func time(_ date: Date) -> String {
        let microseconds = Int64((date.timeIntervalSince1970 * 1_000_000).rounded())
        var seconds = time_t(microseconds / 1_000_000)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        var text = Array("0000-00-00T00:00:00.000Z".utf8)
        func write(_ number: Int, before end: Int) {
            var (rest, place) = (number, end - 1)
            while rest > 0, place >= 0 {
                text[place] += UInt8(rest % 10)
                (rest, place) = (rest / 10, place - 1)
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

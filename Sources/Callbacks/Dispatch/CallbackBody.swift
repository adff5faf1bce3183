internal import Custody
internal import Foundation
internal import InspectCore
internal import Postgres

/// The body of a job's callback, composed from the claim's row of the event.
///
/// No body is stored, yet every attempt under a `webhook-id` has the same bytes, whichever dispatcher makes it: all values in a
/// body, and whether it includes the whole result, are written once, with the event, and never change. Three things can still
/// change the body. Where retention or erasure removed values, or the result may no longer be sent (an operator switched
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
    ///   - isTest: Whether it is a test's; that never changes.
    /// - Returns: `nil` if the row has a form that this program does not know.
    init?(
        _ row: PostgresRow, _ column: ClaimedCallback.Columns, _ opened: OpenedCallback, isTest: Bool
    ) throws(PostgresError) {
        guard try row.int(column.form) == Self.form else { return nil }
        let event = try row.string(column.event)
        let job = try row.string(column.job)
        let time = try Self.time(try row.date(column.time))
        let key = try row.optionalString(column.definitionKey) ?? ""
        let user = try row.optionalString(column.userReference)
        let reference = (opened.userReference ?? user).map { #""userReference":\#($0),"# } ?? ""
        let test = isTest ? #""test":true,"# : ""
        // Written out rather than encoded: these bytes are signed, so the order of the keys is fixed.
        func compose(_ type: Substring, _ execution: String, _ data: String) -> [UInt8] {
            Array(
                (#"{"type":"\#(type)","timestamp":"\#(time)","callbackSentAt":"\#(time)",\#(test)\#(reference)"workflowExecution":"#
                    + #"{"id":"\#(job)","definitionKey":"\#(key)","status":"\#(execution)"},"data":{"id":"\#(job)",\#(data)}}"#)
                    .utf8)
        }
        switch event {
        case "job.finished":
            let decision = try row.optionalString(column.decision) ?? "null"
            let plain = opened.withholdsResult ? nil : try row.optionalString(column.result)
            let result = (opened.result ?? plain).map { #","result":\#($0)"# } ?? ""
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

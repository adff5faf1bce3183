import HTTPServer
import InspectCore

/// The answer to a probe.
struct ProbeReport: Encodable {
    /// One fault.
    struct Reason: Encodable {
        var check: String
        var reason: String
    }

    private var status: String
    private var reasons: [Reason]?

    /// - Parameter reasons: Why it is not well; empty: it is.
    static func answer(_ reasons: [Reason] = [], good: String, bad: String = "") -> HealthAnswer {
        let report = reasons.isEmpty ? Self(status: good) : Self(status: bad, reasons: reasons)
        return HealthAnswer(
            status: reasons.isEmpty ? 200 : 503, contentType: "application/json",
            body: String(decoding: ResultEnvelope.json(report), as: UTF8.self) + "\n")
    }
}

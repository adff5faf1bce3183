import Foundation
import InspectCore
import TestSupport
import Testing

/// What a partner reads about a wrong request: the code, the wrong field, and the allowed values if they are a closed set.
@Suite struct GatewayProblemTests {
    /// A wrong request.
    struct Wrong: Sendable {
        var method = "POST"
        var path: String
        var body: String?
        var headers: [String: String] = [:]
        var code: ErrorCode
        var field: String
        var allowed: [String] = []

        /// A job that is fine but for these members.
        static func job(_ members: String, _ code: ErrorCode, _ field: String, _ allowed: [String] = []) -> Wrong {
            Wrong(
                path: "/inspectionjob/create", body: #"{"encodedFrontImage":"aW1hZ2U=",\#(members)}"#, code: code,
                field: field, allowed: allowed)
        }

        static func get(_ path: String, _ field: String, _ allowed: [String] = []) -> Wrong {
            Wrong(method: "GET", path: path, code: .parameterInvalid, field: field, allowed: allowed)
        }

        static func challenge(_ body: String, _ code: ErrorCode, _ field: String, _ allowed: [String] = []) -> Wrong {
            Wrong(path: "/liveness/challenge", body: body, code: code, field: field, allowed: allowed)
        }
    }

    private static let all: [Wrong] = [
        .job(#""documentFormat":"td3""#, .documentFormatUnknown, "documentFormat", ["TD1", "TD2", "TD3"]),
        .job(#""documentFormat":3"#, .payloadInvalid, "documentFormat"),
        .job(#""documentTypes":["LIBRARY_CARD"]"#, .documentTypeUnknown, "documentTypes", ["PASSPORT", "ID_CARD"]),
        .job(#""documentTypes":"PASSPORT""#, .payloadInvalid, "documentTypes", ["PASSPORT", "ID_CARD"]),
        .job(#""countries":["de"]"#, .countryInvalid, "countries", ["DEU"]),
        .job(#""countries":"DEU""#, .payloadInvalid, "countries", ["DEU"]),
        .job(#""workflow":"walk""#, .workflowUnknown, "workflow", Workflow.allCases.map(\.rawValue)),
        .job(#""region":"MOON""#, .regionInvalid, "region", ["EU", "SG", "US"]),
        .job(#""review":"often""#, .payloadInvalid, "review", ["never", "rejected", "warning", "always"]),
        .job(
            #""consent":{"obtained":"maybe"}"#, .payloadInvalid, "consent.obtained", ["yes", "no", "na"]),
        .job(#""consent":{"obtained":"no"}"#, .consentMissing, "consent.obtained"),
        .job(#""consent":{"obtained":"yes","obtainedAt":"today"}"#, .payloadInvalid, "consent.obtainedAt", ["Z"]),
        .job(#""consent":{"obtainedAt":"2999-01-01T00:00:00Z"}"#, .payloadInvalid, "consent.obtainedAt"),
        .job(#""userReference":"\#(String(repeating: "x", count: 101))""#, .identifierTooLong, "userReference"),
        .job(#""userReference":"a\tb""#, .payloadInvalid, "userReference", ["U+001F"]),
        .job(#""userReference":7"#, .payloadInvalid, "userReference"),
        .job(#""callbackUrl":"ftp://example.com/""#, .callbackURLInvalid, "callbackUrl"),
        .job(#""delaySeconds":-1"#, .payloadInvalid, "delaySeconds", ["0 to 2592000"]),
        .job(#""runAt":"tomorrow""#, .payloadInvalid, "runAt"),
        .job(#""expiresAt":"2020-01-01T00:00:00Z""#, .payloadInvalid, "expiresAt"),
        .job(#""threshold":0.7"#, .payloadInvalid, "threshold", ["similarity"]),
        .job(#""faceId":"x""#, .payloadInvalid, "faceId", ["authentication", "enrollment"]),
        .job(#""challenge":{}"#, .payloadInvalid, "challenge"),
        .job(#""colour":"red""#, .payloadInvalid, "colour", ["workflow", "countries"]),
        .job(#""lane":"urgent""#, .payloadInvalid, "lane"),
        .job(#""parts":{"NOSE":"aW1hZ2U="}"#, .partUnknown, "parts.NOSE", PartKind.allCases.map(\.rawValue)),
        .job(#""parts":{"BACK":{"url":"https://a.example.com"}}"#, .digestInvalid, "parts.BACK.sha256"),
        .job(#""parts":{"BACK":{"url":"http://10.0.0.1/","sha256":"x"}}"#, .digestInvalid, "parts.BACK.sha256"),
        .job(#""digests":{"FRONT":"x"}"#, .digestInvalid, "digests.FRONT"),
        .job(#""workflow":"similarity""#, .partMissing, "FACE"),
        .job(#""workflow":"liveness""#, .partUnexpected, "FRONT", ["FACE", "FRAMES"]),
        Wrong(
            path: "/inspectionjob/create", body: "{}", headers: ["Idempotency-Key": "a b"], code: .parameterInvalid,
            field: "Idempotency-Key"),
        Wrong(
            path: "/inspectionjob/create", body: "{}", headers: ["Content-Type": "text/plain"],
            code: .mediaTypeUnsupported, field: "Content-Type", allowed: ["application/json", "multipart/form-data"]),
        Wrong(path: "/inspectionjob/create?wait=x", body: "{}", code: .parameterInvalid, field: "wait"),
        .get("/inspectionjob?userReference=", "userReference"),
        .get("/inspectionjob?userReference=a&userReference=b", "userReference"),
        .get("/inspectionjob?userReference=a&limit=1&status=2&limit=1", "limit"),
        .get("/inspectionjob", "userReference", ["customerInternalReference", "reportingCriteria"]),
        .get("/inspectionjob?userReference=u&status=3", "status", ["64", "128"]),
        .get("/inspectionjob?userReference=u&limit=0", "limit"),
        .get("/inspectionjob?userReference=u&after=x", "after"),
        .get("/callbacks", "state"), .get("/callbacks?state=lost", "state", ["pending", "held", "dead"]),
        .get("/callbacks?state=dead&after=x", "after"), .get("/events?limit=1001", "limit"),
        .get("/events?after=x", "after"), .get("/usage?month=May", "month", ["2026-01"]),
        .get("/inspectionjob/\(UUID().uuidString)/report?purpose=fun", "purpose", ["review", "delivery"]),
        Wrong(
            method: "GET", path: "/inspectionjob/\(UUID().uuidString)/parts/NOSE", code: .partUnknown, field: "kind",
            allowed: PartKind.allCases.map(\.rawValue)),
        .challenge(#"{"method":"dance"}"#, .parameterInvalid, "method", ["colour_flash", "motion"]),
        .challenge(#"{"method":7}"#, .payloadInvalid, "method"),
        .challenge(#"{"colours":9}"#, .parameterInvalid, "colours", ["6 to 8"]),
        .challenge(#"{"steps":9}"#, .parameterInvalid, "steps", ["1 to 5"]),
        .challenge(#"{"steps":"two"}"#, .payloadInvalid, "steps"),
        .challenge(#"{"colourMs":1}"#, .parameterInvalid, "colourMs", ["334 to 1000"]),
        .challenge(#"{"stepTimeoutMs":1}"#, .parameterInvalid, "stepTimeoutMs", ["1000 to 30000"]),
        .challenge(#"{"motions":["JUMP","NOD"]}"#, .parameterInvalid, "motions", ["MOUTH_OPEN", "BLINK"]),
        .challenge(#"{"lifetimeSeconds":1}"#, .parameterInvalid, "lifetimeSeconds", ["5 seconds"]),
        .challenge(#"{"colour":1}"#, .payloadInvalid, "colour", ["method", "colours"]),
        Wrong(path: "/endpoints/1/replay", body: "{}", code: .payloadInvalid, field: "since"),
        Wrong(
            path: "/endpoints/1/replay", body: #"{"since":"May"}"#, code: .payloadInvalid, field: "since",
            allowed: ["Z"]),
        Wrong(
            path: "/endpoints/1/replay", body: #"{"since":"2026-01-01T00:00:00Z","delivered":1}"#,
            code: .payloadInvalid, field: "delivered", allowed: ["true or false"]),
        Wrong(
            path: "/endpoints/1/rotate", body: #"{"overlapSeconds":-1}"#, code: .payloadInvalid, field: "overlapSeconds"
        ),
        Wrong(
            path: "/endpoints/1/rotate", body: #"{"overlap":1}"#, code: .payloadInvalid, field: "overlap",
            allowed: ["overlapSeconds"]),
        Wrong(
            path: "/encryption-key", body: #"{"kty":"oct"}"#, code: .partnerKeyInvalid, field: "kty",
            allowed: ["RSA", "EC"]),
        Wrong(path: "/encryption-key", body: #"{"kty":"RSA","d":"x"}"#, code: .partnerKeyInvalid, field: "d"),
        Wrong(
            path: "/encryption-key", body: #"{"kty":"EC","crv":"P-1"}"#, code: .partnerKeyInvalid, field: "crv",
            allowed: ["P-256"]),
        Wrong(
            path: "/usability?language=1", body: "{}", code: .parameterInvalid, field: "language", allowed: ["de-AT"]),
        Wrong(path: "/facetec/session", body: "{}", code: .partMissing, field: "sessionRequestBlob"),
        Wrong(
            path: "/facetec/session", body: #"{"sessionRequestBlob":"b","x":1}"#, code: .payloadInvalid, field: "x",
            allowed: ["userId", "flow"]),
        Wrong(
            path: "/facetec/session",
            body: #"{"sessionRequestBlob":"b","userId":"\#(String(repeating: "x", count: 101))"}"#,
            code: .identifierTooLong, field: "userId"),
        Wrong(
            path: "/facetec/session",
            body: #"{"sessionRequestBlob":"b","flow":"\#(String(repeating: "x", count: 101))"}"#,
            code: .identifierTooLong, field: "flow"),
        .job(#""userReference":"a","userReference":"b""#, .payloadInvalid, "userReference", ["twice"]),
        .job(#""consent":{"obtained":"no","obtained":"yes"}"#, .payloadInvalid, "consent.obtained", ["twice"]),
        .job(#""countries":["DEU",]"#, .payloadInvalid, "countries", ["RFC 8259"]),
        .challenge(#"{"steps":2,"steps":3}"#, .payloadInvalid, "steps", ["twice"]),
        Wrong(
            path: "/endpoints/1/rotate", body: #"{"overlapSeconds":1,"overlapSeconds":99}"#, code: .payloadInvalid,
            field: "overlapSeconds", allowed: ["twice"]),
        Wrong(path: "/encryption-key", body: #"{"kty":"EC","kty":"RSA"}"#, code: .payloadInvalid, field: "kty"),
        Wrong(
            path: "/facetec/session", body: #"{"sessionRequestBlob":"b","userId":"a","userId":"b"}"#,
            code: .payloadInvalid, field: "userId"),
        Wrong(
            path: "/inspectionjob/create", body: "{}", headers: ["Content-Type": "application/json; charset=utf-16"],
            code: .mediaTypeUnsupported, field: "Content-Type", allowed: ["UTF-8"]),
        .get("/inspectionjob/\(UUID().uuidString)?Wait=60", "Wait", ["wait"]),
        .get("/inspectionjob?userReference=u&cursor=abc", "cursor", ["userReference", "after", "limit"]),
        .get("/events?wait=0&from=1", "from", ["after", "wait"]), .get("/endpoints?limit=1", "limit", ["none"]),
        Wrong(
            path: "/inspectionjob/create?dryRun=1", body: "{}", code: .parameterInvalid, field: "dryRun",
            allowed: ["wait"]),
        .get("/inspectionjob?userReference=u&limit=+1", "limit"), .get("/events?limit=010", "limit"),
        .get("/events?endpoint=01", "endpoint"),
        .get("/callbacks?state=dead&after=+1_msg_\(String(repeating: "0", count: 32))", "after"),
        Wrong(
            path: "/faces/x", body: #"{"encodedFaceImage":"aW1hZ2U=","faceId":"y"}"#, code: .payloadInvalid,
            field: "faceId"),
        Wrong(
            path: "/faces/x", body: #"{"encodedFaceImage":"aW1hZ2U=","enrollmentMode":"both"}"#, code: .payloadInvalid,
            field: "enrollmentMode", allowed: ["add", "replace"]),
    ]

    @Test(.timeLimit(.minutes(5)))
    func `A problem names the field that is wrong and the values that are allowed, and nothing is stored`() async throws
    {
        let gateway = try await Gateway.start(
            scopes: "{create,read,images,session,faces,persons,callbacks,events,keys,report}")
        for wrong in Self.all {
            var headers = wrong.headers
            if wrong.body != nil, headers["Content-Type"] == nil { headers["Content-Type"] = "application/json" }
            let answer = try await gateway.send(
                wrong.method, wrong.path, wrong.body.map { Data($0.utf8) }, headers: headers)
            let said = "\(wrong.path) \(wrong.body ?? ""): \(answer.status) \(answer.document)"
            #expect(answer.code == wrong.code.rawValue && answer.status == wrong.code.httpStatus, "\(said)")
            #expect(answer.document["field"] as? String == wrong.field, "\(said)")
            let hint = answer.document["hint"] as? String ?? ""
            for value in wrong.allowed { #expect(hint.contains(value), "\(value): \(said)") }
        }
        // Of pages and of what everyone may read, a link may carry more.
        for path in ["/openapi.json?v=1", "/errors?v=1"] {
            #expect(try await gateway.call("GET", path).status == 200, "\(path)")
        }
        let page = try await gateway.call("GET", "/capture/\(String(repeating: "A", count: 43))?utm_source=mail")
        #expect(page.status == 404)
        let wrong = try await gateway.call("PUT", "/inspectionjob/create")
        #expect(wrong.status == 405 && wrong.document["hint"] as? String == "It takes POST, OPTIONS.")
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 0)
        #expect(try await gateway.stop() == 0)
    }
}

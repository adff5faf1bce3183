import Foundation
import HTTPServer
import InspectCore
import Synchronization
import TestSupport
import Testing

@testable import Gateway

@Suite struct GatewayRequestTests {
    static func create(_ text: String, key: String? = nil) throws -> CreateRequest {
        try CreateRequest(Data(text.utf8), idempotencyKey: key)
    }

    static func code(_ body: () throws -> Void) -> ErrorCode? {
        do { try body() } catch { return (error as? InspectError)?.code }
        return nil
    }

    @Test func `Images have the capture client's names or are parts, and the rest stays`() throws {
        let capture = try Self.create(
            #"{"encodedFrontImage":"aW1h\r\nZ2U=","encodedBackImage":"","encodedFaceImage":null,"userReference":"u"}"#)
        #expect(capture.parts == [.front: [Data("image".utf8)]])
        let payload = try #require(try JSONSerialization.jsonObject(with: capture.payload) as? [String: String])
        #expect(payload == ["workflow": "id", "userReference": "u"])

        let digest = String(repeating: "0", count: 64)
        let parts = try Self.create(
            #"{"parts":{"FRONT":{"content":"YQ==","sha256":"\#(digest)"},"FRAMES":["YQ==",{"content":"Yg=="}],"BACK":{"url":"https://x.org/y","sha256":"\#(digest)"}}}"#,
            key: "k")
        #expect(parts.parts == [.front: [Data("a".utf8)], .frames: [Data("a".utf8), Data("b".utf8)]])
        let rest = try #require(try JSONSerialization.jsonObject(with: parts.payload) as? [String: Any])
        #expect(Set(rest.keys) == ["workflow", "parts", "digests", "idempotencyKey"])
        #expect(rest["workflow"] as? String == "id_identity" && rest["idempotencyKey"] as? String == "k")
        #expect((rest["parts"] as? [String: Any])?.keys.map { $0 } == ["BACK"])
    }

    @Test(arguments: [
        #"[]"#, #""x""#, "", "{", #"{"encodedFrontImage":1}"#, #"{"encodedFrontImage":"?"}"#, "{\"a\":\"\u{0}\"}",
        #"{"idempotencyKey":"other"}"#, #"{"parts":{"FRONT":{"content":"YQ==","url":"x"}}}"#,
        #"{"parts":{"FRAMES":["YQ==",{"url":"https://x.org/y"}]}}"#, #"{"x":1e999}"#,
        String(repeating: "[", count: 100_000),
        #"{"a":"# + String(repeating: "[", count: 17) + String(repeating: "]", count: 17) + "}",
        "[" + String(repeating: "1,", count: 30_000) + "1]",
    ])
    func `An invalid object is refused before or during parsing`(text: String) {
        #expect(Self.code { _ = try Self.create(text, key: "k") } == .payloadInvalid)
    }

    @Test func `Parts that do not exist or come twice have codes of their own`() {
        #expect(Self.code { _ = try Self.create(#"{"parts":{"NOSE":"YQ=="}}"#) } == .partUnknown)
        #expect(
            Self.code { _ = try Self.create(#"{"encodedFrontImage":"YQ==","parts":{"FRONT":"YQ=="}}"#) }
                == .partUnexpected)
        #expect(Self.code { _ = try Self.create(#"{"parts":{"FRONT":["YQ=="]}}"#) } == .partUnexpected)
        let frames = Array(repeating: #""YQ==""#, count: 257).joined(separator: ",")
        #expect(Self.code { _ = try Self.create(#"{"parts":{"FRAMES":[\#(frames)]}}"#) } == .partTooLarge)
    }

    @Test func `Waiting callers are admitted in turns of the names, and none is forgotten`() async throws {
        let gate = FairGate(1)
        final class Order: Sendable {
            let names = Mutex<[String]>([])
        }
        let order = Order()
        try await withThrowingTaskGroup(of: Void.self) { group in
            try await gate.run("first") {
                for (before, name) in ["a", "a", "a", "a", "b"].enumerated() {
                    group.addTask { await gate.run(name) { order.names.withLock { $0.append(name) } } }
                    // In this order, so that the backlog exists first.
                    try await waitUntil("it waits") {
                        gate.state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } == before + 1
                    }
                }
            }
            try await group.waitForAll()
        }
        let seen = order.names.withLock { $0 }
        #expect(seen.count == 5 && (seen.firstIndex(of: "b") ?? 9) <= 1, "\(seen)")
    }

    @Test func `A temporary refusal of the database stays temporary, and a fault on our side is not the client's`() {
        #expect(ErrorCode.faceBusy.httpStatus == 429 && ErrorCode.payloadInvalid.httpStatus == 400)
        #expect(HTTPResponse.problem(InspectError(.faceBusy)).headers.contains { $0.name == "Retry-After" })
        for code in [ErrorCode.internalError, .leaseLost, .workerLost] {
            #expect(HTTPResponse.problem(code).status == 500)
        }
    }

    @Test func `A problem says what is wrong and what is allowed, each in its own member`() throws {
        func document(_ error: InspectError) throws -> [String: Any] {
            let response = HTTPResponse.problem(error)
            #expect(response.code == error.code)
            return try #require(try JSONSerialization.jsonObject(with: response.body) as? [String: Any])
        }
        let problem = try document(InspectError(.documentFormatUnknown, "'td3'"))
        #expect(problem["detail"] as? String == "no document format has that name ('td3')")
        #expect(problem["hint"] as? String == "A document format is TD1, TD2 or TD3.")
        let given = try document(InspectError(.payloadInvalid, "unknown key 'x'", hint: "Keys are a, b."))
        #expect(given["hint"] as? String == "Keys are a, b.")
        let whole = try document(InspectError(.jobUnknown))
        #expect(whole["hint"] == nil && whole["field"] == nil)
        let named = try document(InspectError(.payloadInvalid, "review is 'x'", field: "review"))
        #expect(named["field"] as? String == "review")
        // For apps that were written against other contracts.
        let contract = try document(InspectError(.callbackURLInvalid))["contractCodes"] as? [String: Any]
        #expect(contract?["mobile"] as? String == "N00000" && contract?["payment"] as? Int == -202)
        #expect(try document(InspectError(.jobUnknown))["contractCodes"] as? [String: String] == ["mobile": "J00000"])
    }

    private static func field(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? InspectError)?.field }
        return nil
    }

    @Test(arguments: [
        (#"{"encodedFrontImage":1}"#, "encodedFrontImage"), (#"{"encodedBackImage":"?"}"#, "encodedBackImage"),
        (#"{"idempotencyKey":"other"}"#, "idempotencyKey"), (#"{"parts":{"NOSE":"YQ=="}}"#, "parts.NOSE"),
        (#"{"parts":{"FRONT":"?"}}"#, "parts.FRONT"), (#"{"parts":{"FRONT":["YQ=="]}}"#, "parts.FRONT"),
        (#"{"parts":{"FRONT":{"content":"YQ==","url":"x"}}}"#, "parts.FRONT"),
        (#"{"parts":{"FRAMES":["YQ==",{"url":"https://x.org/y"}]}}"#, "parts.FRAMES"),
        (#"{"parts":{"FRAMES":[{"content":"YQ==","sha256":"x"},"YQ=="]}}"#, "parts.FRAMES"),
        (#"{"workflowDefinition":3}"#, "workflowDefinition"), (#"{"workflowDefinition":{}}"#, "workflowDefinition.key"),
        (#"{"workflowDefinition":{"key":3,"x":1}}"#, "workflowDefinition.x"),
        (#"{"workflowDefinition":{"key":3,"credentials":1}}"#, "workflowDefinition.credentials"),
        (#"{"workflowDefinition":{"key":3,"credentials":[{},7]}}"#, "workflowDefinition.credentials.1"),
        (
            #"{"workflowDefinition":{"key":3,"credentials":[{"category":"ID","country":"DEU"}]}}"#,
            "workflowDefinition.credentials.0.country"
        ), (#"{"workflow":"id","workflowDefinition":{"key":3}}"#, "workflow"),
    ])
    func `A refusal names the member that is wrong`(text: String, field: String) {
        #expect(Self.field { _ = try Self.create(text, key: "k") } == field)
    }

    @Test func `A refusal of a form or a session names the field that is wrong`() {
        func form(_ fields: (String, Data)...) -> String? {
            var body = Data()
            for (name, value) in fields {
                body += Data("--cut\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n".utf8)
                body += value + Data("\r\n".utf8)
            }
            body += Data("--cut--\r\n".utf8)
            return Self.field {
                _ = try CreateRequest(try FormData(body, boundary: "cut"), idempotencyKey: nil)
            }
        }
        let image = Data("image".utf8)
        #expect(form(("FRONT", image), ("FRONT", image)) == "FRONT")
        #expect(form(("FRONT", Data(count: PartKind.byteLimit + 1))) == "FRONT")
        #expect(form(("FRONT", image), ("userReference", Data([0xff]))) == "userReference")
        #expect(form(("userReference", image), ("userReference", image)) == "userReference")
        #expect(form(("request", Data("{}".utf8)), ("request", Data("{}".utf8))) == "request")
        #expect(form(("FRONT", image), ("delaySeconds", image)) == "delaySeconds")
        func session(_ text: String) -> String? { Self.field { _ = try SessionRequest(Data(text.utf8)) } }
        #expect(session("{}") == "sessionRequestBlob" && session(#"{"sessionRequestBlob":7}"#) == "sessionRequestBlob")
        #expect(session(#"{"sessionRequestBlob":"b","flow":7}"#) == "flow")
        #expect(session(#"{"sessionRequestBlob":"b","colour":7}"#) == "colour")
        // The database's refusals as well, by the names that the client sent.
        for (name, sent) in [("userReference", "userId"), ("reportingCriteria", "flow"), ("consent", "consent")] {
            let refusal = SessionRequest.refusal(InspectError(.identifierTooLong, name, field: name))
            #expect(refusal.field == sent && refusal.detail == sent, "\(refusal)")
        }
    }

    @Test func `A problem's title is the phrase of its status`() throws {
        for code in ErrorCode.allCases where code.httpStatus != 500 {
            let problem = try JSONSerialization.jsonObject(with: HTTPResponse.problem(code).body) as? [String: Any]
            #expect(problem?["title"] as? String != "Internal Server Error", "\(code)")
        }
    }

    @Test func `A session is a blob, and raw biometrics are refused`() throws {
        let session = try SessionRequest(
            Data(#"{"sessionRequestBlob":"blob","userId":"12345","flow":"cardRequest"}"#.utf8))
        #expect(session.blob == Data("blob".utf8) && session.sessionID == nil && session.namesUser)
        let id = "01234567-89ab-7cde-8123-456789abcdef"
        let further = try SessionRequest(Data(#"{"sessionRequestBlob":"blob","sessionId":"\#(id)"}"#.utf8))
        #expect(further.sessionID == id && !further.namesUser)
        let consenting = try SessionRequest(
            Data(#"{"sessionRequestBlob":"blob","consent":{"obtained":"yes"}}"#.utf8))
        #expect(String(decoding: consenting.payload, as: UTF8.self).contains(#""consent":{"obtained":"yes"}"#))
        let strange = #"{"sessionRequestBlob":"blob","sessionId":"7"}"#
        #expect(Self.code { _ = try SessionRequest(Data(strange.utf8)) } == .jobUnknown)
        let payload = try JSONSerialization.jsonObject(with: session.payload) as? [String: String]
        #expect(payload == ["workflow": "liveness", "userReference": "12345", "reportingCriteria": "cardRequest"])
        #expect(!session.scansDocument && !session.hasKey)
        let scanning = try SessionRequest(
            Data(#"{"sessionRequestBlob":"blob","documentScan":true}"#.utf8), idempotencyKey: "k")
        #expect(scanning.scansDocument && scanning.hasKey)
        let keyed = try JSONSerialization.jsonObject(with: scanning.payload) as? [String: String]
        #expect(keyed == ["workflow": "liveness", "idempotencyKey": "k"])
        for (value, code) in [
            ("false", nil), ("null", nil), ("1", .payloadInvalid), (#""true""#, .payloadInvalid),
        ] as [(String, ErrorCode?)] {
            let text = #"{"sessionRequestBlob":"blob","documentScan":\#(value)}"#
            #expect(Self.code { _ = try SessionRequest(Data(text.utf8)) } == code, "\(value)")
        }
        for old in ["faceScan", "auditTrailImage", "faceScanBase64", "lowQualityAuditTrailImage"] {
            let text = #"{"sessionRequestBlob":"blob","\#(old)":"x"}"#
            #expect(Self.code { _ = try SessionRequest(Data(text.utf8)) } == .sessionShapeRefused)
        }
        #expect(Self.code { _ = try SessionRequest(Data("{}".utf8)) } == .partMissing)
        #expect(
            Self.code { _ = try SessionRequest(Data(#"{"sessionRequestBlob":"b","x":1}"#.utf8)) } == .payloadInvalid)
    }

    @Test func `A session passes only if its result and its decision say so`() {
        func answer(_ decision: String, _ data: String) -> SessionAnswer {
            SessionAnswer(
                Data(
                    #"{"capabilities":{"liveness":[{"decision":{"type":"\#(decision)","details":{"label":"L"}},"data":{"vendor":\#(data)}}]}}"#
                        .utf8), id: "7")
        }
        let good = answer("PASSED", #"{"sessionResponseBlob":"r","success":true,"livenessPassed":true,"reason":"OK"}"#)
        #expect(good.success && good.livenessPassed && good.sessionResponseBlob == "r" && good.reason == "OK")
        #expect(
            !answer("REJECTED", #"{"sessionResponseBlob":"r","success":true,"livenessPassed":true}"#).livenessPassed)
        #expect(!answer("PASSED", #"{"sessionResponseBlob":"r","success":true}"#).livenessPassed)
        #expect(!answer("PASSED", #"{"success":true,"livenessPassed":true}"#).success)
        let failed = SessionAnswer(Data(#"{"error":{"code":"EXPIRED"},"capabilities":{}}"#.utf8), id: "7")
        #expect(!failed.success && !failed.livenessPassed && failed.reason == "EXPIRED")
        #expect(!SessionAnswer(Data("x".utf8), id: "7").success)
        #expect(good.isFinished && good.sessionId == "7")
    }

    @Test func `Before its end a session passes nothing, whatever was proven`() {
        var facts = LivenessStageFacts(passive: nil)
        facts.vendor = VendorSessionFacts(sessionResponseBlob: "r", success: true, livenessPassed: true)
        let open = SessionAnswer(facts, id: "7")
        #expect(!open.isFinished && !open.livenessPassed && open.success && open.sessionResponseBlob == "r")
        #expect(open.reason == "CONTINUE")
        facts.vendor = VendorSessionFacts(sessionResponseBlob: "r", success: false, livenessPassed: false)
        let spoof = SessionAnswer(facts, id: "7")
        #expect(!spoof.success && spoof.reason == "LIVENESS_UNDETERMINED" && spoof.sessionResponseBlob == "r")
    }

    @Test func `Credentials are read from Basic and Bearer alone, each in its own form`() {
        let key = "ik_0123456789abcdef"
        let secret = String(repeating: "s", count: 43)
        let basic = "Basic " + Data("\(key):\(secret)".utf8).base64EncodedString()
        #expect(PresentedCredential(authorization: basic)?.secret == secret)
        #expect(PresentedCredential(authorization: "bearer \(key).\(secret)")?.keyID == key)
        for wrong in [
            "", "Basic", "Basic ???", "Bearer x", "Digest \(key).\(secret)", "Bearer \(key):\(secret)",
            "Bearer \(key).\(secret)x", "Bearer IK_0123456789abcdef.\(secret)", basic + ", " + basic,
        ] {
            #expect(PresentedCredential(authorization: wrong) == nil, "\(wrong)")
        }
        let digest = Data(base64Encoded: "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=") ?? Data()
        let credential = GatewayCredential(
            id: 1, partner: "p", partnerID: 1, secretSHA256: digest, scopes: [], ratePerSecond: nil, rateBurst: nil)
        #expect(credential.accepts("hello") && !credential.accepts("Hello") && !credential.accepts(""))
    }

    @Test func `A client is told what it may still ask`() {
        let limiter = RateLimiter()
        let start = ContinuousClock.now
        #expect(limiter.headers("x", now: start).isEmpty)
        for _ in 0..<4 { _ = limiter.take("x", rate: 2, burst: 10, now: start) }
        func values(_ now: ContinuousClock.Instant) -> [String] {
            limiter.headers("x", now: now).map { "\($0.name): \($0.value)" }
        }
        #expect(
            values(start) == [#"RateLimit-Policy: "requests";q=10;w=5"#, #"RateLimit: "requests";r=6;t=2"#])
        #expect(values(start + .seconds(60)).last == #"RateLimit: "requests";r=10;t=0"#)
    }

    @Test func `A workflow may be asked for in Jumio's shape`() throws {
        func payload(_ text: String) throws(InspectError) -> [String: Any] {
            let request = try CreateRequest(Data(text.utf8), idempotencyKey: nil)
            return (try? JSONSerialization.jsonObject(with: request.payload)) as? [String: Any] ?? [:]
        }
        let whole = try payload(
            """
            {"workflowDefinition": {"key": 3, "credentials": [
                {"category": "ID", "type": {"values": ["DRIVING_LICENSE", "PASSPORT"]}, "country": {"values": ["AUT", "USA"]}},
                {"category": "SELFIE"}]}, "callbackUrl": "https://example.com"}
            """)
        #expect(Set(whole.keys) == ["workflow", "countries", "documentTypes", "callbackUrl"])
        #expect(whole["workflow"] as? Int == 3 && whole["countries"] as? [String] == ["AUT", "USA"])
        #expect(whole["documentTypes"] as? [String] == ["DRIVING_LICENSE", "PASSPORT"])
        for wrong in [
            #"{"workflowDefinition": 3}"#, #"{"workflowDefinition": {}}"#,
            #"{"workflowDefinition": {"key": 2, "x": 1}}"#,
            #"{"workflowDefinition": {"key": 2}, "workflow": "id"}"#,
            #"{"workflowDefinition": {"key": 2, "credentials": {}}}"#,
            #"{"workflowDefinition": {"key": 2, "credentials": [{"category": "ID", "country": ["AUT"]}]}}"#,
            #"{"workflowDefinition": {"key": 2, "credentials": [{"category": "ID", "type": {"values": []}}]}, "documentTypes": []}"#,
        ] {
            #expect { try payload(wrong) } throws: { ($0 as? InspectError)?.code == .payloadInvalid }
        }
    }

    @Test func `A bucket gives its burst at once and its rate in the long run`() {
        let limiter = RateLimiter()
        let start = ContinuousClock.now
        let first = (0..<15).map { _ in limiter.take("x", rate: 2, burst: 10, now: start) }
        #expect(first.prefix(10).allSatisfy { $0 == nil } && first.suffix(5).allSatisfy { ($0 ?? 0) > 0 })
        #expect(limiter.take("y", rate: 2, burst: 10, now: start) == nil)
        #expect(limiter.take("x", rate: 2, burst: 10, now: start + .milliseconds(600)) == nil)
        #expect(limiter.take("x", rate: 2, burst: 10, now: start + .milliseconds(600)) != nil)
        let later = (0..<15).map { _ in limiter.take("x", rate: 2, burst: 10, now: start + .seconds(3600)) }
        #expect(later.count { $0 == nil } == 10)
    }

    @Test func `The description has the calls that the gateway has, each with what it takes`() throws {
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.text(longestWaitSeconds: 60).utf8))
                as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        let described = paths.flatMap { path, calls in calls.keys.map { "\($0.uppercased()) \(path)" } }
        #expect(described.sorted() == GatewayRoute.all.map { "\($0.method) \($0.path)" }.sorted())
        for route in GatewayRoute.all {
            let call = try #require(paths[route.path]?[route.method.lowercased()])
            let body = (call["requestBody"] as? [String: Any])?["content"] as? [String: Any]
            #expect(Set((body ?? [:]).keys) == Set(route.content.types), "\(route.path)")
            guard case .scope(let scope, _) = route.access else { continue }
            let security = try #require(call["security"] as? [[String: [String]]])
            #expect(security.first == ["token": [scope.rawValue]], "\(route.path)")
        }
        let codes = Set(paths.values.flatMap(\.values).compactMap { $0["operationId"] as? String })
        #expect(codes.count == described.count)
    }

    @Test func `The documents that are listed are of types that requests may name, and every format is there`() throws {
        let listed = ReadableDocument.all
        #expect(Set(listed.filter { $0.source == "MRZ" }.map(\.format)) == Set(MRZFormat.allCases.map(\.rawValue)))
        #expect(Set(listed.map(\.type)) == ["PASSPORT", "VISA", "ID_CARD", "DRIVING_LICENSE"])
        #expect(listed.flatMap { $0.countries ?? [] }.allSatisfy { IssuingState.isKnown($0) })
        #expect(Set(listed).count == listed.count)
    }

    @Test func `The description is JSON and lists the status of every code`() throws {
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.text(longestWaitSeconds: 60).utf8))
                as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        let responses = try #require(paths["/inspectionjob/create"]?["post"]?["responses"] as? [String: Any])
        let refused = Set(ErrorCode.allCases.map(\.httpStatus)).subtracting([404, 410, 500]).map(String.init)
        #expect(Set(refused).isSubset(of: responses.keys))
    }

    @Test func `The description accepts the existing workflows and kinds of part`() throws {
        let document = try #require(
            try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.text(longestWaitSeconds: 60).utf8))
                as? [String: Any])
        let components = try #require(document["components"] as? [String: [String: [String: Any]]])
        let request = try #require(components["schemas"]?["CreateRequest"]?["properties"] as? [String: [String: Any]])
        let kinds = try #require(request["workflow"]?["anyOf"] as? [[String: Any]])
        let words = kinds.flatMap { $0["enum"] as? [String] ?? [] }
        #expect(Set(words) == Set(Workflow.allCases.flatMap { [$0.rawValue, $0.row.definitionKey] }))
        for member in ["parts", "digests"] {
            let kinds = try #require(request[member]?["properties"] as? [String: Any])
            #expect(Set(kinds.keys) == Set(PartKind.allCases.map(\.rawValue)), "\(member)")
        }
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Gateway

/// Every call of the gateway's table, each with requests that must be refused.
@Suite struct GatewayRouteTests {
    /// The expected outcome of a request.
    private struct Outcome {
        var status: Int
        /// `nil`: it is no problem document.
        var code: ErrorCode?

        static func refused(_ code: ErrorCode) -> Outcome { Outcome(status: code.httpStatus, code: code) }
    }

    /// A wrong request, but for its method and path.
    private struct Wrong {
        var what: String
        var body: Data?
        var headers: [String: String] = [:]
        /// `nil`: the partner's credential with every scope.
        var bearer: String?
        var outcome: Outcome
    }

    /// What the first partner has.
    private struct Names {
        /// A job that waits.
        var job: String
        /// A link that nobody has opened.
        var token: String
        var callback: String
        var endpoint: Int

        func path(_ route: GatewayRoute) -> String {
            [
                "id": self.job, "webhookId": self.callback, "endpoint": "\(self.endpoint)", "kind": "FACE",
                "faceId": "face-7", "userReference": "user-7", "token": self.token, "asset": "page.js",
            ].reduce(route.path) { $0.replacing("{\($1.key)}", with: $1.value) }
        }
    }

    private static let image = PNG.noise(width: 64, height: 64)
    private static let limit = ["--credential-rate", "100000", "--body-limit", "1"]

    // MARK: Requests

    private static func json(_ text: String) -> (body: Data, headers: [String: String]) {
        (Data(text.utf8), ["Content-Type": "application/json"])
    }

    /// A valid body of a call; `nil`: it has none.
    private static func body(_ route: GatewayRoute) -> (body: Data, headers: [String: String])? {
        switch route.content {
        case .none: nil
        case .form:
            (
                Data("grant_type=client_credentials".utf8),
                ["Content-Type": "application/x-www-form-urlencoded"]
            )
        case .image, .recording:
            (
                Data("--cut\r\nContent-Disposition: form-data; name=\"FRONT\"\r\n\r\nx\r\n--cut--\r\n".utf8),
                ["Content-Type": "multipart/form-data; boundary=cut"]
            )
        case .json, .shortJSON, .jsonOrFiles: Self.json(#"{"encodedFrontImage":"aW1hZ2U="}"#)
        case .optionalJSON where route.path.hasSuffix("/replay"): Self.json(#"{"since":"2026-01-01T00:00:00Z"}"#)
        case .optionalJSON: Self.json("{}")
        }
    }

    /// Bodies that a call must refuse from any client.
    private static func wrongBodies(_ route: GatewayRoute) -> [Wrong] {
        let plain = ["Content-Type": "text/plain"]
        guard let valid = Self.body(route) else {
            return [
                Wrong(
                    what: "a body where none belongs", body: Data("x".utf8), headers: plain,
                    outcome: .refused(.parameterInvalid))
            ]
        }
        func with(_ name: String, _ value: String) -> [String: String] { valid.headers.merging([name: value]) { $1 } }
        let unsupported = Outcome.refused(.mediaTypeUnsupported)
        var all = [
            Wrong(what: "another type", body: valid.body, headers: plain, outcome: unsupported),
            Wrong(what: "no type", body: valid.body, outcome: unsupported),
            Wrong(
                what: "a coded body", body: valid.body, headers: with("Content-Encoding", "gzip"), outcome: unsupported),
            Wrong(
                what: "an unknown coding", body: valid.body, headers: with("Content-Encoding", "x-own"),
                outcome: unsupported),
            // Announced alone: nobody waits for it.
            Wrong(
                what: "too large", headers: with("Content-Length", "2000000"), outcome: .refused(.requestTooLarge)),
        ]
        if case .form = route.content {
            all.append(
                Wrong(
                    what: "no UTF-8", body: Data([0xff, 0x3d, 0xff]), headers: valid.headers,
                    outcome: Outcome(status: 400)))
            return all
        }
        // What of a link's page comes from a browser that did not begin is refused by its head.
        var unread = Outcome.refused(.payloadInvalid)
        if route.content == .image || route.content == .recording { unread = .refused(.linkTaken) }
        for (what, bytes) in [
            ("no UTF-8", Array(#"{"userReference":""#.utf8) + [0xff] + Array(#""}"#.utf8)),
            ("UTF-16", Array(#"{"userReference":"u"}"#.utf16).flatMap { [UInt8($0 & 0xff), UInt8($0 >> 8)] }),
            ("no object", Array("[1]".utf8)), ("no JSON", Array("{".utf8)),
        ] {
            all.append(
                Wrong(
                    what: what, body: Data(bytes), headers: valid.headers, outcome: unread))
        }
        guard case .jsonOrFiles = route.content else { return all }
        let form =
            Data("--cut\r\nContent-Disposition: form-data; name=\"userReference\"\r\n\r\n".utf8) + Data([0xff])
            + Data("\r\n--cut--\r\n".utf8)
        all += [
            Wrong(
                what: "a form with a field that is no UTF-8", body: form,
                headers: ["Content-Type": "multipart/form-data; boundary=cut"], outcome: .refused(.payloadInvalid)),
            Wrong(
                what: "a form without a boundary", body: form, headers: ["Content-Type": "multipart/form-data"],
                outcome: unsupported),
        ]
        return all
    }

    /// What a call does for another partner that uses the first one's names; `nil`: the name is its own, or there is none.
    private static func foreign(_ route: GatewayRoute) -> Outcome? {
        switch (route.pattern.names.first, route.method) {
        // The holder of a link is the person it was sent to; pages are the same for everyone.
        case (nil, _), ("faceId", "POST"), ("token", _), ("asset", _): nil
        case ("id", _): .refused(.jobUnknown)
        case ("webhookId", _): .refused(.callbackUnknown)
        case ("endpoint", _): .refused(.endpointUnknown)
        case ("faceId", "GET"): .refused(.faceNotEnrolled)
        // There is nothing of that name to delete or to show.
        case ("faceId", _), ("userReference", _): Outcome(status: 200)
        default: Outcome(status: 0)
        }
    }

    // MARK: Setting

    /// A job that waits, a callback, a face and a challenge of the first partner.
    private static func names(_ gateway: Gateway) async throws -> Names {
        let job = { (reference: String) async throws -> String in
            let created = try await gateway.call(
                "POST", "/inspectionjob/create",
                [
                    "workflow": "liveness", "encodedFaceImage": Self.image.base64EncodedString(),
                    "userReference": reference,
                ])
            return try #require(created.id, "\(created.document)")
        }
        let ended = try await job("user-8")
        #expect(try await gateway.call("DELETE", "/inspectionjob/\(ended)").status == 200)
        let callbacks = try await gateway.call("GET", "/callbacks?job=\(ended)").document["callbacks"]
        let callback = (callbacks as? [[String: Any]])?.first
        #expect(try await gateway.send("POST", "/liveness/challenge", nil).status == 201)
        try await gateway.connection.execute(
            """
            INSERT INTO insp.face (partner_id, face_id) SELECT id, 'face-7' FROM insp.partner WHERE name = 'bank';
            INSERT INTO insp.face_template (partner_id, face_id, engine, model_sha256, embedding)
            SELECT id, 'face-7', 'test', repeat('0', 64), repeat('0', 1024) FROM insp.partner WHERE name = 'bank';
            """)
        let link = try await gateway.call("POST", "/capture/sessions", ["workflow": "liveness"]).document["url"]
        let token = try #require((link as? String)?.split(separator: "/").last)
        return Names(
            job: try await job("user-7"), token: String(token),
            callback: try #require(callback?["webhookId"] as? String),
            endpoint: try #require(callback?["endpoint"] as? Int))
    }

    /// How much there is of everything that a request could add, remove or change.
    private static func stored(_ gateway: Gateway) async throws -> [String: Int64] {
        let what = [
            "job", "job WHERE status = 1", "part", "content", "person", "job_reference", "rerun", "face",
            "face_template", "challenge", "callback", "callback_waiting", "callback_waiting WHERE attempts = 0",
            "endpoint WHERE paused", "secret WHERE owner LIKE 'endpoint%'", "partner_key", "credential_token",
            "capture_session", "capture_session WHERE opened_at IS NULL", "capture_session WHERE challenges = 0",
        ]
        let row = try await gateway.connection.query(
            "SELECT " + what.map { "(SELECT count(*) FROM insp.\($0))" }.joined(separator: ", "))[0]
        var counts: [String: Int64] = [:]
        for (index, name) in what.enumerated() { counts[name] = try row.int(index) }
        return counts
    }

    private static func check(
        _ answer: Gateway.Answer, _ outcome: Outcome, isKnown: Bool, _ what: String
    ) {
        let said = "\(what): \(answer.status) \(answer.document)"
        #expect(answer.status == outcome.status && answer.code == outcome.code?.rawValue, "\(said)")
        if outcome.code != nil {
            #expect(answer.headers["Content-Type"] == "application/problem+json", "\(said)")
            #expect(answer.document["status"] as? Int == outcome.status, "\(said)")
        }
        // A known client learns from refusals, too, what is left and what is deprecated.
        for name in ["RateLimit", "RateLimit-Policy", "Deprecation", "Sunset"] {
            #expect((answer.headers[name] != nil) == isKnown, "\(name) \(said)")
        }
    }

    // MARK: Tests

    @Test(.timeLimit(.minutes(5)))
    func `Every call refuses what is wrong by the right problem, and nothing is stored`() async throws {
        let every = GatewayCredential.Scope.allCases
        let gateway = try await Gateway.start(
            Self.limit, scopes: "{\(every.map(\.rawValue).joined(separator: ","))}")
        let names = try await Self.names(gateway)
        let stranger = try await gateway.stranger("{\(every.map(\.rawValue).joined(separator: ","))}")
        var lacking: [GatewayCredential.Scope: String] = [:]
        for scope in every {
            let others = every.filter { $0 != scope }.map(\.rawValue).joined(separator: ",")
            lacking[scope] = try await Gateway.credential(gateway.connection, "bank", "{\(others)}")
        }
        let before = try await Self.stored(gateway)
        for name in ["job WHERE status = 1", "face_template", "challenge", "callback"] {
            #expect(before[name] == 1, "\(name)")
        }
        for route in GatewayRoute.all {
            let path = names.path(route)
            let valid = Self.body(route)
            var all = Self.wrongBodies(route)
            if case .scope(let scope, _) = route.access {
                all += [
                    Wrong(
                        what: "no credential", body: valid?.body, headers: valid?.headers ?? [:], bearer: "",
                        outcome: .refused(.unauthenticated)),
                    Wrong(
                        what: "a missing scope", body: valid?.body, headers: valid?.headers ?? [:],
                        bearer: lacking[scope], outcome: .refused(.scopeMissing)),
                ]
            }
            for wrong in all {
                let answer = try await gateway.send(
                    route.method, path, wrong.body, bearer: wrong.bearer, headers: wrong.headers)
                var isKnown = wrong.outcome.code != .unauthenticated
                switch route.access {
                case .everyone, .link: isKnown = false
                case .scope: break
                }
                Self.check(answer, wrong.outcome, isKnown: isKnown, "\(route.method) \(path) \(wrong.what)")
            }
            guard let outcome = Self.foreign(route) else { continue }
            let answer = try await gateway.send(
                route.method, path, valid?.body, bearer: stranger, headers: valid?.headers ?? [:])
            Self.check(answer, outcome, isKnown: true, "\(route.method) \(path) by another partner")
            #expect(!String(decoding: answer.body, as: UTF8.self).contains(names.job), "\(path)")
        }
        let guess = "ik_0123456789abcdef." + String(repeating: "s", count: 43)
        Self.check(
            try await gateway.send("GET", "/usage", nil, bearer: guess), .refused(.unauthenticated), isKnown: false,
            "a wrong credential")
        // By a query, too.
        for (path, outcome) in [
            ("/inspectionjob?userReference=user-7", Outcome(status: 200)),
            ("/callbacks?job=\(names.job)", .refused(.jobUnknown)),
            ("/events?endpoint=\(names.endpoint)", .refused(.endpointUnknown)),
        ] {
            let answer = try await gateway.send("GET", path, nil, bearer: stranger)
            Self.check(answer, outcome, isKnown: true, "GET \(path) by another partner")
            #expect(!String(decoding: answer.body, as: UTF8.self).contains(names.job), "\(path)")
        }
        #expect(try await Self.stored(gateway) == before)
        // What was recorded has the words that the view's description has.
        let strange = try await gateway.connection.query(
            """
            SELECT DISTINCT a.action FROM insp.v_access a
            WHERE NOT string_to_array(regexp_replace(col_description('insp.v_access'::regclass, (SELECT attnum
                FROM pg_attribute WHERE attrelid = 'insp.v_access'::regclass AND attname = 'action')),
                '[^a-z_]+', ' ', 'g'), ' ') @> ARRAY[regexp_replace(a.action, '^endpoint_.*', 'endpoint_')]
            """)
        #expect(try strange.map { try $0.string(0) } == [])
        #expect(try await gateway.stop() == 0)
    }

    @Test func `A credential that asks too fast is told its rate and what is deprecated`() async throws {
        let gateway = try await Gateway.start(["--credential-rate", "1"], scopes: "{read}")
        var late: Gateway.Answer?
        for _ in 0..<20 where late == nil {
            let answer = try await gateway.send("GET", "/inspectionjob/\(UUID().uuidString)", nil)
            if answer.status == 429 { late = answer }
        }
        let refused = try #require(late)
        Self.check(refused, .refused(.rateLimited), isKnown: true, "too fast")
        #expect(refused.headers["RateLimit"]?.contains("r=0") == true && refused.headers["Retry-After"] != nil)
        // Where the secret belongs, it is not deprecated.
        let basic = Data(gateway.bearer.replacing(".", with: ":", maxReplacements: 1).utf8).base64EncodedString()
        let token = try await gateway.send(
            "POST", "/oauth2/token", Data("grant_type=client_credentials".utf8), bearer: "",
            headers: ["Content-Type": "application/x-www-form-urlencoded", "Authorization": "Basic \(basic)"])
        #expect(token.status == 429 || token.status == 200)
        #expect(token.headers["RateLimit"] != nil && token.headers["Deprecation"] == nil)
        #expect(try await gateway.stop() == 0)
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// The contract's calls other than creating a job and getting its result, as made by a partner that has only HTTP.
@Suite struct GatewayContractTests {
    private static let everything = "{create,read,images,session}"
    private static let image = PNG.noise(width: 64, height: 64)
    private static var face: [String: Any] {
        ["workflow": "liveness", "encodedFaceImage": Self.image.base64EncodedString()]
    }
    private static let form = ["Content-Type": "application/x-www-form-urlencoded"]

    private static func basic(_ bearer: String) -> String {
        "Basic " + Data(bearer.replacing(".", with: ":", maxReplacements: 1).utf8).base64EncodedString()
    }

    /// A request for a token.
    private static func token(
        _ gateway: Gateway, _ body: String = "grant_type=client_credentials", authorization: String? = nil
    ) async throws -> Gateway.Answer {
        try await gateway.send(
            "POST", "/oauth2/token", Data(body.utf8), bearer: "",
            headers: Self.form.merging(authorization.map { ["Authorization": $0] } ?? [:]) { $1 })
    }

    // MARK: Tokens

    @Test func `A token does what it was asked for until it expires or its credential ends`() async throws {
        let gateway = try await Gateway.start(scopes: Self.everything)
        let cut = try #require(gateway.bearer.firstIndex(of: "."))
        let (key, secret) = (gateway.bearer[..<cut], gateway.bearer[gateway.bearer.index(after: cut)...])
        let issued = try await Self.token(
            gateway, "grant_type=client_credentials&scope=read+create", authorization: Self.basic(gateway.bearer))
        #expect(issued.status == 200 && issued.headers["Cache-Control"] == "no-store")
        #expect(issued.document["token_type"] as? String == "Bearer" && issued.document["expires_in"] as? Int == 900)
        #expect(issued.document["scope"] as? String == "create read")
        let token = try #require(issued.document["access_token"] as? String)
        let created = try await gateway.call("POST", "/inspectionjob/create", Self.face, bearer: token)
        #expect(created.status == 201 && created.headers["Deprecation"] == nil && created.headers["Sunset"] == nil)
        let id = try #require(created.id)
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: token).status == 200)
        let image = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FACE", bearer: token)
        #expect(image.status == 403 && image.code == "SCOPE_MISSING")
        // The key itself goes on working, and says that it will not for ever.
        let old = try await gateway.call("GET", "/inspectionjob/\(id)")
        #expect(old.status == 200 && old.headers["Deprecation"] == "@1795478400")
        #expect(old.headers["Sunset"] == "Wed, 24 Nov 2027 00:00:00 GMT", "a year later (RFC 8594)")
        #expect(old.headers["Link"]?.contains(#"rel="deprecation""#) == true)
        let refused = try await gateway.call("GET", "/faces/x")
        #expect(refused.code == "SCOPE_MISSING" && refused.headers["Sunset"] == old.headers["Sunset"])
        let description = try await gateway.send("GET", "/openapi.json", nil, bearer: "")
        #expect(String(decoding: description.body, as: UTF8.self).contains("Deprecated: answered until 2027-11-24"))
        // By the body, and without a scope: all of them.
        let whole = try await Self.token(
            gateway, "grant_type=client_credentials&client_id=\(key)&client_secret=\(secret)&scope=")
        #expect(whole.document["scope"] as? String == "create images read session")
        let all = try #require(whole.document["access_token"] as? String)
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)/parts/FACE", bearer: all).body == Self.image)
        #expect(try await gateway.accesses(nil) == ["token", "token"])

        // Neither the token nor its secret stands in the database, and a token gets no other one.
        let stored = try await gateway.connection.query("SELECT t::text FROM insp.credential_token t")
            .map { try $0.string(0) }.joined()
        #expect(stored.contains(token.prefix(19)) && !stored.contains(token.suffix(43)))
        #expect(try await Self.token(gateway, authorization: Self.basic(token)).status == 401)
        #expect(try await Self.token(gateway, authorization: "Bearer \(token)").status == 401)

        _ = try await gateway.connection.query(
            "UPDATE insp.credential_token SET expires_at = now() WHERE key_id = $1", [.text(String(token.prefix(19)))])
        let expired = try await gateway.call("GET", "/inspectionjob/\(id)", bearer: token)
        #expect(expired.status == 401 && expired.code == "UNAUTHENTICATED")
        #expect(try await gateway.call("POST", "/inspectionjob/create", Self.face, bearer: token).status == 401)
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: all).status == 200)
        _ = try await gateway.connection.query("SELECT insp.revoke_credential($1)", [.text(String(key))])
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: all).status == 401)
        // In the words of OAuth, though the gateway still has the credential in its cache.
        let revoked = try await Self.token(gateway, authorization: Self.basic(gateway.bearer))
        #expect(revoked.status == 401 && revoked.document["error"] as? String == "invalid_client")
        #expect(revoked.headers["WWW-Authenticate"]?.hasPrefix("Basic ") == true)
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.credential_token")[0].int(0) == 0)
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains(token.suffix(43)))
    }

    @Test func `What asks for a token in a wrong way is told so in the words of OAuth`() async throws {
        let gateway = try await Gateway.start(scopes: "{read}")
        let right = Self.basic(gateway.bearer)
        let wrong = Self.basic(String(gateway.bearer.dropLast()) + (gateway.bearer.hasSuffix("A") ? "B" : "A"))
        let cases: [(body: String, authorization: String?, status: Int, error: String)] = [
            ("", right, 400, "invalid_request"), ("grant_type=", right, 400, "invalid_request"),
            ("grant_type=password", right, 400, "unsupported_grant_type"),
            ("grant_type=client_credentials&grant_type=client_credentials", right, 400, "invalid_request"),
            ("grant_type=client_credentials&scope=%zz", right, 400, "invalid_request"),
            ("grant_type=client_credentials&scope=create", right, 400, "invalid_scope"),
            ("grant_type=client_credentials&scope=read+admin", right, 400, "invalid_scope"),
            ("grant_type=client_credentials&scope=+", right, 400, "invalid_scope"),
            ("grant_type=client_credentials&client_id=x&client_secret=y", right, 400, "invalid_request"),
            ("grant_type=client_credentials", nil, 401, "invalid_client"),
            ("grant_type=client_credentials", wrong, 401, "invalid_client"),
            ("grant_type=client_credentials", "Basic ???", 401, "invalid_client"),
            ("grant_type=client_credentials&client_id=ik_0123456789abcdef", nil, 401, "invalid_client"),
        ]
        for one in cases {
            let answer = try await Self.token(gateway, one.body, authorization: one.authorization)
            #expect(answer.status == one.status && answer.document["error"] as? String == one.error, "\(one)")
            // RFC 6749, section 5.2: only who used the header is challenged.
            #expect((answer.headers["WWW-Authenticate"] != nil) == (one.status == 401 && one.authorization != nil))
        }
        let json = try await gateway.call("POST", "/oauth2/token", ["grant_type": "client_credentials"], bearer: "")
        #expect(json.status == 415)
        let large = "grant_type=client_credentials&x=" + String(repeating: "x", count: 70_000)
        #expect(try await Self.token(gateway, large, authorization: right).status == 413)
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.credential_token")[0].int(0) == 0)
        #expect(try await gateway.stop() == 0)
    }

    // MARK: Jobs

    @Test func `Jobs are found by their references, page by page, and by their own partner alone`() async throws {
        let gateway = try await Gateway.start(["--credential-rate", "10000"], scopes: "{create,read}")
        var ids: [String] = []
        for number in 0..<5 {
            let more = [
                "userReference": "Jane Dö", "customerInternalReference": "order \(number % 2)",
                "reportingCriteria": "cards",
            ]
            let answer = try await gateway.call(
                "POST", "/inspectionjob/create", Self.face.merging(more) { $1 })
            ids.insert(try #require(answer.id), at: 0)
        }
        func find(_ query: String, bearer: String? = nil) async throws -> (ids: [String], next: String?) {
            let answer = try await gateway.call("GET", "/inspectionjob?\(query)", bearer: bearer)
            #expect(answer.status == 200, "\(query) \(answer.document)")
            let jobs = answer.document["jobs"] as? [[String: Any]] ?? []
            return (jobs.compactMap { $0["id"] as? String }, answer.document["next"] as? String)
        }
        #expect(try await find("userReference=Jane%20D%C3%B6").ids == ids)
        #expect(try await find("reportingCriteria=cards").ids == ids)
        #expect(try await find("userReference=jane").ids == [])
        let odd = [ids[1], ids[3]]
        #expect(try await find("reportingCriteria=cards&customerInternalReference=order%201").ids == odd)
        #expect(try await find("customerInternalReference=order+1&userReference=other").ids == [])
        let first = try await find("reportingCriteria=cards&limit=2")
        #expect(first.ids == Array(ids[..<2]) && first.next == ids[1])
        let second = try await find("reportingCriteria=cards&limit=2&after=\(ids[1])")
        let third = try await find("reportingCriteria=cards&limit=2&after=\(ids[3])")
        #expect(second.ids == Array(ids[2..<4]) && third.ids == [ids[4]] && third.next == nil)
        #expect(try await gateway.call("DELETE", "/inspectionjob/\(ids[2])").status == 200)
        #expect(try await find("reportingCriteria=cards&status=128").ids == [ids[2]])
        #expect(try await find("reportingCriteria=cards&status=1").ids.count == 4)

        let stranger = try await gateway.stranger("{create,read}")
        #expect(try await find("reportingCriteria=cards", bearer: stranger).ids == [])
        let foreign = try await gateway.call(
            "GET", "/inspectionjob?reportingCriteria=cards&after=\(ids[0])", bearer: stranger)
        #expect(foreign.status == 400 && foreign.code == "PARAMETER_INVALID")
        for query in [
            "", "?status=1", "?userReference=", "?userReference=\(String(repeating: "x", count: 101))",
            "?userReference=u&status=3", "?userReference=u&status=x", "?userReference=u&limit=0",
            "?userReference=u&limit=101", "?userReference=u&after=x",
            "?userReference=u&after=00000000-0000-0000-0000-000000000000",
        ] {
            let refused = try await gateway.call("GET", "/inspectionjob\(query)")
            #expect(refused.status == 400 && refused.code == "PARAMETER_INVALID", "\(query)")
        }
        // What was looked for is personal: neither the record nor the log has it.
        let details = try await gateway.connection.query(
            "SELECT detail::text FROM insp.record WHERE action = 'search' ORDER BY id LIMIT 1")[0].string(0)
        #expect(details == #"{"by": ["user"], "found": 5, "scope": "read"}"#)
        #expect(try await gateway.accesses(nil).allSatisfy { $0 == "search delivery" })
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains("Jane"))
    }

    @Test func `A job is cancelled, run again and repeated, and says how far it is`() async throws {
        let gateway = try await Gateway.start(scopes: Self.everything)
        let created = try await gateway.call(
            "POST", "/inspectionjob/create", Self.face, headers: ["Idempotency-Key": "once"])
        let id = try #require(created.id)
        let early = try await gateway.send("POST", "/inspectionjob/\(id)/rerun", nil)
        #expect(early.status == 409 && early.code == "JOB_NOT_FINISHED")
        let cancelled = try await gateway.call("DELETE", "/inspectionjob/\(id)")
        #expect(cancelled.status == 200 && cancelled.document["cancelled"] as? Bool == true)
        #expect(
            try await gateway.call("DELETE", "/inspectionjob/\(id)").document["cancelled"] as? Bool == false)
        let shouted = try await gateway.call("DELETE", "/inspectionjob/\(id.uppercased())")
        #expect(shouted.document["id"] as? String == id, "an id is answered as it is listed")
        let result = try await gateway.call("GET", "/inspectionjob/\(id)")
        #expect(result.document.at("error.code") as? String == "CANCELLED")
        let tag = try #require(result.headers["ETag"])
        for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
            let same = try await gateway.call("GET", "/inspectionjob/\(id)", headers: ["If-None-Match": known])
            #expect(same.status == 304 && same.body.isEmpty && same.headers["Content-Length"] == nil, "\(known)")
            #expect(same.headers["ETag"] == tag)
        }
        #expect(
            try await gateway.call("GET", "/inspectionjob/\(id)", headers: ["If-None-Match": "\"x\""]).status == 200)
        // The repeat says that it is one, and how far the job is by now.
        let again = try await gateway.call(
            "POST", "/inspectionjob/create", Self.face, headers: ["Idempotency-Key": "once"])
        #expect(again.status == 200 && again.id == id && again.document["status"] as? Int == 128)
        #expect(again.document["isRepeated"] as? Bool == true)

        func run(again job: String, key: String) async throws -> Gateway.Answer {
            try await gateway.send("POST", "/inspectionjob/\(job)/rerun", nil, headers: ["Idempotency-Key": key])
        }
        let rerun = try await run(again: id, key: "again")
        let second = try #require(rerun.id)
        let same = try await run(again: id, key: "again")
        #expect(same.status == 200 && same.id == second && same.document["isRepeated"] as? Bool == true)
        for (job, key) in [(id, "once"), (second, "again")] {
            let other = try await run(again: job, key: key)
            #expect(other.status == 409 && other.code == "IDEMPOTENCY_CONFLICT", "\(other.document)")
            #expect(other.document["field"] as? String == "Idempotency-Key")
        }
        #expect(rerun.status == 201 && rerun.headers["Location"] == "/inspectionjob/\(second)")
        let worker = try gateway.service.worker(["--slots", "1"])
        let finished = try await gateway.finished(second)
        #expect(finished["rerunOf"] as? String == id && finished["decision"] != nil)
        let later = try await run(again: id, key: "again")
        #expect(later.status == 200 && later.id == second && later.document["status"] as? Int == 128)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(
            try await gateway.accesses(id) == ["create", "cancel"] + Array(repeating: "read delivery", count: 6)
                + ["create"])
        #expect(try await gateway.accesses(second).first == "rerun")
        let gone = try await gateway.connection.query("SELECT insp.erase($1)", [.text(second)])
        #expect(try gone[0].bool(0))
        let late = try await gateway.send("POST", "/inspectionjob/\(id)/rerun", nil)
        #expect(late.status == 409 && late.code == "PARTS_PURGED")
        let image = try await gateway.call("GET", "/inspectionjob/\(id)/parts/FACE")
        #expect(image.status == 409 && image.code == "PARTS_PURGED")
        #expect(try await gateway.stop() == 0)
    }

    @Test func `Every call is refused without a credential, without its scope, and for another partner's job`()
        async throws
    {
        let gateway = try await Gateway.start(scopes: Self.everything)
        let id = try #require(try await gateway.call("POST", "/inspectionjob/create", Self.face).id)
        let stranger = try await gateway.stranger(Self.everything)
        let none = "00000000-0000-0000-0000-000000000000"
        let calls: [(method: String, path: String, scope: String)] = [
            ("GET", "/inspectionjob/ID", "read"), ("DELETE", "/inspectionjob/ID", "create"),
            ("POST", "/inspectionjob/ID/rerun", "create"), ("GET", "/inspectionjob/ID/parts/FACE", "images"),
            ("GET", "/inspectionjob?userReference=u", "read"), ("POST", "/liveness/challenge", "create"),
        ]
        for call in calls {
            let path = call.path.replacing("ID", with: id)
            let bare = try await gateway.send(call.method, path, nil, bearer: "")
            #expect(bare.status == 401 && bare.headers["WWW-Authenticate"] != nil, "\(call)")
            let unknown = try await gateway.send(call.method, path, nil, bearer: "it_0123456789abcdef.x")
            #expect(unknown.status == 401 && unknown.headers["WWW-Authenticate"] == #"Bearer realm="inspectd""#)
            let others = Self.everything.dropFirst().dropLast().split(separator: ",").filter { $0 != call.scope }
            let limited = try await Gateway.credential(gateway.connection, "bank", "{\(others.joined(separator: ","))}")
            let scopeless = try await gateway.send(call.method, path, nil, bearer: limited)
            #expect(scopeless.status == 403 && scopeless.code == "SCOPE_MISSING", "\(call)")
            let body = try await gateway.send(
                call.method, path, Data("x".utf8), headers: ["Content-Type": "text/plain"])
            #expect([400, 415].contains(body.status), "\(call)")
            let wrong = try await gateway.send("PATCH", path, nil)
            #expect(wrong.status == 405 && wrong.headers["Allow"]?.contains(call.method) == true, "\(call)")
            guard call.path.contains("ID") else { continue }
            for (bearer, job) in [(stranger, id), (gateway.bearer, none), (gateway.bearer, "x")] {
                let unknown = try await gateway.send(
                    call.method, call.path.replacing("ID", with: job), nil, bearer: bearer)
                #expect(unknown.status == 404 && unknown.code == "JOB_UNKNOWN", "\(call)")
            }
        }
        // Nothing of it had an effect.
        let left = try await gateway.connection.query("SELECT status FROM insp.job")
        #expect(try left.map { try $0.int(0) } == [1])
        #expect(try await gateway.stop() == 0)
    }

    @Test func `A job takes exactly the members that are described, and to wait for it is to read`() async throws {
        let gateway = try await Gateway.start(scopes: "{create,faces}")
        let refused = try await gateway.call("POST", "/inspectionjob/create", ["nonsense": 1])
        let hint = try #require(refused.document["hint"] as? String)
        let taken = Set(hint.dropFirst("Keys are ".count).dropLast().components(separatedBy: ", "))
        let description = try await gateway.call("GET", "/openapi.json").document
        let members = try #require(
            description.at("components.schemas.CreateRequest.properties") as? [String: Any])
        let images = members.keys.filter { $0.hasPrefix("encoded") }
        // The credential says whose job it is, and the call in which lane; images and Jumio's shape end at the gateway.
        #expect(
            Set(members.keys) == taken.subtracting(["partner", "lane"]).union(images).union(["workflowDefinition"]))
        // With the right to enrol alone, a face is enrolled, but its result is not read.
        let fields = [(name: "FACE", value: Self.image)]
        let waiting = try await gateway.form(fields, path: "/faces/face-7?wait=1")
        #expect(waiting.status == 403 && waiting.code == "SCOPE_MISSING")
        #expect(try await gateway.form(fields, path: "/faces/face-7").status == 201)
        #expect(try await gateway.call("GET", "/faces/face-7").code == "FACE_NOT_ENROLLED")
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 1)
        #expect(try await gateway.stop() == 0)
    }

    // MARK: Challenges

    @Test func `A challenge is answered once, by a job of its own partner`() async throws {
        let gateway = try await Gateway.start(scopes: "{create}")
        let issued = try await gateway.send("POST", "/liveness/challenge", nil)
        #expect(issued.status == 201 && issued.document["method"] as? String == "colour_flash")
        #expect((issued.document["colours"] as? [String])?.count == 7 && issued.document["expiresAt"] != nil)
        let chosen = try await gateway.call(
            "POST", "/liveness/challenge",
            [
                "method": "colour_flash+motion", "colours": 6, "colourMs": 500, "steps": 2,
                "motions": ["NOD", "SHAKE"], "stepTimeoutMs": 5000, "lifetimeSeconds": 60,
            ])
        #expect(chosen.status == 201 && chosen.document["colourMs"] as? Int == 500)
        #expect(Set(chosen.document["steps"] as? [String] ?? []) == ["NOD", "SHAKE"])
        let token = try #require(issued.document["token"] as? String)
        let frames = (0..<3).map { _ in (name: "FRAMES", value: Self.image) }
        let rest = Data(#"{"challenge":{"token":"\#(token)","frameTimes":[-100,200,600]}}"#.utf8)
        let fields = [(name: "workflow", value: Data("liveness".utf8)), (name: "request", value: rest)] + frames
        let stranger = try await gateway.stranger("{create}")
        let foreign = try await gateway.form(fields, bearer: stranger)
        #expect(foreign.status == 400 && foreign.code == "CHALLENGE_INVALID")
        #expect(try await gateway.form(fields).status == 201)
        let twice = try await gateway.form(fields)
        #expect(twice.status == 400 && twice.code == "CHALLENGE_USED")
        for (text, code) in [
            (#"{"colours":5}"#, "PARAMETER_INVALID"), (#"{"colours":1e400}"#, "PAYLOAD_INVALID"),
            (#"{"method":"x"}"#, "PARAMETER_INVALID"), (#"{"method":7}"#, "PAYLOAD_INVALID"),
            (#"{"motions":["NOD",7],"method":"motion"}"#, "PAYLOAD_INVALID"),
            (#"{"partner":"shop"}"#, "PAYLOAD_INVALID"),
            (#"{"lifetimeSeconds":3600}"#, "PARAMETER_INVALID"), (#"[]"#, "PAYLOAD_INVALID"),
            (#"{"#, "PAYLOAD_INVALID"),
            (#"{"colours":null}"#, "PAYLOAD_INVALID"),
        ] {
            let refused = try await gateway.send(
                "POST", "/liveness/challenge", Data(text.utf8), headers: ["Content-Type": "application/json"])
            #expect(refused.status == 400 && refused.code == code, "\(text) \(refused.document)")
        }
        #expect(try await gateway.accesses(nil) == ["challenge", "challenge"])
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.challenge")[0].int(0) == 2)
        #expect(try await gateway.stop() == 0)
    }
}

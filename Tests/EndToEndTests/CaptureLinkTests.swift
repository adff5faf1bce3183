import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// Capture links: what a partner's server may ask for, and what a link's holder can do with it.
@Suite struct CaptureLinkTests {
    private static let scopes = "{capture,read,create}"
    private static let image = PNG.noise(width: 64, height: 64)
    private static let browser = String(repeating: "b", count: 43)
    private static let other = String(repeating: "c", count: 43)

    /// A browser with a link.
    private struct Phone {
        let gateway: Gateway
        let path: String
        var cookie: String?

        private var headers: [String: String] { self.cookie.map { ["Cookie": "capture=\($0)"] } ?? [:] }

        func get(_ call: String) async throws -> Gateway.Answer {
            try await self.gateway.send("GET", self.path + call, nil, bearer: "", headers: self.headers)
        }

        func post(_ call: String, _ body: [String: Any]? = nil) async throws -> Gateway.Answer {
            try await self.gateway.call("POST", self.path + call, body, bearer: "", headers: self.headers)
        }

        func form(_ call: String, _ fields: [(name: String, value: Data)]) async throws -> Gateway.Answer {
            try await self.gateway.form(fields, path: self.path + call, bearer: "", headers: self.headers)
        }

        /// Consents as the page does.
        func open(_ secret: String, version: String? = nil) async throws -> Gateway.Answer {
            try await self.post(
                "/open", ["browser": secret, "policyVersion": version as Any? ?? NSNull(), "text": "1 en"])
        }
    }

    private static func link(
        _ gateway: Gateway, _ request: [String: Any], bearer: String? = nil
    ) async throws -> Phone {
        let made = try await gateway.call("POST", "/capture/sessions", request, bearer: bearer)
        #expect(made.status == 201, "\(made.document)")
        return Phone(gateway: gateway, path: try #require(made.document["url"] as? String))
    }

    /// An opened link.
    private static func opened(_ gateway: Gateway, _ request: [String: Any]) async throws -> Phone {
        var phone = try await Self.link(gateway, request)
        let answer = try await phone.open(Self.browser)
        #expect(answer.status == 200, "\(answer.document)")
        phone.cookie = Self.browser
        return phone
    }

    private static var document: [String: Any] { ["workflow": "id", "documentFormat": "TD1"] }
    private static let sides = [("FRONT", Self.image), ("BACK", Self.image)]

    private static func count(_ gateway: Gateway, _ what: String) async throws -> Int64 {
        try await gateway.connection.query("SELECT count(*) FROM insp.\(what)")[0].int(0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A link serves one browser, for one job, which has the consent that was given on the page`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        _ = try await gateway.connection.query(
            "SELECT insp.set_consent_policy('bank', true, 'https://bank.example/privacy', '2026-01', '{identity}')")
        var phone = try await Self.link(gateway, Self.document.merging(["userReference": "u-1"]) { $1 })
        // A messenger that previews the link uses nothing up.
        for _ in 0..<2 {
            let page = try await phone.get("")
            let policy = page.headers["Content-Security-Policy"] ?? ""
            #expect(page.status == 200 && policy.contains("frame-ancestors 'none'"), "\(page.headers)")
            #expect(!policy.contains("unsafe") && page.headers["Referrer-Policy"] == "no-referrer")
            #expect(page.headers["Permissions-Policy"]?.contains("camera=(self)") == true)
            #expect(page.headers["Cache-Control"] == "no-store" && page.headers["Set-Cookie"] == nil)
        }
        let state = try await phone.get("/state").document
        #expect(state["state"] as? String == "new" && state["parts"] as? [String] == ["FRONT", "BACK"])
        #expect(state["policyVersion"] as? String == "2026-01" && state["documentFormat"] as? String == "TD1")
        // Nobody has begun.
        #expect(try await phone.form("/check", Self.sides.dropLast()).code == "LINK_TAKEN")
        #expect(try await phone.form("/submit", Self.sides).code == "LINK_TAKEN")
        #expect(try await phone.post("/challenge").code == "LINK_TAKEN")
        #expect(try await phone.open(Self.browser, version: "2025-12").code == "CONSENT_MISSING")
        let opening = try await phone.open(Self.browser, version: "2026-01")
        let cookie = opening.headers["Set-Cookie"] ?? ""
        #expect(cookie.hasPrefix("capture=\(Self.browser); ") && cookie.contains("Secure; HttpOnly; SameSite=Lax"))
        // The answer may have been lost.
        #expect(try await phone.open(Self.browser, version: "2026-01").status == 200)
        #expect(try await phone.open(Self.other, version: "2026-01").code == "LINK_TAKEN")
        for cookie in [nil, Self.other] {
            phone.cookie = cookie
            #expect(try await phone.get("/state").code == "LINK_TAKEN")
            #expect(try await phone.form("/submit", Self.sides).code == "LINK_TAKEN")
        }
        phone.cookie = Self.browser
        #expect(try await phone.get("/state").document["state"] as? String == "open")
        let sent = try await phone.form("/submit", Self.sides)
        #expect(sent.status == 201 && sent.document["state"] as? String == "submitted", "\(sent.document)")
        #expect(sent.document["decision"] == nil && sent.document["returnUrl"] == nil)
        #expect(try await phone.form("/submit", Self.sides).status == 200)
        #expect(try await phone.form("/check", Self.sides.dropLast()).code == "LINK_ENDED")
        let job = try await gateway.connection.query(
            "SELECT j.public_id, insp.personal(j.personal)::text, j.workflow FROM insp.job j")
        #expect(job.count == 1)
        let said = try members(Data(try job[0].string(1).utf8))
        #expect(said["userReference"] as? String == "u-1", "\(said)")
        #expect(
            said.at("consent.policyVersion") as? String == "2026-01" && said.at("consent.text") as? String == "1 en")
        #expect(said.at("consent.purposes") as? [String] == ["identity"] && said.at("consent.obtainedAt") != nil)
        #expect(try await gateway.accesses(try job[0].string(0)) == ["create"])
        #expect(try await gateway.accesses(nil) == ["capture", "capture_open"])
        // No secret is stored.
        let token = try #require(phone.path.split(separator: "/").last)
        let stored = try await gateway.connection.query("SELECT c::text FROM insp.capture_session c")[0].string(0)
        #expect(!stored.contains(token) && !stored.contains(Self.browser))
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Whoever has a link can do what its session says, and nothing more`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let reader = try await Gateway.credential(gateway.connection, "bank", "{read,create}")
        #expect(
            try await gateway.call("POST", "/capture/sessions", Self.document, bearer: reader).code == "SCOPE_MISSING")
        for (request, field) in [
            (["workflow": "enrollment", "documentFormat": "TD1"], "workflow"), (["workflow": "id"], "documentFormat"),
            (["workflow": "liveness", "lane": "urgent"], "lane"), (["workflow": "liveness", "faceId": "f"], "faceId"),
            (["workflow": "id", "documentFormat": "TD3", "challenge": "motion"], "challenge"),
            (["workflow": "liveness", "challenge": "dance"], "challenge"),
            (["workflow": "liveness", "embedOrigin": "https://evil.example"], "embedOrigin"),
        ] as [([String: Any], String)] {
            let refused = try await gateway.call("POST", "/capture/sessions", request)
            #expect(refused.code == "PAYLOAD_INVALID" && refused.document["field"] as? String == field, "\(request)")
        }
        let phone = try await Self.opened(gateway, Self.document)
        let extra: [(String, [(name: String, value: Data)])] = [
            ("PAYLOAD_INVALID", Self.sides + [("faceId", Data("f".utf8))]),
            ("PAYLOAD_INVALID", Self.sides + [("request", Data(#"{"callbackUrl":"https://evil.example/"}"#.utf8))]),
            ("PAYLOAD_INVALID", Self.sides + [("workflow", Data("liveness".utf8)), ("review", Data("never".utf8))]),
            ("PART_UNEXPECTED", Self.sides + [("FACE", Self.image)]), ("PART_MISSING", [Self.sides[0]]),
            ("PART_UNEXPECTED", Self.sides + [("SOD", Self.image)]),
        ]
        for (code, fields) in extra {
            let answer = try await phone.form("/submit", fields)
            #expect(answer.code == code, "\(code) \(answer.document)")
        }
        #expect(try await Self.count(gateway, "job") == 0)
        // The token opens no other call, and another link's cookie not this one.
        let token = String(try #require(phone.path.split(separator: "/").last))
        #expect(
            try await gateway.call("GET", "/inspectionjob?userReference=u", bearer: token).code == "UNAUTHENTICATED")
        var second = try await Self.link(gateway, Self.document)
        #expect(try await second.open(Self.other).status == 200)
        second.cookie = Self.browser
        #expect(try await second.get("/state").code == "LINK_TAKEN")
        // It ends with the credential that made it.
        _ = try await gateway.connection.query(
            "SELECT insp.revoke_credential(c.key_id) FROM insp.credential c WHERE 'capture' = ANY (c.scopes)")
        #expect(try await phone.form("/submit", Self.sides).code == "LINK_ENDED")
        #expect(try await phone.get("").status == 410)
        #expect(try await Self.count(gateway, "job") == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A link sends people back to hosts that were registered alone, and tells whose job it was`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        func ask(_ url: String) async throws -> Gateway.Answer {
            try await gateway.call(
                "POST", "/capture/sessions", Self.document.merging(["returnUrl": url]) { $1 })
        }
        #expect(try await ask("https://www.bank.example/back").code == "RETURN_URL_INVALID")
        let registered = try await Program.run(
            ["partner", "capture", "--partner", "bank", "--host", "www.bank.example"],
            environment: gateway.service.environment)
        #expect(registered.status == 0, "\(registered.errors)")
        #expect(String(decoding: registered.output, as: UTF8.self).contains("www.bank.example"))
        for url in [
            "https://evil.example/", "http://www.bank.example/", "https://www.bank.example@evil.example/",
            "javascript:alert(1)", "https://www.bank.example.evil.example/", "//www.bank.example/",
            "https://www.bank.example\\@evil.example/",
        ] {
            let refused = try await ask(url)
            #expect(
                refused.code == "RETURN_URL_INVALID" && refused.document["field"] as? String == "returnUrl", "\(url)")
        }
        let url = "https://www.bank.example/back?order=7"
        let phone = try await Self.opened(gateway, Self.document.merging(["returnUrl": url]) { $1 })
        #expect(try await phone.get("/state").document["returnUrl"] == nil)
        let sent = try await phone.form("/submit", Self.sides)
        #expect(sent.document["returnUrl"] as? String == url, "\(sent.document)")
        let emptied = try await Program.run(
            ["partner", "capture", "--partner", "bank"], environment: gateway.service.environment)
        #expect(emptied.status == 0, "\(emptied.errors)")
        #expect(try await ask(url).code == "RETURN_URL_INVALID")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A photo is judged three times at once, with advice, and then the person goes on`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let phone = try await Self.opened(gateway, Self.document.merging(["locale": "de-AT"]) { $1 })
        let blurred = try await TestInputs.specimen("blurred.jpg")
        for left in [2, 1, 0] {
            // Another image each time: the same one again is the same try.
            let judged = try await phone.form("/check?language=en", [("FRONT", blurred + [UInt8(left)])])
            #expect(judged.document["triesLeft"] as? Int == left, "\(judged.document)")
            let reasons = judged.document.at("verdict.reasons") as? [[String: Any]] ?? []
            #expect(
                reasons.contains {
                    $0["advice"] as? String == "Halten Sie die Kamera ruhig und lassen Sie sie scharfstellen."
                })
        }
        let after = try await phone.form("/check", [("FRONT", blurred)])
        #expect(after.status == 200 && after.document["verdict"] == nil && after.document["triesLeft"] as? Int == 0)
        // Each side has its own.
        #expect(try await phone.form("/check", [("BACK", blurred)]).document["triesLeft"] as? Int == 2)
        #expect(try await phone.form("/check", Self.sides).code == "PART_UNEXPECTED")
        #expect(try await phone.form("/check", [("FACE", blurred)]).code == "PART_UNEXPECTED")
        #expect(try await phone.form("/submit", [("FRONT", blurred), ("BACK", blurred)]).status == 201)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A link ends with its time, and is removed with it, with its person and with its job`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let phone = try await Self.opened(gateway, Self.document)
        let over = "UPDATE insp.capture_session SET expires_at = now() -"
        _ = try await gateway.connection.query(over + " interval '6 minutes'")
        for call in ["/submit", "/check"] { #expect(try await phone.form(call, Self.sides).code == "LINK_ENDED") }
        #expect(try await phone.get("/state").code == "LINK_ENDED")
        #expect(try await phone.get("").status == 410)
        _ = try await gateway.connection.query(over + " interval '2 hours'")
        _ = try await gateway.connection.query("SELECT * FROM insp.purge_rows(100)")
        #expect(try await Self.count(gateway, "capture_session") == 0)
        #expect(try await phone.get("").status == 404)
        _ = try await Self.link(gateway, Self.document.merging(["userReference": "zqmark u"]) { $1 })
        _ = try await gateway.connection.query("SELECT insp.erase_person('bank', 'zqmark u')")
        #expect(try await Self.count(gateway, "capture_session") == 0)
        let second = try await Self.opened(gateway, Self.document)
        #expect(try await second.form("/submit", Self.sides).status == 201)
        _ = try await gateway.connection.query(
            "SELECT insp.cancel(j.public_id), insp.erase(j.public_id) FROM insp.job j")
        #expect(try await Self.count(gateway, "capture_session") == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A gateway that is killed between upload and job loses none and makes none twice`() async throws {
        let service = try await Service.start()
        var gateway = try await Gateway.start(
            service.connection, environment: service.environment, scopes: Self.scopes)
        var phone = try await Self.opened(gateway, Self.document)
        // The upload has arrived, and waits for a row.
        let holder = try await service.database.connect()
        try await holder.execute("BEGIN; SELECT 1 FROM insp.capture_session FOR UPDATE")
        async let lost = { [phone] in try? await phone.form("/submit", Self.sides) }()
        try await waitUntil("the upload waits") {
            try await service.connection.query(
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%capture_submit%')"
            )[0].bool(0)
        }
        gateway.program.send(SIGKILL)
        _ = try await gateway.program.wait()
        _ = await lost
        try await holder.execute("ROLLBACK")
        await holder.close()
        let bearer = gateway.bearer
        gateway = try await Gateway.start(
            service.connection, environment: service.environment, scopes: Self.scopes)
        gateway.bearer = bearer
        phone = Phone(gateway: gateway, path: phone.path, cookie: phone.cookie)
        // The page sends everything again, whole, and so do its other tries.
        let answers = try await withThrowingTaskGroup(of: Gateway.Answer.self) { [phone] group in
            for _ in 0..<6 { group.addTask { try await phone.form("/submit", Self.sides) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.allSatisfy { [200, 201, 429].contains($0.status) }, "\(answers.map(\.document))")
        // Two of a link are under way at once.
        #expect(answers.count { $0.status < 300 } >= 2)
        #expect(answers.count { $0.status == 201 } <= 1)
        #expect(try await Self.count(gateway, "job") == 1)
        #expect(try await Self.count(gateway, "part") == 2)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Who cannot be photographed or meet the challenge goes to review, where the partner allows it`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let person: [String: Any] = ["workflow": "id_identity", "documentFormat": "TD3", "challenge": "motion"]
        let strict = try await Self.opened(gateway, person)
        #expect(try await strict.form("/submit", [("FRONT", Self.image), ("FACE", Self.image)]).code == "PART_MISSING")
        let phone = try await Self.opened(gateway, person.merging(["fallback": "review", "review": "never"]) { $1 })
        for issued in 1...6 {
            let challenge = try await phone.post("/challenge")
            #expect(challenge.status == (issued < 6 ? 201 : 400), "\(challenge.document)")
        }
        #expect(try await phone.form("/submit", [("FACE", Self.image)]).code == "PART_MISSING")
        // Frames answer a challenge.
        let frames = [("FRONT", Self.image), ("FACE", Self.image), ("FRAMES", Self.image)]
        #expect(try await phone.form("/submit", frames).code == "PART_MISSING")
        #expect(try await phone.form("/submit", [("FRONT", Self.image)]).status == 201)
        let job = try await gateway.connection.query("SELECT j.review, j.public_id FROM insp.job j")
        #expect(job.count == 1)
        #expect(try job[0].string(0) == "always")
        let result = try await gateway.call("GET", "/inspectionjob/\(try job[0].string(1))")
        #expect(result.document["declined"] as? [String] == ["FACE", "FRAMES"], "\(result.document)")
        let half = try await Self.opened(gateway, person.merging(["fallback": "review"]) { $1 })
        #expect(try await half.form("/submit", [("FRONT", Self.image), ("FACE", Self.image)]).status == 201)
        let declined = try await gateway.connection.query(
            "SELECT (insp.job_result(j.public_id) -> 'declined')::text FROM insp.job j ORDER BY j.id DESC LIMIT 1")
        #expect(try declined[0].string(0) == #"["FRAMES"]"#)
        // Nobody else can say so.
        let forged = #"{"workflow":"id","documentFormat":"TD3","declined":["FACE"]}"#
        #expect(
            try await gateway.form([("FRONT", Self.image), ("request", Data(forged.utf8))]).code == "PAYLOAD_INVALID")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Where requests are sealed, a link's session has nothing of the person in the clear`() async throws {
        let site = try await SealedSite()
        let gateway = try await Gateway.start(site.connection, environment: site.environment, scopes: Self.scopes)
        _ = try await site.connection.query("SELECT insp.set_capture_policy('bank', '{www.bank.example}')")
        let url = "https://www.bank.example/zqmark?x=1"
        let phone = try await Self.opened(
            gateway, Self.document.merging(["userReference": "zqmark user", "returnUrl": url]) { $1 })
        let stored = try await site.connection.query("SELECT c::text FROM insp.capture_session c")[0].string(0)
        #expect(!stored.contains("zqmark") && stored.contains("TD1"))
        #expect(
            try await gateway.call(
                "POST", "/capture/sessions", Self.document.merging(["returnUrl": "https://evil.example/"]) { $1 }
            ).code == "RETURN_URL_INVALID")
        let sent = try await phone.form("/submit", Self.sides)
        #expect(sent.status == 201 && sent.document["returnUrl"] as? String == url, "\(sent.document)")
        #expect(try await phone.form("/submit", Self.sides).status == 200)
        #expect(try await site.count("insp.job WHERE key_id IS NOT NULL") == 1)
        _ = try await site.connection.query("SELECT insp.cancel(j.public_id) FROM insp.job j")
        _ = try await site.run("person", "erase", "--partner", "bank", "--reference", "zqmark user")
        #expect(try await site.count("insp.capture_session") == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `The page's files come from the program, unchanged, and one of them may be embedded elsewhere`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let module = try await gateway.send("GET", "/capture/assets/v1/page.js", nil, bearer: "")
        #expect(module.status == 200 && module.headers["Content-Type"] == "text/javascript; charset=utf-8")
        #expect(module.headers["Access-Control-Allow-Origin"] == nil && module.body.count > 1000)
        let tag = try #require(module.headers["ETag"])
        let again = try await gateway.send(
            "GET", "/capture/assets/v1/page.js", nil, bearer: "", headers: ["If-None-Match": tag])
        #expect(again.status == 304 && again.body.isEmpty)
        let shared = try await gateway.send("GET", "/capture/assets/v1/capture.js", nil, bearer: "")
        #expect(shared.headers["Access-Control-Allow-Origin"] == "*")
        // Once, also for an origin that a credential allows.
        _ = try await gateway.connection.query(
            "SELECT insp.set_origins(c.key_id, '{https://shop.bank.example}') FROM insp.credential c")
        try await waitUntil("the gateway knows the origin", within: .seconds(60)) {
            try await gateway.send(
                "GET", "/errors", nil, bearer: "", headers: ["Origin": "https://shop.bank.example"]
            ).headers["Access-Control-Allow-Origin"] == "https://shop.bank.example"
        }
        let elsewhere = try await gateway.send(
            "GET", "/capture/assets/v1/capture.js", nil, bearer: "", headers: ["Origin": "https://shop.bank.example"])
        #expect(elsewhere.headers["Access-Control-Allow-Origin"] == "*")
        for path in ["/capture/assets/v1/secret.js", "/capture/assets/v2/page.js"] {
            #expect(try await gateway.send("GET", path, nil, bearer: "").status == 404, "\(path)")
        }
        let texts = try members(try await gateway.send("GET", "/capture/assets/v1/texts.json", nil, bearer: "").body)
        let keys = { (language: String) in Set((texts[language] as? [String: Any] ?? [:]).keys) }
        #expect(keys("en") == keys("de") && keys("en").count > 50)
        // What the person is asked for, whichever link it is.
        #expect(keys("en").isSuperset(of: PartKind.captured.map { "consent.\($0.rawValue)" }))
        #expect(keys("en").isSuperset(of: PartKind.captured.filter(\.isSide).map { "side.\($0.rawValue)" }))
        // Embedded only where the partner said so, by one of the credential's origins.
        let phone = try await Self.link(
            gateway, Self.document.merging(["embedOrigin": "https://shop.bank.example"]) { $1 })
        let policy = try await phone.get("").headers["Content-Security-Policy"]
        #expect(policy?.contains("frame-ancestors https://shop.bank.example;") == true, "\(policy ?? "")")
        let cookie = try await phone.open(Self.browser).headers["Set-Cookie"] ?? ""
        #expect(cookie.contains("SameSite=None; Partitioned"), "\(cookie)")
        #expect(try await gateway.stop() == 0)
    }
}

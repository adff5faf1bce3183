import Foundation
import Postgres
import TestSupport
import Testing

/// What one person does behind a link: consent, tries, a challenge, and the time for all of it.
@Suite struct CaptureSessionTests {
    private static let scopes = "{capture,read,create}"
    private static let secret = String(repeating: "b", count: 43)
    private static let image = PNG.noise(width: 64, height: 64)
    private static let sides = [("FRONT", Self.image), ("BACK", Self.image)]
    private static var document: [String: Any] { ["workflow": "id", "documentFormat": "TD1"] }

    /// A link's path.
    private static func link(_ gateway: Gateway, _ request: [String: Any]) async throws -> String {
        let made = try await gateway.call("POST", "/capture/sessions", request)
        return try #require(made.document["url"] as? String, "\(made.document)")
    }

    private static func open(
        _ gateway: Gateway, _ path: String, version: String? = nil, purposes: [String]? = nil,
        headers: [String: String] = [:]
    ) async throws -> Gateway.Answer {
        let body: [String: Any] = [
            "browser": Self.secret, "policyVersion": version as Any? ?? NSNull(), "text": "1 en",
            "purposes": purposes as Any? ?? NSNull(),
        ]
        return try await gateway.call("POST", path + "/open", body, bearer: "", headers: headers)
    }

    /// The path of a link in which a person has begun.
    private static func opened(_ gateway: Gateway, _ request: [String: Any]) async throws -> String {
        let path = try await Self.link(gateway, request)
        let answer = try await Self.open(gateway, path)
        #expect(answer.status == 200, "\(answer.document)")
        return path
    }

    private static func post(_ gateway: Gateway, _ path: String) async throws -> Gateway.Answer {
        try await gateway.send("POST", path, nil, bearer: "", headers: ["Cookie": "capture=\(Self.secret)"])
    }

    private static func form(
        _ gateway: Gateway, _ path: String, _ fields: [(name: String, value: Data)], _ headers: [String: String] = [:]
    ) async throws -> Gateway.Answer {
        try await gateway.form(
            fields, path: path, bearer: "", headers: ["Cookie": "capture=\(Self.secret)"].merging(headers) { $1 })
    }

    /// A submit of which the head has arrived, and its body.
    private static func begun(_ gateway: Gateway, _ path: String) async throws -> (SlowClient, Data) {
        var body = Data()
        for (name, value) in Self.sides {
            let head = "--cut\r\nContent-Disposition: form-data; name=\"\(name)\"; filename=\"a\"\r\n\r\n"
            body += Data(head.utf8) + value + Data("\r\n".utf8)
        }
        body += Data("--cut--\r\n".utf8)
        let client = SlowClient(gateway.port)
        client.send(
            "POST \(path)/submit HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=cut\r\n"
                + "Cookie: capture=\(Self.secret)\r\nExpect: 100-continue\r\nContent-Length: \(body.count)\r\n\r\n")
        let answer = await client.answer()
        #expect(answer.hasPrefix("HTTP/1.1 100 "), "\(answer)")
        return (client, body)
    }

    /// The consent of the only job.
    private static func consent(_ connection: PostgresConnection) async throws -> [String: Any] {
        let rows = try await connection.query("SELECT (insp.personal(j.personal) -> 'consent')::text FROM insp.job j")
        #expect(rows.count == 1)
        return try members(Data(try rows[0].string(0).utf8))
    }

    @Test(.timeLimit(.minutes(3)))
    func `A challenge serves the link that it was issued for, until it has another one`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let request: [String: Any] = ["workflow": "liveness", "challenge": "motion"]
        let path = try await Self.opened(gateway, request)
        let other = try await Self.opened(gateway, request)
        func issued(_ path: String) async throws -> String {
            let answer = try await Self.post(gateway, path + "/challenge")
            return try #require(answer.document["token"] as? String, "\(answer.document)")
        }
        func fields(_ token: String) -> [(name: String, value: Data)] {
            let answer = #"{"challenge":{"token":"\#(token)","frameTimes":[0]}}"#
            return [("FACE", Self.image), ("FRAMES", Self.image), ("request", Data(answer.utf8))]
        }
        let first = try await issued(path)
        let last = try await issued(path)
        let foreign = try await issued(other)
        let plain = try await gateway.connection.query("SELECT insp.challenge_issue('bank') ->> 'token'")[0].string(0)
        for token in [first, foreign, plain] {
            let refused = try await Self.form(gateway, path + "/submit", fields(token))
            #expect(refused.code == "CHALLENGE_INVALID", "\(refused.document)")
        }
        // Nor does it serve a job that comes another way.
        let aside = try await gateway.form(fields(last) + [("workflow", Data("liveness".utf8))])
        #expect(aside.code == "CHALLENGE_INVALID", "\(aside.document)")
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 0)
        let sent = try await Self.form(gateway, path + "/submit", fields(last))
        #expect(sent.status == 201, "\(sent.document)")
        #expect(try await Self.form(gateway, other + "/submit", fields(last)).code == "CHALLENGE_INVALID")
        // What answers it may arrive for minutes over a slow line.
        let lifetime = try await gateway.connection.query(
            "SELECT extract(epoch FROM min(expires_at - issued_at))::float8 FROM insp.challenge WHERE consumed_at IS NOT NULL"
        )
        #expect(try lifetime[0].double(0) >= 300)
        #expect(
            try await gateway.connection.query("SELECT count(consumed_at) FROM insp.challenge")[0].int(0) == 1)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Who has begun is held to the policy that the page showed, whatever is published meanwhile`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        func publish(_ version: String, _ purposes: String) async throws {
            _ = try await gateway.connection.query(
                "SELECT insp.set_consent_policy('bank', true, 'https://bank.example/privacy', $1, $2::text[])",
                [.text(version), .text(purposes)])
        }
        try await publish("2026-01", "{identity}")
        let path = try await Self.link(gateway, Self.document)
        let late = try await Self.link(gateway, Self.document)
        #expect(try await Self.open(gateway, path, version: "2026-01", purposes: ["age"]).code == "CONSENT_MISSING")
        #expect(try await Self.open(gateway, path, version: "2026-01", purposes: ["identity"]).status == 200)
        try await publish("2026-02", "{identity,biometrics}")
        let state = try await gateway.send(
            "GET", path + "/state", nil, bearer: "", headers: ["Cookie": "capture=\(Self.secret)"])
        #expect(state.document["policyVersion"] as? String == "2026-01", "\(state.document)")
        let sent = try await Self.form(gateway, path + "/submit", Self.sides)
        #expect(sent.status == 201, "\(sent.document)")
        let said = try await Self.consent(gateway.connection)
        #expect(said["policyVersion"] as? String == "2026-01" && said["purposes"] as? [String] == ["identity"])
        // Nobody agrees to a policy that is not in force any more, and other jobs need the one that is.
        #expect(try await Self.open(gateway, late, version: "2026-01").code == "CONSENT_MISSING")
        let old = #"{"consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z","policyVersion":"2026-01"}}"#
        #expect(try await gateway.form(Self.sides + [("request", Data(old.utf8))]).code == "CONSENT_MISSING")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A sealed job, too, has the consent that its link's person gave`() async throws {
        let site = try await SealedSite()
        let gateway = try await Gateway.start(site.connection, environment: site.environment, scopes: Self.scopes)
        _ = try await site.connection.query(
            "SELECT insp.set_consent_policy('bank', true, 'https://bank.example/privacy', '2026-01', '{identity}')")
        let path = try await Self.link(gateway, Self.document)
        #expect(try await Self.open(gateway, path, version: "2026-01").status == 200)
        _ = try await site.connection.query(
            "SELECT insp.set_consent_policy('bank', true, 'https://bank.example/privacy', '2026-02', '{age}')")
        let sent = try await Self.form(gateway, path + "/submit", Self.sides)
        #expect(sent.status == 201, "\(sent.document)")
        #expect(try await Self.consent(site.connection)["policyVersion"] as? String == "2026-01")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A person has the session's time from when they begin, however late that is`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        for wrong in [299, 7201, 1.5, "600"] as [Any] {
            let refused = try await gateway.call(
                "POST", "/capture/sessions", Self.document.merging(["sessionSeconds": wrong]) { $1 })
            #expect(
                refused.code == "PAYLOAD_INVALID" && refused.document["field"] as? String == "sessionSeconds",
                "\(wrong): \(refused.document)")
        }
        let path = try await Self.link(
            gateway, Self.document.merging(["lifetimeSeconds": 60, "sessionSeconds": 600]) { $1 })
        let state = try await gateway.send("GET", path + "/state", nil, bearer: "")
        let left = try #require(state.document["expiresIn"] as? Int)
        #expect(left <= 60 && state.document["sessionSeconds"] as? Int == 600, "\(state.document)")
        let began = try await Self.open(gateway, path)
        let then = try #require(began.document["expiresIn"] as? Int, "\(began.document)")
        #expect((400...600).contains(then), "\(then)")
        let cookie = began.headers["Set-Cookie"] ?? ""
        let age = try #require(cookie.firstMatch(of: /Max-Age=([0-9]+)/).flatMap { Int($0.1) }, "\(cookie)")
        #expect((4000...4200).contains(age), "\(cookie)")
        // Nobody begins later than the link's lifetime.
        let late = try await Self.link(gateway, Self.document)
        _ = try await gateway.connection.query(
            "UPDATE insp.capture_session SET expires_at = now() WHERE opened_at IS NULL")
        #expect(try await Self.open(gateway, late).code == "LINK_ENDED")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A consent has the time at which it arrived, and keeps it`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let path = try await Self.link(gateway, Self.document)
        let clock = "SELECT insp.iso_time(clock_timestamp())"
        let before = try await gateway.connection.query(clock)[0].string(0)
        // What comes later waits for a row.
        let holder = try await gateway.service.database.connect()
        try await holder.execute("BEGIN; SELECT 1 FROM insp.capture_session FOR UPDATE")
        async let opening = Self.open(gateway, path)
        try await waitUntil("the consent waits") {
            try await gateway.connection.query(
                "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%capture_open%')"
            )[0].bool(0)
        }
        try await Task.sleep(for: .milliseconds(5))
        let after = try await gateway.connection.query(clock)[0].string(0)
        try await Task.sleep(for: .milliseconds(5))
        try await holder.execute("ROLLBACK")
        await holder.close()
        #expect(try await opening.status == 200)
        #expect(try await Self.form(gateway, path + "/submit", Self.sides).status == 201)
        let given = try #require(try await Self.consent(gateway.connection)["obtainedAt"] as? String)
        #expect(before <= given && given <= after, "\(before) \(given) \(after)")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Pages of other origins do nothing in a link`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let shop = "https://shop.bank.example"
        _ = try await gateway.connection.query(
            "SELECT insp.set_origins(c.key_id, '{\(shop)}') FROM insp.credential c")
        // The page in its frame is the gateway's own, also where a partner's page may embed it.
        for request in [Self.document, Self.document.merging(["embedOrigin": shop]) { $1 }] {
            let path = try await Self.link(gateway, request)
            for headers in [
                ["Origin": "https://evil.example"], ["Origin": shop], ["Origin": "null"],
                ["Origin": "https://x.evil.example"],
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site", "Origin": "https://x"],
            ] {
                let refused = [
                    try await Self.open(gateway, path, headers: headers),
                    try await Self.form(gateway, path + "/check", [Self.sides[0]], headers),
                    try await Self.form(gateway, path + "/submit", Self.sides, headers),
                    try await gateway.send("POST", path + "/challenge", nil, bearer: "", headers: headers),
                ]
                #expect(
                    refused.allSatisfy {
                        $0.code == "PARAMETER_INVALID" && $0.document["field"] as? String == "Origin"
                    },
                    "\(headers) \(refused.map(\.document))")
            }
            #expect(
                try await gateway.send("GET", path + "/state", nil, bearer: "").document["state"] as? String == "new")
            // A proxy may have replaced the host; browsers of before Sec-Fetch-Site say their origin alone.
            let proxied = ["Sec-Fetch-Site": "same-origin", "Origin": "https://gateway.example"]
            #expect(try await Self.open(gateway, path, headers: proxied).status == 200)
            #expect(try await Self.form(gateway, path + "/submit", Self.sides, ["Origin": "https://X"]).status == 201)
        }
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `The body of a browser that did not begin is not waited for`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let path = try await Self.opened(gateway, Self.document)
        // The body never comes.
        func said(_ call: String, _ cookie: String?) async -> String {
            let client = SlowClient(gateway.port)
            defer { client.close() }
            client.send(
                "POST \(path)\(call) HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=cut\r\n"
                    + (cookie.map { "Cookie: capture=\($0)\r\n" } ?? "") + "Content-Length: 2000000\r\n\r\n")
            return await client.answer()
        }
        for call in ["/check", "/submit"] {
            for cookie in [nil, String(repeating: "c", count: 43)] {
                #expect(await said(call, cookie).contains("LINK_TAKEN"), "\(call) \(cookie ?? "")")
            }
        }
        #expect(try await Self.form(gateway, path + "/submit", Self.sides).status == 201)
        #expect(await said("/check", Self.secret).contains("LINK_ENDED"))
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `What a person began to send in time is accepted, however long it takes to arrive`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let path = try await Self.opened(gateway, Self.document)
        let (client, body) = try await Self.begun(gateway, path)
        defer { client.close() }
        _ = try await gateway.connection.query("UPDATE insp.capture_session SET expires_at = now()")
        client.send(body)
        #expect(await client.answer().hasPrefix("HTTP/1.1 201 "))
        #expect(try await gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 1)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `What is sent again whole is taken for six minutes after the link's time, and nothing else is`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let path = try await Self.opened(gateway, Self.document)
        func submit(_ headers: [String: String] = [:]) async throws -> Gateway.Answer {
            try await Self.form(gateway, path + "/submit", Self.sides, headers)
        }
        func end(_ ago: String) async throws {
            _ = try await gateway.connection.query(
                "UPDATE insp.capture_session SET expires_at = now() - $1::text::interval", [.text(ago)])
        }
        // The first was lost on its way.
        let (lost, body) = try await Self.begun(gateway, path)
        lost.send(body.prefix(1000))
        lost.close()
        try await end("6 minutes")
        #expect(try await submit().code == "LINK_ENDED")
        try await end("1 minute")
        #expect(try await Self.form(gateway, path + "/check", [Self.sides[0]]).code == "LINK_ENDED")
        #expect(try await Self.post(gateway, path + "/challenge").code == "LINK_ENDED")
        for cookie in ["other=1", "capture=" + String(repeating: "c", count: 43)] {
            #expect(try await submit(["Cookie": cookie]).code == "LINK_ENDED")
            let state = try await gateway.send("GET", path + "/state", nil, bearer: "", headers: ["Cookie": cookie])
            #expect(state.code == "LINK_ENDED")
        }
        #expect(try await submit().status == 201)
        #expect(try await submit().status == 200)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Two bodies of a link are under way at once, and others wait until one has ended`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let path = try await Self.opened(gateway, Self.document)
        let other = try await Self.opened(gateway, Self.document)
        let (first, body) = try await Self.begun(gateway, path)
        let (second, _) = try await Self.begun(gateway, path)
        defer { for client in [first, second] { client.close() } }
        for call in ["/check", "/submit"] {
            let refused = try await Self.form(gateway, path + call, [Self.sides[0]])
            #expect(refused.code == "RATE_LIMITED" && refused.headers["Retry-After"] == "1", "\(refused.document)")
        }
        #expect(try await Self.form(gateway, other + "/submit", Self.sides).status == 201)
        second.close()
        try await waitUntil("a third is taken") {
            try await Self.form(gateway, path + "/check", [Self.sides[0]]).status != 429
        }
        first.send(body)
        #expect(await first.answer().hasPrefix("HTTP/1.1 201 "))
        for _ in 0..<3 { #expect(try await Self.form(gateway, path + "/submit", Self.sides).status == 200) }
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A sealed request that answers a challenge too late leaves no key`() async throws {
        let site = try await SealedSite()
        let gateway = try await Gateway.start(site.connection, environment: site.environment, scopes: Self.scopes)
        let path = try await Self.opened(gateway, ["workflow": "liveness", "challenge": "motion"])
        let issued = try await Self.post(gateway, path + "/challenge")
        let token = try #require(issued.document["token"] as? String, "\(issued.document)")
        let answer = #"{"challenge":{"token":"\#(token)","frameTimes":[0]}}"#
        let fields = [("FACE", Self.image), ("FRAMES", Self.image), ("request", Data(answer.utf8))]
        let used = "now() + interval '1 hour', consumed_at = now()"
        for (change, code) in [("now()", "CHALLENGE_EXPIRED"), (used, "CHALLENGE_USED")] {
            _ = try await site.connection.query("UPDATE insp.challenge SET expires_at = \(change)")
            let refused = try await Self.form(gateway, path + "/submit", fields)
            #expect(refused.code == code, "\(refused.document)")
        }
        #expect(try await site.store.query("SELECT count(*) FROM insp.key WHERE kind = 'job'")[0].int(0) == 0)
        // The client that sent it gets the answer, however late.
        _ = try await site.connection.query("UPDATE insp.challenge SET consumed_at = NULL")
        #expect(try await Self.form(gateway, path + "/submit", fields).status == 201)
        _ = try await site.connection.query("UPDATE insp.challenge SET expires_at = now()")
        #expect(try await Self.form(gateway, path + "/submit", fields).status == 200)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A sealed request that arrives after its link's job leaves no key`() async throws {
        let site = try await SealedSite()
        let gateway = try await Gateway.start(site.connection, environment: site.environment, scopes: Self.scopes)
        let path = try await Self.opened(gateway, Self.document)
        let (client, body) = try await Self.begun(gateway, path)
        defer { client.close() }
        #expect(try await Self.form(gateway, path + "/submit", Self.sides).status == 201)
        client.send(body)
        #expect(await client.answer().hasPrefix("HTTP/1.1 200 "))
        #expect(try await site.store.query("SELECT count(*) FROM insp.key WHERE kind = 'job'")[0].int(0) == 1)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `An image that comes again, because an answer was lost, costs no try`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let path = try await Self.opened(gateway, Self.document)
        let images = [320, 324, 328, 332].map { PNG.noise(width: $0, height: 240) }
        func judged(_ image: Int, _ kind: String = "FRONT") async throws -> (left: Int?, isJudged: Bool) {
            let answer = try await Self.form(gateway, path + "/check", [(kind, images[image])])
            #expect(answer.status == 200, "\(answer.document)")
            return (answer.document["triesLeft"] as? Int, answer.document["verdict"] != nil)
        }
        for (image, left) in [(0, 2), (0, 2), (1, 1), (0, 1), (2, 0), (2, 0), (1, 0)] {
            let answer = try await judged(image)
            #expect(answer.left == left && answer.isJudged, "image \(image): \(answer)")
        }
        #expect(try await judged(3).isJudged == false)
        // The other side has its own.
        #expect(try await judged(0, "BACK").left == 2)
        // Nine times in all.
        for _ in 5...9 { #expect(try await judged(2).isJudged) }
        #expect(try await judged(2).isJudged == false)
        #expect(try await judged(0, "BACK").left == 1)
        #expect(try await gateway.stop() == 0)
    }
}

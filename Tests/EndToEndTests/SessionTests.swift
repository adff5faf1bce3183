import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// Sessions of several blobs, from a client to a vendor's server and back.
@Suite struct SessionTests {
    private static let scopes = "{session,create,read,keys}"

    private func worker(
        _ environment: [String: String], _ vendor: StubVendor, patienceSeconds: Int = 120,
        _ more: [String: String] = [:]
    ) throws -> Program {
        try Program(
            ["worker", "--slots", "1", "--log-level", "debug"],
            environment: environment.merging(vendor.environment) { $1 }
                .merging(["INSPECTD_VENDOR_PATIENCE": "\(patienceSeconds)"]) { $1 }.merging(more) { $1 })
    }

    /// The answer to a blob, however long it takes.
    private func send(
        _ gateway: Gateway, _ body: [String: Any], bearer: String? = nil
    ) async throws -> Gateway.Answer {
        var answer = try await gateway.call("POST", "/facetec/session", body, bearer: bearer)
        let place = answer.headers["Location"]
        let deadline = ContinuousClock.now + .seconds(120)
        while answer.status == 202, let place, ContinuousClock.now < deadline {
            answer = try await gateway.call("GET", place + "?wait=30", bearer: bearer)
        }
        return answer
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `All blobs of a session are one job, and each gets its own answer`(isSealed: Bool) async throws {
        let gateway: Gateway
        let environment: [String: String]
        if isSealed {
            let service = try await SealedService(try await KeySetting())
            environment = service.setting.environment
            gateway = try await Gateway.start(service.connection, environment: environment, scopes: Self.scopes)
        } else {
            gateway = try await Gateway.start(scopes: Self.scopes)
            environment = gateway.service.environment
        }
        let vendor = try StubVendor()
        let worker = try self.worker(environment, vendor)
        defer { worker.send(SIGKILL) }
        let user = "zqmark Anna Ö"
        let first = try await self.send(
            gateway, ["sessionRequestBlob": "start.zqmark", "userId": user, "flow": "card"])
        let id = try #require(first.document["sessionId"] as? String, "\(first.document)")
        #expect(first.status == 200 && first.document["isFinished"] as? Bool == false)
        #expect(first.document["sessionResponseBlob"] as? String == "answer-to-start.zqmark")
        #expect(first.document["success"] as? Bool == true && first.document["livenessPassed"] as? Bool == false)
        #expect(first.document["reason"] as? String == "CONTINUE")
        let place = try await gateway.call("GET", "/facetec/session/\(id)?wait=60")
        #expect(place.status == 200 && place.document["isFinished"] as? Bool == false)
        let state = try await gateway.connection.query(
            "SELECT explanation FROM insp.explain_job($1) WHERE aspect = 'state'", [.text(id)])[0].string(0)
        #expect(state == "Waits for the next blob of its session.")
        let stranger = try await gateway.stranger("{session}")
        let foreign = ["sessionRequestBlob": "live.zqmark", "sessionId": id]
        #expect(try await gateway.call("POST", "/facetec/session", foreign, bearer: stranger).code == "JOB_UNKNOWN")

        // The person tries again. Another flow is another session.
        let spoof = try await self.send(gateway, ["sessionRequestBlob": "spoof.zqmark", "sessionId": id])
        #expect(spoof.document["sessionId"] as? String == id && spoof.document["isFinished"] as? Bool == false)
        #expect(spoof.document["success"] as? Bool == false)
        #expect(spoof.document["sessionResponseBlob"] as? String == "answer-to-spoof.zqmark")
        let other = try await self.send(gateway, ["sessionRequestBlob": "start.other", "userId": user, "flow": "loan"])
        #expect(other.document["sessionId"] as? String != id)
        // A client that does not know sessions goes on with the one of its user and flow.
        let live = try await self.send(gateway, ["sessionRequestBlob": "live.zqmark", "userId": user, "flow": "card"])
        #expect(live.document["sessionId"] as? String == id && live.document["isFinished"] as? Bool == true)
        #expect(live.document["livenessPassed"] as? Bool == true && live.document["reason"] as? String == "OK")
        #expect(live.document["sessionResponseBlob"] as? String == "answer-to-live.zqmark")
        let late = try await gateway.call(
            "POST", "/facetec/session", ["sessionRequestBlob": "live.late", "sessionId": id])
        #expect(late.status == 409 && late.code == "SESSION_ENDED")

        let result = try await gateway.finished(id)
        #expect(result.at("decision.type") as? String == "PASSED" && result["userReference"] as? String == user)
        #expect(result.at("capabilities.liveness.0.data.assurance") as? String == "certified-vendor")
        #expect(vendor.received == ["start.zqmark", "spoof.zqmark", "start.other", "live.zqmark"])
        #expect(vendor.requests.allSatisfy { $0.person == user })
        let outcomes = try await gateway.connection.query(
            """
            SELECT concat_ws(' ', detail ->> 'blob', detail ->> 'outcome') FROM insp.record
            WHERE action = 'session_end' AND subject = $1 ORDER BY id
            """, [.text(id)])
        #expect(try outcomes.map { try $0.string(0) } == ["answered", "1 answered", "2 answered"])
        if isSealed {
            // Neither the blobs nor the answers, in any column.
            let plain = try await gateway.connection.query(
                """
                SELECT (SELECT count(*) FROM insp.content WHERE position('zqmark'::bytea IN bytes) > 0)
                    + (SELECT count(*) FROM insp.step WHERE position('zqmark'::bytea IN body) > 0
                        OR summary::text LIKE '%zqmark%')
                    + (SELECT count(*) FROM insp.job WHERE position('zqmark'::bytea IN personal) > 0)
                """)[0].int(0)
            #expect(plain == 0)
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
        for log in [worker.standardError, gateway.program.standardError] {
            #expect(!log.contains("zqmark") && !log.contains("answer-to") && !log.contains(StubVendor.deviceKey))
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `A session that its client leaves is decided by what was answered`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let vendor = try StubVendor()
        let worker = try self.worker(gateway.service.environment, vendor, patienceSeconds: 1)
        defer { worker.send(SIGKILL) }
        for (blob, type) in [("start.1", "WARNING"), ("spoof.2", "REJECTED"), ("front.3", "WARNING")] {
            let answer = try await gateway.call("POST", "/facetec/session", ["sessionRequestBlob": blob])
            let id = try #require((answer.document["sessionId"] ?? answer.document["id"]) as? String)
            let result = try await gateway.finished(id)
            #expect(result.at("decision.type") as? String == type, "\(blob): \(result)")
            #expect(result.at("capabilities.liveness.0.data.assurance") as? String == "certified-vendor")
            let ended = try await gateway.call("GET", "/facetec/session/\(id)")
            #expect(ended.document["isFinished"] as? Bool == true)
            #expect(ended.document["livenessPassed"] as? Bool == false)
            #expect(ended.document["sessionResponseBlob"] as? String == "answer-to-\(blob)")
        }
        #expect(vendor.received == ["start.1", "spoof.2", "front.3"])
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A session outlives the worker that began it, and no blob is sent twice`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let vendor = try StubVendor()
        let first = try self.worker(gateway.service.environment, vendor)
        let start = try await self.send(gateway, ["sessionRequestBlob": "start.1"])
        let id = try #require(start.document["sessionId"] as? String, "\(start.document)")
        first.send(SIGKILL)
        _ = try await first.wait()
        let second = try self.worker(gateway.service.environment, vendor)
        defer { second.send(SIGKILL) }
        let live = try await self.send(gateway, ["sessionRequestBlob": "match7.1", "sessionId": id])
        #expect(live.document["livenessPassed"] as? Bool == true, "\(live.document)")
        let result = try await gateway.finished(id)
        #expect(result.at("capabilities.liveness.0.data.scores.matchLevel") as? Double == 7)
        #expect(vendor.received == ["start.1", "match7.1"])
        #expect(try await gateway.stop() == 0)
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("error", "VENDOR_REFUSED"), ("moved", "VENDOR_REFUSED"), ("hang", "VENDOR_OUTCOME_UNKNOWN"),
            ("torn", "VENDOR_OUTCOME_UNKNOWN"), ("flood", "VENDOR_RESPONSE_INVALID"),
            ("deep", "VENDOR_RESPONSE_INVALID"), ("quarrel", "VENDOR_RESPONSE_INVALID"),
            ("two", "VENDOR_RESPONSE_INVALID"),
        ])
    func `Whatever a vendor's server answers, the session's job reaches 128 with a code`(
        _ kind: String, _ code: String
    ) async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let vendor = try StubVendor()
        // Only the hanging server has a short time-out: the others answer, however busy the machine.
        let worker = try self.worker(
            gateway.service.environment, vendor, kind == "hang" ? ["INSPECTD_VENDOR_TIMEOUT": "5"] : [:])
        defer { worker.send(SIGKILL) }
        let start = try await self.send(gateway, ["sessionRequestBlob": "start.1"])
        let id = try #require(start.document["sessionId"] as? String, "\(start.document)")
        let answer = try await self.send(gateway, ["sessionRequestBlob": "\(kind).1", "sessionId": id])
        #expect(answer.document["isFinished"] as? Bool == true && answer.document["success"] as? Bool == false)
        #expect(answer.document["livenessPassed"] as? Bool == false && answer.document["reason"] as? String == code)
        let result = try await gateway.finished(id)
        #expect(result["status"] as? Int == 128 && result.at("error.code") as? String == code, "\(result)")
        #expect(vendor.received == ["start.1", "\(kind).1"])
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A partner's sessions go to its own server, with its key and its pins`() async throws {
        let gateway = try await Gateway.start(["--longest-wait", "15"], scopes: Self.scopes)
        let (common, own) = (try StubVendor(), try StubVendor(deviceKey: "key-of-the-shop"))
        let authorities = gateway.service.files.appendingPathComponent("authorities.pem")
        try (Data(contentsOf: common.certificate) + Data(contentsOf: own.certificate)).write(to: authorities)
        let worker = try self.worker(
            gateway.service.environment, common,
            ["INSPECTD_VENDOR_CA": authorities.path, "INSPECTD_VENDOR_KEY_SHOP": "key-of-the-shop"])
        defer { worker.send(SIGKILL) }
        let shop = try await gateway.stranger("{session}")
        func set(_ vendor: [String: Any]) async throws -> (status: Int32, output: String, errors: String) {
            let done = try await Program.run(
                ["partner", "vendor", "--partner", "shop", "--server", "-"],
                environment: gateway.service.environment, input: try JSONSerialization.data(withJSONObject: vendor))
            return (done.status, String(decoding: done.output, as: UTF8.self), done.errors)
        }
        let server: [String: Any] = [
            "url": own.url, "pins": [own.pin], "keyName": "SHOP", "allowPrivate": true,
            "allowedNetworks": ["127.0.0.0/8", "::1/128"],
        ]
        let done = try await set(server)
        #expect(done.status == 0 && done.output.hasPrefix("partner shop: vendor "), "\(done.errors)")
        #expect(try await self.send(gateway, ["sessionRequestBlob": "live.1"]).document["success"] as? Bool == true)
        let theirs = try await self.send(gateway, ["sessionRequestBlob": "live.2"], bearer: shop)
        #expect(theirs.document["livenessPassed"] as? Bool == true, "\(theirs.document)")
        #expect(common.received == ["live.1"] && own.received == ["live.2"])

        // No key of another server, and none that the worker does not have.
        #expect(try await set(server.filter { $0.key != "keyName" }).status == 0)
        let keyless = try await self.send(gateway, ["sessionRequestBlob": "live.3"], bearer: shop)
        #expect(keyless.document["reason"] as? String == "VENDOR_REFUSED")
        #expect(try await set(server.merging(["keyName": "BANK"]) { $1 }).status == 0)
        let unknown = try await self.send(gateway, ["sessionRequestBlob": "live.4"], bearer: shop)
        #expect(unknown.document["reason"] as? String == "VENDOR_NOT_CONFIGURED")
        // Addresses outside the list, and servers with another key, get nothing; the job is tried again later.
        for wrong: [String: Any] in [["allowedNetworks": ["10.0.0.0/8"]], ["pins": [common.pin]]] {
            #expect(try await set(server.merging(wrong) { $1 }).status == 0)
            let sent = try await gateway.call(
                "POST", "/facetec/session", ["sessionRequestBlob": "live.5", "userId": "u"], bearer: shop)
            let id = try #require((sent.document["id"] ?? sent.document["sessionId"]) as? String)
            try await waitUntil("an attempt failed") {
                try await gateway.connection.query(
                    """
                    SELECT count(*) FROM insp.record WHERE subject = $1 AND action = 'session_end'
                        AND detail ->> 'outcome' = 'not_sent'
                    """, [.text(id)])[0].int(0) > 0
            }
            _ = try await gateway.connection.query("SELECT insp.cancel($1)", [.text(id)])
        }
        let none = try await Program.run(
            ["partner", "vendor", "--partner", "shop", "--remove"], environment: gateway.service.environment)
        #expect(none.status == 0)
        let back = try await self.send(gateway, ["sessionRequestBlob": "live.6"], bearer: shop)
        #expect(back.document["success"] as? Bool == true)
        #expect(common.received == ["live.1", "live.6"] && own.received == ["live.2"])
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Where a partner has registered a key, each answer of a session is encrypted for it`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let pair = try PartnerKeyPair(["kty": "EC", "crv": "P-256"])
        #expect(try await gateway.call("POST", "/encryption-key", try members(pair.publicKey)).status == 200)
        let vendor = try StubVendor()
        let worker = try self.worker(gateway.service.environment, vendor)
        defer { worker.send(SIGKILL) }
        func opened(_ answer: Gateway.Answer) throws -> [String: Any] {
            #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/jose")
            return try members(try pair.open(answer.body).content)
        }
        let start = try opened(try await self.send(gateway, ["sessionRequestBlob": "start.1"]))
        #expect(start["sessionResponseBlob"] as? String == "answer-to-start.1")
        let id = try #require(start["sessionId"] as? String)
        let live = try opened(try await self.send(gateway, ["sessionRequestBlob": "live.1", "sessionId": id]))
        #expect(live["livenessPassed"] as? Bool == true)
        let again = try opened(try await gateway.call("GET", "/facetec/session/\(id)"))
        #expect(again["sessionResponseBlob"] as? String == "answer-to-live.1")
        #expect(try await gateway.stop() == 0)
    }
}

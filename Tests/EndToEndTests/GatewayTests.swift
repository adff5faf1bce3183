import Foundation
import FoundationNetworking
import Glibc
import Postgres
import Synchronization
import TestSupport
import Testing

/// The gateway as its clients see it, with a real database and a real worker.
@Suite struct GatewayTests {
    private static let image = PNG.noise(width: 64, height: 64).base64EncodedString()

    @Test func `A job is accepted and finishes at 128, visible only to its own partner`() async throws {
        let gateway = try await Gateway.start()
        let worker = try gateway.service.worker(["--slots", "1"])
        let body: [String: Any] = ["workflow": "liveness", "encodedFaceImage": Self.image, "userReference": "u-42"]
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        let created = try await gateway.call(
            "POST", "/inspectionjob/create", body, headers: ["Idempotency-Key": "order-1", "traceparent": trace])
        #expect(created.status == 201)
        let id = try #require(created.document["id"] as? String)
        #expect(created.headers["Location"] == "/inspectionjob/\(id)")
        // Another span, but still the same request.
        let again = try await gateway.call(
            "POST", "/inspectionjob/create", body,
            headers: ["Idempotency-Key": "order-1", "traceparent": trace.replacing("b7ad", with: "c7ad")])
        #expect(again.status == 200 && again.document["id"] as? String == id)
        #expect(again.document["isRepeated"] as? Bool == true && created.document["isRepeated"] == nil)
        let other = try await gateway.call(
            "POST", "/inspectionjob/create", ["workflow": "liveness", "encodedFaceImage": "YQ=="],
            headers: ["Idempotency-Key": "order-1"])
        #expect(other.status == 409 && other.document["code"] as? String == "IDEMPOTENCY_CONFLICT")
        #expect(other.document["field"] as? String == "Idempotency-Key")

        var result = try await gateway.call("GET", "/inspectionjob/\(id)?wait=60")
        // The first wait may end before the job does.
        try await waitUntil("the job is finished") {
            if result.document["status"] as? Int == 128 { return true }
            result = try await gateway.call("GET", "/inspectionjob/\(id)?wait=60")
            return false
        }
        #expect(result.status == 200)
        #expect(result.document["userReference"] as? String == "u-42" && result.document["decision"] != nil)
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)?wait=60").status == 200)
        // The older synchronous call.
        let legacy = try await gateway.call("POST", "/inspectionjob/create?wait=60", body)
        #expect(legacy.status == 201 && legacy.document["id"] != nil)

        _ = try await gateway.service.connection.query("SELECT insp.create_partner('shop')")
        let stranger = try await Gateway.credential(gateway.connection, "shop", "{create,read}")
        let foreign = try await gateway.call("GET", "/inspectionjob/\(id)", bearer: stranger)
        #expect(foreign.status == 404 && foreign.document["code"] as? String == "JOB_UNKNOWN")
        let traced = try await gateway.service.connection.query(
            "SELECT traceparent FROM insp.job WHERE public_id = $1", [.text(id)])[0].string(0)
        #expect(traced == trace)
        let accesses = try await gateway.service.connection.query(
            "SELECT action FROM insp.v_access WHERE job = $1 AND partner = 'bank' ORDER BY at", [.text(id)])
        let actions = try accesses.map { try $0.string(0) }
        #expect(actions == ["create", "create", "read", "read"])

        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
        let log = gateway.program.standardError
        #expect(log.contains(id) && !log.contains("u-42") && !log.contains(Self.image.prefix(40)))
        #expect(!log.contains(gateway.bearer.split(separator: ".")[1]))
    }

    @Test func `A finished job is returned without waiting`() async throws {
        let gateway = try await Gateway.start()
        func create() async throws -> String {
            let created = try await gateway.call(
                "POST", "/inspectionjob/create", ["workflow": "liveness", "encodedFaceImage": Self.image])
            return try #require(created.document["id"] as? String)
        }
        let (finished, open) = (try await create(), try await create())
        #expect(try await gateway.call("DELETE", "/inspectionjob/\(finished)").status == 200)
        let isOver = Flag()
        let waiting = Task {
            _ = try await gateway.call("GET", "/inspectionjob/\(open)?wait=30")
            isOver.state.withLock { $0 = true }
        }
        // Were this to wait, the other would be over first.
        #expect(try await gateway.call("GET", "/inspectionjob/\(finished)?wait=60").status == 200)
        #expect(!isOver.state.withLock { $0 })
        #expect(try await gateway.call("DELETE", "/inspectionjob/\(open)").status == 200)
        try await waiting.value(within: .hangDeadline)
        #expect(try await gateway.stop() == 0)
    }

    private final class Flag: Sendable { let state = Mutex(false) }

    @Test func `A credential allows its scopes until it is revoked, and nothing is disclosed without one`() async throws
    {
        let gateway = try await Gateway.start(scopes: "{create}")
        let body: [String: Any] = ["workflow": "liveness", "encodedFaceImage": Self.image]
        let created = try await gateway.call("POST", "/inspectionjob/create", body)
        let id = try #require(created.document["id"] as? String)
        let unread = try await gateway.call("GET", "/inspectionjob/\(id)")
        #expect(unread.status == 403 && unread.document["code"] as? String == "SCOPE_MISSING")
        #expect(try await gateway.call("POST", "/inspectionjob/create?wait=1", body).status == 403)
        let blob = ["sessionRequestBlob": "x"]
        #expect(try await gateway.call("POST", "/facetec/session", blob).status == 403)
        for key in ["partner", "lane"] {
            let refused = try await gateway.call("POST", "/inspectionjob/create", body.merging([key: "bank"]) { $1 })
            #expect(refused.status == 400 && refused.document["code"] as? String == "PAYLOAD_INVALID")
        }
        let wrong = String(gateway.bearer.dropLast()) + (gateway.bearer.hasSuffix("A") ? "B" : "A")
        for bearer in [wrong, "x", "ik_0000000000000000.\(String(repeating: "a", count: 43))"] {
            let refused = try await gateway.call("GET", "/inspectionjob/\(id)", bearer: bearer)
            #expect(refused.status == 401 && refused.document["code"] as? String == "UNAUTHENTICATED")
        }
        let key = String(gateway.bearer.prefix(19))
        _ = try await gateway.service.connection.query("SELECT insp.revoke_credential($1)", [.text(key)])
        #expect(try await gateway.call("POST", "/inspectionjob/create", body).status == 401)
        let jobs = try await gateway.service.connection.query("SELECT count(*) FROM insp.job")[0].int(0)
        #expect(jobs == 1)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `Guessing is slowed down, without locking out a client that knows the secret`() async throws {
        let gateway = try await Gateway.start()
        let id = UUID().uuidString
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)").status == 404)
        var statuses: [Int] = []
        let begun = ContinuousClock.now
        for _ in 0..<25 {
            let guess = "ik_0000000000000000.\(String(repeating: "a", count: 43))"
            statuses.append(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: guess).status)
        }
        #expect(statuses.first == 401 && statuses.last == 429)
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)").status == 404)
        // Nor a client behind the same address that this gateway has never seen.
        _ = try await gateway.service.connection.query("SELECT insp.create_partner('shop')")
        let neighbour = try await Gateway.credential(gateway.connection, "shop", "{read}")
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: neighbour).status == 404)
        let guess = String(neighbour.dropLast()) + (neighbour.hasSuffix("A") ? "B" : "A")
        statuses = []
        for _ in 0..<25 { statuses.append(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: guess).status) }
        // One more each five seconds.
        let more = 1 + Int((ContinuousClock.now - begun) / .seconds(5))
        #expect(
            statuses.count { $0 == 429 } >= 25 - more && statuses.allSatisfy { $0 == 429 || $0 == 401 }, "\(statuses)")
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: neighbour).status == 404)
        #expect(try await gateway.stop() == 0)
    }

    @Test func `The log never contains a request's path`() async throws {
        let gateway = try await Gateway.start()
        for bearer in ["x", gateway.bearer] {
            for path in ["/inspectionjob/JaneDoe", "/JaneDoe", "/inspectionjob/create/JaneDoe?JaneDoe=JaneDoe"] {
                #expect(try await gateway.call("GET", path, bearer: bearer).status >= 400)
            }
            #expect(try await gateway.call("JANEDOE", "/openapi.json", bearer: bearer).status == 405)
            // As long as a public id, but not one of a job.
            let id = "0123abcd-0000-7000-8000-0000000000ff"
            #expect(try await gateway.call("GET", "/inspectionjob/\(id)", bearer: bearer).status >= 400)
        }
        #expect(try await gateway.stop() == 0)
        let log = gateway.program.standardError.lowercased()
        #expect(log.contains("{id}") && log.contains(#""route":"other""#))
        #expect(!log.contains("janedoe") && !log.contains("0123abcd"))
    }

    @Test func `Two hundred slow clients, and as many that wait, block no other`() async throws {
        let gateway = try await Gateway.start(["--address-rate", "10000", "--credential-rate", "10000"])
        let body: [String: Any] = ["workflow": "liveness", "encodedFaceImage": Self.image]
        let created = try await gateway.call("POST", "/inspectionjob/create", body)
        let id = try #require(created.document["id"] as? String)
        let slow = (0..<200).map { _ in SlowClient(gateway.port) }
        defer { slow.forEach { $0.close() } }
        for (number, client) in slow.enumerated() {
            let head = "POST /inspectionjob/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(gateway.bearer)\r\n"
            client.send(
                number % 2 == 0
                    ? "POST /inspectionjob/create HTTP/1.1\r\nHo"
                    : head + "Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{\"encodedFaceImage\":\""
            )
        }
        let waiting = (0..<200).map { _ in SlowClient(gateway.port) }
        defer { waiting.forEach { $0.close() } }
        for client in waiting {
            client.send(
                "GET /inspectionjob/\(id)?wait=60 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(gateway.bearer)\r\n\r\n"
            )
        }
        // Others are served meanwhile.
        for _ in 0..<20 { #expect(try await gateway.call("POST", "/inspectionjob/create", body).status == 201) }
        try await gateway.waitForClients(200)
        // Those that leave wait no longer.
        for client in waiting[150...] { client.close() }
        try await gateway.waitForClients(150)
        let text = try await gateway.metrics()
        let manual = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/METRICS.md", encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix("# TYPE inspectd_gateway") {
            let name = line.split(separator: " ")[2]
            #expect(manual.contains("`\(name)`"), "\(name) is not in METRICS.md")
        }
        // However many wait, the database has the same few connections.
        let connections = try await gateway.service.connection.query(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE '%gateway%' AND datname = current_database()"
        )
        #expect(try connections[0].int(0) <= 5)
        // When it is stopped, it sends waiting clients the job's progress.
        gateway.program.send(SIGTERM)
        for client in waiting[..<150] { #expect(await client.answer().contains(#""status": 1"#)) }
        for client in slow { client.close() }
        #expect(try await gateway.program.wait() == 0)
    }

    @Test func `Without its database it says when to retry, and continues when the database is back`() async throws {
        let gateway = try await Gateway.start()
        let id = UUID().uuidString
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)").status == 404)
        var url = try #require(URLComponents(string: gateway.service.database.url))
        let name = String(url.path.dropFirst())
        url.path = "/postgres"
        let server = try await PostgresConnection.connect(try #require(url.string))
        await gateway.service.connection.close()
        try await server.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        try await server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'")
        let health = try await gateway.program.port("health port open")
        let readiness = try #require(URL(string: "http://127.0.0.1:\(health)/readyz"))
        var away = try await gateway.call("GET", "/inspectionjob/\(id)")
        try await waitUntil("the gateway notices", every: .milliseconds(100)) {
            away = try await gateway.call("GET", "/inspectionjob/\(id)")
            return away.status == 503
        }
        #expect(away.document["code"] as? String == "DATABASE_UNAVAILABLE")
        #expect(away.headers["Retry-After"] == "5")
        let (_, unready) = try await URLSession.shared.data(from: readiness)
        #expect((unready as? HTTPURLResponse)?.statusCode == 503)
        try await server.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
        var back = 503
        try await waitUntil("the gateway is back", every: .milliseconds(200)) {
            back = try await gateway.call("GET", "/inspectionjob/\(id)").status
            return back != 503
        }
        #expect(back == 404)
        await server.close()
        #expect(try await gateway.stop() == 0)
    }

    @Test func `A partner's quota and policy apply to its clients, which are told when to retry`() async throws {
        let gateway = try await Gateway.start()
        _ = try await gateway.service.connection.query("SELECT insp.set_quota('bank', max_waiting => 1)")
        _ = try await gateway.service.connection.query(
            "SELECT insp.set_partner(name, review => 'always') FROM insp.partner")
        let body: [String: Any] = ["workflow": "liveness", "encodedFaceImage": Self.image, "review": "never"]
        let first = try await gateway.call("POST", "/inspectionjob/create", body, headers: ["Idempotency-Key": "q"])
        #expect(first.status == 201)
        let stored = try await gateway.service.connection.query("SELECT review FROM insp.job")
        #expect(try stored.map { try $0.string(0) } == ["always"])
        let refused = try await gateway.call("POST", "/inspectionjob/create", body)
        #expect(refused.status == 429 && refused.document["code"] as? String == "WAITING_QUOTA_REACHED")
        #expect(refused.document["retryable"] as? Bool == true && Int(refused.headers["Retry-After"] ?? "") != nil)
        let again = try await gateway.call("POST", "/inspectionjob/create", body, headers: ["Idempotency-Key": "q"])
        #expect(again.status == 200 && again.document["id"] as? String == first.document["id"] as? String)
        _ = try await gateway.service.connection.query("SELECT insp.set_quota('bank', max_bytes => 10)")
        let large = try await gateway.call("POST", "/inspectionjob/create", body)
        #expect(large.status == 429 && large.document["code"] as? String == "STORAGE_QUOTA_REACHED")
        #expect(try await gateway.stop() == 0)
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// Events that a partner without an open port pulls, by HTTP alone.
@Suite struct GatewayEventTests {
    private static let scopes = "{create,read,callbacks,events}"
    private static var job: [String: Any] {
        ["workflow": "liveness", "encodedFaceImage": PNG.noise(width: 64, height: 64).base64EncodedString()]
    }

    private struct Event {
        var id, timestamp, signature, body: String

        var document: [String: Any] { (try? members(Data(self.body.utf8))) ?? [:] }
        var job: String? { (self.document["data"] as? [String: Any])?["id"] as? String }

        /// Whether the verify command finds it genuine.
        func isGenuine(by secret: String) async throws -> Bool {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("events-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (key, text) = (folder.appendingPathComponent("secret"), folder.appendingPathComponent("body"))
            try Data(secret.utf8).write(to: key)
            try Data(self.body.utf8).write(to: text)
            let program = try Program(
                [
                    "verify", "--id", self.id, "--timestamp", self.timestamp, "--signature", self.signature,
                    "--secret-file", key.path, "--body", text.path,
                ], environment: [:])
            return try await program.wait() == 0
        }
    }

    private static func events(_ answer: Gateway.Answer) throws -> [Event] {
        let list = try #require(answer.document["events"] as? [[String: Any]], "\(answer.status) \(answer.document)")
        return try list.map { event in
            let headers = try #require(event["headers"] as? [String: String])
            return Event(
                id: try #require(headers["webhook-id"]), timestamp: try #require(headers["webhook-timestamp"]),
                signature: try #require(headers["webhook-signature"]), body: try #require(event["body"] as? String))
        }
    }

    /// Of the partner's default endpoint, from now on.
    private static func pull(_ connection: PostgresConnection, secret: String) async throws -> Int {
        let id = try await connection.query("SELECT min(id) FROM insp.endpoint")[0].int(0)
        _ = try await connection.query("SELECT insp.set_endpoint($1, '{\"url\": \"pull:\"}')", [.int(id)])
        _ = try await connection.query(
            "SELECT insp.callback_rotate_secret($1, '0', $2)", [.int(id), .text(secret)])
        return Int(id)
    }

    private static let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

    private static func cancel(_ id: String, _ gateway: Gateway) async throws {
        #expect(try await gateway.call("DELETE", "/inspectionjob/\(id)").status == 200)
    }

    @Test(.timeLimit(.minutes(3)))
    func `Events are pulled page by page, signed as callbacks are, each partner its own`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let none = try await gateway.call("GET", "/events")
        #expect(none.status == 409 && none.code == "EVENTS_OFF")
        let endpoint = try await Self.pull(gateway.connection, secret: Self.secret)
        var ids: [String] = []
        for number in 0..<5 {
            var job = Self.job
            job["userReference"] = "user \(number)"
            let id = try #require(try await gateway.call("POST", "/inspectionjob/create", job).id)
            try await Self.cancel(id, gateway)
            ids.append(id)
        }
        var (seen, next): ([Event], String) = ([], "")
        for _ in 0..<4 {
            let page = try await gateway.call("GET", "/events?limit=2\(next.isEmpty ? "" : "&after=" + next)")
            seen += try Self.events(page)
            next = try #require(page.document["next"] as? String)
        }
        #expect(seen.map(\.job) == ids && Set(seen.map(\.id)).count == 5)
        #expect(try await seen[0].isGenuine(by: Self.secret))
        #expect(try await !seen[0].isGenuine(by: "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"))
        var forged = seen[0]
        forged.body += " "
        #expect(try await !forged.isGenuine(by: Self.secret))
        let document = seen[0].document
        #expect(document["type"] as? String == "job.finished" && document["userReference"] as? String == "user 0")
        #expect((document["data"] as? [String: Any])?["decision"] as? String == "NOT_EXECUTED")
        // The same event has the same id and body whenever it comes.
        let again = try Self.events(try await gateway.call("GET", "/events?limit=1"))
        #expect(again.map(\.id) == [seen[0].id] && again.map(\.body) == [seen[0].body])
        #expect(try await gateway.accesses(nil).filter { $0 == "events delivery" }.count >= 4)
        #expect(gateway.service.receiver.url("/").isEmpty == false)
        #expect(try gateway.service.receiver.received().isEmpty, "nothing is sent")

        let tested = try await gateway.call("POST", "/endpoints/\(endpoint)/test")
        let last = try Self.events(try await gateway.call("GET", "/events?after=\(next)"))
        #expect(last.map(\.id) == [tested.document["webhookId"] as? String])
        let listed = try await gateway.call("GET", "/callbacks?job=\(ids[0])")
        #expect((listed.document["callbacks"] as? [[String: Any]])?.first?["state"] as? String == "delivered")

        let stranger = try await gateway.stranger(Self.scopes)
        #expect(try await gateway.call("GET", "/events", bearer: stranger).code == "EVENTS_OFF")
        #expect(
            try await gateway.call("GET", "/events?endpoint=\(endpoint)", bearer: stranger).code == "ENDPOINT_UNKNOWN")
        let reader = try await Gateway.credential(gateway.connection, "bank", "{read,callbacks}")
        #expect(try await gateway.call("GET", "/events", bearer: reader).code == "SCOPE_MISSING")
        for query in ["after=x", "after=1", "limit=0", "limit=1001", "endpoint=0", "endpoint=x", "wait=-1"] {
            #expect(try await gateway.call("GET", "/events?\(query)").code == "PARAMETER_INVALID", "\(query)")
        }
        let gone = try await gateway.call("GET", "/events?after=\(String(repeating: "A", count: 107))")
        #expect(gone.status == 410 && gone.code == "EVENTS_GONE")
        #expect(try await gateway.call("POST", "/endpoints/\(endpoint)/pause").status == 200)
        let paused = try await gateway.call("GET", "/events")
        #expect(paused.code == "ENDPOINT_DISABLED" && paused.document["hint"] as? String == "Resume it.")
        #expect(paused.document["detail"] as? String == "the endpoint is paused or disabled (you paused it)")
        #expect(try await gateway.call("POST", "/endpoints/\(endpoint)/resume").status == 200)
        #expect(try Self.events(try await gateway.call("GET", "/events")).count == 6)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A client that waits gets an event once it is committed, and others wait no longer than they asked`()
        async throws
    {
        let gateway = try await Gateway.start(["--partner-waits", "1"], scopes: Self.scopes)
        _ = try await Self.pull(gateway.connection, secret: Self.secret)
        let id = try #require(try await gateway.call("POST", "/inspectionjob/create", Self.job).id)
        let first = try await gateway.call("GET", "/events?wait=1")
        #expect(try Self.events(first).isEmpty)
        let next = try #require(first.document["next"] as? String)
        let waiting = Task { try await gateway.call("GET", "/events?wait=60&after=\(next)") }
        try await gateway.waitForClients(1)
        // Its partner's other clients are answered at once: the first one still waits.
        #expect(try Self.events(try await gateway.call("GET", "/events?wait=60&after=\(next)")).isEmpty)
        try await gateway.waitForClients(1)
        // Nothing of an open transaction is seen.
        let writer = try await gateway.service.database.connect()
        _ = try await writer.query("BEGIN")
        _ = try await writer.query("SELECT insp.cancel($1)", [.text(id)])
        #expect(try Self.events(try await gateway.call("GET", "/events?after=\(next)")).isEmpty)
        _ = try await writer.query("COMMIT")
        #expect(try Self.events(try await waiting.value(within: .seconds(90))).map(\.job) == [id])
        await writer.close()
        // A gateway that stops lets nobody wait.
        let last = try await gateway.call("GET", "/events?after=\(next)")
        let end = try #require(last.document["next"] as? String)
        let left = Task { try await gateway.call("GET", "/events?wait=60&after=\(end)") }
        try await gateway.waitForClients(1)
        #expect(try await gateway.stop() == 0)
        #expect(try Self.events(try await left.value(within: .seconds(90))).isEmpty)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Sealed events are opened, and erased ones come without what was sealed`() async throws {
        let setting = try await KeySetting()
        let service = try await SealedService(setting)
        let gateway = try await Gateway.start(
            service.connection, environment: setting.environment, scopes: "{create,read,callbacks,events,persons}")
        let endpoint = try await Self.pull(gateway.connection, secret: Self.secret)
        _ = try await gateway.connection.query(
            "SELECT insp.set_endpoint($1, '{\"inlineResult\": true}')", [.int(Int64(endpoint))])
        let ids = try await service.enqueue(2)
        let worker = try service.worker(["--slots", "1", "--drain"])
        #expect(try await worker.wait() == 0)
        let events = try Self.events(try await gateway.call("GET", "/events?wait=30"))
        #expect(Set(events.compactMap(\.job)) == Set(ids))
        for event in events {
            let number = ids.firstIndex(of: event.job ?? "") ?? -1
            #expect(event.document["userReference"] as? String == "person \(number)")
            let result = (event.document["data"] as? [String: Any])?["result"] as? [String: Any]
            #expect(result?["status"] as? Int == 128 && result?["isSealed"] == nil, "\(event.body)")
            #expect(try await event.isGenuine(by: Self.secret))
        }
        let jobs = try await gateway.accesses(events[0].job).filter { $0 == "events delivery" }
        #expect(jobs.count == 1, "who was given a result is recorded")
        // A secret that the partner gets itself is stored sealed, and signs.
        let rotated = try await gateway.call("POST", "/endpoints/\(endpoint)/rotate", ["overlapSeconds": 600])
        let fresh = try #require(rotated.document["secret"] as? String, "\(rotated.document)")
        let signed = try Self.events(try await gateway.call("GET", "/events"))
        #expect(try await signed[0].isGenuine(by: fresh))
        #expect(try await signed[0].isGenuine(by: Self.secret))

        let person = try #require(events[0].document["userReference"] as? String)
        let path = "/persons/\(person.replacing(" ", with: "%20"))"
        #expect(try await gateway.call("DELETE", path).document["jobs"] as? Int == 1)
        let reduced = try Self.events(try await gateway.call("GET", "/events"))
        #expect(reduced.count == 2)
        let erased = try #require(reduced.first { $0.job == events[0].job })
        #expect(erased.id != events[0].id && erased.id.hasPrefix(events[0].id + "_r"))
        #expect(!erased.body.contains("person ") && erased.document["userReference"] == nil)
        #expect((erased.document["data"] as? [String: Any])?["decision"] is NSNull)
        #expect(reduced.first { $0.job != events[0].job }?.body == events[1].body)
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains("whsec_"))
    }

    @Test(.timeLimit(.minutes(3)))
    func `Finished jobs are counted by month, and each partner sees its own`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        for _ in 0..<3 {
            let id = try #require(try await gateway.call("POST", "/inspectionjob/create", Self.job).id)
            try await Self.cancel(id, gateway)
        }
        let worker = try gateway.service.worker(["--roles", "inspect,maintain"])
        try await waitUntil("they are counted", within: .seconds(120)) {
            try await gateway.call("GET", "/usage").document["total"] as? Int == 3
        }
        let usage = try await gateway.call("GET", "/usage").document
        let counts = try #require(usage["counts"] as? [[String: Any]])
        #expect(counts.count == 1 && counts[0]["workflow"] as? String == "liveness" && counts[0]["jobs"] as? Int == 3)
        #expect(counts[0]["decision"] as? String == "NOT_EXECUTED" && counts[0]["error"] as? String == "CANCELLED")
        #expect(usage["countedTo"] is String)
        let month = try #require(usage["month"] as? String)
        #expect(try await gateway.call("GET", "/usage?month=\(month)").document["total"] as? Int == 3)
        #expect(try await gateway.call("GET", "/usage?month=2001-01").document["total"] as? Int == 0)
        let stranger = try await gateway.stranger(Self.scopes)
        #expect(try await gateway.call("GET", "/usage", bearer: stranger).document["total"] as? Int == 0)
        let puller = try await Gateway.credential(gateway.connection, "bank", "{events}")
        #expect(try await gateway.call("GET", "/usage", bearer: puller).code == "SCOPE_MISSING")
        for month in ["2026", "2026-13", "2026-1", "x"] {
            #expect(try await gateway.call("GET", "/usage?month=\(month)").code == "PARAMETER_INVALID", "\(month)")
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }
}

import Foundation
import FoundationNetworking
import InspectCore
import Postgres
import TestSupport
import Testing

/// Whole jobs with their parts in an object store, by the programs that their users run.
@Suite struct ObjectServiceTests {
    /// A service with a key store and an object store.
    private struct Site {
        let service: Service
        let stub: StubObjectStore
        let keys: ScratchDatabase
        let folder: URL

        init() async throws {
            self.service = try await Service.start()
            self.stub = try StubObjectStore()
            self.keys = try await .empty()
            self.folder = self.stub.folder
            let file = self.folder.appendingPathComponent("wrapping").path
            _ = try await Program.run(["keys", "make", "--key-file", file])
            for words in [["init", "--roles"], ["init"]] {
                let done = try await Program.run(["keys"] + words, environment: self.environment)
                #expect(done.status == 0, "\(done.errors)")
            }
        }

        var environment: [String: String] {
            self.service.environment.merging([
                "INSPECTD_KEYS_URL": self.keys.url, "INSPECTD_OBJECT_STORE": self.stub.setting,
                "INSPECTD_WRAPPING_KEYS": "file:" + self.folder.appendingPathComponent("wrapping").path,
            ]) { $1 }
        }

        func worker(_ arguments: [String] = ["--slots", "1"]) throws -> Program {
            try Program(["worker"] + arguments, environment: self.environment)
        }

        /// Accepts a job by the command line.
        func enqueue(_ words: [String] = []) async throws -> String {
            let image = self.folder.appendingPathComponent("face.png")
            try PNG.noise(width: 64, height: 64).write(to: image)
            let done = try await Program.run(
                ["enqueue", "--partner", "bank", "--workflow", "liveness", "--face", image.path] + words,
                environment: self.environment)
            #expect(done.status == 0, "\(done.errors)")
            return String(decoding: done.output, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        func text(_ sql: String, _ id: String) async throws -> String? {
            try await self.service.connection.query(sql, [.text(id)]).first?.optionalString(0)
        }

        func result(of id: String) async throws -> [String: Any] {
            let done = try await Program.run(["status", id, "--purpose", "delivery"], environment: self.environment)
            return try members(done.output)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `Jobs with their parts in the store reach 128, by command line and gateway, and erasure deletes the objects`()
        async throws
    {
        let site = try await Site()
        let worker = try site.worker()
        defer { worker.send(SIGKILL) }
        let gateway = try Program(["gateway", "--listen", "0"], environment: site.environment)
        defer { gateway.send(SIGKILL) }
        let port = try await gateway.port("gateway open")
        let bearer = try await site.service.connection.query(
            "SELECT bearer FROM insp.create_credential('bank', '{create,read}')")[0].string(0)
        let image = PNG.noise(width: 64, height: 64)
        func create() async throws -> (status: Int, document: [String: Any]) {
            var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)/inspectionjob/create")))
            request.httpMethod = "POST"
            request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization")
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONSerialization.data(withJSONObject: [
                "workflow": "liveness", "encodedFaceImage": image.base64EncodedString(), "userReference": "u-42",
            ])
            let (data, answer) = try await URLSession.shared.data(for: request)
            return ((answer as? HTTPURLResponse)?.statusCode ?? 0, try members(data))
        }
        var ids = [try await site.enqueue(["--user-reference", "u-42"])]
        // Frames as well: all parts of a job lie in one object.
        let frames = site.folder.appendingPathComponent("frames")
        try FileManager.default.createDirectory(at: frames, withIntermediateDirectories: true)
        for number in 0..<30 { try image.write(to: frames.appendingPathComponent("\(100 + number).png")) }
        ids.append(try await site.enqueue(["--frames", frames.path]))
        let created = try await create()
        #expect(created.status == 201)
        ids.append(try #require(created.document["id"] as? String))
        #expect(site.stub.count("PUT", 200) == 3)
        for id in ids {
            let document = try await site.service.result(of: id)
            #expect(document["status"] as? Int == 128 && document.at("error") == nil, "\(document)")
            #expect(try await site.result(of: id).at("capabilities") != nil)
        }
        #expect(site.stub.count("GET", 206) == 3)
        #expect(try await site.service.connection.query("SELECT count(*) FROM insp.content")[0].int(0) == 0)

        // A store that is unavailable: the client hears it, and may come again.
        try site.stub.behave("down")
        let refused = try await create()
        #expect(refused.status == 503 && refused.document["code"] as? String == "OBJECT_STORE_UNAVAILABLE")
        try site.stub.behave("ok")
        #expect(try await create().status == 201)

        for id in ids {
            #expect(try await site.service.connection.query("SELECT insp.erase($1)", [.text(id)])[0].bool(0))
        }
        try await waitUntil("the objects are deleted") { site.stub.count("DELETE", 204) == 3 }
        for program in [worker, gateway] {
            #expect(!program.standardError.contains("secret/Key"))
            #expect(!program.standardError.contains("s3:parts"))
        }
    }

    @Test(
        .timeLimit(.minutes(5)),
        arguments: [
            ("missing", "OBJECT_MISSING"), ("changed", "DIGEST_MISMATCH"), ("cut", "DIGEST_MISMATCH"),
        ])
    func `A part that the store lost or changed ends the job with its code`(_ fault: String, code: String) async throws
    {
        let site = try await Site()
        let id = try await site.enqueue()
        if fault == "missing" {
            try site.stub.behave("lost")
        } else {
            try site.stub.behave(fault)
        }
        let worker = try site.worker()
        defer { worker.send(SIGKILL) }
        let document = try await site.service.result(of: id)
        #expect(document["status"] as? Int == 128)
        #expect(document.at("error.code") as? String == code)
        #expect(
            try await site.service.connection.query("SELECT count(*) FROM insp.event WHERE kind = 'retry'")[0].int(0)
                == 0)
    }

    @Test(.timeLimit(.minutes(5)), arguments: ["down", "no-bucket", "redirect", "proxy"])
    func `While the store is unavailable jobs are delayed, and end once it is back`(_ fault: String) async throws {
        let site = try await Site()
        let id = try await site.enqueue()
        try site.stub.behave(fault)
        let worker = try site.worker(["--slots", "1", "--health", "0"])
        defer { worker.send(SIGKILL) }
        let delayed =
            "SELECT d.last_error FROM insp.delayed d JOIN insp.job j ON j.id = d.job_id WHERE j.public_id = $1"
        try await waitUntil("the job is delayed") {
            try await site.text(delayed, id) == "OBJECT_STORE_UNAVAILABLE"
        }
        // Refunded: no outage uses up a job's attempts.
        #expect(
            try await site.text(
                "SELECT d.attempt::text FROM insp.delayed d JOIN insp.job j ON j.id = d.job_id WHERE j.public_id = $1",
                id)
                == "0")
        let explained = try await site.service.connection.query(
            "SELECT string_agg(explanation, ' ') FROM insp.explain_job($1)", [.text(id)])[0].string(0)
        #expect(explained.contains("Waits for its next attempt") && explained.contains("OBJECT_STORE_UNAVAILABLE"))
        let port = try await worker.port("health port open")
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/metrics"))
        let metrics = try MetricsText(String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self))
        #expect((metrics.value("inspectd_object_store_failures_total", ["operation": "get"]) ?? 0) >= 1)
        try site.stub.behave("ok")
        _ = try await site.service.connection.query("UPDATE insp.delayed SET run_at = now()")
        let document = try await site.service.result(of: id)
        #expect(document["status"] as? Int == 128 && document.at("error") == nil)
    }

    @Test(.timed, .timeLimit(.minutes(10)))
    func `A store that hangs holds no slot, and other jobs go on`() async throws {
        let site = try await Site()
        let worker = try site.worker()
        defer { worker.send(SIGKILL) }
        _ = try await site.service.result(of: try await site.enqueue())
        // More than permits, and claimed before the others.
        try site.stub.behave("hang-get")
        for _ in 0..<6 { _ = try await site.enqueue(["--lane", "urgent"]) }
        try await waitUntil("jobs are leased") {
            try await site.service.connection.query("SELECT count(*) FROM insp.lease")[0].int(0) >= 2
        }
        // Plain jobs of another partner, in a lane behind.
        _ = try await site.service.connection.query("SELECT insp.create_partner('shop')")
        let start = ContinuousClock.now
        let image = PNG.noise(width: 64, height: 64)
        let payload = #"{"partner":"shop","workflow":"liveness","lane":"bulk"}"#
        for _ in 0..<4 {
            let id = try await site.service.connection.query(
                "SELECT insp.enqueue($1, face => $2)", [.text(payload), .bytes(image)])[0].string(0)
            let document = try await site.service.result(of: id)
            #expect(document["status"] as? Int == 128 && document.at("error") == nil)
        }
        #expect(ContinuousClock.now - start < .seconds(20))
        #expect(try await site.service.connection.query("SELECT count(*) FROM insp.lease")[0].int(0) >= 1)
        try site.stub.behave("ok")
    }

    @Test func `Without keys no program with an object store starts`() async throws {
        let site = try await Site()
        let environment = site.service.environment.merging(["INSPECTD_OBJECT_STORE": site.stub.setting]) { $1 }
        let image = site.folder.appendingPathComponent("face.png")
        try PNG.noise(width: 8, height: 8).write(to: image)
        // The database notes the key store, so that is missed first; without one, the object store is.
        let bare = try await Service.start()
        for words in [
            ["enqueue", "--partner", "bank", "--workflow", "liveness", "--face", image.path],
            ["gateway", "--listen", "0"],
            ["worker", "--slots", "1"],
        ] {
            for database in [environment, environment.merging(bare.environment) { $1 }] {
                let done = try await Program.run(words, environment: database)
                #expect(done.status == 1 && done.errors.contains("KEY_MISSING"), "\(words[0]): \(done.errors)")
            }
        }
        #expect(site.stub.requests.isEmpty)
    }

    @Test func `The doctor tries the store, and finds versions and refusals`() async throws {
        let site = try await Site()
        func finding(_ mode: String) async throws -> [String: Any] {
            try site.stub.behave(mode)
            let done = try await Program.run(
                ["doctor", "--no-database"], environment: ["INSPECTD_OBJECT_STORE": site.stub.setting])
            let lines = done.output.split(separator: 0x0A)
            return try #require(
                lines.compactMap { try? members($0) }.first { $0["check"] as? String == "object store" })
        }
        let good = try await finding("ok")
        #expect(good["outcome"] as? String == "pass", "\(good)")
        #expect(site.stub.count("DELETE", 204) == 1)
        let versions = try await finding("versions")
        #expect(
            versions["outcome"] as? String == "fail" && (versions["detail"] as? String)?.contains("versions") == true)
        for mode in ["forbidden", "deaf", "changed", "no-bucket"] {
            let bad = try await finding(mode)
            #expect(bad["outcome"] as? String == "fail" && bad["fix"] != nil, "\(mode): \(bad)")
        }
    }
}

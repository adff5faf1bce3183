import Foundation
import Postgres
import TestSupport
import Testing

/// Faces and persons by HTTP alone: enrolled, listed, exported and erased.
@Suite struct GatewayPersonTests {
    private static let scopes = "{create,read,images,faces,persons}"
    private static let image = PNG.noise(width: 64, height: 64)

    /// The jobs of an export.
    private static func jobs(_ answer: Gateway.Answer) -> [[String: Any]] {
        answer.document["jobs"] as? [[String: Any]] ?? []
    }

    @Test(.timeLimit(.minutes(5)))
    func `A face is enrolled, authenticated, listed and deleted by its partner alone`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let worker = try gateway.service.worker(["--slots", "1"])
        let photo = try await TestInputs.face("obama.jpg")
        let path = "/faces/Anna%20D%C3%B6%2F1"
        let absent = try await gateway.call("GET", path)
        #expect(absent.status == 404 && absent.code == "FACE_NOT_ENROLLED")
        let enrolled = try await gateway.form(
            [("FACE", photo), ("userReference", Data("anna".utf8))], path: path, headers: ["Idempotency-Key": "e1"])
        #expect(enrolled.status == 201, "\(enrolled.document)")
        let job = try #require(enrolled.id)
        let result = try await gateway.finished(job)
        // One image proves no liveness.
        #expect(result.at("decision.type") as? String == "WARNING" && result["error"] == nil, "\(result)")
        let face = try await gateway.call("GET", path)
        let templates = face.document["templates"] as? [[String: Any]] ?? []
        #expect(face.status == 200 && templates.count == 1 && templates[0]["job"] as? String == job)
        #expect(Set(templates[0].keys) == ["engine", "modelSHA256", "job", "createdAt"])
        let checked = try await gateway.form([
            ("workflow", Data("authentication".utf8)), ("faceId", Data("Anna Dö/1".utf8)), ("FACE", photo),
        ])
        let outcome = try await gateway.finished(try #require(checked.id))
        #expect(outcome["capabilities"] != nil && outcome["error"] == nil, "\(outcome)")

        let stranger = try await gateway.stranger(Self.scopes)
        #expect(try await gateway.call("GET", path, bearer: stranger).code == "FACE_NOT_ENROLLED")
        let foreign = try await gateway.call("DELETE", path, bearer: stranger)
        #expect(foreign.document["templates"] as? Int == 0 && foreign.document["jobs"] as? Int == 0)
        let reader = try await Gateway.credential(gateway.connection, "bank", "{create,read,images,persons}")
        for method in ["GET", "DELETE"] {
            #expect(try await gateway.call(method, path, bearer: reader).code == "SCOPE_MISSING")
            #expect(try await gateway.send(method, path, nil, bearer: "").status == 401)
        }
        #expect(try await gateway.form([("FACE", photo)], path: path, bearer: reader).code == "SCOPE_MISSING")
        for (fields, code) in [
            ([("FACE", photo), ("faceId", Data("other".utf8))], "PAYLOAD_INVALID"),
            ([("FACE", photo), ("workflow", Data("id".utf8))], "PAYLOAD_INVALID"),
            ([("FACE", photo), ("userReference", Data("bob".utf8))], "FACE_TAKEN"), ([], "PART_MISSING"),
            ([("userReference", Data("anna".utf8))], "PART_MISSING"),
        ] as [([(String, Data)], String)] {
            let refused = try await gateway.form(fields.map { (name: $0.0, value: $0.1) }, path: path)
            #expect(refused.code == code, "\(code) \(refused.document)")
        }
        #expect(try await gateway.call("GET", "/faces/\(String(repeating: "x", count: 101))").status == 400)

        let deleted = try await gateway.call("DELETE", path)
        #expect(deleted.status == 200 && deleted.document["templates"] as? Int == 1)
        #expect(deleted.document["deletedAt"] != nil)
        #expect(try await gateway.call("GET", path).status == 404)
        #expect(
            try await gateway.accesses(nil) == ["face delivery", "face_delete"])
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains("Anna"))
    }

    @Test func `A person is exported and erased by the partner alone, whole, and nothing is left`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        _ = try await gateway.connection.query("SELECT insp.set_partner('bank', review => 'always')")
        let worker = try gateway.service.worker(["--slots", "1"])
        var ids: [String] = []
        for number in 0..<3 {
            let made = try await gateway.form([
                ("workflow", Data("liveness".utf8)), ("FACE", Self.image), ("userReference", Data("zqmark/Jane".utf8)),
                ("customerInternalReference", Data("zqmark \(number)".utf8)),
                ("request", Data(#"{"consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}}"#.utf8)),
            ])
            ids.insert(try #require(made.id, "\(made.document)"), at: 0)
        }
        let path = "/persons/zqmark%2FJane"
        let early = try await gateway.call("DELETE", path)
        #expect(early.status == 409 && early.code == "JOB_NOT_FINISHED")
        #expect(
            try await gateway.service.waitForNone(
                "SELECT 3 - count(*) FROM insp.job WHERE status = 64", within: .seconds(60)))
        for id in ids {
            _ = try await gateway.connection.query(
                "SELECT insp.review($1, 'PASSED', note => 'zqmark looks well')", [.text(id)])
        }
        let export = try await gateway.call("GET", "\(path)/export")
        #expect(export.status == 200)
        let jobs = Self.jobs(export)
        #expect(jobs.compactMap { $0.at("result.id") as? String } == ids && export.document["next"] == nil)
        #expect(jobs[0].at("request.consent.obtained") as? String == "yes")
        #expect(jobs[0].at("result.customerInternalReference") as? String == "zqmark 2")
        #expect(jobs[0].at("parts.0.kind") as? String == "FACE")
        #expect(jobs[0].at("notes.0.text") as? String == "zqmark looks well")
        #expect((export.document["faces"] as? [Any])?.isEmpty == true)
        let first = try await gateway.call("GET", "\(path)/export?limit=2")
        #expect(Self.jobs(first).count == 2 && first.document["next"] as? String == ids[1])
        let second = try await gateway.call("GET", "\(path)/export?limit=2&after=\(ids[1])")
        #expect(Self.jobs(second).count == 1 && second.document["next"] == nil && second.document["faces"] == nil)

        let stranger = try await gateway.stranger(Self.scopes)
        #expect(Self.jobs(try await gateway.call("GET", "\(path)/export", bearer: stranger)).isEmpty)
        #expect(try await gateway.call("DELETE", path, bearer: stranger).document["jobs"] as? Int == 0)
        let reader = try await Gateway.credential(gateway.connection, "bank", "{create,read,images,faces}")
        for (method, call) in [("DELETE", path), ("GET", path + "/export")] {
            #expect(try await gateway.call(method, call, bearer: reader).code == "SCOPE_MISSING")
            #expect(try await gateway.send(method, call, nil, bearer: "").status == 401)
        }
        for query in ["limit=0", "limit=101", "after=x", "after=00000000-0000-0000-0000-000000000000"] {
            #expect(try await gateway.call("GET", "\(path)/export?\(query)").code == "PARAMETER_INVALID")
        }
        #expect(try await gateway.accesses(ids[0]).filter { $0 == "export export" }.count == 2)

        #expect(try await gateway.call("DELETE", path).document["jobs"] as? Int == 3)
        #expect(try await gateway.call("DELETE", path).document["jobs"] as? Int == 0)
        #expect(Self.jobs(try await gateway.call("GET", "\(path)/export")).isEmpty)
        let gone = try await gateway.call("GET", "/inspectionjob/\(ids[0])")
        #expect(gone.status == 200 && !String(decoding: gone.body, as: UTF8.self).contains("zqmark"))
        #expect(try await gateway.call("GET", "/inspectionjob?userReference=zqmark%2FJane").document["next"] == nil)
        #expect(try await gateway.accesses(nil).contains("erase"))
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains("zqmark"))
    }

    @Test func `A sealed person is exported open, and erased with the keys`() async throws {
        let setting = try await KeySetting()
        let service = try await SealedService(setting)
        let gateway = try await Gateway.start(
            service.connection, environment: setting.environment, scopes: Self.scopes)
        let made = try await gateway.form([
            ("workflow", Data("liveness".utf8)), ("FACE", Self.image), ("userReference", Data("zqmark".utf8)),
            ("request", Data(#"{"consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}}"#.utf8)),
        ])
        let id = try #require(made.id)
        let worker = try service.worker()
        #expect(try await gateway.finished(id, by: worker)["decision"] != nil)
        let jobs = Self.jobs(try await gateway.call("GET", "/persons/zqmark/export"))
        #expect(jobs.count == 1 && jobs.first?.at("result.userReference") as? String == "zqmark")
        #expect(jobs.first?.at("request.consent.obtained") as? String == "yes")
        #expect(jobs.first?.at("result.capabilities") != nil && jobs.first?["unreadable"] == nil)
        // A key store that is older than the data: nothing looks whole that is not, and a newer one may come.
        try await setting.admin.execute(
            "CREATE TABLE aside AS SELECT * FROM insp.key WHERE kind = 'job'; DELETE FROM insp.key WHERE kind = 'job'")
        for path in ["", "/parts/FACE"] {
            let lacking = try await gateway.call("GET", "/inspectionjob/\(id)\(path)")
            #expect(lacking.status == 503 && lacking.code == "KEY_UNKNOWN" && lacking.headers["Retry-After"] != nil)
        }
        let half = Self.jobs(try await gateway.call("GET", "/persons/zqmark/export"))
        #expect(half.count == 1 && half.first?["unreadable"] as? String == "KEY_UNKNOWN")
        #expect(half.first?.at("result.decision") != nil && half.first?.at("result.capabilities") == nil)
        let exported = try await Program.run(
            ["person", "export", "--partner", "bank", "--reference", "zqmark", "--purpose", "export"],
            environment: setting.environment)
        #expect(exported.status == 0, "\(exported.errors)")
        #expect(try members(exported.output)["unreadable"] as? String == "KEY_UNKNOWN")
        try await setting.admin.execute("INSERT INTO insp.key SELECT * FROM aside")
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)").document["capabilities"] != nil)
        #expect(try await gateway.call("DELETE", "/persons/zqmark").document["jobs"] as? Int == 1)
        #expect(Self.jobs(try await gateway.call("GET", "/persons/zqmark/export")).isEmpty)
        // A worker that maintains destroys the job's key.
        try await waitUntil("the key is destroyed") { try await service.count("insp.key_gone") == 0 }
        // And the person's, with the pseudonym.
        try await waitUntil("the person's key is destroyed") { try await service.count("insp.person_gone") == 0 }
        #expect(
            try await setting.admin.query("SELECT count(*) FROM insp.key WHERE kind IN ('person', 'job')")[0].int(0)
                == 0)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `The key of a face that is deleted over HTTP goes with its last job`() async throws {
        let setting = try await KeySetting()
        let service = try await SealedService(setting)
        let gateway = try await Gateway.start(
            service.connection, environment: setting.environment, scopes: Self.scopes)
        let made = try await gateway.form([
            ("workflow", Data("enrollment".utf8)), ("FACE", Self.image), ("faceId", Data("zqmark".utf8)),
        ])
        let id = try #require(made.id, "\(made.document)")
        let worker = try service.worker()
        #expect(try await gateway.finished(id, by: worker)["decision"] != nil)
        #expect(try await gateway.call("DELETE", "/faces/zqmark").status == 200)
        let keys = "SELECT count(*) FROM insp.key WHERE kind = 'person'"
        // A worker has looked, and the result still opens.
        try await waitUntil("a worker has looked at the face") {
            try await service.count("insp.person_gone WHERE keeps_jobs AND due_at > since + interval '3 s'") == 1
        }
        #expect(try await setting.admin.query(keys)[0].int(0) == 1)
        #expect(try await gateway.call("GET", "/inspectionjob/\(id)").document["capabilities"] != nil)
        _ = try await service.connection.query("SELECT insp.erase($1)", [.text(id)])
        try await waitUntil("the face's key is destroyed") { try await service.count("insp.person_gone") == 0 }
        #expect(try await setting.admin.query(keys)[0].int(0) == 0)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A withdrawal by HTTP stops what is under way, erases, and leaves the proof`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let consent = Data(#"{"consent":{"obtained":"yes","obtainedAt":"2026-01-01T00:00:00Z"}}"#.utf8)
        func create(_ reference: String?, _ bearer: String? = nil) async throws -> String {
            var fields = [("workflow", Data("liveness".utf8)), ("FACE", Self.image), ("request", consent)]
            if let reference { fields.append(("userReference", Data(reference.utf8))) }
            let made = try await gateway.form(fields.map { (name: $0.0, value: $0.1) }, bearer: bearer)
            return try #require(made.id, "\(made.document)")
        }
        func proof(_ id: String) async throws -> Bool {
            try await gateway.connection.query(
                "SELECT coalesce(consent_proof ? 'withdrawnAt', false) FROM insp.job WHERE public_id = $1",
                [.text(id)])[0].bool(0)
        }
        let done = try await create("zqmark/Jane")
        let worker = try gateway.service.worker(["--slots", "1", "--drain"])
        #expect(try await worker.wait() == 0)
        // Nobody works on this one any more: it is stopped, where an erasure would be refused.
        let waiting = try await create("zqmark/Jane")
        let path = "/persons/zqmark%2FJane"
        #expect(try await gateway.call("DELETE", path).code == "JOB_NOT_FINISHED")
        let stranger = try await gateway.stranger(Self.scopes)
        let foreign = try await gateway.call("DELETE", path + "/consent", bearer: stranger)
        #expect(foreign.status == 200 && foreign.document["jobs"] as? Int == 0)
        #expect(foreign.document["cancelled"] as? Int == 0)
        let reader = try await Gateway.credential(gateway.connection, "bank", "{create,read,images,faces}")
        for call in [path + "/consent", "/inspectionjob/\(done)/consent"] {
            #expect(try await gateway.call("DELETE", call, bearer: reader).code == "SCOPE_MISSING")
            #expect(try await gateway.send("DELETE", call, nil, bearer: "").status == 401)
            #expect(try await gateway.call("GET", call).status == 405)
        }
        let withdrawn = try await gateway.call("DELETE", path + "/consent")
        #expect(withdrawn.status == 200, "\(withdrawn.document)")
        #expect(withdrawn.document["cancelled"] as? Int == 1 && withdrawn.document["jobs"] as? Int == 2)
        for id in [done, waiting] {
            let gone = try await gateway.call("GET", "/inspectionjob/\(id)")
            #expect(gone.document["status"] as? Int == 128 && gone.document["erasedAt"] != nil, "\(gone.document)")
            #expect(try await proof(id))
        }
        #expect(Self.jobs(try await gateway.call("GET", "\(path)/export")).isEmpty)
        let again = try await gateway.call("DELETE", path + "/consent")
        #expect(again.status == 200 && again.document["jobs"] as? Int == 0)
        #expect(try await gateway.accesses(nil).filter { $0 == "withdraw" }.count == 2)

        // A job without a reference, by its id.
        let nameless = try await create(nil)
        let other = try await gateway.call("DELETE", "/inspectionjob/\(nameless)/consent", bearer: stranger)
        #expect(other.status == 404 && other.code == "JOB_UNKNOWN")
        #expect(try await !proof(nameless))
        let one = try await gateway.call("DELETE", "/inspectionjob/\(nameless)/consent")
        #expect(one.status == 200 && one.id == nameless && one.document["withdrawn"] as? Bool == true)
        #expect(try await proof(nameless))
        let repeated = try await gateway.call("DELETE", "/inspectionjob/\(nameless)/consent")
        #expect(repeated.status == 200 && repeated.document["withdrawn"] as? Bool == false)
        #expect(try await gateway.accesses(nameless) == ["create", "withdraw", "withdraw"])
        #expect(try await gateway.call("DELETE", "/inspectionjob/x/consent").code == "JOB_UNKNOWN")
        #expect(try await gateway.stop() == 0)
        #expect(!gateway.program.standardError.contains("zqmark"))
    }

    @Test func `A request that is refused leaves no key`() async throws {
        let setting = try await KeySetting()
        let service = try await SealedService(setting)
        let gateway = try await Gateway.start(
            service.connection, environment: setting.environment, scopes: Self.scopes)
        for (fields, code) in [
            ([("workflow", "nothing"), ("userReference", "a")], "WORKFLOW_UNKNOWN"),
            ([("workflow", "id"), ("userReference", "b")], "PART_MISSING"),
            ([("workflow", "liveness"), ("userReference", String(repeating: "c", count: 101))], "IDENTIFIER_TOO_LONG"),
            ([("workflow", "liveness"), ("strange", "d")], "PAYLOAD_INVALID"),
        ] {
            let answer = try await gateway.form(fields.map { ($0, Data($1.utf8)) } + [("FACE", Self.image)])
            #expect(answer.status == 400 && answer.code == code, "\(answer.document)")
        }
        let image = setting.file("face.png")
        try Self.image.write(to: URL(fileURLWithPath: image))
        let refused = try await Program.run(
            ["enqueue", "--partner", "bank", "--workflow", "id", "--face", image, "--user-reference", "e"],
            environment: setting.environment)
        #expect(refused.status == 1 && refused.errors.contains("PART_"), "\(refused.errors)")
        #expect(try await setting.admin.query("SELECT count(*) FROM insp.key WHERE kind <> 'partner'")[0].int(0) == 0)
        #expect(try await gateway.form([("workflow", Data("liveness".utf8)), ("FACE", Self.image)]).id != nil)
        #expect(try await setting.admin.query("SELECT count(*) FROM insp.key WHERE kind <> 'partner'")[0].int(0) == 1)
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `An export of a person who has no job is recorded, once for each call`() async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let before = try await gateway.connection.query("SELECT count(*) FROM insp.record WHERE chain = 'access'")[0]
            .int(0)
        for _ in 0..<2 {
            let answer = try await gateway.call("GET", "/persons/nobody/export")
            #expect(answer.status == 200 && Self.jobs(answer).isEmpty, "\(answer.document)")
        }
        let rows = try await gateway.connection.query(
            """
            SELECT r.action, r.purpose, r.detail ->> 'faces' FROM insp.record r WHERE r.chain = 'access'
            ORDER BY r.id OFFSET $1
            """, [.int(before)])
        #expect(
            try rows.map { try [$0.string(0), $0.string(1), $0.string(2)] } == [
                ["export", "export", "0"], ["export", "export", "0"],
            ])
    }
}

import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

/// What people write and prove of sealed jobs: notes of reviews, and consents.
@Suite struct SealedReviewTests {
    @Test(.timeLimit(.minutes(5)))
    func `A reviewer sees what is sealed, and the note is sealed as well`() async throws {
        let site = try await SealedSite()
        _ = try await site.connection.query("SELECT insp.set_partner('bank', review => 'always')")
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let faces = try await TestInputs.folder.appendingPathComponent("faces").path
        let id = try await site.enqueue(
            "--workflow", "liveness", "--face", "\(faces)/obama.jpg", "--customer-reference", "case 7")
        try await site.wait(for: "EXISTS (SELECT FROM insp.job WHERE status = 64)")
        func look() async throws -> [String: Any] { try members(try await site.run("review", id)) }
        let seen = try await look()
        #expect(seen.at("decided.capabilities.liveness.0.decision.type") as? String == "WARNING")
        #expect(seen.at("decided.customerInternalReference") as? String == "case 7")
        #expect(seen.at("decided.status") as? Int == 64 && (seen["notes"] as? [Any])?.isEmpty == true)
        #expect(try await site.count("insp.v_access WHERE purpose = 'review'") == 1)

        let done = try await Program.run(
            ["review", id, "--decision", "PASSED", "--label", "SEEN", "--note", "-"], environment: site.environment,
            input: Data("zqmark looks like the brother\n".utf8))
        #expect(done.status == 0, "\(done.errors)")
        #expect(try members(done.output)["label"] as? String == "SEEN")
        let after = try await look()
        #expect(after.at("notes.0.note") as? String == "zqmark looks like the brother")
        #expect(after.at("notes.0.action") as? String == "review")
        // Nobody else sees it: neither the database nor an export with words.
        #expect(try await site.count("insp.record r WHERE r::text LIKE '%zqmark%'") == 0)
        #expect(try await site.count("insp.record r WHERE r.words ->> 'note' LIKE 'sealed:%'") == 1)
        let result = try members(try await site.run("status", id, "--purpose", "support"))
        #expect(result.at("review.label") as? String == "SEEN" && result.at("decision.type") as? String == "PASSED")
        // It goes with the job, and so does its key.
        let job = try await site.connection.query("SELECT sealed FROM insp.job")[0].data(0)
        _ = try await site.connection.query("SELECT insp.erase($1)", [.text(id)])
        try await site.waitForKeys()
        #expect(try await !site.opens(job))
        #expect(try await look()["notes"] as? [String] == [])
        let late = try await Program.run(["review", id, "--decision", "PASSED"], environment: site.environment)
        #expect(late.status == 1 && late.errors.contains("REVIEW_NOT_DUE"))
    }

    @Test func `A reviewer's login reads for a purpose, on record, and a plain job's note stays plain`() async throws {
        let service = try await Service.start()
        _ = try await service.connection.query("SELECT insp.set_partner('bank', review => 'always')")
        let id = try await service.connection.query(
            "SELECT insp.enqueue('{\"partner\":\"bank\",\"workflow\":\"id\"}', front => 'x')")[0].string(0)
        try await service.connection.execute(
            """
            WITH worker AS MATERIALIZED (SELECT gen_random_uuid() AS incarnation), registered AS MATERIALIZED (
                SELECT w.incarnation, r.worker_id FROM worker w,
                    LATERAL insp.worker_register(w.incarnation, 'h', 1, 'x', NULL, '{0,1,2}', 4) r), claimed AS MATERIALIZED (
                SELECT c.job_id, c.fence FROM registered r, LATERAL insp.claim(r.worker_id, r.incarnation, '330 s', 4,
                    ARRAY(SELECT q.id FROM insp.queue q), ARRAY(SELECT 0::bigint FROM insp.queue q),
                    ARRAY(SELECT 4 FROM insp.queue q), 2147483647, 0, 0, false) c WHERE c.job_id IS NOT NULL)
            SELECT insp.hold_for_review(array_agg(c.job_id), array_agg(c.fence),
                ARRAY['{"decision":{"type":"WARNING","details":{"label":"X"}}}'],
                ARRAY['{"engine":{"versions":{},"models":{},"timingsMs":{"found":1.50}}}'::bytea],
                '{}', '{}', '{}', '{}') FROM claimed c
            """)
        let role = "reviewer_\(UUID().uuidString.prefix(8).lowercased())"
        try await service.connection.execute("CREATE ROLE \(role) LOGIN IN ROLE insp_reviewer")
        let name = String(URLComponents(string: service.database.url)!.path.dropFirst())
        let environment = ["INSPECTD_DATABASE_URL": service.database.database(name, role: role).url]
        let seen = try await Program.run(["review", id], environment: environment)
        #expect(
            seen.status == 0 && String(decoding: seen.output, as: UTF8.self).contains("\"found\": 1.50"),
            "\(seen.errors)")
        let wrong = try await Program.run(["review", id, "--purpose", "fun"], environment: environment)
        #expect(wrong.status == 1 && wrong.errors.contains("PARAMETER_INVALID"))
        let done = try await Program.run(
            ["review", id, "--decision", "REJECTED", "--note", "-"], environment: environment, input: Data("no".utf8))
        #expect(done.status == 0, "\(done.errors)")
        let read = try await service.connection.query(
            "SELECT count(*) FROM insp.record WHERE actor = $1 AND purpose = 'review'", [.text(role)])[0].int(0)
        #expect(read == 2)
        let again = try members(try await Program.run(["review", id], environment: environment).output)
        #expect(again.at("notes.0.note") as? String == "no" && again.at("notes.0.who") as? String == role)
        try await service.connection.execute("DROP ROLE \(role)")
    }

    @Test(arguments: [
        ["review"], ["review", "x", "--note", "y"], ["review", "x", "--decision", "PASSED", "--purpose", "review"],
        ["person", "consent", "--partner", "x"], ["person", "erase", "--partner", "x"],
        ["person", "erase", "--partner", "x", "--job", "y"],
    ])
    func `A command line that says too little ends with status 2`(words: [String]) async throws {
        #expect(try await Program.run(words).status == 2)
    }

    @Test func `A consent is proved from what the controller has kept, after the erasure as before`() async throws {
        let site = try await SealedSite()
        let sealed = JobClient(databaseURL: site.service.database.url, keys: site.keys)
        let plain = JobClient(databaseURL: site.service.database.url)
        let consent = #"{"obtainedAt":"2026-01-01T00:00:00Z","obtained":"yes","policyVersion":"v7","userIp":"zqmark"}"#
        let request = Data(#"{"partner":"bank","workflow":"id","consent":\#(consent)}"#.utf8)
        let ids = [
            try await sealed.enqueue(payload: request, parts: [.front: [Data("x".utf8)]]),
            try await plain.enqueue(payload: request, parts: [.front: [Data("x".utf8)]]),
        ]
        func prove(_ id: String, _ text: String) async throws -> Bool {
            let done = try await Program.run(
                ["person", "consent", "--partner", "bank", "--job", id, "--consent", "-"],
                environment: site.environment,
                input: Data(text.utf8))
            let holds = try members(done.output)["holds"] as? Bool ?? false
            #expect(done.status == (holds ? 0 : 1))
            return holds
        }
        for isErased in [false, true] {
            for id in ids {
                #expect(try await prove(id, consent))
                #expect(try await prove(id, " " + consent.replacing(",", with: ", ")))
                #expect(try await !prove(id, consent.replacing("zqmark", with: "another")))
                #expect(try await !prove(id, consent.replacing("v7", with: "v8")))
                guard !isErased else { continue }
                _ = try await site.connection.query("SELECT insp.cancel($1)", [.text(id)])
                _ = try await site.connection.query("SELECT insp.erase($1)", [.text(id)])
            }
        }
        #expect(try await site.count("insp.job WHERE consent_proof IS NOT NULL AND sealed IS NULL") == 2)
    }
}

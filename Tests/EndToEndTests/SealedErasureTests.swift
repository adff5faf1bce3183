import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// What is left of sealed data after each kind of erasure, with real workers, images and keys: not even an old backup opens.
@Suite struct SealedErasureTests {
    @Test(.timeLimit(.minutes(5)))
    func `A deleted face takes its templates along, and other jobs' results and callbacks go out`() async throws {
        let site = try await SealedSite()
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let folder = try await TestInputs.folder.appendingPathComponent("faces").path
        _ = try await site.connection.query(
            "SELECT insp.set_endpoint(id, '{\"inlineResult\": true}') FROM insp.endpoint")
        _ = try await site.enqueue("--workflow", "enrollment", "--face", "\(folder)/obama.jpg", "--face-id", "u 1")
        try await site.waitForJobs()
        _ = try await site.connection.query("SELECT insp.callback_pause(id, 'test') FROM insp.endpoint")
        let matched = try await site.enqueue(
            "--workflow", "authentication", "--face", "\(folder)/obama2.jpg", "--face-id", "u 1",
            "--customer-reference", "case 7")
        try await site.waitForJobs()
        let backup = try await site.templates()
        #expect(backup.count == 1)
        #expect(try await site.opens(backup[0]))

        let deleted = try members(try await site.run("face", "delete", "--partner", "bank", "--face-id", "u 1"))
        #expect(deleted["templates"] as? Int == 1)
        try await site.waitForKeys()
        #expect(try await !site.opens(backup[0]))
        let result = try members(try await site.run("status", matched, "--purpose", "support"))
        #expect(result.at("capabilities.authentication.0.decision.details.label") as? String == "MATCH")
        #expect(result["customerInternalReference"] as? String == "case 7")
        _ = try await site.connection.query("SELECT insp.callback_resume(id) FROM insp.endpoint")
        let received = try await site.service.receiver.received(within: 60) { $0.count == 2 }
        // The results went out, and that is on record.
        try await waitUntil("the delivery is settled") {
            try await site.count(
                "insp.v_access WHERE job = '\(matched)' AND action = 'callback' AND purpose = 'delivery'")
                == 1
        }
        let body = try members(Data(try #require(received.last).body.utf8))
        #expect(body.at("data.id") as? String == matched)
        #expect(body.at("data.result.capabilities.authentication.0.decision.details.label") as? String == "MATCH")
        #expect(try await site.count("insp.callback_waiting") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A person goes with what was enrolled before the reference was known`() async throws {
        let site = try await SealedSite()
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let folder = try await TestInputs.folder.appendingPathComponent("faces").path
        func enrol(_ words: String...) async throws -> Data {
            let done = try await Program.run(
                ["enqueue", "--partner", "bank", "--workflow", "enrollment", "--wait"] + words,
                environment: site.environment)
            #expect(done.status == 0, "\(done.errors)")
            return done.output
        }
        let early = try members(try await enrol("--face", "\(folder)/obama.jpg", "--face-id", "f"))
        _ = try await enrol("--face", "\(folder)/obama2.jpg", "--face-id", "f", "--user-reference", "ann")
        let other = try members(
            try await enrol("--face", "\(folder)/biden.jpg", "--face-id", "g", "--user-reference", "bob"))
        let backup = try await site.templates()
        let jobs = try await site.connection.query("SELECT sealed FROM insp.job ORDER BY id").map { try $0.data(0) }
        #expect(backup.count == 3 && jobs.count == 3)
        let persons = try await site.store.query("SELECT count(*) FROM insp.key WHERE kind = 'person'")[0].int(0)
        #expect(persons == 3)

        // Nothing is destroyed that cannot be recorded first.
        try await site.connection.execute("ALTER FUNCTION insp.record_keys RENAME TO absent")
        for command in [["person", "erase", "--partner", "bank", "--reference", "bob"], ["keys", "sweep"]] {
            let refused = try await Program.run(command, environment: site.environment)
            #expect(refused.status != 0, "\(command)")
        }
        try await site.connection.execute("ALTER FUNCTION insp.absent RENAME TO record_keys")
        for place in 0..<3 { #expect(try await site.opens(backup[place])) }
        #expect(try await site.store.query("SELECT count(*) FROM insp.key WHERE kind = 'person'")[0].int(0) == 3)

        let erased = try members(
            try await site.run("person", "erase", "--partner", "bank", "--reference", "ann"))
        #expect(erased["jobs"] as? Int == 2 && erased["keyDestroyed"] as? Bool == true)
        try await site.waitForKeys()
        for place in 0..<3 {
            #expect(try await site.opens(backup[place]) == (place == 2))
            #expect(try await site.opens(jobs[place]) == (place == 2))
        }
        #expect(
            try members(try await site.run("status", early["id"] as! String, "--purpose", "support"))["erasedAt"] != nil
        )
        // The person's and the face's key.
        #expect(try await site.store.query("SELECT count(*) FROM insp.key WHERE kind = 'person'")[0].int(0) == 1)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE (action, detail) = ('keys_destroy_person', '{\"keys\": 2}')") == 1)
        #expect(try await site.count("insp.v_operator_events WHERE action = 'keys_destroy_person_begin'") == 1)

        // What retention leaves without a job goes with the next sweep.
        _ = try await site.connection.query("SELECT insp.erase($1)", [.text(other["id"] as! String)])
        try await site.waitForKeys()
        #expect(try await !site.opens(backup[2]))
        let young = try members(try await site.run("keys", "sweep"))
        #expect(young["persons"] as? Int == 0)
        try await site.store.execute("UPDATE insp.key SET created_at = now() - interval '2 hours'")
        let swept = try members(try await site.run("keys", "sweep"))
        #expect(swept["persons"] as? Int == 1 && swept["destroyed"] as? Int == 0)
        #expect(
            try await site.count(
                "insp.v_operator_events WHERE (action, detail) = ('keys_sweep_begin', '{}')") == 2)
        #expect(try await site.store.query("SELECT count(*) FROM insp.key WHERE kind <> 'partner'")[0].int(0) == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A job that was accepted while its person was erased ends at once, and is erased`() async throws {
        let site = try await SealedSite()
        let faces = try await TestInputs.folder.appendingPathComponent("faces").path
        let late = try await site.enqueue(
            "--workflow", "liveness", "--face", "\(faces)/obama.jpg", "--user-reference", "ann",
            "--customer-reference", "case 7")
        let other = try await site.enqueue(
            "--workflow", "liveness", "--face", "\(faces)/obama.jpg", "--user-reference", "bob")
        // What an erasure that did not see the job does last.
        #expect(try await site.keys.destroyPerson(.user("ann"), of: try await site.partner()))
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        try await site.waitForJobs()
        let result = try members(try await site.run("status", late, "--purpose", "support"))
        #expect(result.at("error.code") as? String == "KEY_DESTROYED" || result["erasedAt"] != nil, "\(result)")
        #expect(
            try await site.count("insp.part WHERE job_id = (SELECT id FROM insp.job WHERE public_id = '\(late)')") == 0)
        #expect(
            try await site.count("insp.job WHERE public_id = '\(late)' AND sealed IS NULL AND person_id IS NULL") == 1)
        #expect(try await site.count("insp.person WHERE reference_index IS NOT NULL") == 1)
        #expect(try await site.count("insp.dead") == 0)
        #expect(try await site.count("insp.event WHERE detail ->> 'error' = 'KEY_DESTROYED'") == 1)
        // The partner is notified.
        let received = try await site.service.receiver.received(within: 60) { $0.count == 2 }
        let bodies = try received.map { try members(Data($0.body.utf8)) }
        #expect(Set(bodies.compactMap { $0.at("data.id") as? String }) == [late, other])
        #expect(try members(try await site.run("status", other))["erasedAt"] == nil)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A whole partner goes, keys first, and its neighbour stays as it was`() async throws {
        let site = try await SealedSite()
        let worker = try site.worker(["--slots", "1"])
        defer { worker.send(SIGKILL) }
        let faces = try await TestInputs.folder.appendingPathComponent("faces").path
        _ = try await site.run(
            "endpoint", "create", "--new-partner", "--partner", "club", "--url", "https://hooks.example.com/c")
        _ = try await site.run("endpoint", "rotate", "2")
        let club = try await Program.run(
            ["enqueue", "--partner", "club", "--workflow", "liveness", "--face", "\(faces)/obama.jpg", "--wait"],
            environment: site.environment)
        #expect(club.status == 0, "\(club.errors)")
        let theirs = try members(club.output)["id"] as! String
        _ = try await site.enqueue("--workflow", "enrollment", "--face", "\(faces)/obama.jpg", "--face-id", "f")
        _ = try await site.enqueue(
            "--workflow", "liveness", "--face", "\(faces)/obama.jpg", "--user-reference", "ann")
        try await site.waitForJobs()
        // One more is in the queue when it begins.
        _ = try await site.connection.query("SELECT insp.pause(partner => 'bank')")
        _ = try await site.enqueue("--workflow", "liveness", "--face", "\(faces)/obama.jpg")
        let number = try await site.partner()
        let backup = try await site.templates()
        let jobs = try await site.connection.query(
            "SELECT sealed, partner_id FROM insp.job ORDER BY id"
        ).map { (try $0.data(0), try $0.int(1) == number) }
        #expect(jobs.count == 4 && backup.count == 1)

        let erased = try members(
            try await site.run("partner", "erase", "--partner", "bank", "--confirm", "bank"))
        #expect(erased["keyDestroyed"] as? Bool == true && erased["kept"] as? Int == 0)
        #expect(erased["jobs"] as? Int == 3 && erased["templates"] as? Int == 1)
        #expect(try await !site.opens(backup[0]))
        for (sealed, isOurs) in jobs { #expect(try await site.opens(sealed) == !isOurs) }
        #expect(
            try await site.store.query("SELECT count(*) FROM insp.key WHERE partner_id = $1", [.int(number)])[0].int(0)
                == 0)
        // Again, as after an interruption.
        let again = try members(
            try await site.run("partner", "erase", "--partner", "bank", "--confirm", "bank"))
        #expect(again["keyDestroyed"] as? Bool == false && again["jobs"] as? Int == 0)
        let refused = try await Program.run(
            ["enqueue", "--partner", "bank", "--workflow", "liveness", "--face", "\(faces)/obama.jpg"],
            environment: site.environment)
        #expect(refused.status == 1 && refused.errors.contains("PARTNER_DISABLED"))
        let result = try members(try await site.run("status", theirs, "--purpose", "support"))
        #expect(result["capabilities"] != nil)
        #expect(!worker.standardError.contains("\"level\":\"error\""))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A key that a stolen worker reported as destroyed is destroyed by the sweep`() async throws {
        let site = try await SealedSite()
        let faces = try await TestInputs.folder.appendingPathComponent("faces").path
        for _ in 0..<2 { _ = try await site.enqueue("--workflow", "liveness", "--face", "\(faces)/obama.jpg") }
        let jobs = try await site.connection.query("SELECT public_id::text, sealed FROM insp.job ORDER BY id")
            .map { (try $0.string(0), try $0.data(1)) }
        for (id, _) in jobs { _ = try await site.connection.query("SELECT insp.cancel($1)", [.text(id)]) }
        _ = try await site.connection.query("SELECT insp.erase($1)", [.text(jobs[0].0)])
        #expect(try await site.count("insp.key_gone") == 1)
        let thief = try await site.service.database.connect()
        try await thief.execute("SET ROLE insp_worker")
        _ = try await thief.query(
            """
            SELECT insp.keys_destroyed(array_agg(g.key_id), array_agg(g.partner_id), array_agg(false))
            FROM insp.keys_gone(100) g
            """)
        await thief.close()
        #expect(try await site.count("insp.key_gone") == 0)
        #expect(try await site.opens(jobs[0].1))
        try await site.store.execute("UPDATE insp.key SET created_at = now() - interval '2 hours'")
        let swept = try members(try await site.run("keys", "sweep"))
        #expect(swept["destroyed"] as? Int == 1, "\(swept)")
        #expect(try await !site.opens(jobs[0].1))
        #expect(try await site.opens(jobs[1].1))
    }

    @Test(.timeLimit(.minutes(5)))
    func `A sweep leaves the key of a job that is committed late`() async throws {
        let site = try await SealedSite()
        let bank = try await site.partner()
        let keys = try await site.keys.jobKeys([KeyOwner(partner: bank), KeyOwner(partner: bank)])
        try await site.store.execute("UPDATE insp.key SET created_at = now() - interval '2 hours'")
        let late = try await site.service.database.connect()
        try await late.execute("BEGIN")
        _ = try await late.query(
            """
            SELECT insp.enqueue_parts('{"partner":"bank","workflow":"id"}', '{FRONT}', ARRAY[b.bytes], b.bytes, sha256('x'))
            FROM decode('01' || $1 || repeat('00', 40), 'hex') AS b (bytes)
            """, [.text(keys[0].id.text.replacing("-", with: ""))])
        let open = try await Program.run(["keys", "sweep"], environment: site.environment)
        #expect(open.status == 1 && open.errors.contains("ROW_LOCKED"), "\(open.errors)")
        let waiting = try Program(["keys", "sweep"], environment: site.environment)
        try await late.execute("COMMIT")
        #expect(try await waiting.wait() == 0, "\(waiting.standardError)")
        #expect(try members(waiting.standardOutput)["destroyed"] as? Int == 1)
        let left = try await site.store.query("SELECT id::text FROM insp.key WHERE kind = 'job'")
        #expect(try left.map { try $0.string(0) } == [keys[0].id.text])
    }
}

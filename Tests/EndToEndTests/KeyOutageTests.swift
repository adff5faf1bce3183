import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// Real workers whose key store is unavailable, older than the data, or another host's.
@Suite struct KeyOutageTests {
    /// Events of attempts that ended so.
    private static func uncounted(_ code: String) -> String {
        "insp.event WHERE kind = 'retry' AND detail ->> 'code' = '\(code)'"
    }

    /// Events of attempts that were ended by anything else.
    private static func counted(_ code: String) -> String {
        "insp.event WHERE kind IN ('retry', 'rescued') AND detail ->> 'code' IS DISTINCT FROM '\(code)'"
    }

    @Test(.timeLimit(.minutes(6)))
    func `A key store that stops delays jobs and callbacks, ends none and costs no attempt`() async throws {
        let server = try OwnServer()
        let service = try await SealedService(try await KeySetting(store: server.database))
        let ids = try await service.enqueue(24)
        let worker = try service.worker(["--slots", "2", "--fetch-deadline", "5"], delayMs: 400)
        defer { worker.send(SIGKILL) }
        try await waitUntil("some jobs are finished") { try await service.count("insp.job WHERE status = 128") >= 4 }
        try await server.stop()
        // Longer than a job waits for it in its slot.
        try await waitUntil("a job has left its slot", within: .seconds(120)) {
            try await service.count(Self.uncounted("KEYS_UNAVAILABLE")) > 0
        }
        #expect(try await service.count("insp.job WHERE status < 128") > 4)
        try server.start()
        try await waitUntil("all jobs are finished", within: .seconds(120)) {
            try await service.count("insp.job WHERE status < 128") == 0
        }
        #expect(try await service.count(Self.counted("KEYS_UNAVAILABLE")) == 0)
        #expect(try await service.count("insp.event WHERE kind = 'finished'") == 24)
        #expect(try await service.count("insp.dead") == 0)
        // It logs a job after the database has it.
        try await waitUntil("the last job is logged") { SealedService.lines(worker, "job finished").count >= 24 }
        let finished = SealedService.lines(worker, "job finished")
        #expect(finished.count == 24 && finished.allSatisfy { $0["attempt"] as? Int == 1 }, "\(finished)")
        for id in ids {
            let result = try await service.result(of: id)
            #expect(result.at("decision.type") as? String == "REJECTED" && result["capabilities"] != nil, "\(result)")
        }
        let callbacks = try await service.receiver.received(within: 120) { $0.count >= 24 }
        #expect(callbacks.count == 24 && callbacks.allSatisfy { $0.verified && $0.attempt == 1 })
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timeLimit(.minutes(6)))
    func `Beside a key store that is older than the data, jobs without keys wait until their deadline`() async throws {
        let server = try OwnServer()
        let service = try await SealedService(try await KeySetting(store: server.database))
        let before = try await service.enqueue(2)
        // A backup of this moment. What a template is copied from may have no connection.
        let admin = server.database.database("template1", role: "inspectd")
        await service.setting.admin.close()
        let copying = try await admin.connect()
        _ = try await copying.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'postgres'")
        try await copying.execute("CREATE DATABASE older TEMPLATE postgres", timeout: .seconds(60))
        let late = try await service.enqueue(2)
        let soon = try await service.enqueue(
            1, ["expiresAt": Date(timeIntervalSinceNow: 20).formatted(.iso8601)])[0]
        var old = service.setting.environment
        old["INSPECTD_KEYS_URL"] = server.database.database("older", role: "inspectd").url
        let analyzer = try FaultyAnalyzer.script("", facts: FaultyAnalyzer.noFace)
        let worker = try Program(["worker", "--slots", "2", "--analyzer", analyzer], environment: old)
        defer { worker.send(SIGKILL) }
        try await waitUntil("jobs whose keys are there are finished, the others wait", within: .seconds(120)) {
            try await service.count(
                """
                insp.job j LEFT JOIN insp.delayed d ON d.job_id = j.id AND d.last_error = 'KEY_UNKNOWN' AND d.attempt = 0
                WHERE j.status = 128 OR d.job_id IS NOT NULL
                """) == 5
        }
        for id in before { #expect(try await service.result(of: id)["status"] as? Int == 128) }
        let explained = try await Program.run(
            ["status", late[0], "--explain"], environment: service.setting.environment)
        let text = String(decoding: explained.output, as: UTF8.self)
        #expect(text.contains("Counted attempts: 0.") && text.contains("KEY_UNKNOWN"), "\(text)")
        try await waitUntil("the deadline has come", within: .seconds(120)) {
            try await service.result(of: soon)["status"] as? Int == 128
        }
        #expect(try await service.result(of: soon).at("error.code") as? String == "EXPIRED")
        #expect(try await service.count("insp.dead") == 0)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)

        // The newer one is found. Its time would come within minutes.
        let newer = try service.worker(["--slots", "2"])
        defer { newer.send(SIGKILL) }
        try await service.connection.execute("UPDATE insp.delayed SET run_at = now()")
        for id in late {
            try await waitUntil("a late job is finished") {
                try await service.result(of: id)["status"] as? Int == 128
            }
            #expect(try await service.result(of: id).at("decision.type") as? String == "REJECTED")
        }
        // It logs a job after the database has it.
        try await waitUntil("both are logged") { SealedService.lines(newer, "job finished").count >= 2 }
        let attempts = SealedService.lines(newer, "job finished").map { $0["attempt"] as? Int }
        #expect(attempts == [1, 1])
        newer.send(SIGTERM)
        #expect(try await newer.wait() == 0)
    }

    @Test(.timeLimit(.minutes(6)))
    func `While hosts have differing keys, whoever has the key does the job, and none is ended`() async throws {
        let service = try await SealedService(try await KeySetting())
        let both = service.setting.file("keys")
        let lines = try String(contentsOfFile: both, encoding: .utf8).split(separator: "\n")
        func file(_ name: String, _ text: String) throws -> String {
            let path = service.setting.file(name)
            try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            return path
        }
        let old = try file("old", String(lines[0]))
        // Before the rotation: one host has the new key already, the other one has not.
        let behind = try service.worker(["--slots", "1"], keys: old)
        defer { behind.send(SIGKILL) }
        let known = try await service.enqueue(1)[0]
        try await waitUntil("the host without the new key does a job", within: .seconds(120)) {
            try await service.result(of: known)["status"] as? Int == 128
        }
        #expect(try await service.setting.run("rotate", "--to", "two").status == 0)
        // What it has unwrapped goes on; what is new to it waits for another host, at no cost.
        let again = try await service.enqueue(1)[0]
        try await waitUntil("it goes on with the partner that it knows") {
            try await service.result(of: again)["status"] as? Int == 128
        }
        try await service.addPartner("shop")
        let new = try await service.enqueue(3, partner: "shop")
        try await waitUntil("it puts off what it has no key for") {
            try await service.count(Self.uncounted("KEY_MISMATCH")) >= 3
        }
        // It does not start again, nor does one with another key of that name.
        let impostor = service.setting.file("impostor")
        _ = try await Program.run(["keys", "make", "--key-file", impostor, "--name", "two"])
        for keys in [old, impostor] {
            let refused = try service.worker(["--drain"], keys: keys)
            #expect(try await refused.wait() == 1)
            #expect(refused.standardError.contains("KEY_MISMATCH"), "\(refused.standardError)")
        }
        // Files that overlap: the former order, the reverse, and the new key alone.
        let ahead = try service.worker(["--slots", "1"], keys: try file("new", String(lines[1])))
        let swapped = try service.worker(
            ["--slots", "1"], keys: try file("swapped", lines.reversed().joined(separator: "\n")))
        defer { for worker in [ahead, swapped] { worker.send(SIGKILL) } }
        let more = try await service.enqueue(3, partner: "shop") + service.enqueue(3)
        try await waitUntil("all jobs are finished", within: .seconds(120)) {
            try await service.count("insp.job WHERE status < 128") == 0
        }
        for id in new + more {
            #expect(try await service.result(of: id).at("decision.type") as? String == "REJECTED")
        }
        #expect(try await service.count(Self.counted("KEY_MISMATCH")) == 0)
        let finished = [behind, ahead, swapped].flatMap { SealedService.lines($0, "job finished") }
        #expect(finished.count == 11 && finished.allSatisfy { $0["attempt"] as? Int == 1 }, "\(finished)")
        for worker in [behind, ahead, swapped] {
            worker.send(SIGTERM)
            #expect(try await worker.wait() == 0)
        }
    }
}

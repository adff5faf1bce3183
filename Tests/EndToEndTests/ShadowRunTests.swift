import Foundation
import FoundationNetworking
import TestSupport
import Testing

/// Changed limits beside those in force: what they would have decided is counted, and nothing else changes.
@Suite struct ShadowRunTests {
    /// Refuses every image, since no edge is that narrow.
    private static let strict = #"{"limits": {"hopelessBlur": 0.1, "blur": 0.1}}"#

    private static func file(_ text: String) throws -> TemporaryFile {
        let file = TemporaryFile()
        try Data(text.utf8).write(to: file.url)
        return file
    }

    /// A result without what differs from run to run: ids, times and durations.
    private static func comparable(_ document: [String: Any]) throws -> Data {
        var document = document
        if var engine = document["engine"] as? [String: Any] {
            engine["timingsMs"] = nil
            document["engine"] = engine
        }
        let volatile = ["id", "jobReference", "createdAt", "updatedAt", "startedAt", "completedAt", "finishedAt"]
        for name in volatile { document[name] = nil }
        return try JSONSerialization.data(
            withJSONObject: Self.withoutTimes(document), options: [.sortedKeys, .prettyPrinted])
    }

    /// What varies at any depth is the processor time of the VIZ.
    private static func withoutTimes(_ value: Any) -> Any {
        if let list = value as? [Any] { return list.map(Self.withoutTimes) }
        guard let object = value as? [String: Any] else { return value }
        return object.filter { $0.key != "cpuMs" }.mapValues(Self.withoutTimes)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A shadow run counts what would change by type of document, and no result changes`() async throws {
        let service = try await Service.start()
        let passport = try await TestInputs.specimen("passport.jpg")
        func run(_ arguments: [String]) async throws -> (document: [String: Any], worker: Program) {
            let worker = try service.worker(["--slots", "1"] + arguments)
            let id = try await service.enqueue(["workflow": "id"], front: passport)
            return (try await service.result(of: id), worker)
        }
        let plain = try await run([])
        plain.worker.send(SIGTERM)
        #expect(try await plain.worker.wait() == 0)

        let limits = try Self.file(Self.strict)
        let shadowed = try await run(["--health", "0", "--log-level", "debug", "--shadow", limits.url.path])
        defer { shadowed.worker.send(SIGKILL) }
        #expect(plain.document.at("decision.type") as? String == "PASSED")
        let (before, after) = (try Self.comparable(plain.document), try Self.comparable(shadowed.document))
        #expect(
            before == after, "\(String(decoding: before, as: UTF8.self))\n\(String(decoding: after, as: UTF8.self))")
        let received = try await service.receiver.received(within: 60) { $0.count >= 2 }
        #expect(received.count == 2 && received.allSatisfy { !$0.body.contains("BLURRED") })

        let port = try await shadowed.worker.port("health port open")
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/metrics"))
        let metrics = try MetricsText(String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self))
        func count(_ outcome: String) -> Double? {
            metrics.value(
                "inspectd_shadow_inspections_total",
                ["document_type": "PASSPORT", "workflow": "id", "outcome": outcome])
        }
        #expect(count("stricter") == 1 && count("same") == 0 && count("incomplete") == 0)
        let label = ["document_type": "PASSPORT", "capability": "usability", "label": "BLURRED", "change": "added"]
        #expect(metrics.value("inspectd_shadow_labels_total", label) == 1)
        #expect(try #require(metrics.value("inspectd_shadow_cpu_seconds_total")) > 0)
        // What ends the inspection counts as before.
        #expect(metrics.value("inspectd_jobs_finished_total", ["outcome": "completed"]) == 1)

        shadowed.worker.send(SIGTERM)
        #expect(try await shadowed.worker.wait() == 0)
        let lines = shadowed.worker.standardError.split(separator: "\n").compactMap { try? members(Data($0.utf8)) }
        let line = try #require(lines.first { $0["message"] as? String == "shadow decided" })
        #expect(line["level"] as? String == "debug" && line["outcome"] as? String == "stricter")
        #expect(line["shadowDecision"] as? String == "REJECTED" && line["added"] as? String == "usability:BLURRED")
        let name = try #require(plain.document.at("capabilities.extraction.0.data.lastName") as? String)
        #expect(!shadowed.worker.standardError.localizedCaseInsensitiveContains(name))
    }

    @Test(.timeLimit(.minutes(5)))
    func `Another program repeats jobs beside the worker, one at a time, and no result changes`() async throws {
        let service = try await Service.start()
        let passport = try await TestInputs.specimen("passport.jpg")
        let file = try Self.file(
            #"{"analyzer": "\#(Program.inspectd)", "limits": {"hopelessBlur": 0.1, "blur": 0.1}}"#)
        let worker = try service.worker(
            ["--slots", "1", "--health", "0", "--log-level", "debug", "--shadow", file.url.path])
        defer { worker.send(SIGKILL) }
        let id = try await service.enqueue(["workflow": "id"], front: passport)
        #expect(try await service.result(of: id).at("decision.type") as? String == "PASSED")
        let port = try await worker.port("health port open")
        let url = try #require(URL(string: "http://127.0.0.1:\(port)/metrics"))
        let labels = ["document_type": "PASSPORT", "workflow": "id", "outcome": "stricter"]
        var metrics = try MetricsText(String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self))
        // The job does not wait for it.
        for _ in 0..<600 where metrics.value("inspectd_shadow_inspections_total", labels) != 1 {
            try await Task.sleep(for: .milliseconds(100))
            metrics = try MetricsText(String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self))
        }
        #expect(metrics.value("inspectd_shadow_inspections_total", labels) == 1)
        for reason in ["busy", "failed", "unsuitable"] {
            #expect(metrics.value("inspectd_shadow_omissions_total", ["reason": reason]) == 0)
        }
        // Images were analysed, which a decision alone does not take.
        #expect(try #require(metrics.value("inspectd_shadow_cpu_seconds_total")) > 0.02)
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `One image is judged by other limits on standard error alone`() async throws {
        let folder = try await TestInputs.folder.appendingPathComponent("specimens").path
        let limits = try Self.file(Self.strict)
        let arguments = ["inspect", "--front", "\(folder)/passport.jpg"]
        let plain = try await Program.run(arguments)
        let shadowed = try await Program.run(arguments + ["--shadow", limits.url.path])
        #expect(plain.status == 0 && shadowed.status == 0 && plain.errors.isEmpty)
        #expect(
            try Self.comparable(try members(shadowed.output)) == Self.comparable(try members(plain.output)))
        let line = try members(Data(shadowed.errors.utf8))
        #expect(line["message"] as? String == "shadow decided" && line["outcome"] as? String == "stricter")
        #expect(line["documentType"] as? String == "PASSPORT" && line["removed"] as? String == "")
    }

    @Test(arguments: [
        (#"{"limits": {"blurr": 5}}"#, "'blurr' is not a limit; the limits are aspectRatio, "),
        (#"{"limits": {"sureVIZText": 0.9}}"#, "'sureVIZText' is not a limit"),
        (#"{"limits": {"blur": "5"}}"#, "blur takes a number"),
        (#"{"limits": {"blur": true}}"#, "blur takes a number"),
        (#"{"limits": {"blur": [5, 6]}}"#, "blur takes a number"),
        (#"{"limits": {"blur": null}}"#, "blur takes a number"),
        (#"{"limits": {"centreX": 0.5}}"#, "centreX takes two numbers, the lower one first"),
        (#"{"limits": {"centreX": [0.8, 0.2]}}"#, "centreX takes two numbers, the lower one first"),
        (#"{"limits": {}}"#, "--shadow takes a file such as"), (#"{"limit": {"blur": 5}}"#, "a file such as"),
        (#"{"limits": {"blur": 5}, "models": {}}"#, "a file such as"), ("blur = 5", "a file such as"),
        (#"{}"#, "a file such as"),
        ("", "a file such as"),
    ])
    func `A file of limits that is invalid is refused before anything starts`(
        text: String, message: String
    ) async throws {
        let file = try Self.file(text)
        for command in [["worker"], ["inspect", "--front", "absent"]] {
            let done = try await Program.run(command + ["--shadow", file.url.path])
            #expect(done.status == 2 && done.output.isEmpty)
            #expect(done.errors.contains(message), "\(done.errors)")
        }
    }

    @Test func `A program that does not exist is refused before anything starts`() async throws {
        let file = try Self.file(#"{"analyzer": "/absent/inspectd"}"#)
        for command in [["worker"], ["inspect", "--front", "absent"]] {
            let done = try await Program.run(command + ["--shadow", file.url.path])
            #expect(done.status == 1 && done.output.isEmpty)
            #expect(done.errors.contains("--shadow: /absent/inspectd does not exist"), "\(done.errors)")
        }
    }
}

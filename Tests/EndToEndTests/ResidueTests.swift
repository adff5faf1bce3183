import Foundation
import TestSupport
import Testing

/// Personal data in memory after jobs have finished.
@Suite struct ResidueTests {
    @Test(.timeLimit(.minutes(5)))
    func `A second after a job no analyzer process holds anything of its document`() async throws {
        try #require(geteuid() == 0, "only root may read the memory of a process that cannot be dumped")
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "2"])
        defer { worker.send(SIGKILL) }
        let id = try await service.enqueue(["workflow": "id"], front: TestInputs.specimen("passport.jpg"))
        let result = try await service.result(of: id)
        let lines = try #require(result.at("capabilities.extraction.0.data.mrz.lines") as? [String])
        try #require(lines.count == 2)
        let number = try #require(result.at("capabilities.extraction.0.data.documentNumber") as? String)
        try await Task.sleep(for: .seconds(1))

        let parent = try #require(ProcessMemory.children(of: worker.pid).first)
        var analyzers: [Int32] = []
        let deadline = ContinuousClock.now + .seconds(60)
        repeat {
            if !analyzers.isEmpty { try await Task.sleep(for: .milliseconds(100)) }
            analyzers = ProcessMemory.children(of: parent)
        } while analyzers.count != 2 && ContinuousClock.now < deadline
        #expect(analyzers.count == 2, "one for each slot, ready for the next jobs")
        for pid in [parent] + analyzers { #expect(try !ProcessMemory.holds(lines + [number], in: pid)) }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    /// The worker that only sends callbacks and the gateway have credentials, too.
    @Test func `No command leaves a core file`() async throws {
        let service = try await Service.start()
        let programs = [
            try Program(["gateway", "--listen", "0", "--log-level", "info"], environment: service.environment),
            try service.worker(["--roles", "callback"]),
        ]
        defer { programs.forEach { $0.send(SIGKILL) } }
        for program in programs {
            var limits = ""
            let deadline = ContinuousClock.now + .seconds(60)
            repeat {
                limits =
                    try String(contentsOfFile: "/proc/\(program.pid)/limits", encoding: .utf8)
                    .split(separator: "\n").first { $0.hasPrefix("Max core file size") }.map(String.init) ?? ""
                try await Task.sleep(for: .milliseconds(20))
            } while ContinuousClock.now < deadline && limits.split(separator: " ").dropFirst(4).prefix(2) != ["0", "0"]
            #expect(limits.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"])
        }
    }
}

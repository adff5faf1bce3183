import Foundation
import TestSupport
import Testing

/// Personal data in memory after jobs have finished.
@Suite struct ResidueTests {
    @Test(.timed, .timeLimit(.minutes(5)))
    func `A second after a job no analyzer process holds anything of its document`() async throws {
        try #require(geteuid() == 0, "only root may read the memory of a process that cannot be dumped")
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "2"])
        defer { worker.send(SIGKILL) }
        func analyzers() -> Set<Int32> {
            Set(ProcessMemory.children(of: worker.pid).flatMap { ProcessMemory.children(of: $0) })
        }
        try await waitUntil("an analyzer for each slot is ready") { analyzers().count == 2 }
        let before = analyzers()
        // Not the passport: its lines are in the program, as an example of the gateway's description.
        let id = try await service.enqueue(["workflow": "id"], front: TestInputs.specimen("td2.jpg"))
        let result = try await service.result(of: id)
        let lines = try #require(result.at("capabilities.extraction.0.data.mrz.lines") as? [String])
        try #require(lines.count == 2)
        let number = try #require(result.at("capabilities.extraction.0.data.documentNumber") as? String)
        let finished = ContinuousClock.now
        try await waitUntil("the job's analyzer has made room for another") {
            let now = analyzers()
            return now.count == 2 && now != before
        }
        #expect(ContinuousClock.now - finished < .seconds(1))
        for pid in ProcessMemory.children(of: worker.pid) + analyzers() {
            #expect(try !ProcessMemory.holds(lines + [number], in: pid))
        }
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
            try await waitUntil("its core files are limited to nothing") {
                let limits = try String(contentsOfFile: "/proc/\(program.pid)/limits", encoding: .utf8)
                let line = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
                return line?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"]
            }
        }
    }
}

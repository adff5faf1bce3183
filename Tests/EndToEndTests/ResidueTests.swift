import Foundation
import TestSupport
import Testing

/// Personal data in memory after jobs have finished.
@Suite struct ResidueTests {
    /// A service whose worker has just finished a job.
    private struct Finished {
        var service: Service
        var worker: Program
        /// The analyzers before the job.
        var before: Set<Int32>
        /// When its result was there.
        var end: ContinuousClock.Instant
        /// What its document says.
        var personal: [String]

        var analyzers: Set<Int32> {
            Set(ProcessMemory.children(of: self.worker.pid).flatMap { ProcessMemory.children(of: $0) })
        }

        /// Waits until the job's analyzer has made room for another.
        func renewal() async throws {
            try await waitUntil("the job's analyzer has made room for another") {
                let now = self.analyzers
                return now.count == 2 && now != self.before
            }
        }
    }

    private func finished() async throws -> Finished {
        let service = try await Service.start()
        let worker = try service.worker(["--slots", "2"])
        var finished = Finished(service: service, worker: worker, before: [], end: .now, personal: [])
        do {
            try await waitUntil("an analyzer for each slot is ready") { finished.analyzers.count == 2 }
            finished.before = finished.analyzers
            // Not the passport: its lines are in the program, as an example of the gateway's description.
            let id = try await service.enqueue(["workflow": "id"], front: TestInputs.specimen("td2.jpg"))
            let result = try await service.result(of: id)
            finished.end = .now
            let lines = try #require(result.at("capabilities.extraction.0.data.mrz.lines") as? [String])
            try #require(lines.count == 2)
            let number = try #require(result.at("capabilities.extraction.0.data.documentNumber") as? String)
            finished.personal = lines + [number]
        } catch {
            worker.send(SIGKILL)
            throw error
        }
        return finished
    }

    @Test(.timeLimit(.minutes(5)))
    func `Once a job's analyzer is replaced, no process of the worker holds anything of its document`() async throws {
        try #require(geteuid() == 0, "only root may read the memory of a process that cannot be dumped")
        let finished = try await self.finished()
        let worker = finished.worker
        defer { worker.send(SIGKILL) }
        try await finished.renewal()
        for pid in ProcessMemory.children(of: worker.pid) + finished.analyzers {
            #expect(try !ProcessMemory.holds(finished.personal, in: pid))
        }
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }

    @Test(.timed, .timeLimit(.minutes(5)))
    func `A job's analyzer is replaced within a second`() async throws {
        let finished = try await self.finished()
        defer { finished.worker.send(SIGKILL) }
        try await finished.renewal()
        #expect(ContinuousClock.now - finished.end < .seconds(1))
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

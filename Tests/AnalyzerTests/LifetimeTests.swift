import Foundation
import Glibc
import InspectCore
import Testing

@testable import Analyzer

@Suite("Processes come and go as they should", .serialized)
struct LifetimeTests {
    @Test func partsThatDoNotFitAreRefusedAndOnesThatJustFitAreNot() async throws {
        try await withPool(slots: 1, configure: { $0.sharedMemory = 1 << 20 }) { pool, _ in
            let full = Data(repeating: 1, count: 1 << 20)
            let reply = try await pool.perform("parts", parts: [("FRONT", full)])
            #expect(reply == "FRONT 1048576 1048576")
            let error = await inspectError {
                try await pool.perform("parts", parts: [("FRONT", full), ("BACK", Data([1]))])
            }
            #expect(error?.code == .partTooLarge)
            #expect(error?.detail.contains("1048577") == true)
            #expect(pool.freeSlots == 1)
        }
    }

    @Test func largeRequestsAndRepliesArrive() async throws {
        try await withPool(slots: 1) { pool, _ in
            let text = String(repeating: "0123456789abcdef", count: 500_000)
            let reply = try await pool.perform("echo", text)
            #expect(reply == text)
        }
    }

    @Test func aProcessIsReplacedAfterItsShareOfJobs() async throws {
        try await withPool(slots: 1, configure: { $0.jobsPerProcess = 3 }) { pool, log in
            var pids: [String] = []
            for _ in 0..<6 { pids.append(try await pool.perform("pid")) }
            // The pool's own start took one job.
            #expect(pids[0] == pids[1] && pids[2] == pids[3] && pids[3] == pids[4])
            #expect(Set(pids).count == 3)
            #expect(log.losses.count == 2)
            #expect(log.losses.allSatisfy { $0.expected && $0.end?.exitStatus == 0 })
        }
    }

    @Test func aProcessThatGrewIsReplaced() async throws {
        try await withPool(slots: 1, configure: { $0.growthLimit = 32 << 20 }) { pool, log in
            let before = try await pool.perform("pid")
            _ = try await pool.perform("leak")
            #expect(try await pool.perform("pid") != before)
            #expect(log.losses.map(\.reason.localizedLowercase).allSatisfy { $0.hasPrefix("grown by") })
            #expect(log.losses.count == 1)
        }
    }

    @Test func anIdleProcessThatIsKilledCostsNothing() async throws {
        try await withPool(slots: 1) { pool, log in
            let pid = try #require(try await pool.processIDs().first)
            kill(pid, SIGKILL)
            try await eventually("the process is still there") { !isAlive(pid) }
            #expect(try await pool.perform("echo", "unharmed") == "unharmed")
            #expect(log.losses.count == 1)
        }
    }

    @Test func aKilledParentIsReplacedAndTakesItsProcessesWithIt() async throws {
        try await withPool { pool, log in
            let parent = try #require(pool.parentPID)
            let children = try await pool.processIDs()
            let running = Task { await inspectError { try await pool.perform("sleep", deadline: .seconds(60)) } }
            try await Task.sleep(for: .milliseconds(100))
            kill(parent, SIGKILL)
            let error = await running.value
            #expect(error?.code == .analyzerCrashed)
            #expect(error?.detail.contains("parent") == true)
            try await eventually("analyzers outlived their parent") { children.allSatisfy { !isAlive($0) } }

            #expect(try await pool.perform("echo", "again") == "again")
            #expect(Set(try await pool.processIDs()).count == 2)
            #expect(pool.parentPID != parent)
            #expect(log.parentsEnded == 1)
        }
    }

    @Test func aKilledWorkerLeavesNoProcessBehind() async throws {
        let (worker, pids) = try startWorker(slots: 3)
        #expect(Set(pids).count == 4)
        #expect(pids.allSatisfy(isAlive))
        kill(worker.processIdentifier, SIGKILL)
        try await eventually("processes outlived the worker") { pids.allSatisfy { !isAlive($0) } }
        worker.waitUntilExit()
    }

    @Test func signalsMeantForTheServiceDoNotEndAnalyzers() async throws {
        try await withPool(slots: 1) { pool, log in
            let pids = try await pool.processIDs() + [try #require(pool.parentPID)]
            for pid in pids { for signal in [SIGTERM, SIGINT, SIGHUP] { kill(pid, signal) } }
            #expect(try await pool.perform("echo", "draining") == "draining")
            #expect(try await pool.processIDs() == [pids[0]])
            #expect(log.losses.isEmpty)
        }
    }

    @Test func stoppingFailsWhatIsUnderWayAndWhatWaits() async throws {
        var configuration = AnalyzerConfiguration(slots: 1)
        configuration.executable = faultyAnalyzer
        let pool = AnalyzerPool(configuration: configuration)
        try await pool.start()
        let pids = try await pool.processIDs() + [try #require(pool.parentPID)]
        let tasks = (0..<3).map { _ in
            Task { await inspectError { try await pool.perform("sleep", deadline: .seconds(60)) } }
        }
        try await eventually("no request is under way") { pool.freeSlots == 0 }
        let begun = ContinuousClock.now
        await pool.stop()
        for task in tasks { #expect(await task.value?.code == .analyzerUnavailable) }
        #expect(ContinuousClock.now - begun < .seconds(10))
        #expect(pids.filter(isAlive) == [])
        #expect(await inspectError { try await pool.perform("echo") }?.code == .analyzerUnavailable)
    }

    @Test func aPoolThatCouldNotStartTriesAgainByItself() async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/analyzer-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var configuration = AnalyzerConfiguration(slots: 2)
        configuration.executable = directory + "/analyzer"
        let pool = AnalyzerPool(configuration: configuration)
        #expect(await inspectError { try await pool.start() }?.code == .analyzerUnavailable)
        #expect(pool.freeSlots == 0)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: configuration.executable, withDestinationPath: faultyAnalyzer)
        try await eventually("the pool does not recover") { pool.freeSlots == 2 }
        #expect(Set(try await pool.processIDs()).count == 2)
        await pool.stop()
    }

    struct BadStart: CustomTestStringConvertible {
        var executable = faultyAnalyzer
        var start: String
        var code: ErrorCode
        var detail: String
        var testDescription: String { self.start }
    }

    @Test(arguments: [
        BadStart(start: "fail", code: .modelUnavailable, detail: "no such file: model.dat"),
        BadStart(start: "exit", code: .analyzerUnavailable, detail: "exit status 3): faulty-analyzer: cannot open"),
        BadStart(start: "slow", code: .analyzerUnavailable, detail: "in time"),
        BadStart(start: "thread", code: .analyzerUnavailable, detail: "2 threads"),
        BadStart(executable: "/nonexistent", start: "none", code: .analyzerUnavailable, detail: "No such file"),
        BadStart(executable: "/bin/true", start: "true", code: .analyzerUnavailable, detail: "exit status 0"),
    ])
    func aParentThatDoesNotStartSaysWhy(_ bad: BadStart) async throws {
        var configuration = AnalyzerConfiguration(slots: 1)
        configuration.executable = bad.executable
        configuration.arguments = ["--start", bad.start]
        configuration.startDeadline = .seconds(3)
        let pool = AnalyzerPool(configuration: configuration)
        let error = try #require(await inspectError { try await pool.start() })
        #expect(error.code == bad.code)
        #expect(error.detail.contains(bad.detail), "\(error.detail)")
        #expect(!error.detail.utf8.contains(0x1B))
        #expect(pool.freeSlots == 0)
        await pool.stop()
    }
}

import Foundation
import Glibc
import InspectCore
import TestSupport
import Testing

@testable import Analyzer

/// Processes come and go as they should.
@Suite(.serialized) struct LifetimeTests {
    @Test func `Parts that fill the shared memory are accepted, one byte more is refused`() async throws {
        try await withPool(analyzers: 1, configure: { $0.sharedMemory = 1 << 20 }) { pool, _ in
            let full = Data(repeating: 1, count: 1 << 20)
            let reply = try await pool.perform("parts", parts: [("FRONT", full)])
            #expect(reply == "FRONT 1048576 1048576")
            let error = await inspectError {
                try await pool.perform("parts", parts: [("FRONT", full), ("BACK", Data([1]))])
            }
            #expect(error?.code == .partTooLarge)
            #expect(error?.detail.contains("1048577") == true)
            try await waitUntil("the driver is free") { pool.freeDrivers == 1 }
        }
    }

    @Test func `Requests and replies of eight megabytes arrive whole`() async throws {
        try await withPool(analyzers: 1) { pool, _ in
            let text = String(repeating: "0123456789abcdef", count: 500_000)
            let reply = try await pool.perform("echo", text)
            #expect(reply == text)
        }
    }

    @Test func `A program that is being written is started once it is written`() async throws {
        let program = try OpenProgram("exec '\(faultyAnalyzer)' analyzer")
        defer { program.remove() }
        try await program.lease()
        let written = Task {
            try await program.refuse()
            try await program.waitForStart()
            program.release()
            try program.writer.close()
        }
        try await withPool(analyzers: 1, configure: { ($0.executable, $0.arguments) = (program.path, []) }) { pool, _ in
            let reply = try await pool.perform("echo", "whole")
            #expect(reply == "whole")
        }
        try await written.value(within: .hangDeadline)
    }

    @Test func `A pool that stops waits no longer for a program that is being written`() async throws {
        let program = try OpenProgram("")
        defer { program.remove() }
        var configuration = AnalyzerConfiguration(count: 1)
        (configuration.executable, configuration.arguments) = (program.path, [])
        let pool = AnalyzerPool(configuration: configuration, onEvent: { _ in })
        try await program.lease()
        let started = Task { await inspectError { try await pool.start() } }
        try await program.refuse()
        try await program.waitForStart()
        let stopped = Task { await pool.stop() }
        try await waitUntil("the pool stops") { pool.supervisor.isStopped }
        // This start is refused like the one before, and is the last.
        try await program.refuse()
        #expect(try await started.value(within: .hangDeadline)?.code == .analyzerUnavailable)
        #expect(!program.isAwaited)
        try await stopped.value(within: .hangDeadline)
    }

    @Test func `No two jobs share a process`() async throws {
        try await withPool(analyzers: 3) { pool, log in
            let pids = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        try await pool.withAnalyzer(parts: []) { session in
                            let pid = try await session.perform("pid")
                            #expect(try await session.perform("pid") == pid, "the stages of one job do")
                            return pid
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(pids).count == 60)
            try await waitUntil("the processes have ended with their jobs") { log.ends.count >= 60 }
            #expect(log.ends.allSatisfy { $0?.exitStatus == 0 })
            #expect(log.losses.isEmpty)
        }
    }

    /// Forked ahead: a job waits for a message, not for a process.
    @Test(.timed) func `Processes are forked before jobs need them`() async throws {
        try await withPool(analyzers: 2) { pool, log in
            _ = try await pool.reservedProcessIDs()
            let before = log.waits
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<40 { _ = try await pool.perform("burn", "10") }
                    }
                }
                try await group.waitForAll()
            }
            // A machine that is busy with others may be late now and then.
            #expect(log.waits - before <= 8, "of 80 jobs on all drivers, without a pause")
        }
    }

    @Test func `Killing idle processes fails no job`() async throws {
        try await withPool(analyzers: 2) { pool, log in
            let pids = try await pool.reservedProcessIDs()
            for pid in pids { kill(pid, SIGKILL) }
            try await waitUntil("the processes have ended") { !pids.contains(where: isAlive) }
            #expect(try await pool.perform("echo", "unharmed") == "unharmed")
            #expect(log.losses.count == 2)
        }
    }

    @Test func `A killed parent takes its processes with it and is replaced`() async throws {
        try await withPool { pool, log in
            let parent = try #require(pool.parentPID)
            let children = childProcesses(of: parent)
            let running = Task {
                await inspectError { try await pool.perform("sleep", "300", deadline: .seconds(600)) }
            }
            try await pool.waitForWork()
            kill(parent, SIGKILL)
            let error = try await running.value(within: .seconds(120))
            #expect(error?.code == .analyzerCrashed)
            #expect(error?.detail.contains("parent") == true)
            try await waitUntil("the analyzers have ended with their parent") { children.allSatisfy { !isAlive($0) } }

            // One that was being forked as the parent died may still have been handed out.
            var answer: String?
            for _ in 0..<3 where answer == nil { answer = try? await pool.perform("echo", "again") }
            #expect(answer == "again")
            #expect(Set(try await pool.processIDs()).count == 2)
            #expect(pool.parentPID != parent)
            #expect(log.parentsEnded == 1)
        }
    }

    @Test func `A killed worker leaves no process behind`() async throws {
        let (worker, told) = try startWorker(analyzers: 3)
        #expect(Set(told).count == 4)
        // Those that wait for a job, too.
        try await waitUntil("the reserve is filled") { childProcesses(of: told[0]).count == 6 }
        let pids = [told[0]] + childProcesses(of: told[0])
        #expect(Set(pids).isSuperset(of: told))
        kill(worker.processIdentifier, SIGKILL)
        try await waitUntil("the processes have ended with the worker") { pids.allSatisfy { !isAlive($0) } }
        try await waitUntil("the worker has ended") { !worker.isRunning }
    }

    @Test func `Signals that stop the service do not end analyzers`() async throws {
        try await withPool(analyzers: 1) { pool, log in
            try await pool.withAnalyzer(parts: []) { session in
                let pid = try await session.perform("pid")
                for pid in pool.allProcessIDs { for signal in [SIGTERM, SIGINT, SIGHUP] { kill(pid, signal) } }
                #expect(try await session.perform("pid") == pid)
            }
            #expect(try await pool.perform("echo", "draining") == "draining")
            #expect(log.losses.isEmpty && log.parentsEnded == 0)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `Stopping the pool fails running and waiting requests and ends all processes`() async throws {
        var configuration = AnalyzerConfiguration(count: 1)
        configuration.executable = faultyAnalyzer
        let pool = AnalyzerPool(configuration: configuration)
        try await pool.start()
        let tasks = (0..<3).map { _ in
            Task { await inspectError { try await pool.perform("sleep", deadline: .seconds(600)) } }
        }
        try await waitUntil("a request is under way") { pool.freeDrivers == 0 }
        let pids = pool.allProcessIDs
        await pool.stop()
        for task in tasks { #expect(try await task.value(within: .seconds(120))?.code == .analyzerUnavailable) }
        #expect(pids.filter(isAlive) == [])
        #expect(await inspectError { try await pool.perform("echo") }?.code == .analyzerUnavailable)
    }

    @Test func `A pool that could not start tries again by itself`() async throws {
        let directory = FileManager.default.temporaryDirectory.path + "/analyzer-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var configuration = AnalyzerConfiguration(count: 2)
        configuration.executable = directory + "/analyzer"
        let pool = AnalyzerPool(configuration: configuration)
        #expect(await inspectError { try await pool.start() }?.code == .analyzerUnavailable)
        #expect(pool.parentPID == nil)
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: configuration.executable, withDestinationPath: faultyAnalyzer)
        _ = try await pool.reservedProcessIDs()
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
    func `A parent that does not start says why`(_ bad: BadStart) async throws {
        var configuration = AnalyzerConfiguration(count: 1)
        configuration.executable = bad.executable
        configuration.arguments = ["--start", bad.start]
        // Only the one that takes too long is not waited for.
        configuration.startDeadline = .seconds(bad.start == "slow" ? 3 : 60)
        let pool = AnalyzerPool(configuration: configuration)
        let error = try #require(await inspectError { try await pool.start() })
        #expect(error.code == bad.code)
        #expect(error.detail.contains(bad.detail), "\(error.detail)")
        #expect(!error.detail.utf8.contains(0x1B))
        #expect(pool.parentPID == nil)
        await pool.stop()
    }
}

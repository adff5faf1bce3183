import Foundation
import Glibc
import InspectCore
import TestSupport
import Testing

@testable import Analyzer

/// What goes wrong in an analyzer costs one request.
@Suite(.serialized) struct PoolFaultTests {
    struct Case: CustomTestStringConvertible {
        var fault: String
        var code: ErrorCode
        var detail: String
        var deadline = Duration.seconds(20)
        var testDescription: String { self.fault }
    }

    static let cases = [
        Case(fault: "segfault", code: .analyzerCrashed, detail: "SIGSEGV"),
        Case(fault: "abort", code: .analyzerCrashed, detail: "SIGABRT"),
        Case(fault: "trap", code: .analyzerCrashed, detail: "SIG"),
        Case(fault: "allocate", code: .analyzerOutOfMemory, detail: "256 MiB"),
        Case(fault: "spin", code: .analyzerTimeout, detail: "0.3 seconds", deadline: .milliseconds(300)),
        Case(fault: "sleep", code: .analyzerTimeout, detail: "0.3 seconds", deadline: .milliseconds(300)),
        Case(fault: "trickle", code: .analyzerTimeout, detail: "2.5 seconds", deadline: .milliseconds(2500)),
        Case(fault: "garbage", code: .analyzerCrashed, detail: "protocol"),
        Case(fault: "exit", code: .analyzerCrashed, detail: "exit status 0"),
        Case(fault: "close", code: .analyzerCrashed, detail: "SIGKILL"),
        Case(fault: "flood", code: .analyzerCrashed, detail: "67108864 bytes"),
    ]

    @Test(arguments: cases)
    func `A fault fails one call, and the pool goes on`(_ expected: Case) async throws {
        try await withPool { pool, log in
            let call = Task {
                await inspectError { try await pool.perform(expected.fault, deadline: expected.deadline) }
            }
            let error = try await call.value(within: expected.deadline + .hangDeadline)
            #expect(error?.code == expected.code)
            #expect(error?.detail.contains(expected.detail) == true, "\(error?.detail ?? "")")
            #expect(error?.detail.hasPrefix("stage \(expected.fault): ") == true)

            let after = try await pool.processIDs()
            #expect(Set(after).count == 2)
            for _ in 0..<4 { #expect(try await pool.perform("echo", "on we go") == "on we go") }
            #expect(log.losses.count == 1)
            #expect(log.losses.allSatisfy { $0.end?.dumpedCore == false })
            #expect(log.parentsEnded == 0)
        }
    }

    @Test func `A flood on standard error neither blocks an analyzer nor hides why it ended`() async throws {
        try await withPool(analyzers: 1) { pool, _ in
            try await pool.withAnalyzer(parts: []) { session in
                for _ in 0..<3 { _ = try await session.perform("noise") }
                #expect(await inspectError { try await session.perform("allocate") }?.code == .analyzerOutOfMemory)
            }
        }
    }

    @Test func `An injected fault strikes the stage and the requests that it is meant for`() async throws {
        let arguments = ["--fault", "document=raise", "--every", "2", "--when", "job 7", "--reply", "face={}"]
        try await withPool(analyzers: 1, arguments: arguments) { pool, _ in
            var replies: [String] = []
            for stage in ["face", "liveness", "document"] { replies.append(try await pool.perform(stage, "job 8")) }
            #expect(replies == ["{}", "job 8", "job 8"])
            let first = try await pool.perform("document", "job 7")
            #expect(first == "job 7")
            #expect(await inspectError { try await pool.perform("document", "job 7") }?.code == .corruptImage)
        }
    }

    @Test func `An error of the engine is a reply and does not end the process`() async throws {
        try await withPool(analyzers: 1) { pool, log in
            try await pool.withAnalyzer(parts: []) { session in
                let before = try await session.perform("pid")
                let error = await inspectError { try await session.perform("raise") }
                #expect(error == InspectError(.corruptImage, "part FRONT: premature end of JPEG file"))
                #expect(try await session.perform("pid") == before)
            }
            #expect(log.losses.isEmpty)
        }
    }

    @Test func `The detail of an engine's error is short and printable`() async throws {
        try await withPool(analyzers: 1) { pool, _ in
            let error = try #require(await inspectError { try await pool.perform("shout") })
            #expect(error.code == .corruptImage)
            #expect((1...512).contains(error.detail.utf8.count))
            #expect(error.detail.utf8.allSatisfy { (0x20..<0x7F).contains($0) })
        }
    }

    @Test func `After a crash a session continues in a new process with the same parts`() async throws {
        try await withPool(analyzers: 1) { pool, _ in
            try await pool.withAnalyzer(parts: [("FRONT", Data([1, 2, 3])), ("BACK", Data())]) { session in
                let before = try await session.perform("parts")
                #expect(await inspectError { try await session.perform("segfault") }?.code == .analyzerCrashed)
                let after = try await session.perform("parts")
                #expect([before, after] == ["FRONT 3 6\nBACK 0 0", "FRONT 3 6\nBACK 0 0"])
            }
        }
    }

    @Test func `Processor time is limited for each request and for each process`() async throws {
        try await withPool(analyzers: 1, configure: { $0.cpuSeconds = 1 }) { pool, log in
            try await pool.withAnalyzer(parts: []) { session in
                let before = try await session.perform("pid")
                // Well below the limit: the kernel counts it by ticks, which on a busy machine may say twice as much.
                for _ in 0..<7 { _ = try await session.perform("burn", "300") }
                #expect(try await session.perform("pid") == before, "2.1 s in all, never more than 1 s at once")
                #expect(log.losses.isEmpty)
                // The fifth second is the last, whatever the process does to its soft limit.
                let error = await inspectError { for _ in 0..<20 { _ = try await session.perform("burn", "400") } }
                #expect(error?.code == .analyzerTimeout)
                #expect(error?.detail.contains("CPU") == true)
            }
            let error = await inspectError { try await pool.perform("spin", deadline: .seconds(300)) }
            #expect(error?.code == .analyzerTimeout)
            #expect(error?.detail.contains("CPU") == true)
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `Cancelling a request kills its process`() async throws {
        try await withPool(analyzers: 1) { pool, log in
            let pid = try #require(try await pool.processIDs().first)
            for fault in ["sleep", "spin"] {
                let task = Task { try await pool.perform(fault, "300", deadline: .seconds(600)) }
                try await pool.waitForWork()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value(within: .seconds(120)) }
                try await waitUntil("the driver is free") { pool.freeDrivers == 1 }
            }
            #expect(!isAlive(pid))
            #expect(log.losses.count == 2)
            #expect(log.losses.allSatisfy { $0.reason.hasSuffix("cancelled") })
            #expect(try await pool.perform("echo", "still here") == "still here")
        }
    }

    @Test func `A request that is cancelled while it waits takes no process`() async throws {
        try await withPool(analyzers: 1) { pool, log in
            try await pool.withAnalyzer(parts: []) { session in
                let task = Task { try await pool.perform("echo") }
                try await waitUntil("it waits") { pool.state.withLock { $0.waiting.count } == 1 }
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value(within: .seconds(120)) }
                #expect(try await session.perform("echo", "mine") == "mine")
            }
            try await waitUntil("every driver is free") { pool.freeDrivers == 1 }
            #expect(log.losses.isEmpty)
        }
    }

    @Test func `After many faults at once the pool is full and no descriptor has leaked`() async throws {
        try await withPool(analyzers: 4) { pool, log in
            func openDescriptors() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
            }
            let before = try openDescriptors()
            let faults = ["segfault", "echo", "abort", "echo", "exit", "raise", "garbage", "close", "parts"]
            let answers = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<180 {
                    let fault = faults[number % faults.count]
                    group.addTask {
                        do {
                            let image = Data(repeating: 7, count: 100_000)
                            let reply = try await pool.perform(fault, "\(number)", parts: [("FRONT", image)])
                            #expect(reply == (fault == "parts" ? "FRONT 100000 700000" : "\(number)"))
                            return "answer"
                        } catch let error as InspectError {
                            return error.code.rawValue
                        }
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(answers == ["answer": 60, "CORRUPT_IMAGE": 20, "ANALYZER_CRASHED": 100])
            #expect(log.losses.count == 100)
            try await waitUntil("every driver is free") { pool.freeDrivers == 4 }
            #expect(Set(try await pool.processIDs()).count == 4)
            // Other tests of the same process open and close, too.
            try await waitUntil("the descriptors are closed") { try openDescriptors() <= before + 4 }
        }
    }
}

import Foundation
import InspectCore
import Synchronization
import TestSupport
import Testing

@testable import Analyzer

/// The analyzer that misbehaves on request; it is next to the tests' own program.
let faultyAnalyzer: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (tests as NSString).deletingLastPathComponent + "/faulty-analyzer"
}()

/// What a pool reported.
final class EventLog: Sendable {
    private let events = Mutex<[AnalyzerEvent]>([])

    func add(_ event: AnalyzerEvent) { self.events.withLock { $0.append(event) } }

    /// Processes that did not end with their jobs.
    var losses: [(end: ProcessEnd?, reason: String)] {
        self.events.withLock {
            $0.compactMap {
                if case .processEnded(_, let end, let reason, _, expected: false) = $0 { (end, reason) } else { nil }
            }
        }
    }

    /// Processes that ended with their jobs.
    var ends: [ProcessEnd?] {
        self.events.withLock {
            $0.compactMap { if case .processEnded(_, let end, _, _, expected: true) = $0 { end } else { nil } }
        }
    }

    var waits: Int {
        self.events.withLock { $0.count { if case .processAwaited = $0 { true } else { false } } }
    }

    /// How often renewing a parent failed.
    var parentsKept: Int {
        self.events.withLock { $0.count { if case .parentKept = $0 { true } else { false } } }
    }

    var replacements: [ParentRenewal] {
        self.events.withLock {
            $0.compactMap { if case .parentReplaced(_, _, let reason) = $0 { reason } else { nil } }
        }
    }

    var parentsEnded: Int {
        self.events.withLock { $0.count { if case .parentEnded = $0 { true } else { false } } }
    }
}

/// Lends a started pool of faulty analyzers and checks that nothing of it remains afterwards.
func withPool(
    analyzers: Int = 2, arguments: [String] = [], configure: (inout AnalyzerConfiguration) -> Void = { _ in },
    _ body: (AnalyzerPool, EventLog) async throws -> Void
) async throws {
    var configuration = AnalyzerConfiguration(count: analyzers)
    configuration.executable = faultyAnalyzer
    configuration.arguments = ["analyzer"] + arguments
    configuration.memoryLimit = 256 << 20
    configure(&configuration)
    let log = EventLog()
    let pool = AnalyzerPool(configuration: configuration, onEvent: log.add)
    do {
        try await pool.start()
        let pids = try await pool.processIDs()
        #expect(Set(pids).count == analyzers)
        try await body(pool, log)
    } catch {
        await pool.stop()
        throw error
    }
    let pids = pool.allProcessIDs
    #expect(pids.count >= analyzers)
    await pool.stop()
    // The kernel takes a moment to free a killed process's memory.
    try await waitUntil("every process has ended") { pids.allSatisfy { !isAlive($0) } }
}

extension AnalyzerPool {
    /// One job of one request.
    func perform(
        _ stage: String, _ request: String = "", parts: [(kind: String, bytes: Data)] = [],
        deadline: Duration = .seconds(60)
    ) async throws -> String {
        try await self.withAnalyzer(parts: parts) { try await $0.perform(stage, request, deadline: deadline) }
    }

    /// The warm parent and all that it has forked, also what waits for a job, and what has just had one.
    var allProcessIDs: [Int32] {
        guard let parent = self.parentPID else { return [] }
        return [parent] + childProcesses(of: parent)
    }

    /// The pids of the processes that wait for a job, once there are as many as drivers.
    func reservedProcessIDs() async throws -> [Int32] {
        try await waitUntil("the reserve is filled") { self.reserve.processIDs.count == self.drivers.count }
        return self.reserve.processIDs
    }

    /// Waits until a process works on a request that uses at least 300 ms of processor time.
    func waitForWork() async throws {
        try await waitUntil("a request is under way") {
            guard let parent = self.parentPID else { return false }
            return childProcesses(of: parent).contains {
                ((try? ProcessorTime.of($0)) ?? .zero) > .milliseconds(150)
            }
        }
    }

    /// Drivers without a job.
    var freeDrivers: Int { self.state.withLock { $0.free.count } }

    /// The pids of as many sessions at once as there are drivers.
    func processIDs() async throws -> [Int32] { try await self.processIDs(self.drivers.count) }

    private func processIDs(_ count: Int) async throws -> [Int32] {
        guard count > 0 else { return [] }
        return try await self.withAnalyzer(parts: []) { session in
            let pid = try #require(Int32(try await session.perform("pid")))
            return [pid] + (try await self.processIDs(count - 1))
        }
    }
}

extension AnalyzerSession {
    func perform(_ stage: String, _ request: String = "", deadline: Duration = .seconds(60)) async throws -> String {
        String(
            decoding: try await self.perform(stage: stage, request: Data(request.utf8), deadline: deadline),
            as: UTF8.self)
    }
}

/// Starts another process that owns a pool; returns the pids of the pool's processes, the warm parent's first.
func startWorker(analyzers: Int, through wrapper: [String] = []) throws -> (worker: Process, pids: [Int32]) {
    let command = wrapper + [faultyAnalyzer, "--own-pool", "\(analyzers)"]
    let worker = Process()
    worker.executableURL = URL(fileURLWithPath: command[0])
    worker.arguments = Array(command.dropFirst())
    let output = Pipe()
    worker.standardOutput = output
    try worker.run()
    var text = Data()
    let limit = Duration.hangDeadline
    let deadline = ContinuousClock.now + limit
    while !text.contains(UInt8(ascii: "\n")) {
        var descriptor = pollfd(
            fd: output.fileHandleForReading.fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, Int32(max(0, (deadline - .now) / .milliseconds(1)))) > 0 else {
            kill(worker.processIdentifier, SIGKILL)
            throw WaitTimedOut(what: "the worker prints its processes", limit: limit)
        }
        let more = output.fileHandleForReading.availableData
        guard !more.isEmpty else { break }
        text += more
    }
    let pids = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    return (worker, pids)
}

/// The children of a process that run.
func childProcesses(of parent: Int32) -> [Int32] { ProcessMemory.children(of: parent).filter(isAlive) }

/// Whether a process runs; one that has ended but was not reaped does not (Z), nor does one that is being reaped (X).
func isAlive(_ pid: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    guard let rest = status.split(separator: ")").last else { return false }
    return !rest.hasPrefix(" Z") && !rest.hasPrefix(" X")
}

/// The error that a call ended with.
func inspectError(_ body: () async throws -> some Any) async -> InspectError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? InspectError
    }
}

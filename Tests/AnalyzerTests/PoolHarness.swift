import Foundation
import InspectCore
import Synchronization
import Testing

@testable import Analyzer

/// The analyzer that misbehaves on request; it lies beside the tests' own program.
let faultyAnalyzer: String = {
    let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return (tests as NSString).deletingLastPathComponent + "/faulty-analyzer"
}()

/// What a pool told of itself.
final class EventLog: Sendable {
    private let events = Mutex<[AnalyzerEvent]>([])

    func add(_ event: AnalyzerEvent) { self.events.withLock { $0.append(event) } }

    var losses: [(end: ProcessEnd?, reason: String, expected: Bool)] {
        self.events.withLock {
            $0.compactMap {
                if case .processEnded(_, let end, let reason, _, let expected) = $0 {
                    (end, reason, expected)
                } else {
                    nil
                }
            }
        }
    }

    var parentsEnded: Int {
        self.events.withLock { $0.count { if case .parentEnded = $0 { true } else { false } } }
    }
}

/// Lends a started pool of faulty analyzers and checks that nothing of it is left afterwards.
func withPool(
    slots: Int = 2, arguments: [String] = [], configure: (inout AnalyzerConfiguration) -> Void = { _ in },
    _ body: (AnalyzerPool, EventLog) async throws -> Void
) async throws {
    var configuration = AnalyzerConfiguration(slots: slots)
    configuration.executable = faultyAnalyzer
    configuration.arguments = ["analyzer"] + arguments
    configuration.memoryLimit = 256 << 20
    configure(&configuration)
    let log = EventLog()
    let pool = AnalyzerPool(configuration: configuration, onEvent: log.add)
    do {
        try await pool.start()
        let pids = try await pool.processIDs()
        #expect(Set(pids).count == slots)
        try await body(pool, log)
    } catch {
        await pool.stop()
        throw error
    }
    let pids = try await pool.processIDs() + [try #require(pool.parentPID)]
    await pool.stop()
    #expect(pids.filter(isAlive) == [])
}

extension AnalyzerPool {
    /// One job of one request.
    func perform(
        _ stage: String, _ request: String = "", parts: [(kind: String, bytes: Data)] = [],
        deadline: Duration = .seconds(20)
    ) async throws -> String {
        try await self.withAnalyzer(parts: parts) { try await $0.perform(stage, request, deadline: deadline) }
    }

    /// The pid of every slot's process: as many sessions at once as there are slots, so each has its own.
    func processIDs() async throws -> [Int32] { try await self.processIDs(self.slots.count) }

    private func processIDs(_ count: Int) async throws -> [Int32] {
        guard count > 0 else { return [] }
        return try await self.withAnalyzer(parts: []) { session in
            let pid = try #require(Int32(try await session.perform("pid")))
            return [pid] + (try await self.processIDs(count - 1))
        }
    }
}

extension AnalyzerSession {
    func perform(_ stage: String, _ request: String = "", deadline: Duration = .seconds(20)) async throws -> String {
        String(
            decoding: try await self.perform(stage: stage, request: Data(request.utf8), deadline: deadline),
            as: UTF8.self)
    }
}

/// Starts another process that owns a pool; returns the pids of the pool's processes, the warm parent's first.
func startWorker(slots: Int, through wrapper: [String] = []) throws -> (worker: Process, pids: [Int32]) {
    let command = wrapper + [faultyAnalyzer, "--own-pool", "\(slots)"]
    let worker = Process()
    worker.executableURL = URL(fileURLWithPath: command[0])
    worker.arguments = Array(command.dropFirst())
    let output = Pipe()
    worker.standardOutput = output
    try worker.run()
    var text = Data()
    while !text.contains(UInt8(ascii: "\n")) {
        let more = output.fileHandleForReading.availableData
        guard !more.isEmpty else { break }
        text += more
    }
    let pids = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).compactMap { Int32($0) }
    return (worker, pids)
}

/// Whether a process runs; one that has ended but was not reaped does not.
func isAlive(_ pid: Int32) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
    return !(status.split(separator: ")").last?.hasPrefix(" Z") ?? true)
}

/// Waits until a condition holds, for at most 20 s.
func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
    for _ in 0..<2000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record(what)
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

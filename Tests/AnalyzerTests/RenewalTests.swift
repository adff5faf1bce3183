import CSystem
import Foundation
import InspectCore
import Synchronization
import TestSupport
import Testing

@testable import Analyzer

/// The parent, whose addresses all its forks share, is renewed without a gap.
@Suite(.serialized) struct RenewalTests {
    @Test func `A crash fails one request, and a new parent replaces the old one`() async throws {
        try await withPool(analyzers: 2, configure: { $0.restBetweenParents = .zero }) { pool, log in
            let old = try #require(pool.parentPID)
            try await pool.withAnalyzer(parts: []) { session in
                let pid = try await session.perform("pid")
                #expect(await inspectError { try await pool.perform("segfault") }?.code == .analyzerCrashed)
                // Jobs go on meanwhile: first from the old parent, then from the new one.
                var served = 0
                try await waitUntil("the parent is renewed") {
                    served += try await pool.perform("echo", "served") == "served" ? 1 : 0
                    return pool.parentPID != old && log.replacements == [.crash]
                }
                #expect(served > 0)
                #expect(try await session.perform("pid") == pid, "the old parent's job goes on")
                #expect(isAlive(old))
                #expect(try await pool.perform("echo", "of the new one") == "of the new one")
            }
            try await waitUntil("the old parent has ended after its last job") { !isAlive(old) }
            #expect(log.losses.count == 1)
            #expect(log.parentsEnded == 0, "a parent that was replaced is no loss")
            let parent = try #require(pool.parentPID)
            try await waitUntil("what waits is the new parent's") {
                let ready = pool.reserve.processIDs
                return ready.count == 2 && Set(childProcesses(of: parent)).isSuperset(of: ready)
            }
        }
    }

    @Test func `A process that the old parent forks while the new one starts keeps it from nothing`() async throws {
        let program = try MovableProgram()
        defer { program.remove() }
        func configure(_ configuration: inout AnalyzerConfiguration) {
            configuration.executable = program.link
            configuration.restBetweenParents = .zero
        }
        try await withPool(analyzers: 1, configure: configure) { pool, log in
            let old = try #require(pool.parentPID)
            try program.hide()
            #expect(await inspectError { try await pool.perform("segfault") }?.code == .analyzerCrashed)
            try await waitUntil("the replacement fails") { log.parentsKept > 0 }
            _ = try await pool.reservedProcessIDs()
            try await pool.withAnalyzer(parts: []) { session in
                let forks = try #require(pool.supervisor.current).forks
                // It begins the fork only once it runs again, after its replacement.
                kill(old, SIGSTOP)
                _ = try await session.perform("echo")
                try await waitUntil("another process is requested") { pool.supervisor.current?.forks ?? 0 > forks }
                try program.show()
                try await waitUntil("the parent is replaced") { pool.parentPID != old }
                kill(old, SIGCONT)
            }
            try await waitUntil("the old parent has ended") { !isAlive(old) }
            #expect(try await pool.perform("echo", "of the new one") == "of the new one")
        }
    }

    @Test func `An analyzer killed at its deadline does not renew the parent`() async throws {
        try await withPool(analyzers: 1, configure: { $0.restBetweenParents = .zero }) { pool, log in
            let parent = pool.parentPID
            _ = await inspectError { try await pool.perform("sleep", deadline: .milliseconds(100)) }
            _ = await inspectError { try await pool.perform("raise") }
            for _ in 0..<5 { _ = try await pool.perform("echo") }
            #expect(pool.parentPID == parent && log.replacements.isEmpty)
        }
    }

    @Test func `A parent is replaced after a number of forks`() async throws {
        func configure(_ configuration: inout AnalyzerConfiguration) {
            configuration.restBetweenParents = .zero
            configuration.forksPerParent = 10
        }
        try await withPool(analyzers: 1, configure: configure) { pool, log in
            let first = try #require(pool.parentPID)
            try await waitUntil("the parent was replaced twice") {
                _ = try await pool.perform("echo")
                return log.replacements.count >= 2
            }
            #expect(log.replacements.allSatisfy { $0 == .forks })
            #expect(log.losses.isEmpty && log.parentsEnded == 0)
            try await waitUntil("the first parent has ended") { !isAlive(first) }
        }
    }

    @Test func `A parent is replaced at its first fork after its lifetime`() async throws {
        let ahead = Atomic<UInt64>(0)
        func configure(_ configuration: inout AnalyzerConfiguration) {
            configuration.restBetweenParents = .zero
            configuration.clock = { csys_now_nanoseconds() + ahead.load(ordering: .relaxed) }
        }
        try await withPool(analyzers: 1, configure: configure) { pool, log in
            for _ in 0..<5 { _ = try await pool.perform("echo") }
            let first = pool.parentPID
            #expect(log.replacements.isEmpty)
            ahead.store(1_801_000_000_000, ordering: .relaxed)
            try await waitUntil("the old parent is replaced") {
                _ = try await pool.perform("echo")
                return pool.parentPID != first && log.replacements.first == .age
            }
        }
    }

    @Test func `A parent whose replacement fails serves on until one succeeds`() async throws {
        let program = try MovableProgram()
        defer { program.remove() }
        func configure(_ configuration: inout AnalyzerConfiguration) {
            configuration.executable = program.link
            configuration.restBetweenParents = .zero
            configuration.forksPerParent = 4
        }
        try await withPool(analyzers: 1, configure: configure) { pool, log in
            try await waitUntil("a parent was replaced") {
                _ = try await pool.perform("echo")
                return log.replacements.count == 1
            }
            try program.hide()
            try await waitUntil("the replacement fails") {
                let answer = try await pool.perform("echo", "on")
                #expect(answer == "on")
                return log.parentsKept > 0
            }
            for _ in 0..<10 { #expect(try await pool.perform("echo", "on and on") == "on and on") }
            let count = log.replacements.count
            try program.show()
            try await waitUntil("the parent is replaced") { log.replacements.count > count }
            #expect(log.losses.isEmpty)
        }
    }
}

/// The faulty analyzer behind a link, which a test removes and restores.
private struct MovableProgram {
    private let folder = FileManager.default.temporaryDirectory.path + "/analyzer-\(UUID().uuidString)"
    var link: String { self.folder + "/analyzer" }

    init() throws {
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        try self.show()
    }

    func show() throws {
        try FileManager.default.createSymbolicLink(atPath: self.link, withDestinationPath: faultyAnalyzer)
    }

    func hide() throws { try FileManager.default.removeItem(atPath: self.link) }

    func remove() { try? FileManager.default.removeItem(atPath: self.folder) }
}

import Foundation
import Glibc
import InspectCore
import Testing

@testable import Analyzer

@Suite("An analyzer holds nothing and can do nothing but analyse", .serialized)
struct ConfinementTests {
    @Test func itsEnvironmentIsTheAllowListOnly() async throws {
        setenv("PGPASSWORD", "secret", 1)
        setenv("INSPECTD_DATABASE_URL", "postgresql://user:secret@host/db", 1)
        try await withPool(slots: 1, configure: { $0.environment = ["INSPECTD_MODELS": "/models"] }) { pool, _ in
            let names = try await pool.perform("environment").split(separator: "\n")
                .compactMap { $0.split(separator: "=").first.map(String.init) }
            #expect(Set(names) == Set(AnalyzerConfiguration.baseEnvironment.keys).union(["INSPECTD_MODELS"]))
            let parent = try #require(pool.parentPID)
            let raw = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(parent)/environ"))
            #expect(!String(decoding: raw, as: UTF8.self).contains("secret"))
        }
    }

    @Test func everyForbiddenCallIsRefused() async throws {
        try await withPool(slots: 1) { pool, _ in
            let lines = try await pool.perform("probe").split(separator: "\n").map(String.init)
            #expect(lines.count > 20)
            #expect(lines.filter { !$0.hasSuffix(" EPERM") } == [])
        }
    }

    @Test func itHasNoDescriptorButItsOwn() async throws {
        let mine = try #require(fopen("/dev/null", "r"))  // not close-on-exec
        defer { fclose(mine) }
        try await withPool(slots: 2) { pool, _ in
            let pids = try await pool.processIDs()
            for pid in pids {
                let directory = "/proc/\(pid)/fd"
                let targets = try FileManager.default.contentsOfDirectory(atPath: directory)
                    .map { try FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)") }
                let kinds = targets.map { $0.split(separator: ":").first.map(String.init) ?? $0 }.sorted()
                #expect(kinds == ["/dev/null", "/dev/null", "/proc/\(pid)/statm", "pipe", "socket"])
            }
        }
    }

    @Test func theKernelConfirmsTheConfinement() async throws {
        try await withPool(slots: 1) { pool, _ in
            let pid = try #require(try await pool.processIDs().first)
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
                .split(separator: "\n").map { $0.filter { !$0.isWhitespace } }
            #expect(status.contains("Seccomp:2"))
            #expect(status.contains("NoNewPrivs:1"))
            #expect(status.contains("Threads:1"))
            let limits = try String(contentsOfFile: "/proc/\(pid)/limits", encoding: .utf8)
                .split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
            #expect(limits.contains { $0.hasPrefix("Max core file size 0 0") })
            #expect(limits.contains { $0.hasPrefix("Max file size 0 0") })
            #expect(limits.contains { $0.hasPrefix("Max open files 16 16") })
            #expect(!limits.contains { $0.hasPrefix("Max address space unlimited") })
            #expect(try String(contentsOfFile: "/proc/\(pid)/oom_score_adj", encoding: .utf8) == "500\n")
        }
    }

    @Test func neitherWorkerNorAnalyzersCanBeDumped() async throws {
        // The files in /proc of a process that is not dumpable belong to root (proc(5)); by the group it shows for root, too.
        let wrapper = geteuid() == 0 ? ["/usr/bin/setpriv", "--regid=65534", "--clear-groups"] : []
        let (worker, pids) = try startWorker(slots: 2, through: wrapper)
        defer { kill(worker.processIdentifier, SIGKILL) }
        func group(_ pid: Int32) throws -> gid_t {
            var status = stat()
            try #require(stat("/proc/\(pid)/fd", &status) == 0)
            return status.st_gid
        }
        try #require(pids.count == 3)
        #expect(try group(worker.processIdentifier) == 0)
        #expect(try group(pids[0]) != 0, "the warm parent never holds an image")
        #expect(try group(pids[1]) == 0)
        #expect(try group(pids[2]) == 0)
    }

    @Test func nothingOfAJobOutlivesIt() async throws {
        try await withPool(slots: 1) { pool, _ in
            let slot = pool.slots[0]
            for size in [1000, 3 << 20, 40 << 20] {
                let parts = [("FRONT", Data(repeating: 0xAB, count: size))]
                let memory = try #require(try await slot.run { $0.child?.memory })
                try await pool.withAnalyzer(parts: parts) { session in
                    _ = try await session.perform("echo")
                    #expect(try await slot.run { _ in !memory.isBlank })
                }
                #expect(try await slot.run { _ in memory.isBlank })
            }
            #expect(try await pool.perform("parts") == "")
            #expect(try await pool.perform("jobs") == "5", "the engine is told of the end of each job")
        }
    }

    @Test(arguments: ["segfault", "sleep"])
    func nothingOfAJobOutlivesItsProcess(_ fault: String) async throws {
        try await withPool(slots: 1) { pool, _ in
            let slot = pool.slots[0]
            let memory = try #require(try await slot.run { $0.child?.memory })
            try await pool.withAnalyzer(parts: [("FRONT", Data(repeating: 0xAB, count: 5000))]) { session in
                _ = try await session.perform("echo")
                #expect(try await slot.run { _ in !memory.isBlank })
                _ = await inspectError { try await session.perform(fault, deadline: .milliseconds(200)) }
                #expect(try await slot.run { _ in memory.isBlank })
            }
            let next = try await slot.run { $0.child?.memory }
            #expect(next !== memory, "no memory is shared between two processes")
        }
    }
}

import CSystem
import Foundation
import Glibc
import InspectCore
import TestSupport
import Testing
import Vision

@testable import Analyzer

/// An analyzer holds no secrets and can do nothing but analyse.
@Suite(.serialized) struct ConfinementTests {
    @Test func `The analyzer's environment holds the allowed variables alone`() async throws {
        setenv("PGPASSWORD", "secret", 1)
        setenv("INSPECTD_DATABASE_URL", "postgresql://user:secret@host/db", 1)
        try await withPool(analyzers: 1, configure: { $0.environment = ["INSPECTD_MODELS": "/models"] }) { pool, _ in
            let names = try await pool.perform("environment").split(separator: "\n")
                .compactMap { $0.split(separator: "=").first.map(String.init) }
            #expect(Set(names) == Set(AnalyzerConfiguration.baseEnvironment.keys).union(["INSPECTD_MODELS"]))
            let parent = try #require(pool.parentPID)
            let raw = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(parent)/environ"))
            #expect(!String(decoding: raw, as: UTF8.self).contains("secret"))
        }
    }

    /// Prescott's kernels multiply four numbers at a time.
    @Test func `An analyzer's OpenBLAS multiplies with the registers that the processor has`() async throws {
        func core(_ environment: [String: String] = [:]) async throws -> String {
            var core = ""
            try await withPool(analyzers: 1, configure: { $0.environment = environment }) { pool, _ in
                core = try await pool.perform("blas")
            }
            return core
        }
        let isWide = try PixelArithmetic.check(seed: 1, rounds: 1).lanes > 4
        let chosen = try await core()
        #expect(!chosen.isEmpty)
        #expect(!isWide || chosen != "Prescott")
        // Else the name would be another process's.
        let told = try await core(["OPENBLAS_CORETYPE": "Prescott"])
        #expect(!isWide || told == "Prescott")
    }

    @Test func `Every forbidden system call fails with EPERM`() async throws {
        try await withPool(analyzers: 1) { pool, _ in
            let lines = try await pool.perform("probe").split(separator: "\n").map(String.init)
            #expect(lines.count > 20)
            #expect(lines.filter { !$0.hasSuffix(" EPERM") } == [])
        }
    }

    @Test(arguments: ["execve", "execveat", "ptrace", "connect", "mount", "bpf", "keyctl"])
    func `A system call that only an intruder makes kills the analyzer`(_ name: String) async throws {
        try await withPool(analyzers: 1) { pool, log in
            let error = await inspectError { try await pool.perform("call", name) }
            #expect(error == InspectError(.analyzerCrashed, "stage call: SIGSYS"))
            #expect(log.losses.map(\.end?.signal) == [SIGSYS])
        }
    }

    /// Landlock alone, in a fork that has no system-call filter.
    @Test func `Landlock alone keeps an analyzer from opening files`() throws {
        try #require(
            csys_landlock_version() > 0, "a kernel with Landlock is needed here; inspectd doctor says why there is none"
        )
        for isForbidden in [false, true] {
            let child = csys_fork()
            if child == 0 {
                // As an analyzer's parent and an analyzer begin.
                guard csys_prepare_parent(STDERR_FILENO) == 0, csys_prepare_sandbox() == 0 else { _exit(201) }
                guard !isForbidden || csys_forbid_files() == 0 else { _exit(202) }
                _exit(open("/etc/passwd", O_RDONLY) >= 0 ? 0 : errno)
            }
            try #require(child > 0)
            var end = csys_exit()
            try #require(csys_reap(child, 60_000, &end) == 0)
            #expect(end.exit_status == (isForbidden ? EACCES : 0))
        }
    }

    @Test func `An analyzer inherits no descriptor of the worker`() async throws {
        let mine = try #require(fopen("/dev/null", "r"))  // not close-on-exec
        defer { fclose(mine) }
        try await withPool(analyzers: 2) { pool, _ in
            try await pool.withAnalyzer(parts: [("FRONT", Data([1]))]) { session in
                let pid = try #require(Int32(try await session.perform("pid")))
                for pid in try await pool.reservedProcessIDs() + [pid] {
                    let directory = "/proc/\(pid)/fd"
                    let targets = try FileManager.default.contentsOfDirectory(atPath: directory)
                        .map { try FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\($0)") }
                    let kinds = targets.map { $0.split(separator: ":").first.map(String.init) ?? $0 }.sorted()
                    #expect(kinds == ["/dev/null", "/dev/null", "pipe", "socket"])
                }
            }
        }
    }

    @Test func `The kernel reports no privileges, the system-call filter and the limits`() async throws {
        func facts(_ pid: Int32, _ file: String) throws -> Set<String> {
            let text = try String(contentsOfFile: "/proc/\(pid)/\(file)", encoding: .utf8)
            return Set(
                text.split(separator: "\n").map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") })
        }
        try await withPool(analyzers: 1, configure: { $0.cpuSeconds = 7 }) { pool, _ in
            let pid = try #require(try await pool.reservedProcessIDs().first)
            let parent = try #require(pool.parentPID)
            for pid in [pid, parent] {
                let status = try facts(pid, "status")
                #expect(status.isSuperset(of: ["NoNewPrivs: 1", "Threads: 1"]))
                // Root's, too.
                let sets = geteuid() == 0 ? ["Inh", "Prm", "Eff", "Bnd", "Amb"] : ["Inh", "Prm", "Eff", "Amb"]
                #expect(status.isSuperset(of: sets.map { "Cap\($0): 0000000000000000" }))
                #expect(try facts(pid, "limits").contains { $0.hasPrefix("Max core file size 0 0") })
            }
            #expect(try facts(pid, "status").contains("Seccomp: 2"))
            let limits = try facts(pid, "limits")
            #expect(limits.contains { $0.hasPrefix("Max cpu time 35 35") })
            #expect(limits.contains { $0.hasPrefix("Max file size 0 0") })
            #expect(limits.contains { $0.hasPrefix("Max open files 16 16") })
            #expect(!limits.contains { $0.hasPrefix("Max address space unlimited") })
            #expect(try String(contentsOfFile: "/proc/\(pid)/oom_score_adj", encoding: .utf8) == "500\n")
        }
    }

    @Test func `Neither the worker nor its analyzers can be dumped`() async throws {
        // The files in /proc of a process that is not dumpable belong to root (proc(5)); by the group it shows for root, too.
        let wrapper = geteuid() == 0 ? ["/usr/bin/setpriv", "--regid=65534", "--clear-groups"] : []
        let (worker, pids) = try startWorker(analyzers: 2, through: wrapper)
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

    /// Every byte of every process, as somebody with access would search them.
    @Test(arguments: ["end", "segfault", "sleep"])
    func `No process holds a byte of a job that has ended`(_ end: String) async throws {
        try #require(geteuid() == 0, "only root may read the memory of a process that cannot be dumped")
        try await withPool(analyzers: 2) { pool, log in
            let (inRequest, inPart) = (UUID().uuidString, UUID().uuidString)
            _ = try await pool.reservedProcessIDs()
            try await waitUntil("the drivers are free") { pool.freeDrivers == 2 }
            let before = log.ends.count
            func holders(_ marker: String) throws -> [Int32] {
                try pool.allProcessIDs.filter { try ProcessMemory.holds([marker], in: $0) }
            }
            try await pool.withAnalyzer(parts: [("FRONT", Data(inPart.utf8))]) { session in
                _ = try await session.perform("remember", inRequest)
                let pid = try #require(Int32(try await session.perform("pid")))
                #expect(try holders(inRequest) == [pid], "else the search finds nothing")
                #expect(try holders(inPart) == [pid])
                if end != "end" {
                    _ = await inspectError { try await session.perform(end, deadline: .milliseconds(200)) }
                }
            }
            try await waitUntil("the process has ended") { log.ends.count + log.losses.count == before + 1 }
            #expect(pool.allProcessIDs.count > 2)
            #expect(try holders(inRequest) == [])
            #expect(try holders(inPart) == [])
        }
    }
}

package import Foundation
import Glibc

/// A child process that was started with `posix_spawn`. It is killed if it takes longer than its test allows.
package struct ChildProcess {
    package let pid: Int32

    package init(pid: Int32) { self.pid = pid }

    /// Starts a program.
    ///
    /// `posix_spawn`, because Foundation's `Process` waits in a run loop, of which a pool thread of Swift has none.
    ///
    /// - Parameters:
    ///   - environment: All its variables; `nil`: this process's.
    ///   - ownSession: Whether the terminal that it opens first becomes its own.
    ///   - isQuiet: Whether its errors go nowhere.
    ///   - streams: Opens what is not inherited.
    package static func spawn(
        _ path: String, _ arguments: [String], environment: [String: String]? = nil, ownSession: Bool = false,
        isQuiet: Bool = false, streams: (inout posix_spawn_file_actions_t) -> Void = { _ in }
    ) throws -> ChildProcess {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if isQuiet { posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) }
        streams(&actions)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID
        if ownSession { posix_spawnattr_setflags(&attributes, 0x80) }
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let settings = environment ?? ProcessInfo.processInfo.environment
        let variables = settings.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for word in words + variables { free(word) } }
        var pid: pid_t = 0
        let status = posix_spawn(&pid, path, &actions, &attributes, words, variables)
        guard status == 0 else { throw NotStarted(path: path, reason: String(cString: strerror(status))) }
        return ChildProcess(pid: pid)
    }

    /// Writes a program to a temporary file. While any process has it open for writing it cannot be run, and children
    /// that are started meanwhile keep what Foundation has open.
    package static func program(_ text: String) throws -> URL {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("program-\(UUID().uuidString)")
        let descriptor = open(file.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o755)
        guard descriptor >= 0 else { throw NotStarted(path: file.path, reason: String(cString: strerror(errno))) }
        try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: Data(text.utf8))
        return file
    }

    /// A program that the system does not start.
    package struct NotStarted: Error {
        package let path: String
        package let reason: String
    }

    /// Waits for the end.
    ///
    /// - Returns: The exit status, or minus the signal's number.
    package func exitStatus(within limit: Duration = .seconds(240)) async throws -> Int32 {
        let deadline = ContinuousClock.now + limit
        do {
            while true {
                if let status = try self.endedStatus() { return status }
                guard .now < deadline else { throw WaitTimedOut(what: "process \(self.pid) ends", limit: limit) }
                try await Task.sleep(for: .milliseconds(20))
            }
        } catch {
            self.end()
            throw error
        }
    }

    /// Blocks the thread until the end of a process that takes a few seconds at most.
    ///
    /// - Returns: The exit status, or minus the signal's number.
    package func blockingExitStatus() throws -> Int32 {
        let limit = Duration.hangDeadline
        let deadline = ContinuousClock.now + limit
        while true {
            if let status = try self.endedStatus() { return status }
            guard .now < deadline else {
                self.end()
                throw WaitTimedOut(what: "process \(self.pid) ends", limit: limit)
            }
            Thread.sleep(forTimeInterval: 0.005)
        }
    }

    /// Blocks the thread until the process has written so many words to a file, such as the port on which it listens.
    ///
    /// - Throws: ``WaitTimedOut``, also if the process has ended instead.
    package func words(_ count: Int = 1, from file: URL) throws -> [String] {
        let deadline = ContinuousClock.now + .hangDeadline
        while try self.endedStatus() == nil, .now < deadline {
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            let words = text.split(whereSeparator: \.isWhitespace).map(String.init)
            if words.count >= count { return words }
            Thread.sleep(forTimeInterval: 0.02)
        }
        self.end()
        throw WaitTimedOut(what: "process \(self.pid) writes to \(file.path)", limit: .hangDeadline)
    }

    /// - Returns: `nil` while the process runs.
    private func endedStatus() throws -> Int32? {
        var status: Int32 = 0
        let ended = waitpid(self.pid, &status, WNOHANG)
        if ended == 0 { return nil }
        guard ended == self.pid else { throw POSIXError(.ECHILD) }
        return status & 0x7f == 0 ? status >> 8 & 0xff : -(status & 0x7f)
    }

    /// Kills the process, if it still runs.
    package func end() {
        // Its number may be another's once it was waited for.
        guard (try? self.endedStatus()) == .some(nil) else { return }
        kill(self.pid, SIGKILL)
        waitpid(self.pid, nil, 0)
    }
}

extension ChildProcess {
    /// Runs a program to its end. It is killed if it takes longer than the limit.
    ///
    /// Its output goes through files: a pipe stays open for as long as any descendant has it, whatever becomes of the program.
    ///
    /// - Parameter input: What it reads from its standard input.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String]? = nil, input: String = "",
        within limit: Duration = .hangDeadline
    ) async throws -> (status: Int32, output: String, errors: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("child-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["input", "output", "errors"].map { folder.appendingPathComponent($0) }
        for file in files { try Data(file == files[0] ? Array(input.utf8) : []).write(to: file) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        if let environment { process.environment = environment }
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        do {
            try await waitUntil("\(program) ends", within: limit) { !process.isRunning }
        } catch {
            kill(process.processIdentifier, SIGKILL)
            throw error
        }
        func text(_ file: URL) throws -> String { String(decoding: try Data(contentsOf: file), as: UTF8.self) }
        // Minus the signal's number, as above.
        let status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
        return (status, try text(files[1]), try text(files[2]))
    }
}

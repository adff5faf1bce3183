import Foundation
import Glibc
import Synchronization
import TestSupport

/// The built program as a process, the way its users run it. It ends with the last value that refers to it, so a test that fails
/// leaves none running.
struct Program {
    var pid: pid_t { self.process.pid }
    private let process: Process
    /// The program's output; both files are removed with this value.
    private let output: TemporaryFile
    private let errors: TemporaryFile

    static var inspectd: String { BuiltProducts.inspectd }
    static var faultyAnalyzer: String { BuiltProducts.folder.appendingPathComponent("faulty-analyzer").path }

    struct Failed: Error {
        var message: String
    }

    /// A process that is killed if nobody has waited for its end.
    private final class Process: Sendable {
        let pid: pid_t
        private let isAwaited = Mutex(false)

        init(pid: pid_t) { self.pid = pid }

        deinit { if self.isAwaited.withLock({ !$0 }) { ChildProcess(pid: self.pid).end() } }

        /// After its end its number may be another's.
        func send(_ signal: Int32) {
            self.isAwaited.withLock { if !$0 { _ = kill(self.pid, signal) } }
        }

        func exitStatus(within limit: Duration) async throws -> Int32 {
            defer { self.isAwaited.withLock { $0 = true } }
            return try await ChildProcess(pid: self.pid).exitStatus(within: limit)
        }
    }

    /// Starts `inspectd` with its own environment, which contains only the given variables.
    ///
    /// - Parameter inputPath: What is opened as standard input instead of `input`.
    init(
        _ arguments: [String], environment: [String: String] = [:], input: Data? = nil, inputPath: String? = nil
    ) throws {
        self.output = TemporaryFile()
        self.errors = TemporaryFile()
        // Needed until the program has it open.
        let source = TemporaryFile()
        defer { withExtendedLifetime(source) {} }
        try (input ?? Data()).write(to: source.url)

        var variables = ["PATH": "/usr/bin:/bin", "HOME": "/nonexistent"]
        for name in ["INSPECTD_MODELS", "LD_LIBRARY_PATH"] {
            variables[name] = ProcessInfo.processInfo.environment[name]
        }
        variables.merge(environment) { $1 }
        let files = [inputPath ?? source.url.path, self.output.url.path, self.errors.url.path]
        let process = try ChildProcess.spawn(Self.inspectd, arguments, environment: variables) { actions in
            posix_spawn_file_actions_addopen(&actions, 0, files[0], O_RDONLY, 0)
            posix_spawn_file_actions_addopen(&actions, 1, files[1], O_WRONLY | O_CREAT, 0o600)
            posix_spawn_file_actions_addopen(&actions, 2, files[2], O_WRONLY | O_CREAT, 0o600)
        }
        self.process = Process(pid: process.pid)
    }

    /// Sends a signal to the process, unless it has ended and was waited for.
    func send(_ signal: Int32) { self.process.send(signal) }

    /// Waits for the end.
    ///
    /// - Returns: The exit status, or minus the signal's number.
    func wait(within limit: Duration = .seconds(240)) async throws -> Int32 {
        try await self.process.exitStatus(within: limit)
    }

    var standardOutput: Data { (try? Data(contentsOf: self.output.url)) ?? Data() }
    var standardError: String { (try? String(contentsOf: self.errors.url, encoding: .utf8)) ?? "" }

    /// Waits for the line of the log in which the process names a port.
    func port(_ message: String) async throws -> Int {
        let deadline = ContinuousClock.now + .hangDeadline
        while ContinuousClock.now < deadline {
            for line in self.standardError.split(separator: "\n") {
                let fields = try? members(Data(line.utf8))
                if fields?["message"] as? String == message, let port = fields?["port"] as? Int { return port }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw Failed(message: "no port: \(self.standardError)")
    }

    /// Runs a command to its end.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], input: Data? = nil
    ) async throws -> (status: Int32, output: Data, errors: String) {
        let program = try Program(arguments, environment: environment, input: input)
        let status = try await program.wait()
        return (status, program.standardOutput, program.standardError)
    }

    /// Whether a process with that number runs.
    static func isAlive(_ pid: pid_t) -> Bool { kill(pid, 0) == 0 }
}

/// A file with a unique name in the temporary folder, removed with the last value that refers to it.
final class TemporaryFile: Sendable {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("inspectd-test-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: self.url) }
}

/// JSON as untyped members, for looking at documents as a client would.
func members(_ data: Data) throws -> [String: Any] {
    guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else {
        throw Program.Failed(message: "no JSON object: \(String(decoding: data.prefix(200), as: UTF8.self))")
    }
    return object
}

extension [String: Any] {
    /// The member at a path of names and positions, for example `capabilities.usability.0.decision.type`.
    func at(_ path: String) -> Any? {
        path.split(separator: ".").reduce(self as Any?) { value, step in
            if let index = Int(step) {
                guard let list = value as? [Any], list.indices.contains(index) else { return nil }
                return list[index]
            }
            return (value as? [String: Any])?[String(step)]
        }
    }
}

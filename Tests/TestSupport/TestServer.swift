import Foundation
import Synchronization

/// The PostgreSQL server of a test run.
enum TestServer {
    private static let started = Mutex<String?>(nil)

    struct Unavailable: Error, CustomStringConvertible {
        var description: String
    }

    /// The server's URL; the first call starts the server if none is given.
    static func url() throws -> String {
        if let url = ProcessInfo.processInfo.environment["INSPECTD_TEST_DATABASE_URL"], !url.isEmpty { return url }
        return try self.started.withLock { started in
            if let started { return started }
            let folder = FileManager.default.temporaryDirectory
                .appendingPathComponent("inspectd-test-\(ProcessInfo.processInfo.processIdentifier)").path
            let url = try self.script("start", folder)
            // Ended by a process that outlives this one, so that a crashed test run leaves no server behind either.
            try self.stopAtExit(folder)
            started = url
            return url
        }
    }

    private static let path = "\(ScratchDatabase.root)/deploy/scratch-postgres.sh"

    /// A server of a test's own, with settings that the common one has not.
    ///
    /// - Parameter settings: Lines of `postgresql.conf`.
    static func start(settings: String) throws -> (url: String, folder: String) {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("inspectd-test-\(UUID().uuidString)").path
        let url = try self.script("start", folder, settings)
        try self.stopAtExit(folder)
        return (url, folder)
    }

    /// Starts a server of a test's own again.
    static func start(again folder: String) throws { _ = try self.script("start", folder) }

    private static func script(_ action: String, _ folder: String, _ settings: String = "") throws -> String {
        let process = Process()
        process.environment = ProcessInfo.processInfo.environment.merging(["SCRATCH_POSTGRES_SETTINGS": settings]) {
            $1
        }
        process.executableURL = URL(fileURLWithPath: self.path)
        process.arguments = [action, folder]
        // A file: a pipe stays open for as long as any descendant has it.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("server-\(UUID().uuidString)")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        process.standardOutput = try FileHandle(forWritingTo: file)
        try process.run()
        let deadline = ContinuousClock.now + .seconds(120)
        var text = ""
        // Not `waitUntilExit`: it waits until every descendant has closed a descriptor of Foundation's, the server, too.
        while !text.hasSuffix("\n") {
            let isOver = !process.isRunning
            text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
            if isOver { break }
            guard .now < deadline else {
                kill(process.processIdentifier, SIGKILL)
                throw Unavailable(description: "scratch-postgres.sh \(action) did not end within two minutes")
            }
            Thread.sleep(forTimeInterval: 0.01)
        }
        guard text.hasPrefix("postgresql:") else {
            throw Unavailable(description: "scratch-postgres.sh \(action) printed no URL")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func stopAtExit(_ folder: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        let parent = ProcessInfo.processInfo.processIdentifier
        process.arguments = [
            "-c", "while kill -0 \(parent) 2>/dev/null; do sleep 1; done; exec '\(self.path)' stop '\(folder)'",
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }
}

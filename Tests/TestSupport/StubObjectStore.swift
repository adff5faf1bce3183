package import Foundation
import Glibc

/// An object store of a test's own: `Tests/s3-server.py` as a child process, which checks every signature. Ends with this object.
package final class StubObjectStore: Sendable {
    package let port: String
    package let folder: URL
    private let process: ChildProcess

    /// - Parameter token: Its keys are temporary and need this session token.
    package init(token: String? = nil) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("objects-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = { (name: String) in folder.appendingPathComponent(name).path }
        try Data("ok".utf8).write(to: URL(fileURLWithPath: path("mode")))
        try Data().write(to: URL(fileURLWithPath: path("log")))
        let keys = ["AKIDTEST", "secret/Key+With=Signs"] + (token.map { [$0] } ?? [])
        try Data(keys.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: path("credentials")))
        self.process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [
                "\(ScratchDatabase.root)/Tests/s3-server.py", "--port-file", path("port"), "--mode-file", path("mode"),
                "--log", path("log"), "--access", keys[0], "--secret", keys[1],
            ] + (token.map { ["--token", $0] } ?? []))
        self.folder = folder
        self.port = try self.process.words(from: folder.appendingPathComponent("port"))[0]
    }

    deinit {
        self.process.end()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// As `INSPECTD_OBJECT_STORE` names it.
    package var setting: String { self.setting() }

    package func setting(prefix: String = "inspectd", credentials: String? = nil) -> String {
        let credentials = credentials ?? "credentials-file=\(self.folder.path)/credentials"
        return "http://127.0.0.1:\(self.port)/parts/\(prefix)?\(credentials)"
    }

    /// How it answers from now on.
    package func behave(_ mode: String) throws {
        try Data(mode.utf8).write(to: self.folder.appendingPathComponent("mode"), options: .atomic)
    }

    /// The requests so far: method, path, status.
    package var requests: [String] {
        let log = (try? String(contentsOf: self.folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        return log.split(separator: "\n").map(String.init)
    }

    package func count(_ method: String, _ status: Int) -> Int {
        self.requests.filter { $0.hasPrefix(method + " ") && $0.hasSuffix(" \(status)") }.count
    }
}

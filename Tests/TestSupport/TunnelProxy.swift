import Foundation

/// A forward proxy: `Tests/tunnel-proxy.py` as a child process. Ends with this object.
package final class TunnelProxy: Sendable {
    /// `http://127.0.0.1:PORT`.
    package let url: String
    private let folder: URL
    private let process: ChildProcess

    /// - Parameter answer: The status with which it refuses every request; `nil`: it makes tunnels.
    package init(refusing answer: Int? = nil) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("proxy-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("tunnel-proxy.py")
        let port = folder.appendingPathComponent("port")
        self.process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [script.path, "--port-file", port.path, "--log", folder.appendingPathComponent("log").path]
                + (answer.map { ["--answer", "\($0)"] } ?? []))
        self.folder = folder
        let number = try self.process.words(from: port)[0]
        self.url = "http://127.0.0.1:\(number)"
    }

    deinit {
        self.process.end()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// Each connection: the client's address, the method and what it asked for.
    package var asked: [String] {
        let log = (try? String(contentsOf: self.folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        return log.split(separator: "\n").map(String.init)
    }
}

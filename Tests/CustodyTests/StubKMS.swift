import Foundation
import TestSupport

@testable import Custody

/// A KMS with Vault's transit API: `Tests/vault-server.py` as a child process, over TLS. Ends with this object.
final class StubKMS: Sendable {
    /// `https://localhost:PORT/v1/transit`.
    let mount: String
    let folder: URL
    private let process: ChildProcess

    init() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("kms-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = { (name: String) in folder.appendingPathComponent(name) }
        try CallbackReceiver.makeCertificate(name: "localhost", file: file("certificate.pem"), key: file("key.pem"))
        try Data("ok".utf8).write(to: file("mode"))
        try Data("s.token\n".utf8).write(to: file("token"))
        let process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [
                "\(ScratchDatabase.root)/Tests/vault-server.py", "--certificate", file("certificate.pem").path, "--key",
                file("key.pem").path, "--token", "s.token", "--mode-file", file("mode").path, "--port-file",
                file("port").path, "--log", file("log").path,
            ])
        self.process = process
        self.folder = folder
        let port = try self.process.words(from: file("port"))[0]
        self.mount = "https://localhost:\(port)/v1/transit"
    }

    deinit {
        self.process.end()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// How it answers from now on.
    func behave(_ mode: String) throws { try Data(mode.utf8).write(to: self.folder.appendingPathComponent("mode")) }

    /// The actions that were asked for, in order.
    var actions: [String] {
        let log = (try? String(contentsOf: self.folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        return log.split(separator: "\n").map(String.init)
    }

    /// As the setting names a key.
    func source(_ name: String = "inspectd") -> String {
        "vault:\(self.mount)/keys/\(name)?token-file=\(self.path("token"))&ca-file=\(self.path("certificate.pem"))"
    }

    func path(_ name: String) -> String { self.folder.appendingPathComponent(name).path }

    func key(_ name: String = "inspectd", timeout: Duration = .seconds(20)) throws -> VaultWrappingKey {
        try VaultWrappingKey(
            url: "\(self.mount)/keys/\(name)", tokenFile: self.path("token"),
            certificateAuthorities: self.path("certificate.pem"), timeout: timeout)
    }

    /// Gives a key another version.
    func rotate(_ name: String = "inspectd") throws {
        try runQuietly(
            "/usr/bin/curl",
            [
                "-sf", "--cacert", self.path("certificate.pem"), "-H", "X-Vault-Token: s.token", "-d", "{}",
                "\(self.mount)/keys/\(name)/rotate",
            ])
    }
}

/// Runs a program to its end.
func runQuietly(_ path: String, _ arguments: [String]) throws {
    let status = try ChildProcess.spawn(path, arguments, isQuiet: true).blockingExitStatus()
    guard status == 0 else { throw ProgramFailed(description: "\(path) ended with \(status)") }
}

struct ProgramFailed: Error, CustomStringConvertible {
    var description: String
}

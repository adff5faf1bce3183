package import Foundation

/// A liveness vendor's server: `Tests/vendor-server.py` as a child process, over TLS. Ends with this object.
package final class StubVendor: Sendable {
    package static let deviceKey = "device-key-of-the-test"

    /// `https://localhost:PORT`.
    package let url: String
    /// The server's public key as libcurl takes it.
    package let pin: String
    /// PEM of the certificate that a client must trust.
    package let certificate: URL
    private let folder: URL
    private let process: ChildProcess

    /// - Parameter deviceKey: What a client must show.
    package init(deviceKey: String = StubVendor.deviceKey) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("vendor-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = { (name: String) in folder.appendingPathComponent(name) }
        try CallbackReceiver.makeCertificate(name: "localhost", file: file("certificate.pem"), key: file("key.pem"))
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("vendor-server.py")
        self.process = try ChildProcess.spawn(
            "/usr/bin/python3",
            [
                script.path, "--certificate", file("certificate.pem").path, "--key", file("key.pem").path,
                "--device-key",
                deviceKey, "--port-file", file("port").path, "--log", file("log").path,
            ])
        self.folder = folder
        self.certificate = file("certificate.pem")
        let words = try self.process.words(2, from: file("port"))
        self.url = "https://localhost:\(words[0])"
        self.pin = words[1]
    }

    deinit {
        self.process.end()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// The blobs that arrived, in order.
    package var received: [String] { self.requests.map(\.blob) }

    /// The blobs with the person whom each is about (`externalDatabaseRefID`).
    package var requests: [(blob: String, person: String?)] {
        let log = (try? String(contentsOf: self.folder.appendingPathComponent("log"), encoding: .utf8)) ?? ""
        return log.split(separator: "\n").map { line in
            let words = line.split(separator: " ").map(String.init)
            let person = words.last.flatMap { Data(base64Encoded: $0) }.map { String(decoding: $0, as: UTF8.self) }
            return (words.first ?? "", person)
        }
    }

    /// What a worker must know to send its sessions here.
    package var environment: [String: String] {
        [
            "INSPECTD_VENDOR_URL": self.url, "INSPECTD_VENDOR_KEY": Self.deviceKey, "INSPECTD_VENDOR_PINS": self.pin,
            "INSPECTD_VENDOR_CA": self.certificate.path, "INSPECTD_VENDOR_PRIVATE": "yes",
        ]
    }
}

package import Foundation

/// One callback as `deploy/callback-receiver.py` saw and verified it.
package struct ReceivedCallback: Codable, Sendable {
    package var receivedAtSeconds: Double
    package var webhookId: String
    package var timestamp: String
    package var timestampOk: Bool
    package var signatures: Int
    package var verified: Bool
    package var path: String
    package var body: String
    package var headers: [String: String]
    /// Which request with this `webhook-id` it was, from 1.
    package var attempt: Int
    /// Number of the TCP connection: equal numbers mean that it was kept alive.
    package var connection: Int
}

/// The partner's side: `deploy/callback-receiver.py` as a child process, which verifies signatures on its own.
///
/// It ends with this object, and at the latest with the test process.
package final class CallbackReceiver: Sendable {
    package let port: Int
    package let folder: URL
    /// PEM of the certificate that a client must trust, if the receiver speaks TLS.
    package let certificate: URL?
    private let process: ChildProcess

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Starts a receiver on a free port of the loopback interface.
    ///
    /// - Parameters:
    ///   - secrets: `whsec_…`; a signature by any of them is accepted.
    ///   - files: A folder whose files `/image?file=…` serves.
    ///   - certificateName: With it the receiver speaks TLS, with a self-signed certificate for this host name.
    ///   - maximumTLS: The newest version offered, for example `1.1`.
    ///   - isExpired: Whether the certificate ended yesterday.
    ///   - clientAuthority: A PEM file: clients must show a certificate of this authority.
    ///   - oauthClient: The client, `ID:SECRET` or `ID`, to which `/token` gives tokens.
    package init(
        secrets: [String] = [], files: URL? = nil, certificateName: String? = nil, maximumTLS: String? = nil,
        isExpired: Bool = false, clientAuthority: URL? = nil, oauthClient: String? = nil
    ) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("receiver-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let portFile = folder.appendingPathComponent("port")
        var arguments = [
            "-Wignore", Self.script.path, "--port-file", portFile.path, "--log",
            folder.appendingPathComponent("log").path,
        ]
        for secret in secrets { arguments += ["--secret", secret] }
        if let files { arguments += ["--files", files.path] }
        if let clientAuthority { arguments += ["--tls-client-authority", clientAuthority.path] }
        if let oauthClient { arguments += ["--oauth-client", oauthClient] }
        if let maximumTLS { arguments += ["--tls-maximum", maximumTLS] }
        var certificate: URL?
        if let certificateName {
            let file = folder.appendingPathComponent("certificate.pem")
            let key = folder.appendingPathComponent("key.pem")
            try Self.makeCertificate(name: certificateName, file: file, key: key, isExpired: isExpired)
            arguments += ["--tls-certificate", file.path, "--tls-key", key.path]
            certificate = file
        }
        self.process = try ChildProcess.spawn("/usr/bin/python3", arguments)
        self.folder = folder
        self.certificate = certificate
        let port = try self.process.words(from: portFile)[0]
        guard let number = Int(port) else { throw Failure(description: "the receiver's port is \(port)") }
        self.port = number
    }

    deinit {
        self.process.end()
        try? FileManager.default.removeItem(at: self.folder)
    }

    /// A URL on this receiver.
    package func url(_ path: String, host: String = "127.0.0.1") -> String {
        "\(self.certificate == nil ? "http" : "https")://\(host):\(self.port)\(path)"
    }

    /// Everything received so far.
    package func received() throws -> [ReceivedCallback] {
        guard let log = try? Data(contentsOf: self.folder.appendingPathComponent("log")) else { return [] }
        // A line without its end is still being written.
        guard let end = log.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return try log[..<end].split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(ReceivedCallback.self, from: $0)
        }
    }

    /// Waits until a condition on what was received holds.
    ///
    /// - Returns: What was received at the end, whether or not the condition holds by then.
    package func received(
        within seconds: Double, until condition: @Sendable ([ReceivedCallback]) -> Bool
    ) async throws -> [ReceivedCallback] {
        let deadline = ContinuousClock.now + .seconds(seconds)
        while true {
            let received = try self.received()
            if condition(received) || ContinuousClock.now >= deadline { return received }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("deploy/callback-receiver.py")

    /// Writes a self-signed certificate for a host name, and its key.
    package static func makeCertificate(name: String, file: URL, key: URL, isExpired: Bool = false) throws {
        let request = [
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
            "-addext", "subjectAltName=DNS:\(name)", "-keyout", key.path, "-out",
        ]
        guard isExpired else {
            return try Self.openssl(request + [file.path, "-x509", "-days", "2"])
        }
        // `req` makes no certificate that has ended; `ca` does.
        let folder = file.deletingLastPathComponent()
        let signing = folder.appendingPathComponent("request.pem")
        let database = folder.appendingPathComponent("database")
        let settings = folder.appendingPathComponent("settings")
        try Data().write(to: database)
        let text =
            "[ca]\ndefault_ca=c\n[c]\ndatabase=\(database.path)\nnew_certs_dir=\(folder.path)\ndefault_md=sha256\n"
            + "policy=p\ncopy_extensions=copy\nrand_serial=yes\n[p]\ncommonName=supplied\n"
        try Data(text.utf8).write(to: settings)
        try Self.openssl(request + [signing.path])
        try Self.openssl([
            "ca", "-batch", "-config", settings.path, "-selfsign", "-keyfile", key.path, "-in", signing.path, "-out",
            file.path, "-notext", "-startdate", "20240101000000Z", "-enddate", "20240201000000Z",
        ])
    }

    private static func openssl(_ arguments: [String]) throws {
        guard try ChildProcess.spawn("/usr/bin/openssl", arguments, isQuiet: true).blockingExitStatus() == 0 else {
            throw Failure(description: "openssl made no certificate")
        }
    }
}

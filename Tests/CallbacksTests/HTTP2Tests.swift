import Foundation
import TestSupport
import Testing

@testable import Callbacks
@testable import HTTPClient

/// HTTP/2 if an endpoint asks for it, against another implementation's server (Node.js).
struct HTTP2Tests {
    private static let server = """
        const http2 = require('node:http2'), fs = require('node:fs');
        const [folder] = process.argv.slice(2);
        let sessions = 0;
        const server = http2.createSecureServer({
          key: fs.readFileSync(folder + '/key.pem'), cert: fs.readFileSync(folder + '/certificate.pem'), allowHTTP1: true });
        server.on('session', () => { sessions += 1; });
        server.on('request', (request, response) => {
          const chunks = [];
          request.on('data', (chunk) => chunks.push(chunk));
          request.on('end', () => {
            fs.appendFileSync(folder + '/log', `${request.httpVersion} ${sessions} ${Buffer.concat(chunks)}\\n`);
            response.end();
          });
        });
        server.listen(0, '127.0.0.1', () => {
          fs.writeFileSync(folder + '/port.new', String(server.address().port));
          fs.renameSync(folder + '/port.new', folder + '/port');
        });
        const parent = process.ppid;
        setInterval(() => { if (process.ppid !== parent) process.exit(); }, 500);
        """

    @Test func `HTTP 2 is used where an endpoint asks for it, over one connection`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("http2-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let certificate = folder.appendingPathComponent("certificate.pem")
        try CallbackReceiver.makeCertificate(
            name: "localhost", file: certificate, key: folder.appendingPathComponent("key.pem"))
        let script = folder.appendingPathComponent("server.js")
        try Data(Self.server.utf8).write(to: script)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/node")
        process.arguments = [script.path, folder.path]
        try process.run()
        defer { kill(process.processIdentifier, SIGKILL) }
        let portFile = folder.appendingPathComponent("port")
        try await waitUntil("the server has a port") { FileManager.default.fileExists(atPath: portFile.path) }
        let port = try String(contentsOf: portFile, encoding: .utf8)

        let outbox = try await Outbox()
        for settings in [#"{"http2": true}"#, "{}"] {
            let endpoint = try await outbox.endpoint(
                secret: WebhookSecret.generate().text, allowHTTP: false, inFlight: 20)
            _ = try await outbox.connection.query(
                "SELECT insp.set_endpoint($1, $2::jsonb)", [.int(endpoint), .text(settings)])
            try await outbox.add(
                20, endpoint: endpoint, url: "https://localhost:\(port)/", body: settings == "{}" ? "old" : "new")
            // One after the other: libcurl shares no connection to a server that has just spoken HTTP/1.1.
            await outbox.dispatch { $0.certificateAuthorities = certificate.path }
        }
        #expect(try await outbox.count("state = 'delivered'") == 40)
        let lines = try String(contentsOf: folder.appendingPathComponent("log"), encoding: .utf8).split(separator: "\n")
        #expect(lines.filter { $0.hasSuffix(" new") && $0.hasPrefix("2.0 ") }.count == 20)
        #expect(lines.filter { $0.hasSuffix(" old") && $0.hasPrefix("1.1 ") }.count == 20)
        // Twenty at once share what is open.
        let sessions = lines.filter { $0.hasSuffix(" new") }.compactMap { Int($0.split(separator: " ")[1]) }.max() ?? 0
        #expect((1...4).contains(sessions), "\(sessions) sessions")
    }
}

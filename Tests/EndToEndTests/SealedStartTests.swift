import Foundation
import FoundationNetworking
import Glibc
import Postgres
import TestSupport
import Testing

/// Processes that start while nobody can say whether the database is sealed.
@Suite struct SealedStartTests {
    /// A database that lets nobody in, until told otherwise.
    private struct Closed {
        let server: PostgresConnection
        let name: String

        init(_ database: ScratchDatabase) async throws {
            var url = try #require(URLComponents(string: database.url))
            self.name = String(url.path.dropFirst())
            url.path = "/postgres"
            self.server = try await PostgresConnection.connect(try #require(url.string))
            try await self.server.execute("ALTER DATABASE \(self.name) ALLOW_CONNECTIONS false")
            _ = try await self.server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [.text(self.name)])
        }

        func open() async throws {
            try await self.server.execute("ALTER DATABASE \(self.name) ALLOW_CONNECTIONS true")
            await self.server.close()
        }
    }

    private static func port(of program: Program, _ message: String = "health port open") async throws -> Int {
        var port: Int?
        try await waitUntil("\(message)") {
            for line in program.standardError.split(separator: "\n") where port == nil {
                let fields = try? members(Data(line.utf8))
                if fields?["message"] as? String == message { port = fields?["port"] as? Int }
            }
            return port != nil
        }
        return try #require(port)
    }

    private static func get(_ port: Int, _ path: String, bearer: String? = nil) async throws -> (Int, [String: Any]) {
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(port)\(path)")))
        if let bearer { request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization") }
        let (data, response) = try await URLSession.shared.data(for: request)
        return (try #require(response as? HTTPURLResponse).statusCode, try members(data))
    }

    /// A port that is free now.
    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, size) + getsockname(descriptor, $0, &size)
            }
        }
        #expect(status == 0)
        return Int(UInt16(bigEndian: address.sin_port))
    }

    @Test(arguments: [true, false])
    func `A worker without keys waits for the database, and ends if that is sealed`(isSealed: Bool) async throws {
        let setting = try await KeySetting(begins: isSealed)
        let closed = try await Closed(setting.main)
        let worker = try Program(
            ["worker", "--slots", "1", "--health", "0", "--analyzer", FaultyAnalyzer.script("")],
            environment: ["INSPECTD_DATABASE_URL": setting.main.url])
        defer { worker.send(SIGKILL) }
        let port = try await Self.port(of: worker)
        let (status, report) = try await Self.get(port, "/readyz")
        #expect(status == 503 && report.at("reasons.0.check") as? String == "database", "\(report)")
        #expect(try await Self.get(port, "/healthz").0 == 200)
        try await waitUntil("it says what it waits for") { worker.standardError.contains("waiting for the database") }
        try await closed.open()
        if isSealed {
            #expect(try await worker.wait() == 1)
            #expect(worker.standardError.contains("KEY_MISSING") && !worker.standardError.contains("registered"))
        } else {
            try await waitUntil("it is ready") { try await Self.get(port, "/readyz").0 == 200 }
            worker.send(SIGTERM)
            #expect(try await worker.wait() == 0)
        }
    }

    @Test(arguments: ["worker", "gateway"])
    func `A service that is stopped while it waits for the database ends in order`(command: String) async throws {
        let program = try Program(
            [command, "--health", "0"] + (command == "gateway" ? ["--listen", "0"] : []),
            environment: ["INSPECTD_DATABASE_URL": "postgresql:///none?host=/nonexistent"])
        defer { program.send(SIGKILL) }
        try await waitUntil("it waits") { program.standardError.contains("waiting for the database") }
        program.send(SIGTERM)
        #expect(try await program.wait() == 0)
        #expect(program.standardError.contains("\(command) stopped"))
    }

    @Test func `A worker that is stopped while it loads its models ends in order`() async throws {
        let service = try await Service.start()
        let worker = try service.worker([
            "--slots", "1", "--health", "0", "--analyzer", FaultyAnalyzer.script("--start slow"),
        ])
        defer { worker.send(SIGKILL) }
        let port = try await Self.port(of: worker)
        try await waitUntil("the analyzers alone are missing") {
            let reasons = try await Self.get(port, "/readyz").1.at("reasons") as? [[String: Any]]
            return reasons?.contains { $0["check"] as? String == "analyzers" } == true
        }
        worker.send(SIGTERM)
        // Long before they would be ready.
        #expect(try await worker.wait(within: .seconds(30)) == 0)
        #expect(worker.standardError.contains("worker stopped"))
    }

    @Test(arguments: [true, false])
    func `A gateway without keys refuses until the database is there, and ends if that is sealed`(isSealed: Bool)
        async throws
    {
        let setting = try await KeySetting(begins: isSealed)
        let main = try await setting.main.connect()
        _ = try await main.query("SELECT insp.create_partner('bank')")
        let bearer = try await main.query("SELECT bearer FROM insp.create_credential('bank', '{read}')")[0].string(0)
        await main.close()
        let closed = try await Closed(setting.main)
        let port = try Self.freePort()
        let gateway = try Program(
            ["gateway", "--listen", "\(port)", "--health", "0"],
            environment: ["INSPECTD_DATABASE_URL": setting.main.url])
        defer { gateway.send(SIGKILL) }
        let health = try await Self.port(of: gateway)
        let path = "/inspectionjob/\(UUID().uuidString)"
        let (status, problem) = try await Self.get(port, path, bearer: bearer)
        #expect(status == 503 && problem["code"] as? String == "DATABASE_UNAVAILABLE", "\(problem)")
        #expect(try await Self.get(health, "/readyz").0 == 503)
        #expect(try await Self.get(health, "/healthz").0 == 200)
        try await closed.open()
        if isSealed {
            #expect(try await gateway.wait() == 1)
            #expect(gateway.standardError.contains("KEY_MISSING") && !gateway.standardError.contains("gateway open"))
        } else {
            #expect(try await Self.port(of: gateway, "gateway open") == port)
            #expect(try await Self.get(port, path, bearer: bearer).0 == 404)
            gateway.send(SIGTERM)
            #expect(try await gateway.wait() == 0)
        }
    }

    @Test func `A gateway whose key store is unavailable says so, and serves once it is back`() async throws {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        _ = try await main.query("SELECT insp.create_partner('bank')")
        let bearer = try await main.query("SELECT bearer FROM insp.create_credential('bank', '{read}')")[0].string(0)
        let closed = try await Closed(setting.store)
        let port = try Self.freePort()
        let gateway = try Program(
            ["gateway", "--listen", "\(port)", "--health", "0"], environment: setting.environment)
        defer { gateway.send(SIGKILL) }
        let health = try await Self.port(of: gateway)
        let path = "/inspectionjob/\(UUID().uuidString)"
        try await waitUntil("the gateway says that the keys are unavailable") {
            try await Self.get(port, path, bearer: bearer).1["code"] as? String == "KEYS_UNAVAILABLE"
        }
        #expect(try await Self.get(health, "/readyz").1.at("reasons.0.check") as? String == "keys")
        try await closed.open()
        try await waitUntil("it serves") { try await Self.get(port, path, bearer: bearer).0 == 404 }
        gateway.send(SIGTERM)
        #expect(try await gateway.wait() == 0)
    }

    @Test func `A command without keys fails where the database cannot say whether it is sealed`() async throws {
        let setting = try await KeySetting()
        let closed = try await Closed(setting.main)
        for words in [
            ["enqueue", "--partner", "bank", "--front", setting.file("keys")],
            ["endpoint", "create", "--partner", "bank", "--url", "https://hooks.example.com/x"],
        ] {
            let done = try await Program.run(words, environment: ["INSPECTD_DATABASE_URL": setting.main.url])
            #expect(done.status == 1 && done.errors.contains("DATABASE_UNAVAILABLE"), "\(done.errors)")
        }
        try await closed.open()
    }
}

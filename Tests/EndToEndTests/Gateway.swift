import Foundation
import FoundationNetworking
import Glibc
import Postgres
import TestSupport
import Testing

/// A gateway process and a partner's credential.
struct Gateway {
    let connection: PostgresConnection
    let program: Program
    let port: Int
    var bearer: String
    /// Where the gateway has a database of its own.
    var own: Service?

    var service: Service { self.own! }

    struct Answer {
        var status: Int
        var headers: [String: String]
        var body: Data

        /// The body as JSON; empty if it is not JSON.
        var document: [String: Any] { (try? members(self.body)) ?? [:] }
        var code: String? { self.document["code"] as? String }
        var id: String? { self.document["id"] as? String }
    }

    /// With a database of its own and its partner `bank`.
    static func start(_ arguments: [String] = [], scopes: String = "{create,read}") async throws -> Gateway {
        let service = try await Service.start()
        var gateway = try await Self.start(
            service.connection, arguments, environment: service.environment, scopes: scopes)
        gateway.own = service
        return gateway
    }

    /// Before a database that has the partner `bank`.
    static func start(
        _ connection: PostgresConnection, _ arguments: [String] = [], environment: [String: String], scopes: String
    ) async throws -> Gateway {
        let program = try Program(
            ["gateway", "--listen", "0", "--health", "0"] + arguments, environment: environment)
        return Gateway(
            connection: connection, program: program, port: try await program.port("gateway open"),
            bearer: try await Self.credential(connection, "bank", scopes))
    }

    static func credential(_ connection: PostgresConnection, _ partner: String, _ scopes: String) async throws -> String
    {
        try await connection.query(
            "SELECT bearer FROM insp.create_credential($1, $2)", [.text(partner), .text(scopes)])[0].string(0)
    }

    /// A credential of another partner.
    func stranger(_ scopes: String) async throws -> String {
        _ = try await self.connection.query("SELECT insp.create_partner('shop')")
        return try await Self.credential(self.connection, "shop", scopes)
    }

    /// One request on its own connection. Not by URLSession, which hides a 401.
    func call(
        _ method: String, _ path: String, _ body: [String: Any]? = nil, bearer: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        let data = try body.map { try JSONSerialization.data(withJSONObject: $0) }
        var headers = headers
        if data != nil { headers["Content-Type"] = headers["Content-Type"] ?? "application/json" }
        return try await self.send(method, path, data, bearer: bearer, headers: headers)
    }

    /// The gateway closed the connection first.
    struct NoAnswer: Error { var bytes: Data }

    /// - Parameter bearer: Empty: no header Authorization but that of `headers`.
    /// - Throws: ``NoAnswer``.
    func send(
        _ method: String, _ path: String, _ body: Data?, bearer: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        if bearer != "" { head += "Authorization: Bearer \(bearer ?? self.bearer)\r\n" }
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        let client = SlowClient(self.port)
        defer { client.close() }
        client.send(Data((head + "\r\n").utf8) + (body ?? Data()))
        let answer = await client.bytes()
        guard let cut = answer.range(of: Data("\r\n\r\n".utf8)) else { throw NoAnswer(bytes: answer) }
        let lines = String(decoding: answer[..<cut.lowerBound], as: UTF8.self).split(separator: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let colon = try #require(line.firstIndex(of: ":"))
            fields[String(line[..<colon])] = String(line[line.index(colon, offsetBy: 2)...])
        }
        let status = try #require(lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return Answer(status: status, headers: fields, body: Data(answer[cut.upperBound...]))
    }

    /// A form with files, as clients send it.
    func form(
        _ fields: [(name: String, value: Data)], path: String = "/inspectionjob/create", bearer: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> Answer {
        var body = Data()
        for field in fields {
            body += Data("--cut\r\nContent-Disposition: form-data; name=\"\(field.name)\"".utf8)
            if field.name.allSatisfy({ $0.isUppercase || $0.isNumber }) {
                body += Data("; filename=\"a.jpg\"\r\nContent-Type: image/jpeg".utf8)
            }
            body += Data("\r\n\r\n".utf8) + field.value + Data("\r\n".utf8)
        }
        body += Data("--cut--\r\n".utf8)
        return try await self.send(
            "POST", path, body, bearer: bearer,
            headers: headers.merging(["Content-Type": "multipart/form-data; boundary=cut"]) { $1 })
    }

    /// The answers of the job until it is finished; if it never is, the error shows what its worker logged.
    func finished(
        _ id: String, bearer: String? = nil, by worker: Program? = nil
    ) async throws -> [String: Any] {
        let deadline = ContinuousClock.now + .seconds(120)
        while true {
            let answer = try await self.call("GET", "/inspectionjob/\(id)?wait=60", bearer: bearer)
            if answer.document["status"] as? Int == 128 { return answer.document }
            if ContinuousClock.now > deadline {
                let log = worker.map { $0.standardError } ?? ""
                throw Program.Failed(message: "not finished within 120 s: \(answer.status) \(answer.document)\n\(log)")
            }
        }
    }

    /// What the record has of the calls about a job, or of those about none, oldest first.
    func accesses(_ job: String?) async throws -> [String] {
        try await self.connection.query(
            """
            SELECT action || coalesce(' ' || purpose, '') FROM insp.v_access
            WHERE partner = 'bank' AND job IS NOT DISTINCT FROM $1::uuid ORDER BY at
            """, [.optional(job)]
        ).map { try $0.string(0) }
    }

    /// What its health port reports.
    func metrics() async throws -> String {
        let health = try await self.program.port("health port open")
        let url = try #require(URL(string: "http://127.0.0.1:\(health)/metrics"))
        return String(decoding: try await URLSession.shared.data(from: url).0, as: UTF8.self)
    }

    /// Waits until as many clients wait for a result or an event.
    func waitForClients(_ count: Int) async throws {
        try await waitUntil("\(count) clients wait", every: .milliseconds(50)) {
            try MetricsText(await self.metrics()).value("inspectd_gateway_waiting_clients") == Double(count)
        }
    }

    func stop() async throws -> Int32 {
        self.program.send(SIGTERM)
        return try await self.program.wait()
    }
}

/// A connection of a client, which may be slow.
final class SlowClient: @unchecked Sendable {
    // Used by one task at a time; closed at most once.
    private var descriptor: CInt

    init(_ port: Int) {
        self.descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(self.descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(self.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result != 0 { self.close() }
    }

    func send(_ text: String) { self.send(Data(text.utf8)) }

    func send(_ data: Data) {
        var bytes = [UInt8](data)[...]
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes {
                Glibc.send(self.descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            bytes = bytes.dropFirst(count)
        }
    }

    /// What comes first.
    func answer() async -> String { String(decoding: await self.read(isAll: false), as: UTF8.self) }

    /// Everything until the server closes.
    func bytes() async -> Data { await self.read(isAll: true) }

    /// On its own thread: a test that blocks Swift's pool delays the others.
    private func read(isAll: Bool) async -> Data {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var all: [UInt8] = []
                var buffer = [UInt8](repeating: 0, count: 65_536)
                repeat {
                    let count = recv(self.descriptor, &buffer, buffer.count, 0)
                    if count <= 0 { break }
                    all += buffer.prefix(count)
                } while isAll
                continuation.resume(returning: Data(all))
            }
        }
    }

    func close() {
        if self.descriptor >= 0 { Glibc.close(self.descriptor) }
        self.descriptor = -1
    }
}

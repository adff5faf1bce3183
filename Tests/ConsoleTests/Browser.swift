import Console
import Foundation
import Glibc
import TestSupport
import Testing

/// A browser as far as a console notices: one request on each connection, with the cookies and headers of one.
struct Browser: Sendable {
    struct Answer: Sendable {
        var status: Int
        /// Names in lower case; cookies are lines of one value.
        var headers: [String: String]
        var text: String

        /// The cookie that the answer sets.
        func cookie(_ name: String) -> String? {
            (self.headers["set-cookie"] ?? "").split(separator: "\n").first { $0.hasPrefix("\(name)=") }.map(
                String.init)
        }

        /// What a preview's form says about what was counted.
        var edge: [String: String] {
            let before = self.text.firstMatch(of: /name='before' value='([0-9]+)'/)?.1
            let seen = self.text.firstMatch(of: /name='seen' value='([0-9:,]+)'/)?.1
            return ["before": String(before ?? "1"), "seen": String(seen ?? "1:")]
        }
    }

    let port: UInt16
    /// `nil`: nobody is signed in.
    var secret: ConsoleSecret?
    var host: String?

    func get(_ path: String, headers: [String: String] = [:]) async throws -> Answer {
        try await self.send("GET", path, nil, headers)
    }

    /// Begins an action on what its preview shows.
    func begin(_ fields: [String: String]) async throws -> Answer {
        let query = fields.filter { $0.key != "reason" && $0.key != "action" }.map { "\($0.key)=\($0.value)" }
        let preview = try await self.get("/tasks/new?\(query.joined(separator: "&"))")
        return try await self.post("/tasks", fields.merging(preview.edge) { $1 })
    }

    /// Sends a form as the console's own page does, with its token.
    ///
    /// - Parameter headers: Instead of those that a browser sends; an empty value leaves a header out.
    func post(
        _ path: String, _ fields: [String: String] = [:], token: String? = nil, headers: [String: String] = [:]
    ) async throws -> Answer {
        var fields = fields
        fields["form"] = token ?? self.secret?.formToken
        let allowed = CharacterSet.alphanumerics
        let body = fields.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: allowed) ?? "")" }
            .joined(separator: "&")
        let own = [
            "Origin": "http://127.0.0.1:\(self.port)", "Sec-Fetch-Site": "same-origin",
            "Content-Type": "application/x-www-form-urlencoded",
        ]
        return try await self.send("POST", path, Data(body.utf8), own.merging(headers) { $1 })
    }

    func send(_ method: String, _ path: String, _ body: Data?, _ headers: [String: String]) async throws -> Answer {
        var head =
            "\(method) \(path) HTTP/1.1\r\nHost: \(self.host ?? "127.0.0.1:\(self.port)")\r\nConnection: close\r\n"
        if let secret { head += "Cookie: other=1; inspectd-console=\(secret.text)\r\n" }
        for (name, value) in headers where !value.isEmpty { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        let request = Data((head + "\r\n").utf8) + (body ?? Data())
        let port = self.port
        let bytes = await onOwnThread { Self.exchange(request, port) }
        let answer = try #require(bytes)
        let cut = try #require(answer.firstRange(of: Data("\r\n\r\n".utf8)))
        let lines = String(decoding: answer[..<cut.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let colon = try #require(line.firstIndex(of: ":"))
            let (name, value) = (line[..<colon].lowercased(), line[line.index(colon, offsetBy: 2)...])
            fields[name] = fields[name].map { "\($0)\n\(value)" } ?? String(value)
        }
        let status = try #require(lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) })
        return Answer(status: status, headers: fields, text: String(decoding: answer[cut.upperBound...], as: UTF8.self))
    }

    private static func exchange(_ request: Data, _ port: UInt16) -> Data? {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue), 0)
        defer { Glibc.close(descriptor) }
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isOpen else { return nil }
        var rest = request[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            if count <= 0 { return nil }
            rest = rest.dropFirst(count)
        }
        var answer = Data()
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return answer }
            answer += buffer[..<count]
        }
    }
}

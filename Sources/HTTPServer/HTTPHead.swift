internal import Foundation
internal import InspectCore

/// A violation of RFC 9112's framing. Anything ambiguous is refused and the connection closed: request smuggling depends on
/// two readers that disagree about where a request ends.
struct HTTPFault: Error, Equatable {
    var status: Int
    var reason: String

    init(_ reason: String, status: Int = 400) {
        self.status = status
        self.reason = reason
    }

    /// The text of the answer, after which the connection is closed.
    var error: InspectError { InspectError(.parameterInvalid, self.reason) }
}

/// How a request's body is delimited.
enum HTTPFraming: Equatable {
    case none
    case length(Int)
    case chunked
}

struct HTTPHead {
    /// Header fields that one request may have.
    static let fields = 100

    var request: HTTPRequest
    var framing: HTTPFraming
    var staysOpen: Bool
    /// Whether the client waits for `100 Continue` before it sends the body.
    var expectsContinue: Bool

    /// - Parameter bytes: The head, with the empty line, as ``HTTPHeadScanner`` let it pass.
    init(_ bytes: UnsafeRawBufferPointer, peer: String) throws(HTTPFault) {
        var lines = HTTPSyntax.lines(bytes)[...]
        let (method, target, isOld) = try Self.requestLine(lines.removeFirst())
        var values: [String: [String]] = [:]
        guard lines.count <= Self.fields else { throw HTTPFault("too many header fields", status: 431) }
        for line in lines {
            let (name, value) = try HTTPSyntax.field(line)
            values[name, default: []].append(value)
        }
        // Another reader might use the second value.
        for name in ["host", "content-length", "transfer-encoding", "content-type", "authorization", "expect"] {
            guard (values[name] ?? []).count <= 1 else { throw HTTPFault("more than one \(name)") }
        }
        let host = values["host"]?[0]
        guard host.map(HTTPSyntax.isHost) ?? isOld else { throw HTTPFault("no Host, or none that is valid") }
        self.framing = try Self.framing(values, isOld: isOld)
        let (path, segments, query) = try Self.resource(target, method, host)
        let connection = (values["connection"] ?? []).joined(separator: ",").lowercased().split(separator: ",")
        self.staysOpen =
            !isOld && !connection.contains { $0.trimmingCharacters(in: .whitespaces) == "close" }
        let expected = values["expect"]?[0].lowercased()
        guard isOld || expected == nil || expected == "100-continue" else {
            throw HTTPFault("Expect may only be 100-continue", status: 417)
        }
        self.expectsContinue = !isOld && expected != nil && self.framing != .none
        let parameters = try HTTPSyntax.query(query)
        self.request = HTTPRequest(
            method: method, path: path, segments: segments, query: parameters.values,
            headers: values.mapValues { $0.joined(separator: ", ") }, peer: peer)
        self.request.repeatedParameter = parameters.repeated
    }

    /// Checks the first line as soon as it is complete, to refuse other protocols early.
    static func requestLine(
        _ line: UnsafeRawBufferPointer
    ) throws(HTTPFault) -> (method: String, target: UnsafeRawBufferPointer, isOld: Bool) {
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3 else { throw HTTPFault("the request line is not method, target, version") }
        let version = String(decoding: words[2], as: UTF8.self)
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else { throw HTTPFault("the version is not HTTP/1.1") }
        guard HTTPSyntax.isToken(words[0]), words[0].count <= 32 else { throw HTTPFault("the method is not a token") }
        guard !words[1].isEmpty, words[1].allSatisfy(HTTPSyntax.isTarget) else {
            throw HTTPFault("the target has characters that must be escaped")
        }
        return (
            String(decoding: words[0], as: UTF8.self), UnsafeRawBufferPointer(rebasing: words[1]),
            version == "HTTP/1.0"
        )
    }

    private static func framing(_ values: [String: [String]], isOld: Bool) throws(HTTPFault) -> HTTPFraming {
        let length = values["content-length"]?[0]
        guard let coding = values["transfer-encoding"]?[0] else {
            guard let length else { return .none }
            guard let count = HTTPSyntax.number(length.utf8) else { throw HTTPFault("Content-Length is not a number") }
            return count == 0 ? .none : .length(count)
        }
        guard length == nil else { throw HTTPFault("Content-Length together with Transfer-Encoding") }
        guard !isOld, coding.lowercased() == "chunked" else { throw HTTPFault("Transfer-Encoding is not chunked") }
        return .chunked
    }

    /// Path, its segments and query of a target in origin form, in absolute form for this host, or `*`.
    private static func resource(
        _ target: UnsafeRawBufferPointer, _ method: String, _ host: String?
    ) throws(HTTPFault) -> (path: String, segments: [String], query: Substring) {
        var text = String(decoding: target, as: UTF8.self)[...]
        if text == "*", method == "OPTIONS" { return ("*", ["*"], "") }
        if let scheme = ["http://", "https://"].first(where: { text.lowercased().hasPrefix($0) }) {
            text = text.dropFirst(scheme.count)
            let authority = text.prefix { $0 != "/" && $0 != "?" }
            guard let host, authority.lowercased() == host.lowercased() else {
                throw HTTPFault("the target's host is not that of Host")
            }
            text = text.dropFirst(authority.count)
            if !text.hasPrefix("/") { text = "/\(text)" }
        }
        guard text.hasPrefix("/") else { throw HTTPFault("the target is not a path") }
        let path = text.prefix { $0 != "?" }
        guard let plain = HTTPSyntax.unescaped(path) else { throw HTTPFault("the path has escapes that are none") }
        let segments = path.split(separator: "/", omittingEmptySubsequences: false)
        return (plain, segments.map { HTTPSyntax.unescaped($0) ?? "" }, text.dropFirst(path.count + 1))
    }
}

/// Finds the end of a head while it arrives, and refuses it at the first invalid octet.
struct HTTPHeadScanner {
    private var scanned = 0
    private var lineStart = 0

    var isInFirstLine: Bool { self.lineStart == 0 }

    /// - Parameter bytes: All bytes since the previous request.
    /// - Returns: The head's length, or `nil` while it is incomplete.
    mutating func scan(_ bytes: UnsafeRawBufferPointer) throws(HTTPFault) -> Int? {
        while self.scanned < bytes.count {
            let byte = bytes[self.scanned]
            let isAfterReturn = self.scanned > 0 && bytes[self.scanned - 1] == 0x0d
            guard (byte == 0x0a) == isAfterReturn else { throw HTTPFault("a line does not end with CR LF") }
            guard byte >= 0x20 && byte != 0x7f || byte == 0x09 || byte == 0x0a || byte == 0x0d else {
                throw HTTPFault("a control character")
            }
            self.scanned += 1
            guard byte == 0x0a else { continue }
            let line = bytes[self.lineStart..<self.scanned - 2]
            if self.lineStart == 0 {
                _ = try HTTPHead.requestLine(UnsafeRawBufferPointer(rebasing: line))
            } else if line.isEmpty {
                return self.scanned
            }
            self.lineStart = self.scanned
        }
        return nil
    }
}

internal import Foundation

/// What a ``HealthServer`` answers.
package struct HealthAnswer: Sendable {
    /// A three-digit status code.
    package var status: UInt32
    /// A media type with its charset.
    package var contentType: String
    /// Of a page or probe; small, since it is sent at once.
    package var body: String

    package init(status: UInt32 = 200, contentType: String, body: String) {
        self.status = status
        self.contentType = contentType
        self.body = body
    }
}

/// A small HTTP server for probes and scrapes: GET and HEAD, a few connections, short time-outs.
///
/// It has its own thread, so it answers even while every thread of Swift's pool is busy.
package final class HealthServer: Sendable {
    /// Connections at once; more wait in the kernel's queue.
    package static let connections: UInt32 = 32
    /// Seconds without traffic after which a connection is closed.
    static let idleSeconds: UInt32 = 5
    /// Bytes for the head of a request: longer ones are refused.
    static let headBytes = 16 * 1024

    /// The port it listens on.
    package var port: UInt16 { self.server.port }
    private let server: HTTPServer

    /// Starts to serve.
    ///
    /// - Parameter answer: Called on the server's thread with the path of a request; `nil` is 404. It must not block.
    /// - Throws: ``ServerFailure`` if the address cannot be bound.
    package init(
        _ address: ListenAddress, answer: @escaping @Sendable (_ path: String) -> HealthAnswer?
    ) throws(ServerFailure) {
        var limits = HTTPLimits()
        limits.connections = Self.connections
        limits.connectionsPerAddress = Self.connections
        limits.idleSeconds = Self.idleSeconds
        limits.headSeconds = Double(Self.idleSeconds)
        limits.headBytes = Self.headBytes
        self.server = try HTTPServer(address, limits: limits) { request in
            guard request.method == "GET" || request.method == "HEAD" else {
                return Self.response(
                    HealthAnswer(status: 405, contentType: "text/plain", body: "only GET and HEAD\n"),
                    [("Allow", "GET, HEAD")])
            }
            return Self.response(
                answer(request.path) ?? HealthAnswer(status: 404, contentType: "text/plain", body: "not found\n"))
        }
    }

    /// Stops serving; returns when the last answer has been given. Safe to call again.
    package func stop() { self.server.end() }

    private static func response(
        _ answer: HealthAnswer, _ headers: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        HTTPResponse(
            status: Int(answer.status), headers: [("Content-Type", answer.contentType)] + headers,
            body: Data(answer.body.utf8))
    }
}

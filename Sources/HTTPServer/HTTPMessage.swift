package import Foundation
package import InspectCore

/// The head of a request, as a client sent it.
package struct HTTPRequest: Sendable {
    /// As sent: methods are case-sensitive (RFC 9110 §9.1).
    package var method: String
    /// The path, with its escapes resolved and without the query.
    package var path: String
    /// The path by segments: an escaped slash is part of a segment.
    package var segments: [String]
    /// Parameters of the query; a name that was given twice has its first value.
    package var query: [String: String]
    /// A parameter that was given twice.
    package var repeatedParameter: String?
    /// Header fields, names in lower case; values of repeated ones are joined with a comma (RFC 9110, section 5.3).
    package var headers: [String: String]
    /// Numeric address of the peer, which may be a proxy.
    package var peer: String

    package init(
        method: String, path: String, segments: [String]? = nil, query: [String: String] = [:],
        headers: [String: String] = [:], peer: String = "127.0.0.1"
    ) {
        self.method = method
        self.path = path
        self.segments = segments ?? path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        self.query = query
        self.headers = headers
        self.peer = peer
    }

    /// Whether a body was announced, by its length or by a transfer coding.
    package var hasBody: Bool { self.contentLength ?? 0 > 0 || self.headers["transfer-encoding"] != nil }
    /// The body's length as stated by the client; `nil` if it gave none.
    package var contentLength: Int? { self.headers["content-length"].flatMap { Int($0) } }
}

/// The answer to a request.
package struct HTTPResponse: Sendable {
    /// A three-digit status code (RFC 9110 §15).
    package var status: Int
    /// In the order in which they are sent; the server adds those of the connection.
    package var headers: [(name: String, value: String)]
    /// Sent whole, with its length.
    package var body: Data
    /// The refusal's error code, for logs.
    package var code: ErrorCode?

    package init(status: Int, headers: [(name: String, value: String)] = [], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// A JSON answer.
    package static func json(
        _ body: Data, status: Int = 200, headers: [(name: String, value: String)] = []
    ) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: body)
    }

    /// A JSON answer, keys in order.
    package static func json(
        _ value: some Encodable, status: Int = 200, headers: [(name: String, value: String)] = []
    ) throws -> HTTPResponse {
        return self.json(try JSONEncoder.ordered.encode(value), status: status, headers: headers)
    }
}

/// More time for a body than the server's limits give, for as long as it arrives steadily: on a slow connection an honest
/// client needs minutes, and a client that sends too slowly gets no more time than before.
package struct HTTPPace: Sendable {
    /// Seconds for the whole body.
    package var seconds: Double
    /// What must have arrived from its beginning on, after ``HTTPLimits/bodySeconds``.
    package var bytesPerSecond: Double

    package init(seconds: Double, bytesPerSecond: Double) {
        self.seconds = seconds
        self.bytesPerSecond = bytesPerSecond
    }
}

/// The decision about a request, by its head.
package enum HTTPAdmission: Sendable {
    /// Answer without reading the body.
    case refuse(HTTPResponse)
    /// Read the body and pass it to the closure. The requests of one share, such as a partner, take no more of the server
    /// than is left for others. `limit`: bytes that the body may have, if that is less than the server's limit. `headers`:
    /// headers of the server's own refusals of the request, such as for a body that is too large. `pace`: the pace with which a body may
    /// take longer than the server's limit.
    case accept(
        share: String? = nil, limit: Int? = nil, pace: HTTPPace? = nil, headers: [(name: String, value: String)] = [],
        @Sendable (Data) async -> HTTPResponse)
}

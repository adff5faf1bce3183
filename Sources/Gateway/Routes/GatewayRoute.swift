internal import Foundation
internal import HTTPServer
internal import InspectCore

/// One call of the interface: its method and path, its requirements, and its handler.
///
/// ``all`` is the only list of them: admission, the answer to OPTIONS and the description at `/openapi.json` follow from it.
struct GatewayRoute: Sendable {
    /// The body that a request may have.
    enum Content: Sendable {
        case none
        /// JSON.
        case json
        /// JSON without parts.
        case shortJSON
        /// JSON, or an empty body with any media type.
        case optionalJSON
        /// JSON, or a form with files (RFC 7578).
        case jsonOrFiles
        /// A form with one image.
        case image
        /// A form with everything that was captured: photos and a recording.
        case recording
        /// A form, as HTML and OAuth 2.0 encode it (RFC 6749, appendix B).
        case form

        /// Media types, without parameters.
        var types: [String] {
            switch self {
            case .none: []
            case .json, .shortJSON, .optionalJSON: ["application/json"]
            case .jsonOrFiles: ["application/json", "multipart/form-data"]
            case .image, .recording: ["multipart/form-data"]
            case .form: ["application/x-www-form-urlencoded"]
            }
        }

        /// Bytes that a body may have, if that is less than the server's limit: a call without large parts needs no more.
        var limit: Int? {
            switch self {
            case .none: 0
            case .json, .jsonOrFiles, .image, .recording: nil
            case .shortJSON, .optionalJSON, .form: 64 * 1024
            }
        }

        /// The pace with which a body may take longer than the server's limit. A phone sends its photos over whatever connection it
        /// has. At the slowest pace an image has 3.9 MB and everything 9.8 MB; a motion challenge with the photos is about
        /// 16 MB, and must arrive while its challenge lives, five minutes from before it was recorded: it needs about 55 KiB/s.
        var pace: HTTPPace? {
            switch self {
            case .image: HTTPPace(seconds: 120, bytesPerSecond: 32 * 1024)
            case .recording: HTTPPace(seconds: 300, bytesPerSecond: 32 * 1024)
            case .none, .json, .shortJSON, .optionalJSON, .jsonOrFiles, .form: nil
            }
        }
    }

    /// Who may call.
    enum Access: Sendable {
        /// Everyone. A credential, if any, is not checked.
        case everyone(@Sendable (GatewayService, HTTPRequest, Data) async throws -> HTTPResponse)
        /// Any client with a capture link, which the path names. The closure checks the rest of the head before a body is read.
        case link(@Sendable (CaptureCall) throws(InspectError) -> Work)
        /// Any client with a credential with this scope. The closure checks the rest of the head before a body is read.
        case scope(GatewayCredential.Scope, @Sendable (GatewayCall) throws(InspectError) -> Work)
    }

    /// Answers a request, given its body.
    typealias Work = @Sendable (Data) async throws -> GatewayAnswer

    var method: String
    var content: Content
    /// Its description.
    var operation: Operation
    var access: Access
    let pattern: PathPattern
    var path: String { self.pattern.text }

    init(_ method: String, _ path: String, _ content: Content = .none, _ operation: Operation, _ access: Access) {
        self.method = method
        self.pattern = PathPattern(path)
        self.content = content
        self.operation = operation
        self.access = access
    }

    /// The calls of a path with the values of its names.
    static func find(_ segments: [String]) -> (routes: [GatewayRoute], values: [String: String]) {
        PathPattern.find(segments, in: Self.all, by: \.pattern)
    }
}

extension [GatewayRoute] {
    /// The value of the header Allow.
    var allowed: String {
        var methods = self.map(\.method)
        if methods.contains("GET") { methods.append("HEAD") }
        return (methods + ["OPTIONS"]).joined(separator: ", ")
    }
}

/// An admitted request, without its body.
struct GatewayCall: Sendable {
    var service: GatewayService
    var credential: GatewayCredential
    var request: HTTPRequest
    /// Values of the names in the route's path.
    var values: [String: String]

    var store: GatewayStore { self.service.store }

    /// A valid trace context (W3C); others are ignored, as the recommendation asks.
    var traceparent: String? {
        self.request.headers["traceparent"].flatMap { TraceContext(traceparent: $0) != nil ? $0 : nil }
    }

    /// The header `Idempotency-Key`.
    func idempotencyKey() throws(InspectError) -> String? {
        guard let key = self.request.headers["idempotency-key"] else { return nil }
        guard (1...100).contains(key.utf8.count), key.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw InspectError(
                .parameterInvalid, "Idempotency-Key is not 1 to 100 visible ASCII characters", field: "Idempotency-Key")
        }
        return key
    }

    /// The job that the path names, spelled as the database does: answers and links repeat it.
    func jobID() throws(InspectError) -> String {
        let id = self.values["id"] ?? ""
        guard UUID(uuidString: id) != nil else { throw InspectError(.jobUnknown) }
        return id.lowercased()
    }

    /// The endpoint that the path names.
    func endpoint() throws(InspectError) -> Int {
        guard let number = HTTPSyntax.number((self.values["endpoint"] ?? "").utf8), number > 0 else {
            throw InspectError(.endpointUnknown)
        }
        return number
    }

    /// The parameter `after`: the last job of the previous page.
    func after() throws(InspectError) -> String? {
        guard let id = self.request.query["after"] else { return nil }
        guard UUID(uuidString: id) != nil else {
            throw InspectError(
                .parameterInvalid, "after is not a job's id", hint: "Send next of the last page.", field: "after")
        }
        return id.lowercased()
    }

    /// A parameter of the query that is a whole number.
    func number(_ name: String, _ range: ClosedRange<Int>) throws(InspectError) -> Int? {
        guard let text = self.request.query[name] else { return nil }
        guard let number = HTTPSyntax.number(text.utf8), range.contains(number) else {
            throw InspectError(
                .parameterInvalid, "\(name) is not a whole number from \(range.lowerBound) to \(range.upperBound)",
                field: name)
        }
        return number
    }

    /// A JSON object as an answer, marked if it is a test credential: no answer can be mistaken for one about real persons.
    func answer(_ object: Data, status: Int = 200) -> HTTPResponse {
        guard self.credential.isTest else { return .json(object, status: status) }
        let rest = object.dropFirst()
        let mark = rest.first == UInt8(ascii: "}") ? #"{"test":true"# : #"{"test":true,"#
        return .json(Data(mark.utf8) + rest, status: status)
    }

    /// A value that is a JSON object, as an answer.
    func answer(_ value: some Encodable, status: Int = 200) throws -> HTTPResponse {
        self.answer(try HTTPResponse.json(value).body, status: status)
    }

    /// The parameter `wait`.
    func wait() throws(InspectError) -> Duration {
        .seconds(try self.number("wait", 0...self.service.configuration.longestWaitSeconds) ?? 0)
    }
}

/// A response, and the job that it is about, for the log.
struct GatewayAnswer: Sendable {
    var response: HTTPResponse
    /// Public id, once the database confirmed that the job is the partner's.
    var job: String?
}

package import Foundation
internal import HTTPClient
package import InspectCore
package import JobQueue

/// A liveness vendor's server, and how to authenticate it.
package struct VendorServer: Sendable {
    /// `https://host[:port][/path]`; `/process-request` is added.
    package var url: String
    /// The key towards the server, sent as `X-Device-Key`. Never logged.
    package var deviceKey: String?
    /// Public keys, one of which the server must have: `sha256//` and base64. Empty: any that a known authority vouches for.
    package var pins: [String]
    /// Whether the server may be inside our own networks: anywhere, or in ``networks``.
    package var allowsPrivate: Bool
    /// In CIDR notation; `nil`: no list.
    package var networks: [String]?

    package init(
        url: String, deviceKey: String? = nil, pins: [String] = [], allowsPrivate: Bool = false,
        networks: [String]? = nil
    ) {
        self.url = url
        self.deviceKey = deviceKey
        self.pins = pins
        self.allowsPrivate = allowsPrivate
        self.networks = networks
    }
}

/// What a worker knows of vendors' servers.
package struct VendorConfiguration: Sendable {
    /// The server of partners that have none of their own; `nil`: none.
    package var server: VendorServer?
    /// Keys of partners' servers, by the names that `insp.set_vendor` takes. Never logged.
    package var keys: [String: String] = [:]
    /// A PEM file instead of the system's certificate store.
    package var certificateAuthorities: String?
    /// From the look-up of the name to the last byte of an answer.
    package var timeout: Duration = .seconds(30)
    /// How long a session waits for its next blob.
    package var patience: Duration = .seconds(120)

    package init(server: VendorServer? = nil) { self.server = server }
}

/// Asks a liveness vendor's server about a session (FaceTec 10.x, `/process-request`).
package final class VendorSessionClient: Sendable {
    /// A request without a usable answer.
    package struct Failure: Error {
        /// Its code decides whether the job is retried.
        package var error: InspectError
        /// `not_sent`, `refused`, `invalid` or `lost`, as `insp.session_end` takes it.
        package var outcome: String
        /// The server's status, if it answered.
        package var status: Int?
    }

    private let configuration: VendorConfiguration
    private let client: HTTPClient

    package init(_ configuration: VendorConfiguration) {
        self.configuration = configuration
        self.client = HTTPClient(certificateAuthorities: configuration.certificateAuthorities)
    }

    /// How long a session waits for its next blob.
    package var patience: Duration { self.configuration.patience }

    /// Where a partner's sessions go. The key of one server is never shown to another.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/vendorNotConfigured``: there is none, or this worker does not have its key.
    package func server(of session: SessionVendor) throws(InspectError) -> VendorServer {
        guard let url = session.url else {
            guard let server = self.configuration.server else { throw InspectError(.vendorNotConfigured) }
            return server
        }
        var server = VendorServer(
            url: url, pins: session.pins, allowsPrivate: session.allowPrivate, networks: session.networks)
        if let name = session.keyName {
            guard let key = self.configuration.keys[name] else {
                throw InspectError(.vendorNotConfigured, "the worker does not have the key of the partner's server")
            }
            server.deviceKey = key
        }
        return server
    }

    /// Checks that a blob has the form that 10.x clients send: one opaque string of visible characters.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sessionShapeRefused`` for everything else, among it the JSON object of
    ///   9.x with its `faceScan` and `auditTrailImage`, and bare images.
    package static func check(_ blob: Data) throws(InspectError) {
        guard (1...VendorSessionFacts.blobLimit).contains(blob.count) else {
            throw InspectError(.sessionShapeRefused, "empty, or larger than 8 MiB")
        }
        guard blob.allSatisfy({ (0x21...0x7e).contains($0) }),
            ![UInt8(ascii: "{"), UInt8(ascii: "[")].contains(blob[blob.startIndex])
        else { throw InspectError(.sessionShapeRefused) }
    }

    /// Sends a session's blob, once.
    ///
    /// - Parameters:
    ///   - reference: The user's, sent as `externalDatabaseRefID`.
    ///   - former: The answer to the session's former blob.
    ///   - scansDocument: Whether the session goes on with a document once liveness is proven.
    /// - Returns: The server's answer, and its HTTP status.
    /// - Throws: ``Failure``; `CancellationError`.
    package func process(
        _ blob: Data, of reference: String?, at server: VendorServer, after former: VendorSessionAnswer? = nil,
        scansDocument: Bool = false
    ) async throws -> (answer: VendorSessionAnswer, status: Int) {
        let request = try self.request(for: blob, of: reference, to: server)
        let policy = EgressPolicy(allowsPrivate: server.allowsPrivate, networks: server.networks)
        return try Self.answer(of: await self.send(request, policy), after: former, scansDocument)
    }

    // Swift 6.3's optimiser crashes on typed errors that are caught in an asynchronous function with more in it than this.
    private func send(_ request: HTTPRequest, _ policy: EgressPolicy) async -> Result<HTTPResponse, HTTPError> {
        do throws(HTTPError) {
            return .success(try await self.client.send(request, policy: policy))
        } catch {
            return .failure(error)
        }
    }

    /// The body of a request (FaceTec 10.x).
    private struct Body: Encodable {
        var requestBlob: String
        var externalDatabaseRefID: String?
    }

    private func request(for blob: Data, of reference: String?, to server: VendorServer) throws -> HTTPRequest {
        do throws(InspectError) { try Self.check(blob) } catch { throw Failure(error: error, outcome: "not_sent") }
        var headers = [
            HTTPRequest.Header(name: "Content-Type", value: "application/json"),
            HTTPRequest.Header(name: "Accept", value: "application/json"),
        ]
        if let key = server.deviceKey { headers.append(HTTPRequest.Header(name: "X-Device-Key", value: key)) }
        let body = try JSONEncoder().encode(
            Body(requestBlob: String(decoding: blob, as: UTF8.self), externalDatabaseRefID: reference))
        let path = "/process-request"
        let base = server.url.hasSuffix("/") ? String(server.url.dropLast()) : server.url
        var request = HTTPRequest(
            method: .post(body: [UInt8](body)), url: base.hasSuffix(path) ? base : base + path, headers: headers,
            limits: .init(
                totalMilliseconds: Int(self.configuration.timeout / .milliseconds(1)),
                bodyBytes: VendorSessionFacts.answerLimit))
        request.transport.pins = server.pins
        return request
    }

    private static func answer(
        of result: Result<HTTPResponse, HTTPError>, after former: VendorSessionAnswer?, _ scansDocument: Bool
    ) throws -> (answer: VendorSessionAnswer, status: Int) {
        let response: HTTPResponse
        switch result {
        case .success(let answer): response = answer
        case .failure(let error): throw self.failure(for: error)
        }
        func failure(_ code: ErrorCode, _ outcome: String, _ detail: String) -> Failure {
            Failure(error: InspectError(code, detail), outcome: outcome, status: response.status)
        }
        switch response.status {
        case 200..<300: break
        // The server refused the request before it read the session.
        case 429, 503: throw failure(.vendorUnreachable, "not_sent", "HTTP status \(response.status)")
        case 500...: throw failure(.vendorOutcomeUnknown, "lost", "HTTP status \(response.status)")
        default: throw failure(.vendorRefused, "refused", "HTTP status \(response.status)")
        }
        if let torn = response.bodyFailure {
            let isTooLarge = torn.code == .responseTooLarge
            throw failure(
                isTooLarge ? .vendorResponseInvalid : .vendorOutcomeUnknown, isTooLarge ? "invalid" : "lost",
                torn.description)
        }
        guard let members = try? JSONDecoder().decode([String: VendorValue].self, from: Data(response.body)) else {
            throw failure(.vendorResponseInvalid, "invalid", "the answer is not a JSON object")
        }
        do throws(InspectError) {
            let answer = try VendorSessionAnswer(members: members, after: former, scansDocument: scansDocument)
            return (answer, response.status)
        } catch {
            throw failure(error.code, error.code == .vendorRefused ? "refused" : "invalid", error.detail)
        }
    }

    /// Only a request that certainly never left this machine may be sent again.
    private static func failure(for error: HTTPError) -> any Error {
        switch error.code {
        case .cancelled: CancellationError()
        case .requestInvalid, .egressRefused:
            Failure(error: InspectError(.vendorNotConfigured, error.description), outcome: "not_sent")
        case .responseTooLarge:
            Failure(error: InspectError(.vendorResponseInvalid, error.description), outcome: "invalid")
        case .timedOut, .responseBroken:
            Failure(error: InspectError(.vendorOutcomeUnknown, error.description), outcome: "lost")
        // Nothing of the request is sent before name resolution, connection and TLS succeed.
        default: Failure(error: InspectError(.vendorUnreachable, error.description), outcome: "not_sent")
        }
    }
}

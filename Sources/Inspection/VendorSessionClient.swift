package import Foundation
internal import HTTPClient
package import InspectCore

/// A liveness vendor's server, and how to authenticate it.
package struct VendorServer: Sendable {
    /// `https://host[:port][/path]`; `/process-request` is added.
    package var url: String
    /// The operator's key towards the server, sent as `X-Device-Key`. Never logged.
    package var deviceKey: String?
    /// Public keys, one of which the server must have: `sha256//` and base64. Empty: any that a known authority vouches for.
    package var pins: [String]
    /// A PEM file in place of the system's certificate store.
    package var certificateAuthorities: String?
    /// Whether the server may be inside our own networks.
    package var allowsPrivate: Bool
    /// From the look-up of the name to the last byte.
    package var timeout: Duration

    package init(
        url: String, deviceKey: String? = nil, pins: [String] = [], certificateAuthorities: String? = nil,
        allowsPrivate: Bool = false, timeout: Duration = .seconds(30)
    ) {
        self.url = url
        self.deviceKey = deviceKey
        self.pins = pins
        self.certificateAuthorities = certificateAuthorities
        self.allowsPrivate = allowsPrivate
        self.timeout = timeout
    }
}

/// Asks a liveness vendor's server about a session (FaceTec 10.x, `/process-request`).
package final class VendorSessionClient: Sendable {
    /// A request without a usable answer.
    package struct Failure: Error {
        package var error: InspectError
        /// `not_sent`, `refused`, `invalid` or `lost`, as `insp.session_end` takes it.
        package var outcome: String
        /// The server's status, if it answered.
        package var status: Int?
    }

    private let server: VendorServer
    private let client: HTTPClient

    package init(server: VendorServer) {
        self.server = server
        self.client = HTTPClient(certificateAuthorities: server.certificateAuthorities)
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
    /// - Returns: The server's answer, and its HTTP status.
    /// - Throws: ``Failure``; `CancellationError`.
    package func process(_ blob: Data) async throws -> (facts: VendorSessionFacts, status: Int) {
        let request = try self.request(for: blob)
        return try Self.facts(of: await self.send(request))
    }

    // Swift 6.3's optimiser crashes on typed errors that are caught in an asynchronous function with more in it than this.
    private func send(_ request: HTTPRequest) async -> Result<HTTPResponse, HTTPError> {
        do throws(HTTPError) {
            return .success(
                try await self.client.send(
                    request, policy: self.server.allowsPrivate ? .privateAllowed : .publicOnly))
        } catch {
            return .failure(error)
        }
    }

    private func request(for blob: Data) throws -> HTTPRequest {
        do throws(InspectError) { try Self.check(blob) } catch { throw Failure(error: error, outcome: "not_sent") }
        var headers = [
            HTTPRequest.Header(name: "Content-Type", value: "application/json"),
            HTTPRequest.Header(name: "Accept", value: "application/json"),
        ]
        if let key = self.server.deviceKey { headers.append(HTTPRequest.Header(name: "X-Device-Key", value: key)) }
        let body = try JSONEncoder().encode(["sessionRequestBlob": String(decoding: blob, as: UTF8.self)])
        let path = "/process-request"
        let base = self.server.url.hasSuffix("/") ? String(self.server.url.dropLast()) : self.server.url
        var request = HTTPRequest(
            method: .post(body: [UInt8](body)), url: base.hasSuffix(path) ? base : base + path, headers: headers,
            limits: .init(
                totalMilliseconds: Int(self.server.timeout / .milliseconds(1)),
                bodyBytes: VendorSessionFacts.blobLimit + 65_536))
        request.transport.pins = self.server.pins
        return request
    }

    private static func facts(
        of result: Result<HTTPResponse, HTTPError>
    ) throws -> (facts: VendorSessionFacts, status: Int) {
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
        if let torn = response.bodyFailure { throw failure(.vendorOutcomeUnknown, "lost", torn.description) }
        guard let members = try? JSONDecoder().decode([String: VendorValue].self, from: Data(response.body)) else {
            throw failure(.vendorResponseInvalid, "invalid", "the answer is no JSON object")
        }
        do throws(InspectError) {
            return (try VendorSessionFacts(members: members), response.status)
        } catch {
            throw failure(error.code, "invalid", error.detail)
        }
    }

    /// Only a request that certainly never left this machine may be sent again.
    private static func failure(for error: HTTPError) -> any Error {
        switch error.code {
        case .cancelled: CancellationError()
        case .requestInvalid, .egressRefused:
            Failure(error: InspectError(.vendorNotConfigured, error.description), outcome: "not_sent")
        case .timedOut, .responseTooLarge, .responseBroken:
            Failure(error: InspectError(.vendorOutcomeUnknown, error.description), outcome: "lost")
        // Nothing of the request is sent before name resolution, connection and TLS succeed.
        default: Failure(error: InspectError(.vendorUnreachable, error.description), outcome: "not_sent")
        }
    }
}

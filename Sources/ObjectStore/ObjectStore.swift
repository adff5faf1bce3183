internal import Custody
package import Foundation
internal import HTTPClient
package import InspectCore

/// An S3-compatible object store. What it holds is sealed, so the store and whoever reads along learn sizes and times.
package final class ObjectStore: Sendable {
    package let address: ObjectStoreAddress
    private let credentials: ObjectStoreCredentials
    private let client: HTTPClient
    private let timeout: Duration

    /// Bytes of a page of a listing: a thousand keys.
    private static let pageLimit = 4 << 20

    /// - Parameters:
    ///   - certificateAuthorities: A PEM file in place of the system's certificates.
    ///   - timeout: For one request.
    package init(
        _ address: ObjectStoreAddress, credentials: ObjectStoreCredentials, certificateAuthorities: String? = nil,
        timeout: Duration = .seconds(30)
    ) {
        self.address = address
        self.credentials = credentials
        self.client = HTTPClient(certificateAuthorities: certificateAuthorities)
        self.timeout = timeout
    }

    /// Stores bytes.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/objectStoreUnavailable``, like every call here.
    package func put(_ bytes: Data, at location: String) async throws(InspectError) {
        let response = try await self.send(
            .put(body: [UInt8](bytes)), self.address.url(of: location), limit: 65_536, SHA256.digest([UInt8](bytes)))
        guard (200..<300).contains(response.status) else { throw Self.failure(response) }
    }

    /// Fetches a whole object, or a range of it.
    ///
    /// - Parameters:
    ///   - size: The bytes that it must have.
    ///   - admits: Called on any thread before bytes are kept; returning `false` ends the fetch.
    /// - Throws: ``InspectError`` with ``ErrorCode/objectMissing``, or ``ErrorCode/objectStoreUnavailable``, also for another number
    ///   of bytes.
    package func get(
        _ location: String, size: Int, range: Range<Int>? = nil, admits: (@Sendable (Int) -> Bool)? = nil
    ) async throws(InspectError) -> Data {
        let response = try await self.send(
            .get, self.address.url(of: location), limit: size, range: range, admits: admits)
        guard response.status == (range == nil ? 200 : 206) else { throw Self.failure(response) }
        guard response.bodyFailure == nil, response.body.count == size else {
            throw InspectError(.objectStoreUnavailable, "it returned another number of bytes")
        }
        return Data(response.body)
    }

    /// The bytes of an object.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/objectMissing``.
    package func size(of location: String) async throws(InspectError) -> Int {
        let response = try await self.send(.head, self.address.url(of: location), limit: .max)
        guard response.status == 200, let size = response.header("content-length").flatMap({ Int($0) }) else {
            throw Self.failure(response)
        }
        return size
    }

    /// Removes an object. One that does not exist is no error.
    package func delete(_ location: String) async throws(InspectError) {
        let response = try await self.send(.delete, self.address.url(of: location), limit: 65_536)
        guard (200..<300).contains(response.status) || response.status == 404 else { throw Self.failure(response) }
    }

    /// Up to a thousand locations, in order.
    package func list(after location: String? = nil) async throws(InspectError) -> [String] {
        let root = "s3:\(self.address.bucket)/"
        let url = self.address.listing(after: location.map { String($0.dropFirst(root.count)) })
        let response = try await self.send(.get, url, limit: Self.pageLimit)
        guard response.status == 200, response.bodyFailure == nil else { throw Self.failure(response) }
        // Keys of ours need no escape in XML; others are no concern of ours.
        return String(decoding: response.body, as: UTF8.self).components(separatedBy: "<Key>").dropFirst().compactMap {
            text in
            guard let end = text.range(of: "</Key>") else { return nil }
            let location = root + text[..<end.lowerBound]
            return (try? self.address.url(of: location)) == nil ? nil : location
        }
    }

    private static func failure(_ response: HTTPResponse) -> InspectError {
        response.status == 404
            ? InspectError(.objectMissing) : InspectError(.objectStoreUnavailable, "HTTP status \(response.status)")
    }

    private func send(
        _ method: HTTPRequest.Method, _ url: String, limit: Int, _ digest: [UInt8] = SHA256.digest([]),
        range: Range<Int>? = nil, admits: (@Sendable (Int) -> Bool)? = nil
    ) async throws(InspectError) -> HTTPResponse {
        let keys = try self.credentials.read()
        var headers: [HTTPRequest.Header] = [
            .init(name: "Content-Type", value: "application/octet-stream"),
            .init(name: "X-Amz-Content-Sha256", value: digest.hexadecimal),
        ]
        if let token = keys.token { headers.append(.init(name: "X-Amz-Security-Token", value: token)) }
        if let range {
            headers.append(.init(name: "Range", value: "bytes=\(range.lowerBound)-\(range.upperBound - 1)"))
        }
        var transport = HTTPRequest.Transport()
        transport.signing = .init(
            accessKey: keys.access, secretKey: keys.secret, region: self.address.region, service: "s3")
        let request = HTTPRequest(
            method: method, url: url, headers: headers,
            limits: .init(
                totalMilliseconds: Int(self.timeout / .milliseconds(1)), bodyBytes: limit, lowSpeedBytes: 1_024,
                lowSpeedSeconds: 10),
            allowsHTTP: url.hasPrefix("http:"), transport: transport, admits: admits)
        do throws(HTTPError) {
            // The operator named the server, so it may be in a private network.
            return try await self.client.send(request, policy: .privateAllowed)
        } catch {
            throw InspectError(.objectStoreUnavailable, error.code.errorCode.rawValue)
        }
    }
}

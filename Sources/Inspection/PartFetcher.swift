internal import Custody
package import Foundation
internal import HTTPClient
internal import InspectCore
internal import Synchronization

/// Fetches a part that a job specifies as a URL, such as a signed URL of an object store.
package final class PartFetcher: Sendable {
    private let client: HTTPClient

    /// - Parameter certificateAuthorities: A PEM file used instead of the system's certificate store.
    package init(certificateAuthorities: String? = nil) {
        self.client = HTTPClient(certificateAuthorities: certificateAuthorities)
    }

    /// A part's URL, and the egress rules of its job's endpoint.
    package struct Source: Sendable {
        /// The part's name in errors and logs.
        package var name: String
        /// An HTTPS URL without login and fragment. Redirects are not followed.
        package var url: String
        /// 64 hexadecimal digits in either case, or `nil` if the job gives none.
        var expectedSHA256: String?
        /// Whether `http:` is also accepted.
        package var allowHTTP: Bool
        /// Whether addresses inside our own networks may be connected to: all, or those of ``networks``.
        package var allowPrivate: Bool
        /// In CIDR notation.
        package var networks: [String]?

        package init(
            name: String = "part", url: String, expectedSHA256: String?, allowHTTP: Bool = false,
            allowPrivate: Bool = false, networks: [String]? = nil
        ) {
            self.name = name
            self.url = url
            self.expectedSHA256 = expectedSHA256
            self.allowHTTP = allowHTTP
            self.allowPrivate = allowPrivate
            self.networks = networks
        }
    }

    /// The limits of a fetch.
    package struct Bounds: Sendable {
        /// Bytes accepted of one part. A larger `Content-Length` is refused before any byte of the body is read.
        package var limit: Int
        /// For the whole fetch, redirects and retries included.
        package var deadline: ContinuousClock.Instant
        /// Called on any thread before bytes are kept; returning `false` ends the fetch with ``NotAdmitted``.
        package var admits: (@Sendable (Int) -> Bool)?

        package init(limit: Int, within duration: Duration = .seconds(60), admits: (@Sendable (Int) -> Bool)? = nil) {
            self.limit = limit
            self.deadline = .now + duration
            self.admits = admits
        }
    }

    /// ``Bounds/admits`` refused bytes.
    struct NotAdmitted: Error, Sendable {
        package init() {}
    }

    /// Fetches one complete part and checks its digest.
    ///
    /// An error tells the job's owner, who chose the URL, only that the host returned nothing. It must not reveal whether a
    /// name exists in our networks, a port is open or a server speaks TLS.
    ///
    /// - Parameter report: Called with the fault, for the log; without the URL.
    /// - Throws: ``InspectError`` with
    ///   - `PART_URL_INVALID`: not a URL of the demanded kind, or an address that is refused by the egress policy;
    ///   - `DIGEST_INVALID`: `expectedSHA256` is not a digest;
    ///   - `PART_NOT_FOUND` (permanent): the server answers anything but 2xx, 408, 425, 429 or 5xx. Among these are 401 and
    ///     403, with which object stores answer when a signed URL has expired, and redirects;
    ///   - `PART_UNREACHABLE` (to be retried): no such name, an address behind a name that is refused by the egress policy,
    ///     no connection, TLS refused, time-out, torn answer, 408, 425, 429, 5xx, and faults on our side;
    ///   - `PART_TOO_LARGE`, `PART_EMPTY`, `DIGEST_MISMATCH`;
    ///   - ``NotAdmitted``; `CancellationError` if the task was cancelled.
    package func fetch(
        _ source: Source, _ bounds: Bounds, report: @Sendable (String) -> Void = { _ in }
    ) async throws -> Data {
        let digest = try source.expectedSHA256.map { text in
            guard let digest = [UInt8](hexadecimal: text.lowercased()), digest.count == 32 else {
                throw InspectError(.digestInvalid)
            }
            return digest
        }
        let milliseconds = Int((bounds.deadline - .now) / .milliseconds(1))
        guard milliseconds > 0 else {
            report("no time is left")
            throw InspectError(.partUnreachable)
        }
        var request = HTTPRequest(
            method: .get, url: source.url,
            // Less than 1 KiB/s for ten seconds ends the fetch long before the total.
            limits: .init(
                totalMilliseconds: milliseconds, bodyBytes: bounds.limit, lowSpeedBytes: 1024, lowSpeedSeconds: 10),
            allowsHTTP: source.allowHTTP)
        let refusal = Refusal()
        if let admits = bounds.admits { request.admits = { admits($0) || refusal.note() } }
        let policy = EgressPolicy(allowsPrivate: source.allowPrivate, networks: source.networks)
        let response: HTTPResponse
        do {
            response = try await self.client.send(request, policy: policy)
        } catch {
            if error.code != .cancelled { report(error.description) }
            throw Self.failure(for: error, of: source)
        }
        func failure(_ code: ErrorCode) -> InspectError {
            report("HTTP status \(response.status)")
            // The partner may learn a public host's status, but not that of an internal host.
            return InspectError(code, policy == .publicOnly ? "HTTP status \(response.status)" : "")
        }
        switch response.status {
        case 200..<300: break
        case 408, 425, 429, 500...: throw failure(.partUnreachable)
        default: throw failure(.partNotFound)
        }
        if refusal.isNoted { throw NotAdmitted() }
        if let error = response.bodyFailure {
            report(error.description)
            throw Self.failure(for: error, of: source)
        }
        // 206 would be an answer to a Range that was not asked for; 204 and an empty 200 hold no image.
        guard response.status == 200 else { throw failure(.partNotFound) }
        guard !response.body.isEmpty else { throw InspectError(.partEmpty) }
        if let digest, SHA256.digest(response.body) != digest { throw InspectError(.digestMismatch) }
        return Data(response.body)
    }

    private static func failure(for error: HTTPError, of source: Source) -> any Error {
        switch error.code {
        case .requestInvalid: InspectError(.partURLInvalid, error.description)
        // The caller knows an address in the URL. For a name, the error would reveal that we can resolve it.
        case .egressRefused where Self.isLiteral(source.url): InspectError(.partURLInvalid, error.description)
        case .responseTooLarge: InspectError(.partTooLarge, error.detail)
        case .cancelled: CancellationError()
        case .egressRefused, .nameNotResolved, .resolverSilent, .connectionFailed, .tlsFailed, .certificateInvalid,
            .pinMismatch, .timedOut, .responseBroken, .localFault, .authorizationFailed, .clientInvalid:
            InspectError(.partUnreachable)
        }
    }

    private static func isLiteral(_ url: String) -> Bool {
        guard let host = HTTPRequest.authority(of: url)?.host else { return false }
        return IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host) != nil
    }

    /// Whether bytes were refused, noted on the thread of ``CurlMulti``.
    private final class Refusal: Sendable {
        private let flag = Atomic<Bool>(false)
        var isNoted: Bool { self.flag.load(ordering: .acquiring) }
        func note() -> Bool {
            self.flag.store(true, ordering: .releasing)
            return false
        }
    }
}

extension PartFetcher {
    /// Checks bytes against their digest, whatever their source.
    package static func matches(_ bytes: Data, sha256 digest: Data) -> Bool {
        Data(SHA256.digest([UInt8](bytes))) == digest
    }
}

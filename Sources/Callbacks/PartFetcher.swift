public import Foundation
internal import InspectCore

/// Fetches a part that a job carries as a URL: an image in an object store, behind a signed URL.
public final class PartFetcher: Sendable {
    private let client: HTTPClient

    /// - Parameter certificateAuthorities: A PEM file used instead of the system's certificate store.
    public init(certificateAuthorities: String? = nil) {
        self.client = HTTPClient(certificateAuthorities: certificateAuthorities)
    }

    /// Fetches one part, whole, and checks it against its digest.
    ///
    /// - Parameters:
    ///   - url: An HTTPS URL without login and fragment. Redirects are not followed.
    ///   - expectedSHA256: 64 hexadecimal digits in either case, or `nil` where the job gives none.
    ///   - limit: Bytes accepted. A larger `Content-Length` is refused before any byte of the body is read.
    ///   - allowHTTP: Whether `http:` is accepted too.
    ///   - allowPrivate: Whether addresses inside our own networks may be connected to.
    /// - Throws: ``InspectError`` with
    ///   - `PART_URL_INVALID`: not a URL of the demanded kind, or its address is refused by the egress policy;
    ///   - `DIGEST_INVALID`: `expectedSHA256` is not a digest;
    ///   - `PART_NOT_FOUND` (permanent): the server answers anything but 2xx, 408, 425, 429 or 5xx. Among these are 401 and
    ///     403, with which object stores answer when a signed URL has expired, and redirects;
    ///   - `PART_UNREACHABLE` (to be retried): no connection, TLS refused, time-out, torn answer, 408, 425, 429, 5xx, and
    ///     faults on our side;
    ///   - `PART_TOO_LARGE`, `PART_EMPTY`, `DIGEST_MISMATCH`;
    ///   - `CancellationError` if the task was cancelled.
    public func fetch(
        url: String, expectedSHA256: String?, limit: Int, allowHTTP: Bool = false, allowPrivate: Bool = false
    ) async throws -> Data {
        let digest = try expectedSHA256.map { text in
            guard let digest = Self.digest(hexadecimal: text) else { throw InspectError(.digestInvalid) }
            return digest
        }
        let request = HTTPRequest(
            method: .get, url: url,
            // 1 KiB/s for ten seconds: a drip is given up long before the total.
            limits: .init(totalMilliseconds: 60_000, bodyBytes: limit, lowSpeedBytes: 1024, lowSpeedSeconds: 10),
            allowsHTTP: allowHTTP)
        let response: HTTPResponse
        do {
            response = try await self.client.send(
                request, policy: allowPrivate ? .privateAllowed : .publicOnly)
        } catch {
            throw Self.failure(for: error)
        }
        switch response.status {
        case 200..<300: break
        case 408, 425, 429, 500...: throw InspectError(.partUnreachable, "HTTP status \(response.status)")
        default: throw InspectError(.partNotFound, "HTTP status \(response.status)")
        }
        if let failure = response.bodyFailure { throw Self.failure(for: failure) }
        // 206 would be an answer to a Range that was not asked for; 204 and an empty 200 hold no image.
        guard response.status == 200 else { throw InspectError(.partNotFound, "HTTP status \(response.status)") }
        guard !response.body.isEmpty else { throw InspectError(.partEmpty) }
        if let digest, sha256(response.body) != digest { throw InspectError(.digestMismatch) }
        return Data(response.body)
    }

    private static func failure(for error: HTTPError) -> any Error {
        switch error.code {
        case .requestInvalid, .egressRefused: InspectError(.partURLInvalid, error.description)
        case .responseTooLarge: InspectError(.partTooLarge, error.detail)
        case .cancelled: CancellationError()
        case .nameNotResolved, .resolverSilent, .connectionFailed, .tlsFailed, .certificateInvalid, .pinMismatch,
            .timedOut, .responseBroken, .localFault, .authorizationFailed, .clientInvalid:
            InspectError(.partUnreachable, error.description)
        }
    }

    private static func digest(hexadecimal text: String) -> [UInt8]? {
        guard text.utf8.count == 64 else { return nil }
        var digest: [UInt8] = []
        var high: UInt8?
        for character in text {
            guard character.isASCII, let value = character.hexDigitValue.map(UInt8.init) else { return nil }
            if let upper = high {
                digest.append(upper << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return digest
    }
}

extension PartFetcher {
    /// Whether bytes are what their digest says, wherever they came from.
    public static func matches(_ bytes: Data, sha256 digest: Data) -> Bool {
        Data(sha256([UInt8](bytes))) == digest
    }
}

internal import Synchronization

/// Sends requests, each under its egress policy, over one ``CurlMulti`` for each policy in use.
final class HTTPClient: Sendable {
    private let certificateAuthorities: String?
    private let multis = Mutex<[EgressPolicy: CurlMulti]>([:])

    /// - Parameter certificateAuthorities: A PEM file used instead of the system's certificate store, for partners with
    ///   certificates of a private authority.
    init(certificateAuthorities: String? = nil) {
        self.certificateAuthorities = certificateAuthorities
    }

    /// - Throws: ``HTTPError`` if no complete response header arrived.
    func send(_ request: HTTPRequest, policy: EgressPolicy) async throws(HTTPError) -> HTTPResponse {
        try await self.multi(for: policy).send(request)
    }

    private func multi(for policy: EgressPolicy) throws(HTTPError) -> CurlMulti {
        // The lock's closure cannot carry a typed error.
        let result: Result<CurlMulti, HTTPError> = self.multis.withLock { multis in
            if let multi = multis[policy] { return .success(multi) }
            return Result { () throws(HTTPError) in
                try CurlMulti(policy: policy, certificateAuthorities: self.certificateAuthorities)
            }.map { multi in
                multis[policy] = multi
                return multi
            }
        }
        return try result.get()
    }
}

/// Where requests of one kind go, and what an easy handle must have been set up for to serve them without being set up again.
///
/// Compared by identity: ``HTTPClient/route(for:policy:)`` gives requests of the same kind the same one.
package final class CurlRoute: Sendable {
    let profile: Profile
    /// The URL's host and port, as libcurl's parser tells them.
    let authority: (host: String, port: String)
    /// The host, if it is an address.
    let literal: IPAddress?

    /// - Throws: ``HTTPError/Code/requestInvalid`` for a URL, a header or a pin that must not reach libcurl.
    init(for request: HTTPRequest, policy: EgressPolicy) throws(HTTPError) {
        try request.validate()
        guard let authority = HTTPRequest.authority(of: request.url) else {
            throw HTTPError(.requestInvalid, "the URL cannot be parsed")
        }
        self.profile = Profile(for: request, policy: policy)
        self.authority = authority
        let host = authority.host
        self.literal = IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
    }

    /// Whether a request of the same kind as those that this route was made for may go by it.
    package func serves(_ request: HTTPRequest, policy: EgressPolicy) -> Bool {
        self.profile.url == request.url && self.profile.policy == policy && self.profile.transport == request.transport
    }

    /// All of a request but its headers, its body, and the limits that are no matter of libcurl's set-up.
    struct Profile: Hashable {
        let url: String
        let policy: EgressPolicy
        let transport: HTTPRequest.Transport
        let allowsHTTP: Bool
        let isPost: Bool
        let connectMilliseconds: Int
        let lowSpeedBytes: Int
        let lowSpeedSeconds: Int

        init(for request: HTTPRequest, policy: EgressPolicy) {
            self.url = request.url
            self.policy = policy
            self.transport = request.transport
            self.allowsHTTP = request.allowsHTTP
            self.isPost = request.body != nil
            self.connectMilliseconds = request.limits.connectMilliseconds
            self.lowSpeedBytes = request.limits.lowSpeedBytes
            self.lowSpeedSeconds = request.limits.lowSpeedSeconds
        }
    }
}

/// The target and options that requests of one kind share. An easy handle configured for a route serves them without
/// further configuration.
///
/// Compared by identity: ``HTTPClient/route(for:policy:)`` gives requests of the same kind the same one.
package final class CurlRoute: Sendable {
    let profile: Profile
    /// The URL's host and port by libcurl's parser.
    let authority: (host: String, port: String)
    /// The host, if it is an address.
    let literal: IPAddress?
    /// How requests leave; the same for all requests of a client.
    let exit: EgressExit

    /// - Throws: ``HTTPError/Code/requestInvalid`` for a URL, a header or a pin that must not reach libcurl.
    init(for request: HTTPRequest, policy: EgressPolicy, exit: EgressExit = .direct) throws(HTTPError) {
        try request.validate()
        guard let authority = HTTPRequest.authority(of: request.url) else {
            throw HTTPError(.requestInvalid, "the URL cannot be parsed")
        }
        self.profile = Profile(for: request, policy: policy)
        self.authority = authority
        self.exit = exit
        let host = authority.host
        self.literal = IPAddress(host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
    }

    /// Whether a request may use this route.
    package func serves(_ request: HTTPRequest, policy: EgressPolicy) -> Bool {
        self.profile.url == request.url && self.profile.policy == policy && self.profile.transport == request.transport
            && self.profile.verb == request.verb
    }

    /// A request without its headers, its body and the limits that libcurl does not enforce.
    struct Profile: Hashable {
        let url: String
        let policy: EgressPolicy
        let transport: HTTPRequest.Transport
        let allowsHTTP: Bool
        let verb: String
        let connectMilliseconds: Int
        let lowSpeedBytes: Int
        let lowSpeedSeconds: Int

        init(for request: HTTPRequest, policy: EgressPolicy) {
            self.url = request.url
            self.policy = policy
            self.transport = request.transport
            self.allowsHTTP = request.allowsHTTP
            self.verb = request.verb
            self.connectMilliseconds = request.limits.connectMilliseconds
            self.lowSpeedBytes = request.limits.lowSpeedBytes
            self.lowSpeedSeconds = request.limits.lowSpeedSeconds
        }
    }
}

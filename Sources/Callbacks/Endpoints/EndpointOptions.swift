internal import Custody
internal import HTTPClient
internal import InspectCore

/// An endpoint's settings other than its URL and keys, as `insp.endpoint_options` returns them.
struct EndpointOptions: Decodable, Sendable, Hashable {
    var http2: Bool?
    var pins: [String]?
    var networks: [String]?
    var certificate: String?
    var key: String?
    var apiKeyHeader: String?
    var apiKey: String?
    var authorization: Authorization?
    /// The endpoint's own origins, if it has pins.
    var origins: [String]?
    /// Whether its jobs are tests.
    var test: Bool?
    /// The partner's public key, for which bodies are encrypted: a JWK.
    var encryption: String?

    /// The source of the endpoint's access tokens.
    struct Authorization: Decodable, Sendable, Hashable {
        /// Name of an authorization that several of the partner's endpoints may use; `nil`: it is the endpoint's own.
        var name: String?
        var provider: String
        var tokenURL: String?
        var revocationURL: String?
        var grantType: String?
        var clientID: String?
        var clientSecret: String?
        var assertion: String?
        var scope: String?
        var method: String
        var parameters: [String: String]?
    }

    /// The secrets among them, plain or sealed.
    var secrets: [String] {
        [self.key, self.apiKey, self.authorization?.clientSecret, self.authorization?.assertion].compactMap { $0 }
    }

    /// With plain secrets.
    func opened(by opener: EndpointOpener) throws(InspectError) -> EndpointOptions {
        var options = self
        options.key = try opener.open(self.key, for: .clientKey)
        options.apiKey = try opener.open(self.apiKey, for: .apiKey)
        let owner = self.authorization?.name.map { SecretSeal.Owner.authorization($0) }
        options.authorization?.clientSecret = try opener.open(
            self.authorization?.clientSecret, for: .clientSecret, of: owner)
        options.authorization?.assertion = try opener.open(self.authorization?.assertion, for: .assertion, of: owner)
        return options
    }

    var transport: HTTPRequest.Transport {
        HTTPRequest.Transport(
            pins: self.pins ?? [], clientCertificate: self.certificate, clientKey: self.key,
            offersHTTP2: self.http2 ?? false)
    }

    /// - Parameters:
    ///   - allowsPrivate: The endpoint's switch, which the list narrows.
    ///   - isElsewhere: Whether a job specified the URL: then only the list counts.
    func policy(allowsPrivate: Bool, isElsewhere: Bool = false) -> EgressPolicy {
        EgressPolicy(allowsPrivate: allowsPrivate && !isElsewhere, networks: self.networks)
    }

    /// Whether the endpoint's pins apply to a URL's server.
    func arePins(of url: String) -> Bool {
        guard let host = HTTPRequest.authority(of: url)?.host else { return true }
        return self.origins?.contains { HTTPRequest.authority(of: $0)?.host == host } ?? false
    }

    /// The headers of an API key. Reserved names are refused by the column's check, and again here.
    func apiKeyHeaders() throws(HTTPError) -> [HTTPRequest.Header] {
        guard let apiKeyHeader, let apiKey else { return [] }
        let name = apiKeyHeader.lowercased()
        guard !Self.reserved.contains(name), !name.hasPrefix("webhook-"), !name.hasPrefix("proxy-"),
            !name.hasPrefix("content-")
        else { throw HTTPError(.requestInvalid, "the API key's header is reserved") }
        return [HTTPRequest.Header(name: apiKeyHeader, value: apiKey)]
    }

    private static let reserved: Set<String> = [
        "host", "connection", "transfer-encoding", "te", "upgrade", "expect", "traceparent", "keep-alive", "trailer",
        "authorization", "user-agent", "cookie",
    ]
}

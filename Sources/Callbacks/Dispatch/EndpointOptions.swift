/// What an endpoint asks for beside its URL and keys, as `insp.endpoint_options` writes it.
struct EndpointOptions: Decodable, Sendable, Hashable {
    var http2: Bool?
    var pins: [String]?
    var networks: [String]?
    var certificate: String?
    var key: String?
    var apiKeyHeader: String?
    var apiKey: String?
    var authorization: Authorization?

    /// Where the endpoint's access tokens come from.
    struct Authorization: Decodable, Sendable, Hashable {
        var provider: String
        var tokenURL: String?
        var clientID: String?
        var clientSecret: String?
        var scope: String?
        var method: String
    }

    var transport: HTTPRequest.Transport {
        HTTPRequest.Transport(
            pins: self.pins ?? [], clientCertificate: self.certificate, clientKey: self.key,
            offersHTTP2: self.http2 ?? false)
    }

    /// - Parameter allowsPrivate: The endpoint's switch, which the list narrows.
    func policy(allowsPrivate: Bool) -> EgressPolicy {
        guard let networks else { return EgressPolicy(allowsPrivate: allowsPrivate) }
        // What cannot be read allows nothing.
        return EgressPolicy(.networks(networks.compactMap { IPPrefix($0) }))
    }

    /// The headers of an API key. Reserved names are refused by the column's check, and here again.
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

internal import Foundation
internal import HTTPClient
internal import Synchronization

/// What the callbacks of one endpoint have in common, as their claim found it, made ready for use.
final class CallbackEndpoint: Sendable {
    let id: Int64
    /// What signs, the newest first: `whsec_` as `v1`, `whsk_` as `v1a`; more than one while a rotation is under way. `nil`:
    /// there is none, or one of them is not a key of Standard Webhooks.
    let keys: (secrets: [WebhookSecret], signingKeys: [WebhookSigningKey])?
    let allowsHTTP: Bool
    let allowsPrivate: Bool
    /// What it asks for beside; `nil` if that cannot be read.
    let options: EndpointOptions?
    private let given: Given
    /// The way that the last callback took: mostly all have the same URL.
    private let route = Mutex<CurlRoute?>(nil)

    fileprivate struct Given: Equatable {
        var keys: [String]
        var allowsHTTP: Bool
        var allowsPrivate: Bool
        /// ``EndpointOptions`` as JSON; `nil` for a plain endpoint.
        var options: String?
    }

    fileprivate init(_ id: Int64, _ given: Given) {
        self.id = id
        let signing = given.keys.filter { $0.hasPrefix(WebhookSigningKey.prefix) }
        let secrets = given.keys.filter { !$0.hasPrefix(WebhookSigningKey.prefix) }.compactMap { WebhookSecret($0) }
        let signingKeys = signing.compactMap { WebhookSigningKey($0) }
        let areKeys = secrets.count + signingKeys.count == given.keys.count && !given.keys.isEmpty
        self.keys = areKeys ? (secrets, signingKeys) : nil
        self.allowsHTTP = given.allowsHTTP
        self.allowsPrivate = given.allowsPrivate
        self.options =
            if let text = given.options {
                try? JSONDecoder().decode(EndpointOptions.self, from: Data(text.utf8))
            } else {
                EndpointOptions()
            }
        self.given = given
    }

    fileprivate func isMade(of given: Given) -> Bool { self.given == given }

    /// The route of a request of this endpoint. Whether a URL is at one of its origins can change while all else stays.
    func route(of request: HTTPRequest, by client: HTTPClient, _ policy: EgressPolicy) throws(HTTPError) -> CurlRoute {
        if let known = self.route.withLock({ $0 }), known.serves(request, policy: policy) { return known }
        let route = try client.route(for: request, policy: policy)
        self.route.withLock { $0 = route }
        return route
    }
}

/// Endpoints of earlier claims: they change rarely, and making one ready costs more than a claim.
final class CallbackEndpoints: Sendable {
    private let known = Mutex<[Int64: CallbackEndpoint]>([:])

    /// The endpoint as a claim found it.
    func endpoint(
        _ id: Int64, keys: [String], allowsHTTP: Bool, allowsPrivate: Bool, options: String?
    ) -> CallbackEndpoint {
        let given = CallbackEndpoint.Given(
            keys: keys, allowsHTTP: allowsHTTP, allowsPrivate: allowsPrivate, options: options)
        return self.known.withLock { known in
            if let endpoint = known[id], endpoint.isMade(of: given) { return endpoint }
            if known.count >= 4_096 { known.removeAll() }
            let endpoint = CallbackEndpoint(id, given)
            // Keys that libcrypto refused may be read by the next claim.
            if endpoint.keys != nil { known[id] = endpoint }
            return endpoint
        }
    }
}

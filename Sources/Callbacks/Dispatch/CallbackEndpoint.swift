internal import Foundation
internal import HTTPClient
internal import Synchronization

/// What all callbacks of one endpoint share, as of their claim, prepared for use.
final class CallbackEndpoint: Sendable {
    let id: Int64
    /// The signing keys, the newest first: `whsec_` for `v1`, `whsk_` for `v1a`; more than one during a rotation. `nil`: there is
    /// none, or one is not in the format of Standard Webhooks.
    let keys: (secrets: [WebhookSecret], signingKeys: [WebhookSigningKey])?
    let allowsHTTP: Bool
    let allowsPrivate: Bool
    /// The endpoint's other options; `nil` if they cannot be read.
    let options: EndpointOptions?
    private let given: Given
    /// The last callback's route: usually all have the same URL.
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

    /// The route of a request of this endpoint. Whether a URL is at one of its origins can change independently.
    func route(of request: HTTPRequest, by client: HTTPClient, _ policy: EgressPolicy) throws(HTTPError) -> CurlRoute {
        if let known = self.route.withLock({ $0 }), known.serves(request, policy: policy) { return known }
        let route = try client.route(for: request, policy: policy)
        self.route.withLock { $0 = route }
        return route
    }
}

/// Endpoints of earlier claims: they change rarely, and preparing one costs more than a claim.
final class CallbackEndpoints: Sendable {
    private let known = Mutex<[Int64: CallbackEndpoint]>([:])

    /// The endpoint as of a claim.
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

internal import Custody
internal import Foundation
internal import HTTPClient
internal import InspectCore
internal import Synchronization

/// An endpoint as a claim returns it: secrets may be sealed.
struct GivenEndpoint: Equatable {
    var id: Int64
    var keys: [String]
    var allowsHTTP: Bool
    var allowsPrivate: Bool
    /// ``EndpointOptions`` as JSON; `nil` for a plain endpoint.
    var options: String?

    var decodedOptions: EndpointOptions? {
        guard let options else { return EndpointOptions() }
        return try? JSONDecoder().decode(EndpointOptions.self, from: Data(options.utf8))
    }

    /// The keys that sealed its secrets.
    var sealingKeys: Set<KeyID> {
        let texts = self.keys + (self.decodedOptions?.secrets ?? [])
        return Set(texts.filter { SecretSeal.isSealed($0) }.compactMap { try? SecretSeal.keyID(of: $0) })
    }
}

/// The settings that all callbacks of one endpoint share, as of their claim, prepared for use.
final class CallbackEndpoint: Sendable {
    let id: Int64
    /// The signing keys, the newest first: `whsec_` for `v1`, `whsk_` for `v1a`; more than one during a rotation. `nil`: there is
    /// none, or one is not in the format of Standard Webhooks, or there is a ``fault``.
    let keys: (secrets: [WebhookSecret], signingKeys: [WebhookSigningKey])?
    let allowsHTTP: Bool
    let allowsPrivate: Bool
    /// The endpoint's other options; `nil` if they cannot be read.
    let options: EndpointOptions?
    /// Why a sealed secret does not open.
    let fault: InspectError?
    /// Whether its jobs are tests.
    let isTest: Bool
    private let given: GivenEndpoint
    /// The last callback's route: usually all have the same URL.
    private let route = Mutex<CurlRoute?>(nil)

    fileprivate init(_ given: GivenEndpoint, _ opened: OpenedKeys) {
        self.id = given.id
        self.allowsHTTP = given.allowsHTTP
        self.allowsPrivate = given.allowsPrivate
        self.given = given
        self.isTest = given.decodedOptions?.test == true
        let opener = EndpointOpener(endpoint: given.id, keys: opened)
        let plain = Result { () throws(InspectError) -> ([String], EndpointOptions?) in
            var texts: [String] = []
            for (place, key) in given.keys.enumerated() {
                do throws(InspectError) {
                    texts.append(try opener.open(key, for: [.signingSecret, .signingKey]))
                } catch {
                    // The first one is current. The others may be former ones whose key was lost: they must not delay callbacks until
                    // the end of their overlap.
                    guard place > 0, error.code == .keyUnknown else { throw error }
                }
            }
            return (texts, try given.decodedOptions?.opened(by: opener))
        }
        switch plain {
        case .success((let texts, let options)):
            self.keys = Self.keys(texts)
            self.options = options
            self.fault = nil
        case .failure(let error):
            self.keys = nil
            self.options = nil
            self.fault = error
        }
    }

    private static func keys(_ texts: [String]) -> (secrets: [WebhookSecret], signingKeys: [WebhookSigningKey])? {
        let signing = texts.filter { $0.hasPrefix(WebhookSigningKey.prefix) }
        let secrets = texts.filter { !$0.hasPrefix(WebhookSigningKey.prefix) }.compactMap { WebhookSecret($0) }
        let signingKeys = signing.compactMap { WebhookSigningKey($0) }
        return secrets.count + signingKeys.count == texts.count && !texts.isEmpty ? (secrets, signingKeys) : nil
    }

    fileprivate func isMade(of given: GivenEndpoint) -> Bool { self.given == given }

    /// The route of a request of this endpoint. Whether a URL is at one of its origins can change independently.
    func route(of request: HTTPRequest, by client: HTTPClient, _ policy: EgressPolicy) throws(HTTPError) -> CurlRoute {
        if let known = self.route.withLock({ $0 }), known.serves(request, policy: policy) { return known }
        let route = try client.route(for: request, policy: policy)
        self.route.withLock { $0 = route }
        return route
    }
}

/// Opens the secrets of one endpoint.
struct EndpointOpener {
    let endpoint: Int64
    let keys: OpenedKeys

    /// A plain text is returned as it is.
    ///
    /// - Parameters:
    ///   - purposes: What the secret may be for.
    ///   - owner: Whose it is; `nil`: the endpoint's.
    func open(
        _ text: String, for purposes: [SecretSeal.Purpose], of owner: SecretSeal.Owner? = nil
    ) throws(InspectError) -> String {
        guard SecretSeal.isSealed(text) else { return text }
        guard let key = self.keys[try SecretSeal.keyID(of: text)] else { throw InspectError(.keyUnknown) }
        let seal = SecretSeal(try key.get(), of: owner ?? .endpoint(self.endpoint))
        for purpose in purposes.dropLast() {
            if let secret = try? seal.open(text, for: purpose) { return secret }
        }
        guard let last = purposes.last else { throw InspectError(.sealBroken) }
        return try seal.open(text, for: last)
    }

    func open(
        _ text: String?, for purpose: SecretSeal.Purpose, of owner: SecretSeal.Owner? = nil
    ) throws(InspectError) -> String? {
        guard let text else { return nil }
        return try self.open(text, for: [purpose], of: owner)
    }
}

/// Endpoints of earlier claims: they change rarely, and preparing one costs more than a claim.
final class CallbackEndpoints: Sendable {
    private let known = Mutex<[Int64: CallbackEndpoint]>([:])

    /// Those of a claim's endpoints that an earlier claim had, unchanged.
    func known(of endpoints: [GivenEndpoint]) -> [Int64: CallbackEndpoint] {
        self.known.withLock { known in
            endpoints.reduce(into: [:]) {
                if let endpoint = known[$1.id], endpoint.isMade(of: $1) { $0[$1.id] = endpoint }
            }
        }
    }

    /// Another endpoint, as of a claim.
    ///
    /// - Parameter keys: Of ``GivenEndpoint/sealingKeys``.
    func add(_ given: GivenEndpoint, opening keys: OpenedKeys) -> CallbackEndpoint {
        let endpoint = CallbackEndpoint(given, keys)
        // Keys that libcrypto refused, or that the key store did not give, may be read by the next claim.
        guard endpoint.keys != nil else { return endpoint }
        self.known.withLock { known in
            if known.count >= 4_096 { known.removeAll() }
            known[given.id] = endpoint
        }
        return endpoint
    }
}

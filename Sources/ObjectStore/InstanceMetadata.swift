internal import Foundation
internal import HTTPClient
internal import InspectCore

/// Temporary keys of the role of the machine, from the metadata service that AWS and its imitators have (IMDSv2, "Use the Instance
/// Metadata Service to access instance metadata").
///
/// The service's address is link-local, which no other request of the program may reach.
actor InstanceMetadata {
    /// Where the service is: a literal address, so that no name leads elsewhere.
    struct Address: Sendable {
        let origin: String
        let address: IPAddress

        static let usual = Address(origin: "http://169.254.169.254", address: IPAddress(v4: 0xA9FE_A9FE))

        private init(origin: String, address: IPAddress) {
            self.origin = origin
            self.address = address
        }

        /// - Parameter text: `ADDRESS:PORT`, an IPv6 address in brackets.
        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
                return nil
            }
            let host = text[..<colon]
            let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
            guard let address = IPAddress(String(isBracketed ? host.dropFirst().dropLast() : host)),
                (address.family == .v6) == isBracketed
            else { return nil }
            self.init(origin: "http://\(host):\(port)", address: address)
        }
    }

    private struct Answer: Decodable {
        var AccessKeyId: String
        var SecretAccessKey: String
        var Token: String
        var Expiration: String
    }

    private let address: Address
    private let client = HTTPClient()
    private var known: (keys: ObjectStoreKeys, until: Date)?
    private var renewal: Task<Result<(ObjectStoreKeys, Date), InspectError>, Never>?
    /// Before this time, the service is not asked again after a failure.
    private var quietUntil = ContinuousClock.now

    /// Keys are renewed this long before they end; the service has new ones by then.
    private static let marginSeconds: TimeInterval = 300
    private static let role = "/latest/meta-data/iam/security-credentials/"

    init(_ address: Address) { self.address = address }

    /// - Throws: ``InspectError`` with ``ErrorCode/objectStoreUnavailable``.
    func keys() async throws(InspectError) -> ObjectStoreKeys {
        if let known, known.until.timeIntervalSinceNow > Self.marginSeconds { return known.keys }
        // While the service is unavailable, keys that are still valid do.
        let valid = self.known.flatMap { $0.until.timeIntervalSinceNow > 0 ? $0.keys : nil }
        guard self.renewal != nil || ContinuousClock.now >= self.quietUntil else {
            if let valid { return valid }
            throw InspectError(.objectStoreUnavailable, "the metadata service was unavailable a moment ago")
        }
        // All who wait get one answer.
        let renewal = self.renewal ?? Task { await self.fetch() }
        self.renewal = renewal
        let result = await renewal.value
        self.renewal = nil
        switch result {
        case .success(let (keys, until)):
            self.known = (keys, until)
            return keys
        case .failure(let error):
            self.quietUntil = .now + .seconds(1)
            if let valid { return valid }
            throw error
        }
    }

    private func fetch() async -> Result<(ObjectStoreKeys, Date), InspectError> {
        let token: String
        switch await self.ask(
            .put(body: []), "/latest/api/token", .init(name: "X-aws-ec2-metadata-token-ttl-seconds", value: "300"))
        {
        case .success(let text): token = text
        case .failure(let error): return .failure(error)
        }
        let proof = HTTPRequest.Header(name: "X-aws-ec2-metadata-token", value: token)
        let role: String
        switch await self.ask(.get, Self.role, proof) {
        case .success(let text): role = String(text.prefix { !$0.isNewline })
        case .failure(let error): return .failure(error)
        }
        guard (1...64).contains(role.utf8.count),
            role.utf8.allSatisfy({ isalnum(CInt($0)) != 0 || "+=,.@_-".utf8.contains($0) })
        else { return .failure(InspectError(.objectStoreUnavailable, "the machine has no role")) }
        switch await self.ask(.get, Self.role + role, proof) {
        case .failure(let error): return .failure(error)
        case .success(let text):
            guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(text.utf8)),
                let keys = ObjectStoreKeys(
                    access: answer.AccessKeyId, secret: answer.SecretAccessKey, token: answer.Token),
                let until = try? Date(answer.Expiration, strategy: .iso8601), until.timeIntervalSinceNow > 0
            else {
                return .failure(InspectError(.objectStoreUnavailable, "the metadata service returned no valid keys"))
            }
            return .success((keys, until))
        }
    }

    /// - Returns: The body, as text.
    private func ask(
        _ method: HTTPRequest.Method, _ path: String, _ header: HTTPRequest.Header
    ) async -> Result<String, InspectError> {
        let request = HTTPRequest(
            method: method, url: self.address.origin + path, headers: [header],
            limits: .init(totalMilliseconds: 3_000, bodyBytes: 16_384), allowsHTTP: true)
        let unavailable = { (reason: String) in
            InspectError(.objectStoreUnavailable, "the metadata service: \(reason)")
        }
        do throws(HTTPError) {
            let response = try await self.client.send(request, policy: EgressPolicy(.only(self.address.address)))
            guard response.status == 200, response.bodyFailure == nil else {
                return .failure(unavailable("HTTP status \(response.status)"))
            }
            return .success(String(decoding: response.body, as: UTF8.self))
        } catch {
            return .failure(unavailable(error.code.errorCode.rawValue))
        }
    }
}

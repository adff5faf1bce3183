internal import Custody
internal import Foundation
internal import HTTPServer
internal import InspectCore

extension HTTPResponse {
    /// The answer in the form for its partner: encrypted, if the partner has registered a key.
    ///
    /// - Parameter key: A JWK, as `insp.gateway_encryption` returns it.
    /// - Throws: ``InspectError``: an answer that cannot be encrypted is not sent plain.
    func encrypted(for key: Data?) throws(InspectError) -> HTTPResponse {
        guard let key else { return self }
        var answer = self
        let type = self.headers.first { $0.name == "Content-Type" }?.value ?? "application/json"
        answer.body = try PartnerKey.stored(key).encrypt(self.body, type: type)
        answer.headers.removeAll { $0.name == "Content-Type" || $0.name == "Content-Disposition" }
        answer.headers.append(("Content-Type", PartnerKey.mediaType))
        return answer
    }
}

extension GatewayCall {
    /// Encrypts an answer for the partner's key, if it has registered one.
    ///
    /// - Parameter scope: The scope of the call.
    func sealed(_ response: HTTPResponse, _ scope: GatewayCredential.Scope) async throws -> HTTPResponse {
        try response.encrypted(for: try await self.store.encryption(self.credential, scope))
    }
}

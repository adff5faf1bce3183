internal import Custody
internal import Foundation
internal import HTTPServer
internal import InspectCore

extension GatewayRoute {
    /// Calls about public keys.
    static let keys = [
        GatewayRoute(
            "GET", "/.well-known/jwks.json", .none,
            Operation(
                id: "listKeys", summary: "The public keys for which parts may be encrypted (RFC 7517)",
                detail: "Those that all live workers have.",
                answers: [.init(description: "The keys", schema: "KeySet", type: "application/jwk-set+json")],
                refusals: [503]),
            .everyone { service, _, _ in
                HTTPResponse(
                    status: 200, headers: [("Content-Type", "application/jwk-set+json")],
                    body: try await service.publishedKeys.value())
            }),
        GatewayRoute(
            "GET", "/encryption-key", .none,
            Operation(
                id: "getEncryptionKey", summary: "Your public key, for which results are encrypted",
                answers: [.json("The key", "PublicKey")], refusals: [404]),
            .scope(.keys) { (call) throws(InspectError) in
                { _ in GatewayAnswer(response: .json(try await call.store.key(call.credential))) }
            }),
        GatewayRoute(
            "POST", "/encryption-key", .shortJSON,
            Operation(
                id: "setEncryptionKey",
                summary: "Registers your public key: results and callbacks are encrypted for it from now on",
                detail: "It replaces the former one. Never send a private key.", request: "PublicKey",
                answers: [.json("The key as it is stored", "PublicKey")]),
            .scope(.keys) { (call) throws(InspectError) in
                { body in
                    let (members, texts) = try JSONBody.object(body)
                    let key = try PartnerKey(jwk: try JSONBody.data(members, texts))
                    let stored = try await call.store.setKey(call.credential, key.jwk)
                    return GatewayAnswer(response: .json(stored ?? key.jwk))
                }
            }),
        GatewayRoute(
            "DELETE", "/encryption-key", .none,
            Operation(
                id: "deleteEncryptionKey", summary: "Removes your public key: results and callbacks are sent plain",
                detail: "Also if there is none.", answers: [.json("There is none now", "Empty")]),
            .scope(.keys) { (call) throws(InspectError) in
                { _ in
                    _ = try await call.store.setKey(call.credential, nil)
                    return GatewayAnswer(response: call.answer(Data("{}".utf8)))
                }
            }),
    ]
}

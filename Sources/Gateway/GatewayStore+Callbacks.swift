internal import Custody
internal import Foundation
internal import HTTPServer
internal import InspectCore
internal import Postgres

/// A partner's actions on its endpoints.
enum EndpointAction: String, Sendable {
    case pause = "pause"
    case resume = "resume"
    case test = "test"
    case replay = "replay"
    case rotate = "rotate"
}

/// Calls about callbacks.
extension GatewayStore {
    private static func start(_ credential: GatewayCredential) -> [PostgresValue] {
        [.int(credential.id), .bytes(credential.secretSHA256)]
    }

    /// The partner's endpoints, a JSON array.
    func endpoints(_ credential: GatewayCredential) async throws -> Data {
        try await self.ask("SELECT insp.gateway_endpoints($1, $2)", Self.start(credential)).single().data(0)
    }

    /// A page of callbacks, a JSON object.
    func callbacks(_ credential: GatewayCredential, _ search: CallbackSearch) async throws -> Data {
        let rows = try await self.ask(
            """
            SELECT callback, (extract(epoch FROM moment) * 1000000)::bigint AS moment, webhook_id
            FROM insp.gateway_callbacks($1, $2, $3, $4, timestamptz 'epoch' + $5::bigint * interval '1 microsecond', $6, $7)
            """,
            Self.start(credential) + [
                .optional(search.job), .optional(search.state), .optional(search.after?.momentMicroseconds),
                .optional(search.after?.webhookID), .int(Int64(search.limit)),
            ])
        let list = try rows.map { try $0.string("callback") }.joined(separator: ",")
        var next = ""
        if search.job == nil, rows.count == search.limit, let last = rows.last {
            next = #","next":"\#(try last.int("moment"))_\#(try last.string("webhook_id"))""#
        }
        return Data(#"{"callbacks":[\#(list)]\#(next)}"#.utf8)
    }

    /// Sends a callback again.
    func replay(_ credential: GatewayCredential, webhookID: String) async throws {
        _ = try await self.ask(
            "SELECT insp.gateway_replay($1, $2, $3)", Self.start(credential) + [.text(webhookID)])
    }

    /// - Returns: A JSON object.
    func act(
        _ credential: GatewayCredential, endpoint: Int, _ action: EndpointAction, _ options: EndpointOptions
    ) async throws -> Data {
        var secret: String?
        var sealed: String?
        if action == .rotate, let keys = try self.keys {
            let key = try await keys.partnerKey(credential.partnerID)
            // From the system's generator, in the form of Standard Webhooks.
            let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
            let fresh = "whsec_" + Data(bytes).base64EncodedString()
            secret = fresh
            sealed = SecretSeal(key, endpoint: Int64(endpoint)).seal(fresh, for: .signingSecret)
        }
        let text = try JSONEncoder().encode(options)
        let answer = try await self.ask(
            "SELECT insp.gateway_endpoint_act($1, $2, $3, $4, $5, $6)",
            Self.start(credential) + [
                .int(Int64(endpoint)), .text(action.rawValue), .text(try PostgresValue.json(text)), .optional(sealed),
            ]
        ).single().data(0)
        // The database holds the sealed secret; the partner gets the plain one.
        return secret.map { Data(#"{"secret":"\#($0)"}"#.utf8) } ?? answer
    }
}

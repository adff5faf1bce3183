internal import Custody
internal import Foundation
internal import HTTPClient
internal import InspectCore
internal import Postgres

/// Revokes the tokens of authorizations that were removed or replaced (RFC 7009): in the background, one after the other, and for
/// as long as a token lives at most. Nothing waits for it.
struct TokenRevoker: Sendable {
    let source: ReconnectingConnection
    let client: HTTPClient
    let providers: [String: any AuthorizationProvider]
    /// Opens what is sealed; `nil`: there is no key store.
    let keys: PatientKeys?
    /// The region whose partners' tokens are revoked, in addition to those of partners without one.
    let region: String?
    let onEvent: @Sendable (CallbackEvent) -> Void

    /// How often to look without a notification.
    private static let poll: Duration = .seconds(60)

    /// A token, with its endpoint's settings when the authorization was removed: secrets may be sealed.
    private struct Document: Decodable {
        var token: String
        var options: EndpointOptions
        var allowsHTTP: Bool
        var allowsPrivate: Bool
    }

    /// Revokes until the task is cancelled and `wakeUp` is notified.
    func run(_ wakeUp: WakeUp) async {
        var backoff = Backoff()
        while !Task.isCancelled {
            var pause = Self.poll * Double.random(in: 0.8...1.2)
            do {
                if let next = try await self.round() { pause = min(pause, next) }
                backoff.reset()
            } catch {
                // Claiming callbacks reports it.
                pause = backoff.next()
            }
            await self.source.close()
            if !Task.isCancelled { await wakeUp.wait(timeout: pause) }
        }
    }

    /// Revokes what is due.
    ///
    /// - Returns: How long until something is; `nil`: nothing waits.
    private func round() async throws -> Duration? {
        while !Task.isCancelled {
            let connection = try await self.source.open()
            let row = try await connection.query(
                "SELECT * FROM insp.revocation_claim($1)", [.optional(self.region)]
            ).single()
            guard let id = try row.optionalInt("id"), let permit = try row.optionalInt("permit") else {
                return try row.optionalDouble("due_in_seconds").map { .seconds(max(0.1, $0)) }
            }
            let endpoint = try row.int("endpoint")
            let error = await self.revoke(of: endpoint, try row.optionalString("document"))
            let isOver = try await connection.query(
                "SELECT insp.revocation_settle($1, $2, $3, $4)",
                [
                    .int(id), .int(permit), .optional(error?.code.rawValue), .bool(error?.isFinal ?? true),
                ]
            ).single().optionalBool(0)
            if isOver == true { self.onEvent(.revocationEnded(endpoint: endpoint, code: error?.code)) }
        }
        return nil
    }

    /// - Returns: Why the token was not revoked; `nil`: it was.
    private func revoke(of endpoint: Int64, _ text: String?) async -> AuthorizationError? {
        guard let text, let taken = try? JSONDecoder().decode(Document.self, from: Data(text.utf8)),
            let name = taken.options.authorization?.provider, let provider = self.providers[name]
        else { return AuthorizationError(.authorizationFailed, isFinal: true) }
        let ids = Set(
            (taken.options.secrets + [taken.token]).filter { SecretSeal.isSealed($0) }
                .compactMap { try? SecretSeal.keyID(of: $0) })
        let opened = await self.keys?.keys(ids) ?? PatientKeys.all(ids, InspectError(.keyMissing))
        let opener = EndpointOpener(endpoint: endpoint, keys: opened)
        let (token, options): (String, EndpointOptions)
        do throws(InspectError) {
            token = try opener.open(taken.token, for: [.accessToken])
            options = try taken.options.opened(by: opener)
        } catch {
            // Without its key, nobody can use it any longer, and nobody can revoke it.
            return AuthorizationError(
                error.code, isFinal: [.keyUnknown, .keyDestroyed, .sealBroken].contains(error.code))
        }
        guard let authorization = options.authorization else { return nil }
        let request = AuthorizationRequest(
            authorization, options,
            allows: .init(http: taken.allowsHTTP, private: taken.allowsPrivate), by: self.client)
        do throws(AuthorizationError) {
            try await provider.revoke(token, request)
            return nil
        } catch { return error }
    }
}

internal import Custody
internal import Foundation
internal import InspectCore
internal import ObjectStore
internal import Postgres

/// Capture links. The database checks at each call whose link it is, and what it allows.
extension GatewayStore {
    /// The data of a session that may identify a person, as it is sealed.
    private static func context(_ id: String, _ partner: Int64) -> SealContext {
        SealContext(partner: partner, .secret, row: ["capture \(id)", "request"])
    }

    /// Makes a link; one that was made under the same idempotency key and is not yet open gets another token.
    ///
    /// - Parameter key: The idempotency key.
    func makeLink(
        _ credential: GatewayCredential, _ request: CaptureRequest, key: String?
    ) async throws -> (id: String, token: String, expiresAt: String, isRepeated: Bool) {
        let id = UUID().uuidString.lowercased()
        var payload = try Self.json(request.payload)
        var options = request.options
        var sealed: Data?
        var index: BlindIndex?
        if let keys = try self.keys {
            var plain: [String: Any] = ["request": request.payload]
            if let url = request.returnURL {
                plain["returnUrl"] = url
                options["returnUrl"] = Self.hidden(url)
            }
            payload = try await RequestSealer(keys).draft(
                payload: payload, parts: [:], partner: credential.partnerID
            ).payload
            let partnerKey = try await keys.partnerKey(credential.partnerID)
            index = BlindIndex(partnerKey)
            sealed = Seal.seal(
                try Self.json(plain), under: partnerKey,
                for: Self.context(id, credential.partnerID))
        }
        let whole = try Self.json(["request": request.payload, "options": request.options])
        // Keyed if requests are sealed: a reference could be guessed from a plain digest.
        func digest(_ text: String, _ use: String) -> PostgresValue {
            .bytes(Data(index?.index(text, use: use) ?? SHA256.digest(Array(text.utf8))))
        }
        let row = try await self.ask(
            "SELECT token, expires_at, id, repeated FROM insp.capture_create($1, $2, $3, $4, $5, $6, $7, $8)",
            [
                .int(credential.id), .bytes(credential.secretSHA256), .text(id), .text(try PostgresValue.json(payload)),
                .text(try PostgresValue.json(try Self.json(options))), .optional(sealed),
                key.map { digest($0, "idempotency") } ?? .null,
                key == nil ? .null : digest(String(decoding: whole, as: UTF8.self), "capture"),
            ]
        ).single()
        return (
            try row.string("id"), try row.string("token"), try row.string("expires_at"), try row.bool("repeated")
        )
    }

    /// A URL of which the database sees only the origin; it sees an invalid URL as it is.
    private static func hidden(_ url: String) -> String {
        let isPlain =
            url.utf8.count <= 2048 && url.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != 0x5c && $0 != 0x23 }
        guard isPlain, let origin = SealedURL.origin(url), !origin.contains("@") else { return "invalid" }
        return origin + "/"
    }

    private static func json(_ object: [String: Any]) throws(InspectError) -> Data {
        guard JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys])
        else { throw InspectError(.payloadInvalid, "a number that cannot be stored") }
        return data
    }

    /// The link of a token.
    ///
    /// - Parameter isLate: Also a link that has ended, for as long as the database accepts what its browser sends again.
    /// - Throws: ``InspectError``: ``ErrorCode/linkUnknown``, ``ErrorCode/linkEnded``.
    func link(_ key: CaptureKey, isLate: Bool = false) async throws -> CaptureLink {
        let row = try await self.ask(
            "SELECT * FROM insp.capture_find($1, $2)", [.bytes(key.token), .optional(key.browser)]
        ).single()
        let link = CaptureLink(
            key: key, id: try row.string("id"), partner: try row.string("partner"),
            partnerID: try row.int("partner_id"), state: CaptureLink.State(rawValue: try row.string("state")) ?? .new,
            isMine: try row.bool("is_mine"), request: try row.optionalData("request"),
            returnURL: try row.optionalString("return_url"), sealed: try row.optionalData("sealed"),
            parts: try row.textArray("parts").compactMap { PartKind(rawValue: $0) },
            challenge: try row.string("challenge"), fallback: try row.string("fallback"),
            showsResult: try row.bool("shows_result"), locale: try row.optionalString("locale"),
            embedOrigin: try row.optionalString("embed_origin"),
            expiresInSeconds: Int(try row.int("expires_in_seconds")),
            sessionSeconds: Int(try row.int("session_seconds")), consent: try row.optionalData("consent"),
            policyURL: try row.optionalString("policy_url"),
            policyVersion: try row.optionalString("policy_version"), purposes: try row.textArray("purposes"),
            tries: try row.optionalData("tries"), job: try row.optionalString("job"),
            jobStatus: try row.optionalInt("job_status").map(Int.init))
        guard isLate || link.state == .submitted || link.expiresInSeconds > 0 else { throw InspectError(.linkEnded) }
        return link
    }

    /// The values of a session's request and the return URL, sealed or not.
    private func plain(_ link: CaptureLink) async throws -> (request: [String: Any], returnURL: String?) {
        func object(_ data: Data?) -> [String: Any] {
            data.flatMap { (try? JSONSerialization.jsonObject(with: $0)) as? [String: Any] } ?? [:]
        }
        guard let sealed = link.sealed else { return (object(link.request), link.returnURL) }
        guard let keys = try self.keys else { throw InspectError(.keyMissing) }
        let opened = object(
            try Seal.open(
                sealed, under: try await keys.key(try Seal.keyID(of: sealed)),
                for: Self.context(link.id, link.partnerID)))
        return (opened["request"] as? [String: Any] ?? [:], opened["returnUrl"] as? String)
    }

    /// Where the person goes afterwards.
    func returnURL(_ link: CaptureLink) async throws -> String? {
        link.sealed == nil ? link.returnURL : try await self.plain(link).returnURL
    }

    /// The person agrees, and the link serves this browser from now on.
    ///
    /// - Returns: For how many seconds.
    func open(
        _ link: CaptureLink, browser: Data, policyVersion: String?, text: String?, purposes: [String]?
    ) async throws -> Int {
        Int(
            try await self.ask(
                "SELECT insp.capture_open($1, $2, $3, $4, $5)",
                [
                    .bytes(link.key.token), .bytes(browser), .optional(policyVersion), .optional(text),
                    purposes.map { .texts($0) } ?? .null,
                ]
            ).single().int(0))
    }

    /// Counts a try of a part. An image that comes again, because an answer was lost, is none.
    ///
    /// - Returns: How many there were, `nil`: this would be another one after the last; and the advice for each reason.
    func judge(
        _ link: CaptureLink, _ kind: PartKind, _ image: Data, _ language: String
    ) async throws -> (attempt: Int?, advice: [String: String]) {
        let row = try await self.ask(
            "SELECT attempt, advice FROM insp.capture_judge($1, $2, $3, $4, $5)",
            [
                .bytes(link.key.token), .optional(link.key.browser), .text(kind.rawValue), .text(language),
                .bytes(Data(SHA256.digest([UInt8](image)))),
            ]
        ).single()
        let advice = try row.optionalData("advice").map { try JSONDecoder().decode([String: String].self, from: $0) }
        return (try row.optionalInt("attempt").map(Int.init), advice ?? [:])
    }

    /// Issues a challenge, as JSON.
    func challenge(_ link: CaptureLink) async throws -> Data {
        try await self.ask(
            "SELECT insp.capture_challenge($1, $2)", [.bytes(link.key.token), .optional(link.key.browser)]
        ).single().optionalData(0) ?? Data()
    }

    /// Accepts a link's job, once.
    ///
    /// - Returns: Its public id, and whether it had been accepted before.
    func submit(
        _ link: CaptureLink, _ submission: CaptureSubmission
    ) async throws -> (job: String, isRepeated: Bool) {
        if link.isMine, let job = link.job { return (job, true) }
        guard link.isMine, let consent = link.consent else { throw InspectError(.linkTaken) }
        var (object, _) = try await self.plain(link)
        object["consent"] = try? JSONSerialization.jsonObject(with: consent)
        if let challenge = submission.challenge {
            object["challenge"] = try? JSONSerialization.jsonObject(with: challenge)
        }
        if link.fallback == "review",
            link.parts.contains(where: { $0.row.source == .person && submission.parts[$0] == nil })
        {
            object["review"] = "always"
        }
        var (payload, parts) = (try Self.json(object), submission.parts)
        let start: [PostgresValue] = [.bytes(link.key.token), .optional(link.key.browser)]
        var request: SealedRequest?
        if let keys = try self.keys {
            let sealer = RequestSealer(keys)
            // Another request may have come first while this one's body arrived, and a key created for this one would stay.
            if let job = try? await self.link(link.key).job { return (job, true) }
            let draft = try await sealer.draft(payload: payload, parts: parts, partner: link.partnerID)
            // Refused before it has a key, which would stay.
            _ = try await self.ask(
                "SELECT insp.capture_try($1, $2, $3, $4)",
                start + [.text(try PostgresValue.json(draft.payload)), .texts(draft.kinds.map(\.rawValue))])
            let sealed = try await sealer.seal(draft)
            (payload, parts) = (sealed.payload, sealed.parts)
            request = sealed
        }
        let body = PostgresValue.text(try PostgresValue.json(payload))
        let row = try await PlacedParts.place(parts, of: request, in: self.objects) { parts in
            try await self.ask(
                "SELECT id, repeated FROM insp.capture_submit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
                start + [body] + parts.contents + [.optional(request?.sealed), .optional(request?.hmac)] + parts.places
            ).single()
        }
        return (try row.string("id"), try row.bool("repeated"))
    }

    /// How a link's job ended; `nil`: it has not, or the page does not say.
    func outcome(_ link: CaptureLink) async throws -> String? {
        guard link.isMine, link.showsResult, link.jobStatus == 128 else { return nil }
        return try await self.ask(
            "SELECT insp.capture_result($1, $2)", [.bytes(link.key.token), .optional(link.key.browser)]
        ).single().optionalString(0)
    }
}

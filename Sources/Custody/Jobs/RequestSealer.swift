package import Foundation
package import InspectCore

/// A request as `insp.enqueue_parts` takes it from a program that seals.
package struct SealedRequest: Sendable {
    /// The payload with pseudonyms instead of what may identify a person.
    package var payload: Data
    /// The parts, each sealed.
    package var parts: [PartKind: [Data]]
    /// The values, sealed.
    package var sealed: Data
    /// A keyed digest of the request as it was, by which a repeated one is recognised.
    package var hmac: Data
}

/// Seals requests before PostgreSQL sees a byte of them. deploy/SEALING.md describes the outcome for other programs.
///
/// The database still validates requests, so an invalid value is replaced by another one that is invalid for the same
/// reason.
package struct RequestSealer: Sendable {
    let store: KeyStore
    private let level: KeyKind

    /// - Parameter level: `job`: each job has its own key, which is destroyed with its data. `person`: a person's jobs share theirs, which
    ///   benchmarks compare.
    package init(_ store: KeyStore, level: KeyKind = .job) {
        self.store = store
        self.level = level
    }

    /// A request that can be sealed, before it has a key.
    package struct Draft: Sendable {
        /// The payload with pseudonyms instead of what may identify a person.
        package let payload: Data
        /// The kind of each part.
        package let kinds: [PartKind]
        fileprivate let parts: [PartKind: [Data]]
        fileprivate let partner: Int64
        fileprivate let owner: KeyOwner
        fileprivate let values: Data
        /// A keyed digest of the request as it was, by which a repeated one is recognised.
        package let hmac: Data
        /// The plain payload, and the partner's key from which the pseudonyms are made.
        fileprivate let plain: Data
        fileprivate let partnerKey: KeyID
    }

    /// Prepares and seals a request without a check in between.
    package func seal(
        payload: Data, parts: [PartKind: [Data]], partner: Int64
    ) async throws(InspectError) -> SealedRequest {
        try await self.seal(try await self.draft(payload: payload, parts: parts, partner: partner))
    }

    /// Prepares a request. The database should check the outcome before it is sealed: otherwise each invalid request would leave a key.
    ///
    /// - Parameters:
    ///   - payload: A JSON object as `insp.enqueue_parts` describes it.
    ///   - partner: The partner's number (`insp.partner.id`).
    /// - Throws: ``InspectError``: of the parts and their digests, which only this side can check; ``ErrorCode/keysUnavailable``.
    package func draft(
        payload: Data, parts: [PartKind: [Data]], partner: Int64
    ) async throws(InspectError) -> Draft {
        try Self.draft(payload, parts, under: try await self.store.knownPartnerKey(partner))
    }

    private static func draft(
        _ payload: Data, _ parts: [PartKind: [Data]], under key: CustodyKey
    ) throws(InspectError) -> Draft {
        let draft = try RequestDraft(payload, try Self.check(parts))
        let values = try draft.values()
        // The size of sealed values that the database accepts; it accepts less of payloads.
        guard values.count + Seal.overhead <= 65_536 else { throw InspectError(.payloadTooLarge) }
        let index = BlindIndex(key)
        return Draft(
            payload: try draft.payload(index), kinds: parts.flatMap { kind, list in list.map { _ in kind } },
            parts: parts, partner: key.partner, owner: KeyOwner(partner: key.partner, draft.subject), values: values,
            hmac: Data(HMACSHA256.code(of: draft.canonical(), under: index.secret)), plain: payload,
            partnerKey: key.id)
    }

    /// Creates the key and seals.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/keysUnavailable`` or ``ErrorCode/keyUnknown``.
    package func seal(_ draft: Draft) async throws(InspectError) -> SealedRequest {
        let (key, partnerKey) = try await self.keys(of: draft.owner)
        // The partner's key was replaced: nobody could find the person by pseudonyms of the former one, or erase the data.
        let draft =
            draft.partnerKey == partnerKey.id ? draft : try Self.draft(draft.plain, draft.parts, under: partnerKey)
        let seal = try JobSeal(key, partner: draft.partner)
        let sealed = Seal.seal(draft.values, under: key, for: SealContext(partner: draft.partner, .personal))
        var contents: [PartKind: [Data]] = [:]
        for (kind, list) in draft.parts {
            contents[kind] = list.enumerated().map { ordinal, bytes in seal.seal(bytes, part: kind, ordinal) }
        }
        return SealedRequest(payload: draft.payload, parts: contents, sealed: sealed, hmac: draft.hmac)
    }

    /// The key that seals, and the partner's above it.
    private func keys(of owner: KeyOwner) async throws(InspectError) -> (CustodyKey, partner: CustodyKey) {
        var key: CustodyKey?
        var partners: [Int64: CustodyKey] = [:]
        switch self.level {
        case .person:
            let found = try await self.store.keys(of: [owner])
            (key, partners) = (found.persons[owner], found.partners)
        default:
            let made = try await self.store.newJobKeys([owner])
            (key, partners) = (made.jobs.first, made.partners)
        }
        guard let key, let partner = partners[owner.partner] else { throw InspectError(.keyUnknown) }
        return (key, partner)
    }

    /// The parts' digests; plain parts that `insp.check_part` would refuse are refused here.
    private static func check(_ parts: [PartKind: [Data]]) throws(InspectError) -> [PartKind: [[UInt8]]] {
        var sums: [PartKind: [[UInt8]]] = [:]
        for (kind, list) in parts {
            guard !list.isEmpty, !list.contains(where: \.isEmpty) else {
                throw InspectError(.partEmpty, kind.rawValue, field: kind.rawValue)
            }
            guard list.allSatisfy({ $0.count <= PartKind.byteLimit }) else {
                throw InspectError(.partTooLarge, kind.rawValue, field: kind.rawValue)
            }
            sums[kind] = list.map { SHA256.digest([UInt8]($0)) }
        }
        return sums
    }
}

extension RequestSealer {
    /// A consent as the database stores it for a sealed request; anyone who has the consent can prove that it is this one.
    package func consent(_ consent: Data, partner: Int64) async throws(InspectError) -> Data {
        guard let object = (try? JSONSerialization.jsonObject(with: consent)) as? [String: Any] else {
            throw InspectError(.payloadInvalid, "consent is not an object", field: "consent")
        }
        let form = try CanonicalJSON(parsing: consent)
        let index = BlindIndex(try await self.store.partnerKey(partner))
        guard let data = try? JSONSerialization.data(withJSONObject: RequestDraft.consent(object, form, index)) else {
            throw InspectError(.payloadInvalid, "consent", field: "consent")
        }
        return data
    }
}

/// A request on its way to be sealed.
struct RequestDraft {
    private var request: [String: Any]
    /// The same, as digests need it.
    private let form: [String: CanonicalJSON]
    private let sums: [PartKind: [[UInt8]]]

    /// Keys that identify nobody and stay; `insp.request_personal` has the same list.
    private static let plainKeys: Set<String> = [
        "partner", "workflow", "documentFormat", "documentTypes", "countries", "idempotencyKey", "digests", "lane",
        "region", "delaySeconds", "runAt", "expiresAt", "traceparent", "challenge", "review", "threshold",
        "enrollmentMode",
    ]
    /// Keys whose values are sealed. Not `faceId`: nothing needs it again, so a deleted face's id is stored nowhere.
    private static let personalKeys: Set<String> = [
        "customerInternalReference", "userReference", "reportingCriteria", "callbackUrl", "consent", "parts",
    ]
    /// The longest reference, in characters.
    private static let limit = 100

    /// - Throws: ``InspectError`` with ``ErrorCode/payloadInvalid``, ``ErrorCode/digestInvalid`` or ``ErrorCode/digestMismatch``.
    init(_ payload: Data, _ sums: [PartKind: [[UInt8]]]) throws(InspectError) {
        guard let request = (try? JSONSerialization.jsonObject(with: payload)) as? [String: Any],
            let form = try CanonicalJSON(parsing: payload).members
        else { throw InspectError(.payloadInvalid, "not an object") }
        self.request = request
        self.form = form
        self.sums = sums
        try self.checkDigests()
    }

    /// Digests are of the plain bytes, so the database cannot compare them. Digests for which the request has no part are left for it to refuse.
    private mutating func checkDigests() throws(InspectError) {
        guard var digests = self.request["digests"] as? [String: Any] else { return }
        for (name, value) in digests {
            guard let kind = PartKind(rawValue: name), let sums = self.sums[kind] else { continue }
            let texts: [String]? = kind.row.isMany ? value as? [String] : (value as? String).map { [$0] }
            guard let texts, texts.count == sums.count,
                texts.allSatisfy({ $0.utf8.count == 64 && $0.allSatisfy(\.isHexDigit) })
            else { throw InspectError(.digestInvalid, name, field: "digests.\(name)") }
            guard zip(texts, sums).allSatisfy({ $0.lowercased() == $1.hexadecimal }) else {
                throw InspectError(.digestMismatch, name, field: "digests.\(name)")
            }
            digests[name] = nil
        }
        self.request["digests"] = digests.isEmpty ? nil : digests
    }

    private static func isReference(_ value: Any?) -> Bool {
        guard let text = value as? String else { return false }
        return (1...Self.limit).contains(text.unicodeScalars.count)
    }

    /// The owner of the key above the job's key.
    var subject: KeySubject? {
        if Self.isReference(self.request["userReference"]), let text = self.request["userReference"] as? String {
            return .user(text)
        }
        return Self.isReference(self.request["faceId"]) ? (self.request["faceId"] as? String).map { .face($0) } : nil
    }

    /// The values to be sealed: a JSON object.
    func values() throws(InspectError) -> Data {
        try Self.json(self.request.filter { Self.personalKeys.contains($0.key) })
    }

    /// The values that a repeated request has in common with the first one, whichever program seals it. The partner is in the key, and a
    /// gateway's request does not name it; the parts are covered by their digests.
    func canonical() -> [UInt8] {
        let request = CanonicalJSON.object(
            self.form.filter { !["partner", "traceparent", "digests"].contains($0.key) }
        ).text
        let parts = self.sums.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap { kind, sums in
            sums.map { Array(kind.rawValue.utf8) + $0 }
        }
        return AssociatedData.encode([Array("inspectd request 1".utf8), Array(request.utf8)] + parts)
    }

    /// The payload for the database.
    func payload(_ index: BlindIndex) throws(InspectError) -> Data {
        var payload = self.request
        for (key, value) in self.request {
            switch key {
            case "expiresAt", "runAt":
                payload[key] = (value as? String).map { Self.isTime($0) ? $0 : "invalid" } ?? Self.plain(value)
            case _ where Self.plainKeys.contains(key): payload[key] = Self.plain(value)
            case "customerInternalReference": payload[key] = Self.reference(value, "customer", index)
            case "userReference": payload[key] = Self.reference(value, "user", index)
            case "faceId":
                let isPrintable = (value as? String)?.unicodeScalars.allSatisfy {
                    $0.properties.generalCategory != .control
                }
                payload[key] = isPrintable == false ? "\u{1}" : Self.pseudonym(value, "face", index)
            case "callbackUrl": payload[key] = SealedURL.pseudonym(value, limit: 255, index)
            case "parts": payload[key] = Self.sources(value, index)
            case "consent": payload[key] = Self.consent(value, self.form[key], index)
            case "reportingCriteria": payload[key] = Self.reference(value, "criteria", index)
            // Unknown: the database's error names the key, and the database must not see the value.
            default:
                payload[key] = nil
                payload[Self.name(key)] = NSNull()
            }
        }
        if let key = self.request["idempotencyKey"] {
            payload["idempotencyKey"] = Self.pseudonym(key, "idempotency", index)
        }
        return try Self.json(payload)
    }

    /// A value of a key that identifies nobody: a word, a code, a number or a time. Anything else is misplaced and will be refused, and must
    /// not appear in the database's log.
    private static func plain(_ value: Any) -> Any {
        switch value {
        case let text as String:
            return self.isTime(text) || text.isEmpty ? text : self.name(text)
        case let list as [Any]: return list.map { self.plain($0) }
        case let object as [String: Any]:
            return Dictionary(object.map { (self.name($0), self.plain($1)) }) { first, _ in first }
        default: return value
        }
    }

    private static func isTime(_ text: String) -> Bool {
        text.utf8.count <= 40 && text.allSatisfy { "0123456789TtZz:+-. ".contains($0) }
    }

    private static func name(_ text: String) -> String {
        let isName =
            (1...64).contains(text.utf8.count)
            && text.utf8.allSatisfy { isalnum(CInt($0)) != 0 || "._:+-".utf8.contains($0) }
        return isName ? text : "invalid"
    }

    /// - Returns: For an invalid value, another one that is also refused.
    private static func pseudonym(_ value: Any, _ use: String, _ index: BlindIndex) -> Any {
        guard let text = value as? String else { return 0 }
        if text.isEmpty { return "" }
        return Self.isReference(text) ? index.pseudonym(text, use: use) : String(repeating: "x", count: Self.limit + 1)
    }

    /// A reference, which has no control character.
    private static func reference(_ value: Any, _ use: String, _ index: BlindIndex) -> Any {
        // A reference that is too long is refused for that reason, as in the database.
        guard let text = value as? String, Self.isReference(text),
            text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
        else { return Self.pseudonym(value, use, index) }
        return "\u{1}"
    }

    /// Parts by URL: each keeps its origin, and a keyed digest of its digest.
    private static func sources(_ value: Any, _ index: BlindIndex) -> Any {
        guard let kinds = value as? [String: Any] else { return 0 }
        let sources = kinds.mapValues { source -> Any in
            if let many = source as? [Any] { return many.map { Self.source($0, index) } }
            return Self.source(source, index)
        }
        return Dictionary(sources.map { (Self.name($0), $1) }) { first, _ in first }
    }

    private static func source(_ value: Any, _ index: BlindIndex) -> Any {
        guard let source = value as? [String: Any], Set(source.keys).isSubset(of: ["url", "sha256"]) else { return 0 }
        var kept: [String: Any] = [:]
        if let url = source["url"] { kept["url"] = SealedURL.pseudonym(url, limit: 2048, index) }
        if let sum = source["sha256"] {
            let isDigest = (sum as? String).map { $0.utf8.count == 64 && $0.allSatisfy { $0.isASCII && $0.isHexDigit } }
            kept["sha256"] =
                isDigest == true ? index.index((sum as! String).lowercased(), use: "sha256").hexadecimal : "invalid"
        }
        return kept
    }

    /// The members of a consent that the database checks, with a pseudonym of the whole.
    static func consent(_ value: Any, _ form: CanonicalJSON?, _ index: BlindIndex) -> Any {
        guard let consent = value as? [String: Any], let form else { return 0 }
        var kept: [String: Any] = ["digest": index.pseudonym(form.text, use: "consent")]
        if let obtained = consent["obtained"] {
            let isWord = ["yes", "no", "na", "true", "false"].contains(obtained as? String ?? "")
            kept["obtained"] = isWord || obtained is Bool ? obtained : "invalid"
        }
        if let time = consent["obtainedAt"] {
            let isTime = (time as? String)?.allSatisfy { "0123456789TtZz:+-. ".contains($0) }
            kept["obtainedAt"] = isTime == true ? time : isTime == nil ? 0 : "invalid"
        }
        if let version = consent["policyVersion"] as? String, Self.isName(version) { kept["policyVersion"] = version }
        if let purposes = consent["purposes"] as? [Any] {
            kept["purposes"] = Array(purposes.compactMap { $0 as? String }.filter(Self.isName).prefix(16))
        }
        return kept
    }

    /// Whether a text is short and plain enough to be the name of a version or a purpose, and not of a person.
    private static func isName(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy({ isalnum(CInt($0)) != 0 || [0x2d, 0x2e, 0x5f].contains($0) })
    }

    private static func json(_ object: [String: Any]) throws(InspectError) -> Data {
        guard JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(
                withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
        else { throw InspectError(.payloadInvalid, "a number that cannot be stored") }
        return data
    }
}

/// URLs whose path is sealed.
package enum SealedURL {
    /// The replacement for a URL: its origin, by which the database decides whether it is allowed, and a pseudonym, since the path and the
    /// query may identify a person or open an object.
    ///
    /// - Returns: For an invalid URL, another invalid URL, so that it is still refused.
    static func pseudonym(_ value: Any, limit: Int, _ index: BlindIndex) -> Any {
        guard let text = value as? String else { return 0 }
        let isPlain =
            text.utf8.count <= limit && text.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != 0x5c && $0 != 0x23 }
        guard isPlain, let origin = self.origin(text), !origin.contains("@") else { return "invalid" }
        return origin + "/" + index.pseudonym(text, use: "url")
    }

    /// Scheme, host and port as they are written; `nil`: not an HTTP URL.
    package static func origin(_ url: String) -> String? {
        let lowered = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lowered.hasPrefix($0) }) else { return nil }
        let rest = url.dropFirst(scheme.count)
        let end = rest.firstIndex { "/?#\\".contains($0) } ?? rest.endIndex
        return end == rest.startIndex ? nil : String(url[..<end])
    }
}

extension BlindIndex {
    /// How the database finds a reference or a face id that it stores (`insp.reference_index`): the SHA-256, so that a question names
    /// nobody in the server's log.
    package static func ofStored(_ spelling: String) -> Data { Data(SHA256.digest(Array(spelling.utf8))) }

    /// The replacement for a value that the database compares and finds: 43 characters of Base64 for URLs (RFC 4648 section 5).
    package func pseudonym(_ value: String, use: String) -> String { Base64URL.text(self.index(value, use: use)) }

    /// The index of which a pseudonym is made; `nil` if the value is not a pseudonym.
    static func bytes(of pseudonym: String) -> [UInt8]? {
        guard pseudonym.utf8.count == 43, let bytes = Base64URL.decode(pseudonym), bytes.count == 32 else { return nil }
        return [UInt8](bytes)
    }
}

internal import Foundation
internal import HTTPClient
internal import InspectCore
internal import Synchronization

/// A key in a KMS that speaks as Vault's transit engine does (HashiCorp Vault, "Transit secrets engine (API)"): the key stays
/// there, and partners' keys go there to be wrapped and unwrapped, once per process and partner.
///
/// The SHA-256 of the key's names is appended to the key's own bytes, and compared afterwards: the engine's `rewrap` takes no
/// associated data, and older versions ignore it everywhere.
final class VaultWrappingKey: WrappingKey {
    /// The key's name in the transit engine.
    package let id: String
    /// `https://HOST/v1/MOUNT`.
    private let mount: String
    private let tokenFile: String
    private let client: HTTPClient
    private let timeout: Duration
    private let breather = Mutex(Breather())

    /// Maximum bytes of an answer: a wrapped key has a few hundred.
    private static let answerLimit = 65_536

    /// - Parameters:
    ///   - url: The key in the API, such as `https://vault.example:8200/v1/transit/keys/inspectd`; its last part is the key's name.
    ///   - tokenFile: A file with the token, read for each request: an agent may renew it.
    ///   - certificateAuthorities: A PEM file instead of the system's certificates.
    ///   - timeout: For one request.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyMissing`` if the URL names no key of a transit engine over HTTPS.
    package init(
        url: String, tokenFile: String, certificateAuthorities: String? = nil, timeout: Duration = .seconds(10)
    ) throws(InspectError) {
        let parts = url.components(separatedBy: "/keys/")
        guard parts.count == 2, url.hasPrefix("https://"), parts[0].contains("/v1/"), WrappingKeys.isName(parts[1])
        else {
            throw InspectError(.keyMissing, "a KMS's URL is https://HOST/v1/MOUNT/keys/NAME")
        }
        self.mount = parts[0]
        self.id = parts[1]
        self.tokenFile = tokenFile
        self.client = HTTPClient(certificateAuthorities: certificateAuthorities)
        self.timeout = timeout
    }

    /// One request to `encrypt`; the outcome is the engine's own text, `vault:vN:…`.
    package func wrap(_ key: SecretKey, _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        let text = key.withBytes { Data($0 + SHA256.digest(associated)).base64EncodedString() }
        return Array(try await self.call("encrypt", ["plaintext": text], returning: "ciphertext").utf8)
    }

    /// One request to `decrypt`. The digest of the key's names is compared.
    package func unwrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> SecretKey {
        let answer = try await self.call("decrypt", ["ciphertext": try self.text(wrapped)], returning: "plaintext")
        guard let text = Data(base64Encoded: answer) else {
            throw InspectError(.keysUnavailable, "the KMS returned no plaintext")
        }
        var bytes = [UInt8](text)
        defer { bytes.wipe() }
        guard let key = SecretKey(bytes.prefix(SecretKey.count)),
            Array(bytes.dropFirst(SecretKey.count)) == SHA256.digest(associated)
        else { throw InspectError(.sealBroken, "a key") }
        return key
    }

    /// Moves a wrapped key to the newest version of the key in the KMS, which need not reveal it.
    package func rewrap(_ wrapped: [UInt8], _ associated: [UInt8]) async throws(InspectError) -> [UInt8] {
        Array(try await self.call("rewrap", ["ciphertext": try self.text(wrapped)], returning: "ciphertext").utf8)
    }

    private func text(_ wrapped: [UInt8]) throws(InspectError) -> String {
        guard wrapped.starts(with: Array("vault:v".utf8)), wrapped.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw InspectError(.sealBroken, "a key")
        }
        return String(decoding: wrapped, as: UTF8.self)
    }

    /// - Parameter member: The text in the answer's `data` that is returned.
    private func call(
        _ action: String, _ members: [String: String], returning member: String
    ) async throws(InspectError) -> String {
        guard self.breather.withLock({ $0.isOver() }) else {
            throw InspectError(.keysUnavailable, "the KMS was unavailable a moment ago")
        }
        do throws(InspectError) {
            let answer = try await self.send(action, members)[member]
            guard let answer, answer.utf8.count <= 1_024, member != "ciphertext" || answer.hasPrefix("vault:v") else {
                throw InspectError(.keysUnavailable, "the KMS returned no \(member)")
            }
            self.breather.withLock { $0.succeed() }
            return answer
        } catch {
            // A refusal of one key says nothing about the next.
            if error.code == .keysUnavailable { self.breather.withLock { $0.fail() } }
            throw error
        }
    }

    /// - Returns: The members of the answer's `data` that are texts.
    private func send(
        _ action: String, _ members: [String: String]
    ) async throws(InspectError) -> [String: String] {
        guard let token = FileManager.default.contents(atPath: self.tokenFile) else {
            throw InspectError(.keysUnavailable, "\(self.tokenFile) cannot be read")
        }
        guard let json = try? JSONEncoder().encode(members) else { throw InspectError(.internalError, "no JSON") }
        let request = HTTPRequest(
            method: .post(body: [UInt8](json)), url: "\(self.mount)/\(action)/\(self.id)",
            headers: [
                .init(name: "Content-Type", value: "application/json"),
                .init(
                    name: "X-Vault-Token",
                    value: String(decoding: token, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)),
            ],
            limits: .init(totalMilliseconds: Int(self.timeout / .milliseconds(1)), bodyBytes: Self.answerLimit))
        let response: HTTPResponse
        do throws(HTTPError) {
            // The operator named the server, so it may be in a private network.
            response = try await self.client.send(request, policy: .privateAllowed)
        } catch {
            throw InspectError(.keysUnavailable, "the KMS: \(error.code.errorCode.rawValue)")
        }
        let answer = try? JSONDecoder().decode(Answer.self, from: Data(response.body))
        guard response.status == 200 else { throw self.failure(response.status, answer?.errors ?? []) }
        guard response.bodyFailure == nil, let data = answer?.data else {
            throw InspectError(.keysUnavailable, "the KMS did not answer with its API's JSON")
        }
        return data.mapValues(\.text).compactMapValues(\.self)
    }

    /// Only one certain fault ends a job: these bytes do not open. Everything else may be repaired, and jobs wait.
    private func failure(_ status: Int, _ errors: [String]) -> InspectError {
        let words = errors.joined(separator: " ").lowercased()
        // A KMS that was restored to an older state lacks the newest version, or the key. Both come back when a newer state is restored.
        let isAbsent = ["version is too new", "too old", "encryption key not found"].contains { words.contains($0) }
        if status == 400, isAbsent {
            return InspectError(.keyUnknown, "the KMS has no such version of the key \(self.id)")
        }
        let isBroken = ["authentication failed", "invalid ciphertext", "cipher: message"].contains {
            words.contains($0)
        }
        if status == 400, isBroken { return InspectError(.sealBroken, "a key") }
        let reason =
            switch status {
            case 401, 403: ", its token may not use the key \(self.id)"
            case 404: ", it has no such engine or key"
            case 429: ", too many requests"
            case 503: ", it is sealed"
            default: ""
            }
        return InspectError(.keysUnavailable, "the KMS answered \(status)\(reason)")
    }

    private struct Answer: Decodable {
        /// There are numbers next to the texts.
        enum Value: Decodable {
            case text(String)
            case other

            init(from decoder: any Decoder) {
                self = (try? decoder.singleValueContainer().decode(String.self)).map { .text($0) } ?? .other
            }

            var text: String? { if case .text(let text) = self { text } else { nil } }
        }

        var data: [String: Value]?
        var errors: [String]?
    }
}

import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Custody

/// What is encrypted for a partner, as another implementation opens it.
@Suite struct PartnerKeyTests {
    private static func refusal(_ text: String) -> InspectError? {
        do throws(InspectError) {
            _ = try PartnerKey(jwk: Data(text.utf8))
            return nil
        } catch { return error }
    }

    @Test(arguments: [
        ["kty": "RSA", "size": "2048"], ["kty": "RSA", "size": "4096", "kid": "2026/11"],
        ["kty": "EC", "crv": "P-256"],
        ["kty": "EC", "crv": "P-384"], ["kty": "EC", "crv": "P-521"],
    ])
    func `Another implementation opens what is encrypted, with the content and the header that were meant`(
        kind: [String: String]
    ) throws {
        let pair = try PartnerKeyPair(kind)
        let key = try PartnerKey(jwk: pair.publicKey)
        let contents = [
            Data(#"{"name":"Dö"}"#.utf8), Data([0]), Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }),
        ]
        for content in contents {
            let opened = try pair.open(try key.encrypt(content, type: "application/json"))
            #expect(opened.content == content)
            #expect(opened.header["cty"] == "json" && opened.header["enc"] == "A256GCM")
            #expect(opened.header["alg"] == (kind["kty"] == "RSA" ? "RSA-OAEP-256" : "ECDH-ES"))
            #expect(opened.header["kid"] == kind["kid"] || kind["kid"] == nil)
        }
        let page = try pair.open(try key.encrypt(contents[0], type: "text/html; charset=utf-8"))
        #expect(page.header["cty"] == "text/html; charset=utf-8")
        // A new content key, nonce and, on a curve, key pair each time.
        let twice = try (0..<2).map { _ in try key.encrypt(contents[0], type: "application/json") }
        #expect(
            zip(twice[0].split(separator: UInt8(ascii: ".")), twice[1].split(separator: UInt8(ascii: "."))).count {
                $0 == $1
            } < 2)
    }

    /// RFC 7518, appendix C.
    @Test func `A key is derived from what two sides agree upon as the standard's example has it`() {
        let shared: [UInt8] = [
            158, 86, 217, 29, 129, 113, 53, 211, 114, 131, 66, 131, 191, 132, 38, 156, 251, 49, 110, 163, 218, 128,
            106, 72, 246, 218, 167, 121, 140, 254, 144, 196,
        ]
        let derived = PartnerKey.derive(
            shared, algorithm: "A128GCM", bits: 128, partyU: Array("Alice".utf8), partyV: Array("Bob".utf8))
        #expect(Base64URL.text(derived) == "VqqN6vgjbSBcIijNcacQGg")
    }

    /// RFC 7638, section 3.1, and RFC 8037 has none for EC: the first is an RSA key.
    @Test func `A key without a name gets its thumbprint, and members that nobody needs are left out`() throws {
        let modulus =
            "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMs"
            + "tn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n"
            + "91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"
        let text = #"{"kty":"RSA","n":"\#(modulus)","e":"AQAB","x5t":"x","alg":"RSA-OAEP-256"}"#
        let key = try PartnerKey(jwk: Data(text.utf8))
        #expect(key.keyID == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        let stored = try #require(try JSONSerialization.jsonObject(with: key.jwk) as? [String: String])
        #expect(Set(stored.keys) == ["alg", "e", "kid", "kty", "n", "use"] && stored["use"] == "enc")
        // What is stored is the same key.
        #expect(try PartnerKey(jwk: key.jwk).jwk == key.jwk)
        #expect(try PartnerKey.stored(key.jwk) === PartnerKey.stored(key.jwk))
    }

    @Test func `What is no sound public key is refused, and a private one by name`() throws {
        let pair = try PartnerKeyPair(["kty": "EC", "crv": "P-256"])
        let short = try PartnerKeyPair(["kty": "RSA", "size": "1024"])
        let members = try #require(try JSONSerialization.jsonObject(with: pair.publicKey) as? [String: String])
        func changed(_ name: String, _ value: Any) throws -> String {
            var object = members as [String: Any]
            object[name] = value
            return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
        }
        let x = try #require(members["x"])
        let other = String(x.dropFirst()) + "A"
        for text in [
            "", "[]", "null", "{}", #"{"kty":"oct","k":"AAAA"}"#, #"{"kty":"RSA","n":"AQAB"}"#,
            String(decoding: short.publicKey, as: UTF8.self), try changed("kty", "OKP"), try changed("crv", "P-384"),
            try changed("crv", "secp256k1"), try changed("x", other), try changed("x", x + "="), try changed("x", 5),
            try changed("use", "sig"), try changed("alg", "ECDH-ES+A256KW"), try changed("alg", "RSA-OAEP-256"),
            try changed("kid", ""), try changed("kid", "a b"), try changed("kid", String(repeating: "k", count: 101)),
            try changed("note", String(repeating: "x", count: 9000)),
        ] { #expect(Self.refusal(text)?.code == .partnerKeyInvalid, "\(text.prefix(200))") }
        let given = try #require(Self.refusal(String(decoding: pair.privateKey, as: UTF8.self)))
        #expect(given.code == .partnerKeyInvalid && given.detail.contains("private member d"))
        #expect(Self.refusal(String(decoding: pair.publicKey, as: UTF8.self)) == nil)
    }

    @Test func `Base64url has one text for each value`() {
        for count in 0..<6 {
            let bytes = Data((0..<count).map { UInt8(251 + $0 % 5) })
            let text = Base64URL.text(bytes)
            #expect(Base64URL.decode(text) == bytes && !text.contains("=") && !text.contains("+"))
        }
        for text in ["A", "AB==", "A+", "A/", "AB", "A B", "-", "AAA\u{e9}"] {
            #expect(Base64URL.decode(text) == nil, "\(text)")
        }
    }
}

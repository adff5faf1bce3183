import Foundation
import Testing

@testable import Console

@Suite struct IDTokenTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)
    private static var claims: [String: Any] {
        [
            "iss": "https://id.example", "aud": "desk", "sub": "1", "nonce": "n", "exp": 1_800_000_300,
            "iat": 1_800_000_000,
            "preferred_username": "ann", "realm_access": ["roles": ["reviewer:bank", "auditor:*"]], "groups": "a b",
        ]
    }

    private func read(_ text: String, _ keys: [SigningKey]) throws -> IDToken {
        try IDToken(
            IDToken.Parts(text), keys: keys.compactMap { JSONWebKey($0.jwk) }, issuer: "https://id.example",
            client: "desk", nonce: "n", now: Self.now)
    }

    @Test(arguments: ["RS256", "ES256"])
    func `A token that the provider signed for this sign-in is accepted, with its roles`(algorithm: String) throws {
        let key = SigningKey(algorithm, id: "k1")
        // ECDSA signatures differ each time, also in the length of their numbers.
        for _ in 0..<(algorithm == "ES256" ? 200 : 2) {
            let token = try self.read(try key.token(Self.claims), [SigningKey(algorithm, id: "k0"), key])
            #expect(token.claim("preferred_username") as? String == "ann" && token.subject == "1")
            #expect(token.grants("realm_access.roles") == ["reviewer:bank", "auditor:*"])
            #expect(token.grants("groups") == ["a", "b"] && token.grants("none") == [])
        }
    }

    @Test(arguments: ["RS256", "ES256"])
    func `A token with any other claim, key, algorithm or bit is refused`(algorithm: String) throws {
        let key = SigningKey(algorithm, id: "k1")
        func refused(_ text: String, _ why: String, keys: [SigningKey]? = nil) {
            #expect(throws: IDToken.Refusal.self, "\(why)") { try self.read(text, keys ?? [key]) }
        }
        let changes: [(String, Any?)] = [
            ("iss", "https://evil.example"), ("iss", nil), ("aud", "other"), ("aud", ["desk", "other"]), ("aud", nil),
            ("azp", "other"), ("nonce", "m"), ("nonce", nil), ("exp", 1_799_999_000), ("exp", nil), ("exp", "soon"),
            ("iat", 1_800_000_900), ("iat", nil), ("sub", nil), ("sub", ""), ("sub", 1),
            ("sub", String(repeating: "x", count: 256)), ("sub", "a\0"),
        ]
        for (name, value) in changes {
            var claims = Self.claims
            claims[name] = value
            refused(try key.token(claims), "\(name)")
        }
        var shared = Self.claims
        shared["aud"] = ["desk", "other"]
        shared["azp"] = "desk"
        _ = try self.read(try key.token(shared), [key])

        let good = try key.token(Self.claims)
        refused(good, "another key of the same name", keys: [SigningKey(algorithm, id: "k1")])
        refused(good, "no key", keys: [])
        for header in [
            ["alg": "none"], ["alg": "HS256", "kid": "k1"], ["alg": algorithm, "kid": "k2"], ["kid": "k1"],
        ] {
            refused(try key.token(Self.claims, header: header), "\(header)")
        }
        refused(try key.token(Self.claims, header: ["alg": algorithm, "kid": "k1", "crit": ["x"]]), "crit")
        let pieces = good.split(separator: ".").map(String.init)
        refused("\(pieces[0]).\(pieces[1]).", "no signature")
        refused("\(pieces[0]).\(pieces[1])", "two pieces")
        refused("\(SigningKey.encoded(Array("{\"alg\":\"none\"}".utf8))).\(pieces[1]).", "unsigned")
        var bytes = Array(good.utf8)
        for place in stride(from: 0, to: bytes.count, by: 17) where bytes[place] != UInt8(ascii: ".") {
            let was = bytes[place]
            bytes[place] = was == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            refused(String(decoding: bytes, as: UTF8.self), "byte \(place)")
            bytes[place] = was
        }
    }

    @Test func `What is no public key for signatures is none`() {
        let (rsa, ec) = (SigningKey("RS256", id: "a").jwk, SigningKey("ES256", id: "b").jwk)
        #expect(JSONWebKey(rsa) != nil && JSONWebKey(ec) != nil)
        for (key, name, value) in [
            (rsa, "use", "enc"), (rsa, "alg", "RS512"), (rsa, "n", "AQAB"), (rsa, "n", ""), (rsa, "kty", "oct"),
            (ec, "crv", "P-384"), (ec, "x", "AA"), (ec, "y", SigningKey.encoded([UInt8](repeating: 1, count: 32))),
        ] {
            var key = key
            key[name] = value
            #expect(JSONWebKey(key) == nil, "\(name) \(value)")
        }
    }
}

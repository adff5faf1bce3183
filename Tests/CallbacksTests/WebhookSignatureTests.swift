import Foundation
import HTTPClient
import Testing

@testable import Callbacks

struct WebhookSignatureTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let secret: String
        let id: String
        let timestamp: Int
        let body: String
        let signature: String
        var testDescription: String { self.id }
    }

    /// The vector fixed in the reference libraries of Standard Webhooks, and that of Svix's manual.
    static let vectors = [
        Vector(
            secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
            timestamp: 1_614_265_330, body: #"{"test": 2432232314}"#,
            signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        Vector(
            secret: "whsec_plJ3nmyCDGBKInavdOK15jsl", id: "msg_loFOjxBNrRLzqYUf", timestamp: 1_731_705_121,
            body: #"{"event_type":"ping","data":{"success":true}}"#,
            signature: "v1,rAvfW3dJ/X/qxhsaXPOyyCGmRKsaKWcsNccKXlIktD0="),
    ]

    @Test(arguments: Self.vectors) func `Signatures match the published vectors`(_ vector: Vector) throws {
        let secret = try #require(WebhookSecret(vector.secret))
        let signature = try WebhookSignature(
            id: vector.id, timestamp: vector.timestamp, body: Array(vector.body.utf8), secrets: [secret])
        #expect(signature.signature == vector.signature)
    }

    @Test func `The prefix of a secret is optional`() throws {
        let vector = Self.vectors[0]
        #expect(WebhookSecret(vector.secret) == WebhookSecret(String(vector.secret.dropFirst("whsec_".count))))
    }

    @Test func `Each secret signs during a rotation`() throws {
        let secrets = try Self.vectors.map { try #require(WebhookSecret($0.secret)) }
        let both = try WebhookSignature(id: "a", timestamp: 1, body: [], secrets: secrets)
        let each = try secrets.map { try WebhookSignature(id: "a", timestamp: 1, body: [], secrets: [$0]).signature }
        #expect(both.signature == each.joined(separator: " "))
        #expect(each[0] != each[1])
    }

    @Test func `A signature depends on the id, the time and the body`() throws {
        let secret = try #require(WebhookSecret(Self.vectors[0].secret))
        func sign(_ id: String, _ timestamp: Int, _ body: String) throws -> String {
            try WebhookSignature(id: id, timestamp: timestamp, body: Array(body.utf8), secrets: [secret]).signature
        }
        #expect(try Set([sign("a", 1, "x"), sign("b", 1, "x"), sign("a", 2, "x"), sign("a", 1, "y")]).count == 4)
    }

    @Test func `A message is not signed in part when libcrypto refuses a key`() throws {
        let refused = WebhookSecret(key: Array("0123456789abcdef".utf8), digest: "NONE")
        for secrets in [[refused], [WebhookSecret.generate(), refused]] {
            let error = #expect(throws: HTTPError.self) {
                try WebhookSignature(id: "a", timestamp: 1, body: [1], secrets: secrets)
            }
            #expect(error?.code == .localFault && error?.detail.contains("HMAC") == true)
        }
        // Nor is such a secret taken for one that fits.
        #expect(throws: WebhookVerifier.Refusal.signatureMismatch) {
            try WebhookVerifier(secrets: [refused]).verify(
                id: "a", timestamp: "1", signature: "v1,", body: [1], now: Date(timeIntervalSince1970: 1))
        }
    }

    @Test(arguments: ["", "a.b"]) func `An id that cannot be told from the rest is not signed`(_ id: String) {
        #expect(throws: HTTPError.self) {
            try WebhookSignature(id: id, timestamp: 1, body: [], secrets: [WebhookSecret.generate()])
        }
    }

    @Test(arguments: [-1, -161_426_533, Int.min]) func `A time with a sign is not signed`(_ timestamp: Int) {
        #expect(throws: HTTPError.self) {
            try WebhookSignature(id: "a", timestamp: timestamp, body: [], secrets: [WebhookSecret.generate()])
        }
    }

    /// Another last character may stand for the same byte (RFC 4648 section 3.5).
    @Test func `A signature has one text alone`() throws {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        let (secret, key) = (WebhookSecret.generate(), WebhookSigningKey.generate())
        let signature = try WebhookSignature(id: "a", timestamp: 1, body: [], secrets: [secret], signingKeys: [key])
        let verifier = WebhookVerifier(secrets: [secret], publicKeys: [key.publicKey])
        let now = Date(timeIntervalSince1970: 1)
        for entry in signature.signature.split(separator: " ") {
            try verifier.verify(id: "a", timestamp: "1", signature: String(entry), body: [], now: now)
            let text = entry.prefix { $0 != "=" }
            for character in alphabet where character != text.last {
                let changed = text.dropLast() + String(character) + entry.dropFirst(text.count)
                #expect(throws: WebhookVerifier.Refusal.signatureMismatch, "\(changed)") {
                    try verifier.verify(id: "a", timestamp: "1", signature: String(changed), body: [], now: now)
                }
            }
        }
    }

    @Test func `Generated secrets are distinct, and their text can be read back`() throws {
        let first = WebhookSecret.generate()
        #expect(first != WebhookSecret.generate())
        #expect(first.key.count == 32)
        #expect(WebhookSecret(first.text) == first)
    }

    @Test(arguments: ["", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "whsec_" + String(repeating: "A", count: 88)])
    func `Text that is no secret is refused`(_ text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    @Test func `A secret never prints its key`() {
        let secret = WebhookSecret(key: Array("0123456789abcdef".utf8))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped] {
            #expect(!text.contains("48") && !text.contains("MDEy"))
        }
    }

    /// Vector C: Svix's `worker.rs`, the key as seed and public key, with the id, time and body of the first vector.
    @Test func `An Ed25519 signature matches the published vector`() throws {
        let text = "6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg=="
        let key = try #require(WebhookSigningKey("whsk_" + text))
        let vector = Self.vectors[0]
        let secret = try #require(WebhookSecret(vector.secret))
        let signature = try WebhookSignature(
            id: vector.id, timestamp: vector.timestamp, body: Array(vector.body.utf8), secrets: [secret],
            signingKeys: [key]
        ).signature
        #expect(
            signature == vector.signature
                + " v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg==")
        // The public half, and the seed alone.
        #expect(key.publicKey.text == "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")
        #expect(WebhookSigningKey(key.text) == key)
        #expect(!"\(key)".contains("6Xb"))
    }

    @Test(arguments: ["whsk_", "whsk_AAAA", "whsk_" + String(repeating: "A", count: 88), "no key"])
    func `A broken signing key is refused`(_ text: String) {
        // The third has a public half that is not that of its seed.
        #expect(WebhookSigningKey(text) == nil)
    }

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var id = WebhookSignatureTests.vectors[0].id
        var timestamp = "1614265330"
        var signature = WebhookSignatureTests.vectors[0].signature
        var body = WebhookSignatureTests.vectors[0].body
        var nowSeconds = 1_614_265_330.0
        var refusal: WebhookVerifier.Refusal?
    }

    static let cases = [
        Case(testDescription: "as published"),
        Case(testDescription: "five minutes late", nowSeconds: 1_614_265_630),
        Case(testDescription: "later", nowSeconds: 1_614_265_631, refusal: .timestampTooOld),
        Case(testDescription: "five minutes early", nowSeconds: 1_614_265_030),
        Case(testDescription: "earlier", nowSeconds: 1_614_265_029, refusal: .timestampTooNew),
        Case(testDescription: "another time", timestamp: "1614265331", refusal: .signatureMismatch),
        Case(testDescription: "a time with a fraction", timestamp: "1614265330.0", refusal: .timestampInvalid),
        Case(testDescription: "a signed time", timestamp: "-1614265330", refusal: .timestampInvalid),
        Case(testDescription: "a huge time", timestamp: "99999999999999999999", refusal: .timestampInvalid),
        Case(testDescription: "another id", id: "msg_other", refusal: .signatureMismatch),
        Case(testDescription: "another body", body: #"{"test":2432232314}"#, refusal: .signatureMismatch),
        Case(testDescription: "no signature", signature: "", refusal: .headerMissing),
        Case(testDescription: "no id", id: "", refusal: .headerMissing),
        Case(
            testDescription: "unknown versions and broken entries beside it",
            signature: "v2,abc v1,%%% v1 , " + WebhookSignatureTests.vectors[0].signature),
        Case(
            testDescription: "its bytes under an unknown version",
            signature: "v2," + WebhookSignatureTests.vectors[0].signature.dropFirst(3), refusal: .signatureMismatch),
        Case(testDescription: "a part of it", signature: "v1,g0hM9SsE+OTPJTGt", refusal: .signatureMismatch),
        Case(testDescription: "an empty entry", signature: "v1,", refusal: .signatureMismatch),
    ]

    @Test(arguments: Self.cases) func `The verifier says why it refuses`(_ test: Case) throws {
        let verifier = WebhookVerifier(secrets: [try #require(WebhookSecret(Self.vectors[0].secret))])
        var refusal: WebhookVerifier.Refusal?
        do throws(WebhookVerifier.Refusal) {
            try verifier.verify(
                id: test.id, timestamp: test.timestamp, signature: test.signature, body: Array(test.body.utf8),
                now: Date(timeIntervalSince1970: test.nowSeconds))
        } catch {
            refusal = error
        }
        #expect(refusal == test.refusal)
    }

    @Test func `The verifier accepts either version of the signature`() throws {
        let key = WebhookSigningKey.generate()
        let signature = try WebhookSignature(
            id: "a", timestamp: 1, body: [1, 2, 3], secrets: [WebhookSecret.generate()], signingKeys: [key])
        let verifier = WebhookVerifier(secrets: [], publicKeys: [key.publicKey])
        try verifier.verify(
            id: "a", timestamp: "1", signature: signature.signature, body: [1, 2, 3],
            now: Date(timeIntervalSince1970: 1))
        #expect(throws: WebhookVerifier.Refusal.signatureMismatch) {
            try verifier.verify(
                id: "a", timestamp: "1", signature: signature.signature, body: [1, 2],
                now: Date(timeIntervalSince1970: 1))
        }
    }
}

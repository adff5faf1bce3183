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

    @Test(arguments: Self.vectors) func matchesPublishedVector(_ vector: Vector) throws {
        let secret = try #require(WebhookSecret(vector.secret))
        let signature = WebhookSignature(
            id: vector.id, timestamp: vector.timestamp, body: Array(vector.body.utf8), secrets: [secret])
        #expect(signature.signature == vector.signature)
    }

    @Test func prefixOfSecretIsOptional() throws {
        let vector = Self.vectors[0]
        #expect(WebhookSecret(vector.secret) == WebhookSecret(String(vector.secret.dropFirst("whsec_".count))))
    }

    @Test func signsWithEverySecretDuringRotation() throws {
        let secrets = try Self.vectors.map { try #require(WebhookSecret($0.secret)) }
        let both = WebhookSignature(id: "a", timestamp: 1, body: [], secrets: secrets)
        let each = secrets.map { WebhookSignature(id: "a", timestamp: 1, body: [], secrets: [$0]).signature }
        #expect(both.signature == each.joined(separator: " "))
        #expect(each[0] != each[1])
    }

    @Test func signatureDependsOnEveryPart() throws {
        let secret = try #require(WebhookSecret(Self.vectors[0].secret))
        func sign(_ id: String, _ timestamp: Int, _ body: String) -> String {
            WebhookSignature(id: id, timestamp: timestamp, body: Array(body.utf8), secrets: [secret]).signature
        }
        #expect(Set([sign("a", 1, "x"), sign("b", 1, "x"), sign("a", 2, "x"), sign("a", 1, "y")]).count == 4)
    }

    @Test func generatedSecretsAreDistinctAndReadable() throws {
        let first = WebhookSecret.generate()
        #expect(first != WebhookSecret.generate())
        #expect(first.key.count == 32)
        #expect(WebhookSecret(first.text) == first)
    }

    @Test(arguments: ["", "whsec_", "whsec_!!!", "whsec_c2hvcnQ=", "whsec_" + String(repeating: "A", count: 88)])
    func refusesWhatIsNoSecret(_ text: String) {
        #expect(WebhookSecret(text) == nil)
    }

    @Test func secretNeverPrintsItself() {
        let secret = WebhookSecret(key: Array("0123456789abcdef".utf8))
        var dumped = ""
        dump(secret, to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), dumped] {
            #expect(!text.contains("48") && !text.contains("MDEy"))
        }
    }
}

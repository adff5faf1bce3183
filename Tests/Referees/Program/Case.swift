import Callbacks
import Custody
import Foundation
import InspectCore
import Inspection

/// What the product says.
struct Answer: Encodable {
    var answer: String
    var detail: String?
    var bytes: Data?
    var text: String?
    /// What the product found, by names.
    var facts: [String: String]?

    static func accept(bytes: Data? = nil, text: String? = nil) -> Answer {
        Answer(answer: "accept", bytes: bytes, text: text)
    }

    static func accept(facts: [String: String]) -> Answer {
        var answer = Answer(true)
        answer.facts = facts
        return answer
    }

    static func refuse(_ detail: String? = nil) -> Answer { Answer(answer: "refuse", detail: detail) }

    static func other(_ answer: String, _ detail: String? = nil) -> Answer { Answer(answer: answer, detail: detail) }

    init(answer: String, detail: String? = nil, bytes: Data? = nil, text: String? = nil) {
        self.answer = answer
        self.detail = detail
        self.bytes = bytes
        self.text = text
    }

    init(_ isAccepted: Bool) { self.init(answer: isAccepted ? "accept" : "refuse") }
}

/// Files of private keys, read once each.
struct PrivateKeys {
    private var files: [String: PartDecryption?] = [:]

    /// The keys of one file, or of none for an empty path; `nil` if the product refuses the file.
    mutating func decryption(_ path: String) -> PartDecryption? {
        if let known = self.files[path] { return known }
        let urls = path.isEmpty ? [] : [URL(fileURLWithPath: path)]
        let decryption = try? PartDecryption(keys: urls)
        self.files[path] = .some(decryption)
        return decryption
    }
}

/// A question to the product.
struct Case {
    struct Malformed: Error { var name: String }

    let fields: [String: String]

    func text(_ name: String) throws -> String {
        guard let text = self.fields[name] else { throw Malformed(name: name) }
        return text
    }

    func data(_ name: String) throws -> Data {
        guard let data = Data(base64Encoded: try self.text(name)) else { throw Malformed(name: name) }
        return data
    }

    func bytes(_ name: String) throws -> [UInt8] { [UInt8](try self.data(name)) }

    func number(_ name: String) throws -> Int {
        guard let number = Int(try self.text(name)) else { throw Malformed(name: name) }
        return number
    }

    func answer(_ keys: inout PrivateKeys) throws -> Answer {
        switch try self.text("check") {
        case "signed message": try self.signedMessage()
        case "signer": try self.signer()
        case "file": try self.file()
        case "security object": try self.securityObject()
        case "chip": try self.chip()
        case "master list": try self.masterList()
        case "wrapped key": try self.wrappedKey(&keys)
        case "content": try self.content()
        case "part": try self.part(&keys)
        case "encrypt": try self.encrypt()
        case "code": try self.code()
        case "Ed25519": try self.ed25519()
        case "secret": Answer(WebhookSecret(try self.text("secret")) != nil)
        case "signing key": Answer(WebhookSigningKey(try self.text("secret")) != nil)
        case "sign": try self.sign()
        case "verify": try self.verify()
        default: throw Malformed(name: "check")
        }
    }

    /// The encrypted key of a JWE.
    private func wrappedKey(_ keys: inout PrivateKeys) throws -> Answer {
        let path = try self.text("key")
        guard let decryption = keys.decryption(path) else { return .other("key-refused") }
        let id = URL(fileURLWithPath: path).deletingPathExtension().lastPathComponent
        return decryption.unwrap(try self.data("wrapped"), keyID: id).map { .accept(bytes: Data($0)) } ?? .refuse()
    }

    /// The content of a JWE.
    private func content() throws -> Answer {
        AES256GCM.open(
            try self.data("sealed"), secret: try self.bytes("secret"), nonce: try self.data("nonce"),
            tag: try self.data("tag"), associated: try self.data("associated")
        ).map { .accept(bytes: $0) } ?? .refuse()
    }

    /// A part as a client sends it.
    private func part(_ keys: inout PrivateKeys) throws -> Answer {
        guard let decryption = keys.decryption(try self.text("key")) else { return .other("key-refused") }
        let part = try self.data("part")
        do throws(InspectError) {
            let opened = try decryption.open(part)
            return opened == part ? .other("plain") : .accept(bytes: opened)
        } catch {
            return error.code == .decryptionFailed ? .refuse() : .other(error.code.rawValue)
        }
    }

    /// A result as the partner with this public key gets it.
    private func encrypt() throws -> Answer {
        guard let key = try? PartnerKey(jwk: try self.data("jwk")) else { return .other("key-refused") }
        let sealed = try key.encrypt(try self.data("content"), type: "application/json")
        return .accept(text: String(decoding: sealed, as: UTF8.self))
    }

    /// A message authentication code.
    private func code() throws -> Answer {
        let code = try MessageCode(key: try self.bytes("key")).code(of: "", try self.bytes("message"))
        return Answer(MessageCode.areEqual(code, try self.bytes("code")))
    }

    private func ed25519() throws -> Answer {
        guard let key = WebhookPublicKey("whpk_" + (try self.text("key"))) else { return .other("key-refused") }
        return Answer(key.verifies(try self.bytes("signature"), of: try self.bytes("message")))
    }

    private func sign() throws -> Answer {
        let text = try self.text("secret")
        let secrets = text.hasPrefix("whsk_") ? [] : [WebhookSecret(text)]
        let keys = text.hasPrefix("whsk_") ? [WebhookSigningKey(text)] : []
        guard !secrets.contains(nil), !keys.contains(nil) else { return .other("secret-refused") }
        let (id, timestamp, body) = (try self.text("id"), try self.number("timestamp"), try self.bytes("body"))
        let signature = try? WebhookSignature(
            id: id, timestamp: timestamp, body: body, secrets: secrets.compactMap { $0 },
            signingKeys: keys.compactMap { $0 })
        return signature.map { .accept(text: $0.signature) } ?? .refuse()
    }

    private func verify() throws -> Answer {
        let text = try self.text("secret")
        let verifier: WebhookVerifier
        if text.hasPrefix("whpk_") {
            guard let key = WebhookPublicKey(text) else { return .other("secret-refused") }
            verifier = WebhookVerifier(secrets: [], publicKeys: [key])
        } else {
            guard let secret = WebhookSecret(text) else { return .other("secret-refused") }
            verifier = WebhookVerifier(secrets: [secret])
        }
        let (id, timestamp, signature) = (try self.text("id"), try self.text("timestamp"), try self.text("signature"))
        let (body, now) = (try self.bytes("body"), Date(timeIntervalSince1970: Double(try self.number("now"))))
        do throws(WebhookVerifier.Refusal) {
            try verifier.verify(id: id, timestamp: timestamp, signature: signature, body: body, now: now)
            return .accept()
        } catch {
            return .refuse(error.rawValue)
        }
    }
}

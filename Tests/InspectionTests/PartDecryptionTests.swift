import Custody
import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Inspection

@Suite struct PartDecryptionTests {
    private static func code(_ body: () throws -> Void) -> ErrorCode? {
        do { try body() } catch { return (error as? InspectError)?.code }
        return nil
    }

    @Test func `Parts encrypted by another implementation are decrypted, and plain parts stay as they are`() throws {
        let contents = [Data("an image".utf8), Data(), Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })]
        let client = try EncryptedParts(contents, keyID: "2026-11")
        let decryption = try PartDecryption(keys: [client.key])
        for (part, content) in zip(client.parts, contents) { #expect(try decryption.open(part) == content) }
        for plain in [Data(), Data("\u{ff}\u{d8}".utf8), Data([0xff, 0xd8, 0xff]), Data("ey".utf8)] {
            #expect(try decryption.open(plain) == plain)
        }
    }

    /// JSON allows it (RFC 8259 section 2), and some libraries write it.
    @Test(arguments: [" ", "\n", "\r\n", "\t", "  \n"])
    func `A header may have white space behind its first character`(_ space: String) throws {
        let content = Data("an image".utf8)
        let client = try EncryptedParts([content], keyID: "k", space: space)
        #expect(try PartDecryption(keys: [client.key]).open(client.parts[0]) == content)
    }

    /// Another character in the last place may stand for the same byte (RFC 4648 section 3.5).
    @Test func `A part has one text alone`() throws {
        let client = try EncryptedParts([Data("an image".utf8)], keyID: "k")
        let decryption = try PartDecryption(keys: [client.key])
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
        var ends: [Int] = []
        for (index, byte) in client.parts[0].enumerated() where byte == UInt8(ascii: ".") { ends.append(index - 1) }
        ends.append(client.parts[0].count - 1)
        for end in ends {
            for character in alphabet where character != client.parts[0][end] {
                var changed = client.parts[0]
                changed[end] = character
                #expect(Self.code { _ = try decryption.open(changed) } == .decryptionFailed, "\(character) at \(end)")
            }
        }
    }

    @Test func `A content is opened with a key, a nonce and a tag of their lengths alone`() throws {
        // Test case 13 of the specification of GCM as it was submitted to NIST: zeros, no text, nothing associated.
        let secret = [UInt8](repeating: 0, count: 32)
        let tag: [UInt8] = [
            0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45, 0x36, 0xb9, 0xa9, 0x63, 0xb4, 0xf1, 0xc4, 0xcb, 0x73, 0x8b,
        ]
        func open(key: Int = 32, nonce: Int = 12, tag count: Int = 16) -> Data? {
            AES256GCM.open(
                Data(), secret: Array(secret.prefix(key)) + Array(repeating: 0, count: max(0, key - 32)),
                nonce: Data(count: nonce), tag: Data(tag.prefix(count)), associated: Data())
        }
        #expect(open() == Data())
        for length in [0, 16, 24, 31, 33] { #expect(open(key: length) == nil) }
        for length in [0, 11, 13, 16] { #expect(open(nonce: length) == nil) }
        for length in [0, 4, 12, 15] { #expect(open(tag: length) == nil) }
    }

    @Test func `Any changed bit is detected`() throws {
        let client = try EncryptedParts([Data("an image".utf8)], keyID: "k")
        let decryption = try PartDecryption(keys: [client.key])
        let part = client.parts[0]
        for index in stride(from: 3, to: part.count, by: 7) where part[index] != UInt8(ascii: ".") {
            var changed = part
            changed[index] = part[index] == UInt8(ascii: "A") ? UInt8(ascii: "Q") : UInt8(ascii: "A")
            let code = Self.code { _ = try decryption.open(changed) }
            // A changed header may name another key.
            #expect(code == .decryptionFailed || code == .decryptionKeyUnknown, "at \(index)")
        }
        for wrong in [part.dropLast(4), part + Data(".x".utf8), Data("eyJ".utf8), Data("eyJ....".utf8)] {
            #expect(Self.code { _ = try decryption.open(Data(wrong)) } == .decryptionFailed)
        }
    }

    @Test func `Only the agreed algorithms and known keys are accepted`() throws {
        for header in [["alg": "RSA-OAEP", "enc": "A256GCM"], ["alg": "RSA-OAEP-256", "enc": "A128GCM"]] {
            let client = try EncryptedParts([Data("x".utf8)], keyID: "k", header: header)
            let decryption = try PartDecryption(keys: [client.key])
            #expect(Self.code { _ = try decryption.open(client.parts[0]) } == .decryptionFailed)
        }
        let client = try EncryptedParts([Data("x".utf8)], keyID: "new")
        let other = try EncryptedParts([Data("x".utf8)], keyID: "old")
        #expect(Self.code { _ = try PartDecryption(keys: [other.key]).open(client.parts[0]) } == .decryptionKeyUnknown)
        #expect(Self.code { _ = try PartDecryption(keys: []).open(client.parts[0]) } == .decryptionKeyUnknown)
        // Both keys during a replacement.
        let both = try PartDecryption(keys: [client.key, other.key])
        #expect(try both.open(client.parts[0]) == both.open(other.parts[0]))
        // Another key under the same id.
        let impostor = try EncryptedParts([Data("x".utf8)], keyID: "new")
        #expect(Self.code { _ = try PartDecryption(keys: [impostor.key]).open(client.parts[0]) } == .decryptionFailed)
        #expect(throws: InspectError.self) { try PartDecryption(keys: [client.key, client.key]) }
        #expect(throws: InspectError.self) { try PartDecryption(keys: [URL(fileURLWithPath: "/dev/null")]) }
    }
}

extension PartDecryptionTests {
    @Test func `What is published of a key opens nothing, and what is encrypted for it opens`() throws {
        let client = try EncryptedParts([], keyID: "2026-11")
        let decryption = try PartDecryption(keys: [client.key])
        let list = try #require(
            try JSONSerialization.jsonObject(with: Data(decryption.publicKeys.utf8)) as? [[String: String]])
        let key = try #require(list.first)
        #expect(list.count == 1 && Set(key.keys) == ["alg", "e", "kid", "kty", "n", "use"])
        #expect(key["kid"] == "2026-11" && key["alg"] == "RSA-OAEP-256" && key["use"] == "enc" && key["e"] == "AQAB")
        let partner = try PartnerKey(jwk: try JSONEncoder().encode(key))
        let content = Data("an image".utf8)
        #expect(try decryption.open(try partner.encrypt(content, type: "application/octet-stream")) == content)
        #expect(try PartDecryption(keys: []).publicKeys == "[]")
    }
}

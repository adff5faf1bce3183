internal import COpenSSL
package import Foundation
package import InspectCore
internal import Synchronization

/// A partner's public key, for which results are encrypted (RFC 7517).
///
/// RSA of 2048 to 4096 bits, or an elliptic curve of NIST (RFC 7518, section 6).
package final class PartnerKey: Sendable {
    /// How a content's key is encrypted or agreed upon.
    enum Algorithm: String, Sendable {
        case rsa = "RSA-OAEP-256"
        case agreement = "ECDH-ES"
    }

    /// A curve's name in a JWK, its object identifier in DER, and how many bytes a coordinate has.
    struct Curve: Sendable {
        var name: String
        var identifier: [UInt8]
        var count: Int

        static let all = [
            Curve(name: "P-256", identifier: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07], count: 32),
            Curve(name: "P-384", identifier: [0x2b, 0x81, 0x04, 0x00, 0x22], count: 48),
            Curve(name: "P-521", identifier: [0x2b, 0x81, 0x04, 0x00, 0x23], count: 66),
        ]
    }

    let algorithm: Algorithm
    /// The key's name in the header of encrypted content: the JWK's own, or else its thumbprint (RFC 7638).
    package let keyID: String
    /// `nil`: RSA.
    let curve: Curve?
    /// The key as it is stored: a JWK without members that nobody needs.
    package let jwk: Data
    // Constant once made; several threads may use libcrypto's keys.
    nonisolated(unsafe) let key: OpaquePointer

    private struct Refusal: Error {
        var detail: String
        /// The member that is wrong.
        var field: String?
    }

    /// - Parameter text: A JWK.
    /// - Throws: ``InspectError`` with ``ErrorCode/partnerKeyInvalid``.
    package init(jwk text: Data) throws(InspectError) {
        do throws(Refusal) {
            let members = try Self.members(text)
            func member(_ name: String) throws(Refusal) -> Data {
                guard let bytes = Base64URL.decode(members[name] ?? ""), !bytes.isEmpty else {
                    throw Refusal(detail: "\(name) is not Base64url", field: name)
                }
                return bytes
            }
            let encoded: [UInt8]
            var own: [String: String]
            switch members["kty"] {
            case "RSA":
                let (modulus, exponent) = (try member("n"), try member("e"))
                guard modulus.first != 0, (2048...4096).contains(modulus.count * 8), exponent.count <= 8 else {
                    throw Refusal(detail: "it is not of 2048 to 4096 bits", field: "n")
                }
                self.algorithm = .rsa
                self.curve = nil
                encoded = DER.rsa(modulus: modulus, exponent: exponent)
                own = ["e": members["e"] ?? "", "kty": "RSA", "n": members["n"] ?? ""]
            case "EC":
                guard let curve = Curve.all.first(where: { $0.name == members["crv"] }) else {
                    throw Refusal(detail: "its curve is not one of these", field: "crv")
                }
                let (x, y) = (try member("x"), try member("y"))
                guard x.count == curve.count, y.count == curve.count else {
                    throw Refusal(
                        detail: "a coordinate is not of the curve's length", field: x.count == curve.count ? "y" : "x")
                }
                self.algorithm = .agreement
                self.curve = curve
                encoded = DER.point(curve.identifier, x, y)
                own = ["crv": curve.name, "kty": "EC", "x": members["x"] ?? "", "y": members["y"] ?? ""]
            default: throw Refusal(detail: "kty is neither RSA nor EC", field: "kty")
            }
            guard members["alg"] ?? self.algorithm.rawValue == self.algorithm.rawValue else {
                throw Refusal(detail: "alg is not \(self.algorithm.rawValue)", field: "alg")
            }
            guard members["use"] ?? "enc" == "enc" else { throw Refusal(detail: "use is not enc", field: "use") }
            // RFC 7638: the members that make the key, in their order.
            let canonical = (try? JSONEncoder.ordered.encode(own)) ?? Data()
            self.keyID = members["kid"] ?? Base64URL.text(SHA256.digest([UInt8](canonical)))
            guard (1...100).contains(self.keyID.utf8.count), self.keyID.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
            else { throw Refusal(detail: "kid is not 1 to 100 visible ASCII characters", field: "kid") }
            own["kid"] = self.keyID
            own["alg"] = self.algorithm.rawValue
            own["use"] = "enc"
            self.jwk = (try? JSONEncoder.ordered.encode(own)) ?? Data()
            var place = UnsafePointer<UInt8>?.none
            let key = encoded.withUnsafeBufferPointer { bytes in
                place = bytes.baseAddress
                return d2i_PUBKEY(nil, &place, bytes.count)
            }
            guard let key else {
                ERR_clear_error()
                throw Refusal(detail: "it is not a key, or its point is not on the curve")
            }
            self.key = key
        } catch {
            throw InspectError(.partnerKeyInvalid, error.detail, field: error.field)
        }
        guard self.isSound else {
            throw InspectError(.partnerKeyInvalid, "a public key must not be like this one")
        }
    }

    deinit { EVP_PKEY_free(self.key) }

    /// The members that are texts. A private key is refused: its owner should learn that it has been disclosed.
    private static func members(_ text: Data) throws(Refusal) -> [String: String] {
        guard text.count <= 8192, let object = (try? JSONSerialization.jsonObject(with: text)) as? [String: Any] else {
            throw Refusal(detail: "it is not a JSON object")
        }
        if let name = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].first(where: { object[$0] != nil }) {
            throw Refusal(detail: "it has the private member \(name): stop using this key", field: name)
        }
        for name in ["kty", "alg", "use", "kid", "crv", "n", "e", "x", "y"] {
            guard let value = object[name] else { continue }
            guard value is String else { throw Refusal(detail: "\(name) is not a string", field: name) }
        }
        return object.compactMapValues { $0 as? String }
    }

    /// NIST SP 800-56A and B: the point has the curve's order; the modulus is odd, composite and without small factors.
    private var isSound: Bool {
        guard let context = EVP_PKEY_CTX_new(self.key, nil) else { return false }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_public_check(context) == 1 else {
            ERR_clear_error()
            return false
        }
        return true
    }

    // MARK: Keys used before

    private static let known = Mutex<[Data: PartnerKey]>([:])

    /// A stored key. The check of an RSA key takes longer than an encryption, so keys are kept.
    package static func stored(_ jwk: Data) throws(InspectError) -> PartnerKey {
        if let key = self.known.withLock({ $0[jwk] }) { return key }
        let key = try PartnerKey(jwk: jwk)
        self.known.withLock { known in
            if known.count >= 1024 { known.removeAll() }
            known[jwk] = key
        }
        return key
    }
}

/// SubjectPublicKeyInfo (RFC 5280, RFC 3279, RFC 5480), which libcrypto reads.
private enum DER {
    static func rsa(modulus: Data, exponent: Data) -> [UInt8] {
        let algorithm: [UInt8] = [0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00]
        let key = self.item(0x30, self.integer(modulus) + self.integer(exponent))
        return self.item(0x30, self.item(0x30, algorithm) + self.item(0x03, [0] + key))
    }

    static func point(_ curve: [UInt8], _ x: Data, _ y: Data) -> [UInt8] {
        let algorithm: [UInt8] = [0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01]
        return self.item(
            0x30, self.item(0x30, algorithm + self.item(0x06, curve)) + self.item(0x03, [0, 0x04] + x + y))
    }

    private static func integer(_ number: Data) -> [UInt8] {
        self.item(0x02, (number.first ?? 0) & 0x80 == 0 ? [UInt8](number) : [0] + number)
    }

    private static func item(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] =
            count < 0x80
            ? [UInt8(count)] : count < 0x100 ? [0x81, UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 0xff)]
        return [tag] + length + content
    }
}

import COpenSSL
import Foundation

/// A provider's private key, which signs ID tokens as no code of the product can.
struct SigningKey: @unchecked Sendable {
    let algorithm: String
    let id: String
    // Used by one test at a time; libcrypto counts references under its own lock.
    private let key: OpaquePointer

    init(_ algorithm: String, id: String) {
        self.algorithm = algorithm
        self.id = id
        let kind = algorithm == "RS256" ? EVP_PKEY_RSA : EVP_PKEY_EC
        let context = EVP_PKEY_CTX_new_id(kind, nil)!
        defer { EVP_PKEY_CTX_free(context) }
        precondition(EVP_PKEY_keygen_init(context) == 1)
        let isSet =
            algorithm == "RS256"
            ? EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048)
            : EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1)
        precondition(isSet == 1)
        var key: OpaquePointer?
        precondition(EVP_PKEY_keygen(context, &key) == 1)
        self.key = key!
    }

    static func encoded(_ bytes: some Sequence<UInt8>) -> String {
        Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// The public key as providers publish it.
    var jwk: [String: Any] {
        func number(_ name: String, _ count: Int? = nil) -> String {
            var value: OpaquePointer?
            precondition(EVP_PKEY_get_bn_param(self.key, name, &value) == 1)
            defer { BN_free(value) }
            var bytes = [UInt8](repeating: 0, count: count ?? (Int(BN_num_bits(value)) + 7) / 8)
            precondition(BN_bn2binpad(value, &bytes, CInt(bytes.count)) >= 0)
            return Self.encoded(bytes)
        }
        return self.algorithm == "RS256"
            ? ["kty": "RSA", "kid": self.id, "use": "sig", "alg": "RS256", "n": number("n"), "e": number("e")]
            : [
                "kty": "EC", "kid": self.id, "use": "sig", "crv": "P-256", "x": number("qx", 32), "y": number("qy", 32),
            ]
    }

    /// A token of these claims.
    func token(_ claims: [String: Any], header: [String: Any]? = nil) throws -> String {
        let header = try JSONSerialization.data(withJSONObject: header ?? ["alg": self.algorithm, "kid": self.id])
        let text = try Self.encoded(header) + "." + Self.encoded(JSONSerialization.data(withJSONObject: claims))
        let message = Array(text.utf8)
        let context = EVP_MD_CTX_new()!
        defer { EVP_MD_CTX_free(context) }
        precondition(EVP_DigestSignInit(context, nil, EVP_sha256(), nil, self.key) == 1)
        var count = 0
        precondition(EVP_DigestSign(context, nil, &count, message, message.count) == 1)
        var signature = [UInt8](repeating: 0, count: count)
        precondition(EVP_DigestSign(context, &signature, &count, message, message.count) == 1)
        signature = Array(signature[..<count])
        return text + "." + Self.encoded(self.algorithm == "RS256" ? signature : Self.joined(signature))
    }

    /// Both numbers of an ECDSA signature in DER, 32 bytes each.
    private static func joined(_ der: [UInt8]) -> [UInt8] {
        var rest = der[2...]
        var result: [UInt8] = []
        for _ in 0..<2 {
            let count = Int(rest[rest.startIndex + 1])
            let number = rest[(rest.startIndex + 2)...].prefix(count).drop { $0 == 0 }
            result += [UInt8](repeating: 0, count: 32 - number.count) + number
            rest = rest.dropFirst(2 + count)
        }
        return result
    }
}

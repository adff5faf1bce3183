internal import COpenSSL
internal import Custody
package import Foundation
package import InspectCore

/// Decrypts parts that a client encrypted for the workers: JWE in compact form (RFC 7516), RSA-OAEP with SHA-256 for the
/// key and AES-256-GCM for the content (RFC 7518, sections 4.3 and 5.3).
///
/// Such a part stays encrypted everywhere but in the worker's memory: in transit, in the queue and in backups. It is
/// recognised by its form, which no image and no chip file has.
package final class PartDecryption: Sendable {
    /// Private keys by their key ids.
    // Constant once loaded; several threads may use libcrypto's keys.
    private nonisolated(unsafe) let keys: [String: OpaquePointer]

    /// Every JWE in compact form begins in one of these ways: `{` in Base64url, then a quotation mark or the white space that
    /// JSON allows before it (RFC 8259, section 2). No image and no file of a chip does.
    private static let prefixes = ["ey", "ew"].map { Data($0.utf8) }
    /// NIST SP 800-57 part 1, table 2: 112 bits of strength.
    private static let smallestModulus = 2048

    /// - Parameter files: PEM files with RSA private keys; a key's id is its file's name without the extension.
    /// - Throws: ``InspectError`` with ``ErrorCode/internalError`` for a file that holds no such key; its detail names the file.
    package init(keys files: [URL]) throws(InspectError) {
        var keys: [String: OpaquePointer] = [:]
        for file in files {
            let id = file.deletingPathExtension().lastPathComponent
            guard let pem = try? Data(contentsOf: file), let key = Self.key(pem) else {
                throw InspectError(.internalError, "\(file.lastPathComponent) contains no RSA key of 2048 bits or more")
            }
            guard keys.updateValue(key, forKey: id) == nil else {
                throw InspectError(.internalError, "two keys with the id \(id)")
            }
        }
        self.keys = keys
    }

    deinit { for key in self.keys.values { EVP_PKEY_free(key) } }

    /// The bytes that the client encrypted, or the part itself if it was not encrypted.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/decryptionKeyUnknown``, or ``ErrorCode/decryptionFailed`` for any other
    ///   fault: details would only help an attacker.
    package func open(_ part: Data) throws(InspectError) -> Data {
        guard part.count > 2, Self.prefixes.contains(where: part.starts) else { return part }
        let pieces = part.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard pieces.count == 5, let head = Base64URL.decode(pieces[0]), let wrapped = Base64URL.decode(pieces[1]),
            let nonce = Base64URL.decode(pieces[2]), let sealed = Base64URL.decode(pieces[3]),
            let tag = Base64URL.decode(pieces[4]),
            let header = try? JSONDecoder().decode(Header.self, from: head),
            header.alg == "RSA-OAEP-256", header.enc == "A256GCM", header.zip == nil, header.crit == nil
        else { throw InspectError(.decryptionFailed) }
        guard self.keys[header.kid] != nil else { throw InspectError(.decryptionKeyUnknown) }
        // The protected header is authenticated in the form in which it was sent (RFC 7516, section 5.2, step 14).
        guard let secret = self.unwrap(wrapped, keyID: header.kid),
            let opened = AES256GCM.open(sealed, secret: secret, nonce: nonce, tag: tag, associated: Data(pieces[0]))
        else { throw InspectError(.decryptionFailed) }
        return opened
    }

    /// The public halves: an array of JWKs (RFC 7517), for which clients encrypt.
    package var publicKeys: String {
        let list = self.keys.sorted { $0.key < $1.key }.map { id, key in
            [
                "kty": "RSA", "use": "enc", "alg": "RSA-OAEP-256", "kid": id, "n": Self.number("n", of: key),
                "e": Self.number("e", of: key),
            ]
        }
        return (try? JSONEncoder.ordered.encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    /// One of a key's numbers, in Base64url.
    private static func number(_ name: String, of key: OpaquePointer) -> String {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(key, name, &number) == 1, let number else { return "" }
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: (Int(BN_num_bits(number)) + 7) / 8)
        BN_bn2bin(number, &bytes)
        return Base64URL.text(bytes)
    }

    private struct Header: Decodable {
        var alg: String
        var enc: String
        var kid: String
        var zip: String?
        var crit: [String]?
    }

    private static func key(_ pem: Data) -> OpaquePointer? {
        let memory = pem.withUnsafeBytes { BIO_new_mem_buf($0.baseAddress, CInt($0.count)) }
        guard let memory else { return nil }
        defer { BIO_free(memory) }
        // No passphrase is asked for: an encrypted key file is refused.
        guard let key = PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in 0 }, nil) else { return nil }
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA, Int(EVP_PKEY_get_bits(key)) >= Self.smallestModulus else {
            EVP_PKEY_free(key)
            return nil
        }
        return key
    }

    /// Decrypts by RSAES-OAEP (RFC 8017, section 7.1) with SHA-256 as digest and in the mask, and no label.
    ///
    /// - Returns: `nil` if there is no such key, or it was not encrypted so with its public half.
    package func unwrap(_ wrapped: Data, keyID: String) -> [UInt8]? {
        guard let key = self.keys[keyID], let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_decrypt_init(context) == 1, EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
            EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1,
            EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1
        else { return nil }
        var secret = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = secret.count
        let bytes = Array(wrapped)
        guard EVP_PKEY_decrypt(context, &secret, &count, bytes, bytes.count) == 1 else {
            ERR_clear_error()
            return nil
        }
        return Array(secret.prefix(count))
    }
}

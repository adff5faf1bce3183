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
                throw InspectError(.internalError, "\(file.lastPathComponent) holds no RSA key of 2048 bits or more")
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
        guard pieces.count == 5, let head = Self.decoded(pieces[0]), let wrapped = Self.decoded(pieces[1]),
            let nonce = Self.decoded(pieces[2]), let sealed = Self.decoded(pieces[3]),
            let tag = Self.decoded(pieces[4]),
            let header = try? JSONDecoder().decode(Header.self, from: head),
            header.alg == "RSA-OAEP-256", header.enc == "A256GCM", header.zip == nil, header.crit == nil
        else { throw InspectError(.decryptionFailed) }
        guard self.keys[header.kid] != nil else { throw InspectError(.decryptionKeyUnknown) }
        // The protected header is authenticated in the form in which it was sent (RFC 7516, section 5.2, step 14).
        guard let secret = self.unwrap(wrapped, keyID: header.kid),
            let opened = Self.open(sealed, secret: secret, nonce: nonce, tag: tag, associated: Data(pieces[0]))
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
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
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

    /// Decrypts by AES-256-GCM (NIST SP 800-38D) as A256GCM wants it: a key of 32 bytes, a nonce of 12, a tag of 16.
    ///
    /// - Returns: `nil` if one has another length, or the tag is not that of the content and what is associated with it.
    package static func open(
        _ sealed: Data, secret: [UInt8], nonce: Data, tag: Data, associated: Data
    ) -> Data? {
        // libcrypto reads as much as it needs.
        guard secret.count == 32, nonce.count == 12, tag.count == 16, let context = EVP_CIPHER_CTX_new() else {
            return nil
        }
        defer { EVP_CIPHER_CTX_free(context) }
        let associated = Array(associated)
        var tag = Array(tag)
        var opened = Data(count: sealed.count)
        var count: CInt = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, secret, Array(nonce)) == 1,
            EVP_DecryptUpdate(context, nil, &count, associated, CInt(associated.count)) == 1
        else { return nil }
        let isRead = opened.withUnsafeMutableBytes { target in
            sealed.withUnsafeBytes { source in
                source.isEmpty
                    || EVP_DecryptUpdate(
                        context, target.baseAddress?.assumingMemoryBound(to: UInt8.self), &count,
                        source.baseAddress?.assumingMemoryBound(to: UInt8.self), CInt(source.count)) == 1
            }
        }
        // Nothing is returned before the tag is verified.
        guard isRead, EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1,
            EVP_DecryptFinal_ex(context, nil, &count) == 1
        else {
            ERR_clear_error()
            return nil
        }
        return opened
    }

    /// Base64url without padding (RFC 7515, section 2).
    private static func decoded(_ piece: Data.SubSequence) -> Data? {
        var text = [UInt8]()
        text.reserveCapacity(piece.count + 3)
        for byte in piece {
            switch byte {
            case UInt8(ascii: "-"): text.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): text.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: text.append(byte)
            }
        }
        while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        guard let data = Data(base64Encoded: Data(text)) else { return nil }
        // Bits of the last character that no byte needs are zero (RFC 4648, section 3.5): a part has one text alone.
        let rest = data.suffix(data.count % 3)
        return rest.isEmpty || rest.base64EncodedData() == Data(text.suffix(4)) ? data : nil
    }
}

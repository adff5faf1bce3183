internal import COpenSSL
package import Foundation
package import InspectCore
internal import Postgres

/// Partners' keys for a safe: each encrypted to an RSA key whose private half is kept offline, by RSAES-OAEP with SHA-256 (RFC 8017
/// section 7.1) and the key's id as label.
///
/// With it and a backup of the key store, a lost wrapping key costs no data. It contains no keys of persons and jobs, so erased data
/// stays erased.
package enum KeyEscrow {
    /// One line of the file.
    package struct Entry: Codable, Sendable, Equatable {
        /// The key's UUID.
        package var id: String
        /// Number of the partner (`insp.partner.id`).
        package var partner: Int64
        /// Base64 of the ciphertext.
        package var key: String
    }

    /// NIST SP 800-57 part 1, table 2: 128 bits of strength.
    private static let smallestModulus = 3072

    /// Encrypts to a public key.
    ///
    /// - Parameter pem: `-----BEGIN PUBLIC KEY-----`.
    /// - Throws: ``InspectError`` with ``ErrorCode/keyFileInvalid`` unless it is an RSA key of 3072 bits or more.
    package final class Recipient: Sendable {
        // Constant, and libcrypto's keys may be used by several threads.
        private nonisolated(unsafe) let key: OpaquePointer

        package init(pem: Data) throws(InspectError) {
            self.key = try KeyEscrow.read(pem) { PEM_read_bio_PUBKEY($0, nil, nil, nil) }
        }

        deinit { EVP_PKEY_free(self.key) }

        /// Encrypts a partner's key for the recipient; the label binds it to its id and partner.
        package func entry(_ key: CustodyKey) throws(InspectError) -> Entry {
            let sealed = key.secret.withBytes { text in
                KeyEscrow.run(self.key, label: KeyEscrow.label(key.id, key.partner), text, isSealing: true)
            }
            guard let sealed else { throw InspectError(.internalError, "libcrypto cannot encrypt") }
            return Entry(id: key.id.text, partner: key.partner, key: Data(sealed).base64EncodedString())
        }
    }

    /// Opens entries with the private key.
    package final class Opener: Sendable {
        // As in ``Recipient``.
        private nonisolated(unsafe) let key: OpaquePointer

        package init(pem: Data) throws(InspectError) {
            self.key = try KeyEscrow.read(pem) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in 0 }, nil) }
        }

        deinit { EVP_PKEY_free(self.key) }

        /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``.
        func key(_ entry: Entry) throws(InspectError) -> CustodyKey {
            guard let id = KeyID(entry.id), let sealed = Data(base64Encoded: entry.key),
                var bytes = sealed.withUnsafeBytes({
                    KeyEscrow.run(self.key, label: KeyEscrow.label(id, entry.partner), $0, isSealing: false)
                })
            else { throw InspectError(.sealBroken, "a key of the escrow") }
            defer { bytes.wipe() }
            guard let secret = SecretKey(bytes) else { throw InspectError(.sealBroken, "a key of the escrow") }
            return CustodyKey(id: id, kind: .partner, partner: entry.partner, parent: nil, secret: secret)
        }
    }

    private static func label(_ id: KeyID, _ partner: Int64) -> [UInt8] {
        AssociatedData.encode(["inspectd escrow 1", id.text, String(partner)])
    }

    private static func read(_ pem: Data, _ read: (OpaquePointer) -> OpaquePointer?) throws(InspectError)
        -> OpaquePointer
    {
        let found = pem.withUnsafeBytes { bytes -> OpaquePointer? in
            guard let memory = BIO_new_mem_buf(bytes.baseAddress, CInt(bytes.count)) else { return nil }
            defer { BIO_free(memory) }
            return read(memory)
        }
        guard let found else {
            ERR_clear_error()
            throw InspectError(.keyFileInvalid, "not a PEM key without a passphrase")
        }
        guard EVP_PKEY_get_base_id(found) == EVP_PKEY_RSA, Int(EVP_PKEY_get_bits(found)) >= self.smallestModulus else {
            EVP_PKEY_free(found)
            throw InspectError(.keyFileInvalid, "not an RSA key of \(self.smallestModulus) bits or more")
        }
        return found
    }

    private static func run(
        _ key: OpaquePointer, label: [UInt8], _ bytes: UnsafeRawBufferPointer, isSealing: Bool
    ) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        guard (isSealing ? EVP_PKEY_encrypt_init(context) : EVP_PKEY_decrypt_init(context)) == 1,
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
            EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1,
            EVP_PKEY_CTX_set_rsa_mgf1_md(context, EVP_sha256()) == 1,
            // The context owns and frees the copy.
            let copy = CRYPTO_memdup(label, label.count, #file, #line),
            EVP_PKEY_CTX_set0_rsa_oaep_label(context, copy, CInt(label.count)) == 1
        else { return nil }
        var output = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        var count = output.count
        let input = bytes.bindMemory(to: UInt8.self)
        let isDone =
            isSealing
            ? EVP_PKEY_encrypt(context, &output, &count, input.baseAddress, input.count) == 1
            : EVP_PKEY_decrypt(context, &output, &count, input.baseAddress, input.count) == 1
        guard isDone else {
            ERR_clear_error()
            return nil
        }
        defer { output.wipe() }
        return Array(output.prefix(count))
    }
}

extension KeyStore {
    /// Writes an entry for each partner's key.
    ///
    /// - Returns: How many.
    package func escrow(
        to recipient: KeyEscrow.Recipient, _ write: (KeyEscrow.Entry) throws -> Void
    ) async throws -> Int {
        var count = 0
        var last: KeyID?
        while true {
            let rows = try await self.page(after: last)
            guard let end = rows.last else { return count }
            last = end.id
            for row in rows {
                try write(try recipient.entry(try await self.openPartner(row).mapError(\.error).get()))
                count += 1
            }
        }
    }

    /// Wraps the partners' keys of an escrow with another wrapping key, if those that wrapped them are lost. Safe to run again.
    ///
    /// - Returns: As of a rotation; unreadable keys are missing from the escrow, or their line opens no key below.
    package func restore(
        _ entries: [KeyEscrow.Entry], with opener: KeyEscrow.Opener, to wrappingKey: String
    ) async throws(InspectError) -> Rotation {
        let known = Dictionary(grouping: entries, by: \.id)
        let present = try self.wrappingKeys.key(wrappingKey)
        var outcome = Rotation(state: try await self.beginRotation(to: wrappingKey, restores: true))
        var last: KeyID?
        while true {
            let rows = try await self.page(after: last)
            guard let end = rows.last else { break }
            last = end.id
            for row in rows where row.wrappingKey != wrappingKey {
                let candidates = (known[row.id.text] ?? []).filter { $0.partner == row.partner }
                guard let key = try await self.fitting(candidates, opener) else {
                    outcome.unreadable += 1
                    continue
                }
                let wrapped = try await present.wrap(key.secret, row.associated(wrappingKey))
                outcome.rewrapped += try await self.count(
                    "SELECT insp.rewrap_keys($1, $2::uuid[], $3, $4)",
                    [
                        .text(wrappingKey), .textArray([row.id.text]), .byteas([Data(row.wrapped)]),
                        .byteas([Data(wrapped)]),
                    ])
            }
        }
        outcome.state = try await self.endRotation()
        return outcome
    }

    /// The first of these keys that opens one of the keys below it, or has none. Anyone with the public key can write a line of an
    /// escrow, and with a wrong key instead of the right one, all keys below would be lost.
    private func fitting(
        _ entries: [KeyEscrow.Entry], _ opener: KeyEscrow.Opener
    ) async throws(InspectError) -> CustodyKey? {
        for entry in entries {
            guard let key = try? opener.key(entry) else { continue }
            let rows = try await self.rows("SELECT * FROM insp.key_below($1)", [.text(key.id.text)])
            if rows.allSatisfy({ (try? key.child($0.kind, id: $0.id, wrapped: $0.wrapped)) != nil }) { return key }
        }
        return nil
    }
}

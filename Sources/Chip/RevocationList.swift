internal import COpenSSL
internal import Foundation
internal import InspectCore

/// A certificate revocation list (RFC 5280 §5).
final class RevocationList {
    private let pointer: OpaquePointer
    let issuer: DistinguishedName
    /// When the next one is due at the latest.
    let nextUpdate: Date?
    /// Whether a certificate that is not on it is good. Not so if the list or an entry has a critical extension: it is then a
    /// list of some certificates or of changes (RFC 5280 §5.2.4, §5.2.5), or says what this version does not process (§5.2, §5.3).
    let isWhole: Bool

    init(_ encoded: [UInt8]) throws(LDSError) {
        let whole = try TLV(first: encoded[...], tag: TLV.Tag.sequence, "a revocation list")
        guard whole.encoded.count == encoded.count, let list = try whole.children(most: 3).first else {
            throw .malformed("a revocation list is incomplete")
        }
        // RFC 5280 §5.1: version, signature, issuer, …
        var fields = try list.children(most: 7)[...]
        if fields.first?.tag == TLV.Tag.integer { fields.removeFirst() }
        guard fields.count >= 3 else { throw .malformed("a revocation list is incomplete") }
        self.issuer = try DistinguishedName(fields[fields.startIndex + 1])
        var next: UnsafePointer<UInt8>?
        let pointer = encoded.withUnsafeBufferPointer { bytes in
            next = bytes.baseAddress
            return d2i_X509_CRL(nil, &next, bytes.count)
        }
        guard let pointer else {
            ERR_clear_error()
            throw .malformed("a revocation list cannot be decoded")
        }
        self.pointer = pointer
        self.nextUpdate = Certificate.date(X509_CRL_get0_nextUpdate(pointer))
        self.isWhole = X509_CRL_get_ext_by_critical(pointer, 1, -1) < 0 && !Self.hasCriticalEntry(pointer)
    }

    private static func hasCriticalEntry(_ list: OpaquePointer) -> Bool {
        guard let entries = X509_CRL_get_REVOKED(list) else { return false }
        return (0..<max(0, OPENSSL_sk_num(entries))).contains { index in
            X509_REVOKED_get_ext_by_critical(OpaquePointer(OPENSSL_sk_value(entries, index)), 1, -1) >= 0
        }
    }

    deinit { X509_CRL_free(self.pointer) }

    func isSigned(by authority: Certificate) -> Bool { authority.mayRevoke && authority.signed(self.pointer) }

    func revokes(_ certificate: Certificate) -> Bool { certificate.isRevoked(in: self.pointer) }
}

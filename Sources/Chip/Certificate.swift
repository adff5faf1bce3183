internal import COpenSSL
internal import Foundation
internal import InspectCore

/// An X.509 certificate (RFC 5280) of a document signer or a CSCA.
///
/// A class, since libcrypto's certificate must be freed once. Not `Sendable`: libcrypto caches decoded parts.
final class Certificate {
    private let pointer: OpaquePointer
    let encoded: [UInt8]
    let publicKey: PublicKey
    /// Issuer's and subject's names as encoded, and made comparable.
    let issuer: DistinguishedName
    let subject: DistinguishedName
    /// The serial number's octets.
    let serial: [UInt8]
    let notBefore: Date
    let notAfter: Date
    /// The signed bytes and the signature.
    private let signed: [UInt8]
    private let algorithm: AlgorithmIdentifier
    private let signature: [UInt8]

    /// Decodes one certificate.
    init(_ encoded: [UInt8]) throws(LDSError) {
        let whole = try TLV(first: encoded[...], tag: TLV.Tag.sequence, "a certificate")
        guard whole.encoded.count == encoded.count else { throw .malformed("bytes follow a certificate") }
        let parts = try whole.children(most: 3)
        guard parts.count == 3, parts[0].tag == TLV.Tag.sequence, parts[2].tag == TLV.Tag.bitString,
            parts[2].content.first == 0
        else { throw .malformed("a certificate is incomplete") }
        self.encoded = encoded
        self.signed = Array(parts[0].encoded)
        self.algorithm = try AlgorithmIdentifier(parts[1])
        self.signature = Array(parts[2].content.dropFirst())

        // RFC 5280 §4.1: version, serialNumber, signature, issuer, validity, subject, …
        var fields = try parts[0].children(most: 10)[...]
        if fields.first?.tag == 0xA0 { fields.removeFirst() }
        guard fields.count >= 6, fields[fields.startIndex].tag == TLV.Tag.integer else {
            throw .malformed("a certificate is incomplete")
        }
        let start = fields.startIndex
        self.serial = Array(fields[start].content)
        // RFC 5280 §4.1.1.2: the algorithm is named twice, and only one of both places is signed.
        guard fields[start + 1].encoded.elementsEqual(parts[1].encoded) else {
            throw .malformed("a certificate names two algorithms")
        }
        self.issuer = try DistinguishedName(fields[start + 2])
        self.subject = try DistinguishedName(fields[start + 4])

        var next: UnsafePointer<UInt8>?
        let pointer = encoded.withUnsafeBufferPointer { bytes in
            next = bytes.baseAddress
            return d2i_X509(nil, &next, bytes.count)
        }
        guard let pointer else {
            ERR_clear_error()
            throw .malformed("a certificate cannot be decoded")
        }
        // The first question about extensions decodes them all.
        X509_get_extension_flags(pointer)
        guard let key = X509_get0_pubkey(pointer), let from = Self.date(X509_get0_notBefore(pointer)),
            let to = Self.date(X509_get0_notAfter(pointer))
        else {
            X509_free(pointer)
            ERR_clear_error()
            throw .malformed("a certificate has no key that is known, or no validity")
        }
        ERR_clear_error()
        self.pointer = pointer
        self.publicKey = PublicKey(key)
        self.notBefore = from
        self.notAfter = to
    }

    deinit { X509_free(self.pointer) }

    /// Two letters of the subject's country, upper case (Doc 9303-12 §7.1.1: they must be, and some are not).
    var country: String? { self.subject.country ?? self.issuer.country }

    var isSelfIssued: Bool { self.issuer == self.subject }

    /// Whether it may certify others: RFC 5280 §4.2.1.9, and keyCertSign of §4.2.1.3 if usage is restricted.
    ///
    /// The oldest CSCA certificates have no extensions; an operator who configures one as an anchor trusts it deliberately.
    var mayCertify: Bool {
        let flags = X509_get_extension_flags(self.pointer)
        guard self.keyUsage.map({ $0 & UInt32(KU_KEY_CERT_SIGN) != 0 }) ?? true else { return false }
        return flags & UInt32(EXFLAG_BCONS) != 0 ? flags & UInt32(EXFLAG_CA) != 0 : self.isSelfIssued
    }

    /// How many authorities of other names may follow it on a path (RFC 5280 §4.2.1.9), or `nil` if it does not say.
    var pathLength: Int? {
        let length = X509_get_pathlen(self.pointer)
        return length < 0 ? nil : length
    }

    /// Whether it may sign revocation lists. Where usage is not restricted, only authorities do.
    var mayRevoke: Bool { self.keyUsage.map { $0 & UInt32(KU_CRL_SIGN) != 0 } ?? self.mayCertify }

    /// Bits of keyUsage, or `nil` if there is none.
    var keyUsage: UInt32? {
        let usage = X509_get_key_usage(self.pointer)
        return usage == UInt32.max ? nil : usage
    }

    /// Whether it has a critical extension that this version does not process (RFC 5280 §4.2).
    var hasUnknownCriticalExtension: Bool {
        X509_get_extension_flags(self.pointer) & UInt32(EXFLAG_CRITICAL) != 0
    }

    var subjectKeyIdentifier: [UInt8]? { Self.octets(X509_get0_subject_key_id(self.pointer)) }
    var authorityKeyIdentifier: [UInt8]? { Self.octets(X509_get0_authority_key_id(self.pointer)) }

    /// Whether this certificate was signed with the key of `authority`.
    ///
    /// - Returns: `nil` if this version does not know the algorithm.
    func isSigned(by authority: Certificate) -> Bool? {
        guard let scheme = try? self.algorithm.scheme(digest: nil) else { return nil }
        return authority.publicKey.verify(self.signature, over: self.signed, scheme)
    }

    /// Whether the list names this certificate.
    func isRevoked(in list: OpaquePointer) -> Bool {
        var entry: OpaquePointer?
        // 2 means removeFromCRL, which withdraws a revocation (RFC 5280 §5.3.1).
        return X509_CRL_get0_by_serial(list, &entry, X509_get_serialNumber(self.pointer)) == 1
    }

    /// Whether the list was signed with this certificate's key.
    func signed(_ list: OpaquePointer) -> Bool {
        defer { ERR_clear_error() }
        guard self.publicKey.isAcceptable, let key = X509_get0_pubkey(self.pointer) else { return false }
        return X509_CRL_verify(list, key) == 1
    }

    /// Where a document signer's certificate deviates from Doc 9303-12 §7.1.1 and RFC 5280 in ways that issuers do and that
    /// prove nothing against a document.
    var deviations: [String] {
        var found: [String] = []
        if self.keyUsage == nil {
            found.append("DSC_WITHOUT_KEY_USAGE")
        } else if !self.isCritical(NID_key_usage) {
            found.append("DSC_KEY_USAGE_NOT_CRITICAL")
        }
        if self.authorityKeyIdentifier == nil { found.append("DSC_WITHOUT_AUTHORITY_KEY_IDENTIFIER") }
        // RFC 5280 §4.1.2.5: dates through 2049 are UTCTime.
        let years2050 = Date(timeIntervalSince1970: 2_524_608_000)
        let times = [X509_get0_notBefore(self.pointer), X509_get0_notAfter(self.pointer)]
        if zip(times, [self.notBefore, self.notAfter]).contains(where: { time, date in
            date < years2050 && ASN1_STRING_type(time) == V_ASN1_GENERALIZEDTIME
        }) {
            found.append("DSC_VALIDITY_AS_GENERALIZED_TIME")
        }
        return found
    }

    private func isCritical(_ extensionType: Int32) -> Bool {
        let place = X509_get_ext_by_NID(self.pointer, extensionType, -1)
        return place >= 0 && X509_EXTENSION_get_critical(X509_get_ext(self.pointer, place)) == 1
    }

    var facts: CertificateFacts {
        CertificateFacts(
            country: self.country, notBefore: CalendarDate(self.notBefore).iso8601,
            notAfter: CalendarDate(self.notAfter).iso8601,
            sha256: (DigestAlgorithm.sha256.digest(self.encoded) ?? []).hexadecimal,
            key: self.publicKey.name, hasExplicitParameters: self.publicKey.hasExplicitParameters)
    }

    static func date(_ time: UnsafePointer<ASN1_TIME>?) -> Date? {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return nil }
        return Date(timeIntervalSince1970: Double(timegm(&parts)))
    }

    private static func octets(_ string: UnsafePointer<ASN1_OCTET_STRING>?) -> [UInt8]? {
        guard let string, let data = ASN1_STRING_get0_data(string) else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: Int(max(0, ASN1_STRING_length(string)))))
    }
}

/// A name of RFC 5280 §4.1.2.4 in a form that can be compared.
///
/// Names count as equal when they hold the same attributes: issuers write the same name in another order, in another string
/// type or in other capitals (Malaysia, Indonesia). Trust rests on signatures alone; names only select the keys to try.
struct DistinguishedName: Hashable {
    private let attributes: [String]
    let country: String?

    init(_ element: TLV) throws(LDSError) {
        guard element.tag == TLV.Tag.sequence else { throw .malformed("a name is not a sequence") }
        var attributes: [String] = []
        var country: String?
        for relative in try element.children() {
            for pair in try relative.children(most: 16) {
                let fields = try pair.children(most: 2)
                guard fields.count == 2 else { throw .malformed("a name is incomplete") }
                let type = try fields[0].objectIdentifier()
                let text = String(decoding: fields[1].content, as: UTF8.self)
                let value = text.lowercased().split(separator: " ").joined(separator: " ")
                attributes.append("\(type)=\(value)")
                // id-at-countryName (X.520 §6.3.1).
                if type == "2.5.4.6", (2...3).contains(value.utf8.count) { country = value.uppercased() }
            }
        }
        self.attributes = attributes.sorted()
        self.country = country
    }

    static func == (left: Self, right: Self) -> Bool { left.attributes == right.attributes }

    func hash(into hasher: inout Hasher) { hasher.combine(self.attributes) }
}

/// Hash functions that Doc 9303-12 §4.1.6 and its older editions list.
package enum DigestAlgorithm: String, Codable, Sendable, CaseIterable {
    case sha1 = "SHA-1"
    case sha224 = "SHA-224"
    case sha256 = "SHA-256"
    case sha384 = "SHA-384"
    case sha512 = "SHA-512"

    /// RFC 5754 §2, RFC 3370 §2.1.
    package init?(objectIdentifier: String) {
        switch objectIdentifier {
        case "1.3.14.3.2.26": self = .sha1
        case "2.16.840.1.101.3.4.2.4": self = .sha224
        case "2.16.840.1.101.3.4.2.1": self = .sha256
        case "2.16.840.1.101.3.4.2.2": self = .sha384
        case "2.16.840.1.101.3.4.2.3": self = .sha512
        default: return nil
        }
    }

    /// Bytes of a digest.
    package var length: Int {
        switch self {
        case .sha1: 20
        case .sha224: 28
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }
}

/// The signature schemes that chips use.
package enum SignatureScheme: Sendable, Hashable {
    /// RSASSA-PKCS1-v1_5 (RFC 8017 §8.2).
    case rsa(DigestAlgorithm)
    /// RSASSA-PSS (RFC 8017 §8.1) with the salt's length in bytes.
    case rsaPSS(DigestAlgorithm, mask: DigestAlgorithm, salt: Int)
    case ecdsa(DigestAlgorithm)
    /// ECDSA with `r` and `s` side by side instead of in DER (BSI TR-03111 §5.2.1.1).
    case plainECDSA(DigestAlgorithm)
    /// Of signers before 2014; FIPS 186-5 allows it for verification only.
    case dsa(DigestAlgorithm)

    /// For reports: `RSASSA-PSS SHA-256`.
    package var name: String {
        switch self {
        case .rsa(let digest): "RSASSA-PKCS1-v1_5 \(digest.rawValue)"
        case .rsaPSS(let digest, _, _): "RSASSA-PSS \(digest.rawValue)"
        case .ecdsa(let digest): "ECDSA \(digest.rawValue)"
        case .plainECDSA(let digest): "plain ECDSA \(digest.rawValue)"
        case .dsa(let digest): "DSA \(digest.rawValue)"
        }
    }

    /// The digest of the signed data.
    package var digest: DigestAlgorithm {
        switch self {
        case .rsa(let digest), .rsaPSS(let digest, _, _), .ecdsa(let digest), .plainECDSA(let digest), .dsa(let digest):
            digest
        }
    }
}

/// An algorithm by its object identifier, with parameters if it has some (RFC 5280 §4.1.1.2).
///
/// Issuers omit absent parameters or write NULL, against the standards; both are accepted.
package struct AlgorithmIdentifier: Sendable, Hashable {
    var objectIdentifier: String
    /// `nil` when absent or NULL.
    package var parameters: TLV?

    package init(_ element: TLV) throws(LDSError) {
        guard element.tag == TLV.Tag.sequence else { throw .malformed("an algorithm is missing") }
        let fields = try element.children(most: 2)
        guard let first = fields.first else { throw .malformed("an algorithm is missing") }
        self.objectIdentifier = try first.objectIdentifier()
        self.parameters = fields.count == 2 && fields[1].tag != TLV.Tag.null ? fields[1] : nil
    }

    /// The hash function that this names.
    package var digest: DigestAlgorithm {
        get throws(LDSError) {
            guard let digest = DigestAlgorithm(objectIdentifier: self.objectIdentifier) else {
                throw .unsupported("hash function \(self.objectIdentifier)")
            }
            return digest
        }
    }

    /// Identifiers that name both the signature and the hash function.
    private static let schemes: [String: SignatureScheme] = [
        // RFC 8017 appendix C.
        "1.2.840.113549.1.1.5": .rsa(.sha1), "1.2.840.113549.1.1.14": .rsa(.sha224),
        "1.2.840.113549.1.1.11": .rsa(.sha256), "1.2.840.113549.1.1.12": .rsa(.sha384),
        "1.2.840.113549.1.1.13": .rsa(.sha512),
        // RFC 3279 §2.2.3, RFC 5758 §3.2.
        "1.2.840.10045.4.1": .ecdsa(.sha1), "1.2.840.10045.4.3.1": .ecdsa(.sha224),
        "1.2.840.10045.4.3.2": .ecdsa(.sha256), "1.2.840.10045.4.3.3": .ecdsa(.sha384),
        "1.2.840.10045.4.3.4": .ecdsa(.sha512),
        // BSI TR-03111 §5.2.1.
        "0.4.0.127.0.7.1.1.4.1.1": .plainECDSA(.sha1), "0.4.0.127.0.7.1.1.4.1.2": .plainECDSA(.sha224),
        "0.4.0.127.0.7.1.1.4.1.3": .plainECDSA(.sha256), "0.4.0.127.0.7.1.1.4.1.4": .plainECDSA(.sha384),
        "0.4.0.127.0.7.1.1.4.1.5": .plainECDSA(.sha512),
        // RFC 3279 §2.2.2, RFC 5758 §3.1.
        "1.2.840.10040.4.3": .dsa(.sha1), "2.16.840.1.101.3.4.3.1": .dsa(.sha224),
        "2.16.840.1.101.3.4.3.2": .dsa(.sha256),
    ]

    /// The signature scheme that this names.
    ///
    /// - Parameter digest: The signer's hash function, for identifiers that name none (RFC 3370 §3.2).
    package func scheme(digest: DigestAlgorithm?) throws(LDSError) -> SignatureScheme {
        if let scheme = Self.schemes[self.objectIdentifier] { return scheme }
        switch self.objectIdentifier {
        case "1.2.840.113549.1.1.10": return try self.pss()
        case "1.2.840.113549.1.1.1":
            if let digest { return .rsa(digest) }
        case "1.2.840.10045.2.1":
            if let digest { return .ecdsa(digest) }
        case "1.2.840.10040.4.1":
            if let digest { return .dsa(digest) }
        default: break
        }
        throw .unsupported("signature algorithm \(self.objectIdentifier)")
    }

    /// RSASSA-PSS-params with its defaults (RFC 4055 §3.1): SHA-1, MGF1 with SHA-1, 20 bytes of salt.
    private func pss() throws(LDSError) -> SignatureScheme {
        var digest = DigestAlgorithm.sha1
        var mask = DigestAlgorithm.sha1
        var salt = 20
        for field in try self.parameters?.children(most: 4) ?? [] {
            let value = try TLV(first: field.content)
            switch field.tag {
            case 0xA0: digest = try AlgorithmIdentifier(value).digest
            case 0xA1:
                let generator = try AlgorithmIdentifier(value)
                guard generator.objectIdentifier == "1.2.840.113549.1.1.8", let parameters = generator.parameters else {
                    throw .unsupported("mask generation function \(generator.objectIdentifier)")
                }
                mask = try AlgorithmIdentifier(parameters).digest
            case 0xA2: salt = try value.integer()
            case 0xA3 where try value.integer() == 1: continue
            default: throw .malformed("parameters of RSASSA-PSS")
            }
        }
        guard salt <= 512 else { throw .malformed("parameters of RSASSA-PSS") }
        return .rsaPSS(digest, mask: mask, salt: salt)
    }
}

internal import COpenSSL
internal import InspectCore

/// The public key of a certificate. Valid as long as the certificate that it belongs to.
struct PublicKey {
    enum Kind: Equatable {
        case rsa
        /// An RSA key that may be used with RSASSA-PSS alone (RFC 4055 §1.2).
        case rsaPSS
        /// The curve's name, or `nil` for parameters of an unknown curve.
        case elliptic(curve: String?)
        case dsa
        case other
    }

    private let pointer: OpaquePointer
    let kind: Kind
    let bits: Int
    /// Whether the key specifies its curve by parameters instead of a name. libcrypto then compares them with the known
    /// curves, including base point, order and cofactor.
    let hasExplicitParameters: Bool

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        self.bits = Int(EVP_PKEY_get_bits(pointer))
        var isExplicit: Int32 = 0
        switch EVP_PKEY_get_base_id(pointer) {
        case EVP_PKEY_RSA: self.kind = .rsa
        case EVP_PKEY_RSA_PSS: self.kind = .rsaPSS
        case EVP_PKEY_EC:
            var name = [CChar](repeating: 0, count: 64)
            let isNamed = EVP_PKEY_get_group_name(pointer, &name, name.count, nil) == 1
            let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
            self.kind = .elliptic(curve: isNamed ? String(decoding: bytes, as: UTF8.self) : nil)
            EVP_PKEY_get_int_param(pointer, OSSL_PKEY_PARAM_EC_DECODED_FROM_EXPLICIT_PARAMS, &isExplicit)
        // Parameters that the issuer's certificate holds are not looked up (RFC 3279 §2.3.2): without them this is no key.
        case EVP_PKEY_DSA: self.kind = EVP_PKEY_missing_parameters(pointer) == 0 ? .dsa : .other
        default: self.kind = .other
        }
        self.hasExplicitParameters = isExplicit == 1
        ERR_clear_error()
    }

    /// For reports: `RSA 2048`, `brainpoolP256r1`.
    var name: String {
        switch self.kind {
        case .rsa: "RSA \(self.bits)"
        case .rsaPSS: "RSA-PSS \(self.bits)"
        case .elliptic(let curve): curve ?? "unknown curve of \(self.bits) bits"
        case .dsa: "DSA \(self.bits)"
        case .other: "unknown"
        }
    }

    /// Whether this version accepts signatures by this key.
    ///
    /// Doc 9303-12 §4.1.6.3 requires explicit curve parameters. An attacker could choose parameters of an unknown curve so
    /// that he can sign for a given public key.
    var isAcceptable: Bool { self.kind != .other && self.kind != .elliptic(curve: nil) }

    /// Whether `signature` over `message` was made with this key.
    func verify(_ signature: [UInt8], over message: [UInt8], _ scheme: SignatureScheme) -> Bool {
        guard self.isAcceptable, self.fits(scheme), let signature = self.encoded(signature, scheme),
            let context = EVP_MD_CTX_new()
        else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // Otherwise, the next user of libcrypto would find these errors in its queue.
            ERR_clear_error()
        }
        var settings: OpaquePointer?
        guard EVP_DigestVerifyInit(context, &settings, scheme.digest.native, nil, self.pointer) == 1 else {
            return false
        }
        if case .rsaPSS(_, let mask, let salt) = scheme {
            guard EVP_PKEY_CTX_set_rsa_padding(settings, RSA_PKCS1_PSS_PADDING) > 0,
                EVP_PKEY_CTX_set_rsa_pss_saltlen(settings, Int32(salt)) > 0,
                EVP_PKEY_CTX_set_rsa_mgf1_md(settings, mask.native) > 0
            else { return false }
        }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private func fits(_ scheme: SignatureScheme) -> Bool {
        switch (scheme, self.kind) {
        case (.rsa, .rsa), (.rsaPSS, .rsa), (.rsaPSS, .rsaPSS), (.ecdsa, .elliptic), (.plainECDSA, .elliptic),
            (.dsa, .dsa):
            true
        default: false
        }
    }

    /// The signature as libcrypto takes it: Ecdsa-Sig-Value (RFC 3279 §2.2.3) also for `r` and `s` side by side.
    private func encoded(_ signature: [UInt8], _ scheme: SignatureScheme) -> [UInt8]? {
        guard case .plainECDSA = scheme else { return signature }
        // Both have the length of the curve's order, whose bits are the key's.
        let half = (self.bits + 7) / 8
        guard half > 0, signature.count == 2 * half else { return nil }
        func integer(_ octets: ArraySlice<UInt8>) -> [UInt8] {
            let digits = Array(octets.drop { $0 == 0 })
            let value = digits.first.map { $0 < 0x80 } == true ? digits : [0] + digits
            return [0x02] + CMSSignedData.SignerInfo.length(value.count) + value
        }
        let pair = integer(signature[..<half]) + integer(signature[half...])
        return [0x30] + CMSSignedData.SignerInfo.length(pair.count) + pair
    }
}

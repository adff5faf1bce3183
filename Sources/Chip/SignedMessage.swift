package import InspectCore

/// Verifies a signed message with its signer's certificate (RFC 5652 §5.6).
///
/// libcrypto's own `CMS_verify` refuses files of chips in circulation: a signer's name with its attributes in another order
/// than in the certificate (Malaysia), a key identifier that the certificate lacks, a content type other than announced.
package struct SignedMessage {
    /// `nil` if undetermined.
    package private(set) var isGood: Bool?
    /// Why it is not valid.
    package private(set) var reason: ChipReason?
    private(set) var detail: String?
    /// The signer's certificate, also when the signature is wrong.
    private(set) var signer: Certificate?
    private(set) var scheme: SignatureScheme?
    private(set) var signingTime: String?
    private(set) var deviations: [String] = []
    /// The enclosed certificates that can be decoded.
    private var embedded: [Certificate] = []

    /// The signer's certificate must be among the enclosed ones.
    package init(_ message: CMSSignedData) { self.init(message, others: []) }

    /// - Parameter others: Further certificates among which to find the signer's.
    init(_ message: CMSSignedData, others: [Certificate]) {
        guard let info = message.signers.first else {
            self.fail(.signatureInvalid, "there is no signer")
            return
        }
        if message.signers.count > 1 { self.deviations.append("SEVERAL_SIGNERS") }
        self.signingTime = info.signingTime
        let signed: [UInt8]
        do {
            let digest = try info.digestAlgorithm.digest
            let scheme = try info.signatureAlgorithm.scheme(digest: digest)
            self.scheme = scheme
            if scheme.digest != digest { self.deviations.append("TWO_HASH_FUNCTIONS") }
            self.findSigner(info, message.certificates, others)
            signed = try self.signedBytes(info, message, digest)
        } catch {
            self.findSigner(info, message.certificates, others)
            if case .unsupported = error {
                self.leaveOpen(.sodUnsupported, error.detail)
            } else {
                self.fail(.signatureInvalid, error.detail)
            }
            return
        }
        guard let scheme = self.scheme, self.reason == nil else { return }
        self.verify(info, signed, scheme, others)
    }

    private mutating func fail(_ reason: ChipReason, _ detail: String? = nil) {
        self.isGood = false
        self.reason = self.reason ?? reason
        self.detail = self.detail ?? detail
    }

    private mutating func leaveOpen(_ reason: ChipReason, _ detail: String? = nil) {
        self.isGood = nil
        self.reason = self.reason ?? reason
        self.detail = self.detail ?? detail
    }

    /// What the signature covers: the attributes, which name the content's digest, or the content itself.
    private mutating func signedBytes(
        _ info: CMSSignedData.SignerInfo, _ message: CMSSignedData, _ digest: DigestAlgorithm
    ) throws(LDSError) -> [UInt8] {
        guard let attributes = info.signedAttributes else {
            self.deviations.append("NO_SIGNED_ATTRIBUTES")
            return message.content
        }
        // RFC 5652 §11.1 asks for the announced type; China's attributes name another one.
        if info.contentType != message.contentType { self.deviations.append("CONTENT_TYPE_ATTRIBUTE") }
        guard let expected = info.messageDigest else { throw .malformed("the attributes name no digest") }
        if digest.digest(message.content) != expected { self.fail(.contentDigestMismatch) }
        return attributes
    }

    /// The candidates for the signer's certificate, the likeliest first.
    private static func candidates(
        _ info: CMSSignedData.SignerInfo, _ certificates: [Certificate]
    ) -> [(certificate: Certificate, isNamed: Bool)] {
        let named = certificates.map { certificate in
            switch info.identifier {
            case .issuerAndSerial(let issuer, let serial):
                let name = (try? TLV(first: issuer[...])).flatMap { try? DistinguishedName($0) }
                return (
                    certificate, certificate.serial == serial && certificate.issuer == name,
                    certificate.serial == serial
                )
            case .subjectKeyIdentifier(let identifier):
                let isNamed = certificate.subjectKeyIdentifier == identifier
                return (certificate, isNamed, isNamed)
            }
        }
        return named.filter(\.1).map { ($0.0, true) } + named.filter { !$0.1 && $0.2 }.map { ($0.0, false) }
            + named.filter { !$0.1 && !$0.2 }.map { ($0.0, false) }
    }

    private mutating func findSigner(
        _ info: CMSSignedData.SignerInfo, _ encoded: [[UInt8]], _ others: [Certificate]
    ) {
        var embedded: [Certificate] = []
        var problem: String?
        for bytes in encoded {
            do throws(LDSError) { embedded.append(try Certificate(bytes)) } catch { problem = error.detail }
        }
        let mine = Self.candidates(info, embedded)
        let theirs = Self.candidates(info, others).filter(\.isNamed)
        self.signer = (mine.first { $0.isNamed } ?? theirs.first ?? mine.first)?.certificate
        self.embedded = embedded
        guard self.signer == nil else { return }
        if let problem { self.fail(.signerMalformed, problem) } else { self.leaveOpen(.signerMissing) }
    }

    private mutating func verify(
        _ info: CMSSignedData.SignerInfo, _ signed: [UInt8], _ scheme: SignatureScheme, _ others: [Certificate]
    ) {
        let candidates = Self.candidates(info, self.embedded) + Self.candidates(info, others).filter(\.isNamed)
        for (certificate, isNamed) in candidates
        where certificate.publicKey.verify(info.signature, over: signed, scheme) {
            self.signer = certificate
            self.isGood = true
            if !isNamed { self.deviations.append("SIGNER_NAMED_OTHERWISE") }
            if certificate.publicKey.hasExplicitParameters { self.deviations.append("EXPLICIT_CURVE_PARAMETERS") }
            return
        }
        if self.signer?.publicKey.isAcceptable == false {
            self.fail(.signerUnfit, "its key is not of a known kind or on a known curve")
        } else {
            self.fail(.signatureInvalid)
        }
    }
}

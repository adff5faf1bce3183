/// The measurements on the chip's files: part of the stage that ends with status 8 DOCUMENT.
package struct ChipFacts: Codable, Sendable, Hashable {
    /// Lines of the MRZ in DG1; `nil` if DG1 is missing or unreadable.
    package var mrzLines: [String]?
    /// Why DG1 could not be read.
    package var dg1Problem: String?
    /// The first image of DG2; `nil`: DG2 was not given, or has none that can be read.
    package var portrait: FaceStageFacts.Image?
    /// Why DG2 has no readable portrait.
    package var dg2Problem: String?
    /// DG7, DG11 and DG12; `nil` for those that were not given.
    package var signature: SignatureImages?
    /// DG11.
    package var person: PersonalDetails?
    /// DG12.
    package var document: DocumentDetails?
    /// Whether the data is what a state signed.
    package var authentication: PassiveAuthenticationFacts

    package init(authentication: PassiveAuthenticationFacts) {
        self.authentication = authentication
    }
}

/// Findings of passive authentication (ICAO Doc 9303-11 §5.1), one for each check. ``ChipRules`` judges them.
package struct PassiveAuthenticationFacts: Codable, Sendable, Hashable {
    /// Each is `true`, `false`, or `nil` if undetermined.
    package var sodParse: Bool?
    /// Every data group that was given has the hash that EF.SOD lists.
    package var hashesOK: Bool?
    /// EF.SOD is signed with the key of the document signer's certificate.
    package var signatureOK: Bool?
    /// A trusted CSCA of its country issued that certificate; it may sign, and it is not revoked.
    package var chainOK: Bool?
    /// The time of the check lies within that certificate's validity.
    package var periodOK: Bool?

    /// Why checks failed or could not be made, in order; names of ``ChipReason``.
    package var reasons: [ChipReason] = []
    /// What is wrong or unknown about the bytes; never the bytes themselves.
    package var detail: String?
    /// Deviations from the standards that were accepted.
    package var deviations: [String] = []

    /// Data group number to whether its hash is the listed one.
    package var dataGroups: [Int: Bool] = [:]
    /// Of the hashes that EF.SOD lists.
    package var digestAlgorithm: String?
    /// Four digits, such as `0108`; `nil`: EF.SOD does not say.
    package var ldsVersion: String?
    /// With which EF.SOD is signed.
    package var signatureAlgorithm: String?
    /// Signing time that the signer states, as `YYYY-MM-DD`.
    package var signedOn: String?
    /// The document signer's certificate.
    package var signer: CertificateFacts?
    /// The CSCA certificate at the end of the path; `nil`: none was found.
    package var authority: CertificateFacts?
    /// `notChecked`, `good`, `revoked` or `outdated`.
    package var revocation = "notChecked"
    /// Number of CSCA certificates that were available.
    package var anchors = 0
    /// Notes on their sources: master lists, link certificates, unusable files.
    package var anchorNotes: [String] = []

    package init() {}
}

/// A certificate as reports show it.
package struct CertificateFacts: Codable, Sendable, Hashable {
    /// Two letters, upper case.
    package var country: String?
    /// `YYYY-MM-DD`, UTC.
    package var notBefore: String
    /// `YYYY-MM-DD`, UTC.
    package var notAfter: String
    /// SHA-256 over the certificate in lower-case hexadecimal.
    package var sha256: String
    /// `RSA 2048`, `brainpoolP256r1`.
    package var key: String
    /// Whether the key specifies all parameters of its curve, as Doc 9303-12 §4.1.6.3 requires, instead of the curve's
    /// name.
    package var hasExplicitParameters: Bool

    package init(
        country: String?, notBefore: String, notAfter: String, sha256: String, key: String, hasExplicitParameters: Bool
    ) {
        self.country = country
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.sha256 = sha256
        self.key = key
        self.hasExplicitParameters = hasExplicitParameters
    }
}

/// Why passive authentication fails or stays inconclusive.
package enum ChipReason: String, Codable, Sendable, CaseIterable {
    case sodMissing = "SOD_MISSING"
    case sodMalformed = "SOD_MALFORMED"
    /// EF.SOD has a form or an algorithm that this version does not know.
    case sodUnsupported = "SOD_UNSUPPORTED"
    /// No data group was given that EF.SOD could cover.
    case dataGroupsMissing = "DATA_GROUPS_MISSING"
    case dataGroupHashMismatch = "DG_HASH_MISMATCH"
    /// A data group was given that EF.SOD does not list.
    case dataGroupNotListed = "DG_NOT_LISTED"
    case contentDigestMismatch = "SOD_DIGEST_MISMATCH"
    case signatureInvalid = "SOD_SIGNATURE_INVALID"
    /// EF.SOD does not contain the document signer's certificate.
    case signerMissing = "DSC_MISSING"
    case signerMalformed = "DSC_MALFORMED"
    /// The document signer's certificate is not for signing (Doc 9303-12 §7.1.1, keyUsage), or its key is on no known curve.
    case signerUnfit = "DSC_UNFIT"
    case anchorsMissing = "NO_TRUST_ANCHORS"
    case anchorOfCountryMissing = "NO_TRUST_ANCHOR_OF_COUNTRY"
    /// CSCA certificates of its country were given, but none signed the document signer's certificate.
    case chainInvalid = "DSC_NOT_TRUSTED"
    case revoked = "DSC_REVOKED"
    case expired = "DSC_EXPIRED"
    case notYetValid = "DSC_NOT_YET_VALID"
    case countryMismatch = "COUNTRY_MISMATCH"
    /// DG1 or the certificate's country is missing, so they cannot be compared.
    case countryUnknown = "COUNTRY_UNKNOWN"
}

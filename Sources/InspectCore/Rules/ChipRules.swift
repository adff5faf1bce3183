/// Judges the findings of passive authentication (ICAO Doc 9303-11 §5.1).
package struct ChipRules {
    /// Valid only if every check was made and holds; invalid if one fails, apart from the signer's validity period.
    package enum Status: String, Codable, Sendable {
        case valid = "valid"
        case invalid = "invalid"
        case inconclusive = "inconclusive"
    }

    /// Follows from the checks alone, without regard to a partner's policy.
    package let status: Status
    /// Why it is not valid, the most serious first; empty when it is valid.
    package let reasons: [ChipReason]
    /// The document signer's certificate is of the state that issued the document according to DG1.
    package let countryMatch: Bool?
    /// Only the document signer's certificate has expired: a warning, since a certificate that follows the rules outlives
    /// every document that it signed (Doc 9303-12 §4.1.2).
    package let isExpiredOnly: Bool

    /// - Parameter mrz: The MRZ of DG1.
    package init(_ facts: PassiveAuthenticationFacts, mrz: MRZDocument?) {
        let country = facts.signer?.country
        self.countryMatch = mrz.flatMap { mrz in
            country.flatMap { IssuingState.matches(mrz.issuingState, country: $0) }
        }
        var reasons = facts.reasons
        if facts.signer != nil {
            if self.countryMatch == false { reasons.append(.countryMismatch) }
            if self.countryMatch == nil { reasons.append(.countryUnknown) }
        }
        let trust = [facts.sodParse, facts.hashesOK, facts.signatureOK, facts.chainOK, self.countryMatch]
        if trust.contains(false) {
            self.status = .invalid
        } else if trust.contains(nil) || facts.periodOK != true {
            self.status = .inconclusive
        } else {
            self.status = .valid
        }
        self.isExpiredOnly = !trust.contains(false) && !trust.contains(nil) && facts.periodOK == false
        // Proof of a forgery comes before undetermined checks.
        self.reasons = reasons.filter(Self.isFailure) + reasons.filter { !Self.isFailure($0) }
    }

    private static func isFailure(_ reason: ChipReason) -> Bool {
        switch reason {
        case .sodMalformed, .dataGroupHashMismatch, .dataGroupNotListed, .contentDigestMismatch, .signatureInvalid,
            .signerMalformed, .signerUnfit, .chainInvalid, .revoked, .countryMismatch:
            true
        case .sodMissing, .sodUnsupported, .dataGroupsMissing, .signerMissing, .anchorsMissing, .anchorOfCountryMissing,
            .expired, .notYetValid, .countryUnknown:
            false
        }
    }
}

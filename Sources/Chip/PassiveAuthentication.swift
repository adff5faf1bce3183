package import Foundation
package import InspectCore

/// Passive authentication of a chip's files (ICAO Doc 9303-11 §5.1).
package enum PassiveAuthentication {
    /// Verifies data groups against EF.SOD, and EF.SOD against the trust store.
    ///
    /// ``ChipRules`` compares the country, which requires DG1's content.
    ///
    /// - Parameters:
    ///   - dataGroups: Number (1–16) to the whole file; those beyond DG1 and DG2 are only hashed.
    ///   - time: The time of the check.
    package static func verify(
        dataGroups: [Int: [UInt8]], sod: [UInt8]?, anchors: TrustStore, at time: Date
    ) -> PassiveAuthenticationFacts {
        var facts = PassiveAuthenticationFacts()
        facts.anchors = anchors.count
        facts.anchorNotes = anchors.notes
        guard let sod else {
            facts.reasons.append(.sodMissing)
            return facts
        }
        let object: SecurityObject
        do {
            object = try SecurityObject(file: sod[...])
        } catch {
            facts.detail = error.detail
            switch error {
            case .malformed:
                facts.sodParse = false
                facts.reasons.append(.sodMalformed)
            case .unsupported: facts.reasons.append(.sodUnsupported)
            }
            return facts
        }
        facts.sodParse = true
        facts.deviations = object.deviations
        facts.digestAlgorithm = object.digestAlgorithm.rawValue
        facts.ldsVersion = object.ldsVersion
        Self.compare(dataGroups, with: object, &facts)
        let signer = Self.checkSignature(of: object, anchors, &facts)
        if let signer { Self.checkChain(of: signer, anchors, at: time, &facts) }
        return facts
    }

    private static func compare(
        _ dataGroups: [Int: [UInt8]], with object: SecurityObject, _ facts: inout PassiveAuthenticationFacts
    ) {
        for (number, file) in dataGroups.sorted(by: { $0.key < $1.key }) {
            guard let listed = object.hashes[number] else {
                facts.dataGroups[number] = false
                facts.reasons.append(.dataGroupNotListed)
                continue
            }
            // A file that is not a data group is hashed whole; its hash cannot match.
            let bytes = (try? DataGroup.hashed(file[...], number: number)) ?? file[...]
            if bytes.count < file.count { facts.deviations.append("TRAILING_ZEROS_DG\(number)") }
            let isListed = object.digestAlgorithm.digest(bytes) == listed
            facts.dataGroups[number] = isListed
            if !isListed { facts.reasons.append(.dataGroupHashMismatch) }
        }
        if dataGroups.isEmpty {
            facts.reasons.append(.dataGroupsMissing)
        } else {
            facts.hashesOK = facts.dataGroups.values.allSatisfy { $0 }
        }
    }

    private static func checkSignature(
        of object: SecurityObject, _ anchors: TrustStore, _ facts: inout PassiveAuthenticationFacts
    ) -> Certificate? {
        let check = SignedMessage(object.message, others: anchors.certificates)
        facts.signatureOK = check.isGood
        facts.signatureAlgorithm = check.scheme?.name
        facts.signedOn = check.signingTime.flatMap(Self.day)
        facts.deviations += check.deviations
        facts.detail = check.detail
        if let reason = check.reason { facts.reasons.append(reason) }
        facts.signer = check.signer?.facts
        return check.signer
    }

    private static func checkChain(
        of signer: Certificate, _ anchors: TrustStore, at time: Date, _ facts: inout PassiveAuthenticationFacts
    ) {
        if time > signer.notAfter {
            facts.periodOK = false
            facts.reasons.append(.expired)
        } else if time < signer.notBefore {
            facts.periodOK = false
            facts.reasons.append(.notYetValid)
        } else {
            facts.periodOK = true
        }

        guard anchors.count > 0 else {
            facts.reasons.append(.anchorsMissing)
            return
        }
        guard let issuer = anchors.issuer(of: signer) else {
            if anchors.authorities(of: signer.country).isEmpty {
                facts.reasons.append(.anchorOfCountryMissing)
            } else {
                facts.chainOK = false
                facts.reasons.append(.chainInvalid)
            }
            return
        }
        facts.authority = issuer.authority.facts
        guard issuer.isVouched == true else {
            facts.reasons.append(.sodUnsupported)
            facts.detail = facts.detail ?? "the document signer's certificate is signed in an unknown way"
            return
        }
        if !issuer.isNamed { facts.deviations.append("AUTHORITY_NAMED_OTHERWISE") }
        if time > issuer.authority.notAfter { facts.deviations.append("CSCA_EXPIRED") }
        if time < issuer.authority.notBefore { facts.deviations.append("CSCA_NOT_YET_VALID") }
        // Doc 9303-12 §7.1.1: a document signer is certified by its country's authority.
        guard issuer.authority.country == signer.country else {
            facts.chainOK = false
            facts.reasons.append(.chainInvalid)
            facts.detail = facts.detail ?? "the authority is of another country than the document signer"
            return
        }
        // keyUsage digitalSignature (Doc 9303-12 §7.1.1), and RFC 5280 §4.2 on critical extensions.
        let signs: UInt32 = 0x80
        facts.deviations += signer.deviations
        guard signer.keyUsage.map({ $0 & signs != 0 }) ?? true, !signer.hasUnknownCriticalExtension else {
            facts.chainOK = false
            facts.reasons.append(.signerUnfit)
            return
        }
        facts.revocation = anchors.revocation(of: signer, at: time)
        facts.chainOK = facts.revocation != "revoked"
        if facts.chainOK == false { facts.reasons.append(.revoked) }
    }

    /// The day of a UTCTime or GeneralizedTime (RFC 5652 §11.3: years from 1950 to 2049 as two digits).
    private static func day(_ time: String) -> String? {
        let digits = time.prefix { $0.isASCII && $0.isNumber }
        let full: String
        switch digits.count {
        case 10, 12: full = (digits.prefix(2) >= "50" ? "19" : "20") + digits
        case 14: full = String(digits)
        default: return nil
        }
        guard let year = Int(full.prefix(4)), let month = Int(full.dropFirst(4).prefix(2)),
            let day = Int(full.dropFirst(6).prefix(2))
        else { return nil }
        let date = CalendarDate(year: year, month: month, day: day)
        return date.isValid ? date.iso8601 : nil
    }
}

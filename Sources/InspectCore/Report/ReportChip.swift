/// The chip's contents and the six checks of passive authentication.
enum ReportChip {
    static func section(_ chip: ChipRecord, rules: ChipRules) -> Markup {
        let facts = chip.passiveAuthentication
        let checks: [(String, Bool?)] = [
            ("the security object can be read", facts.checks.sodParse),
            ("the data groups have the signed hashes", facts.checks.hashesOK),
            ("the security object's signature holds", facts.checks.signatureOK),
            ("a trusted CSCA of its country signed the signer's certificate", facts.checks.chainOK),
            ("the signer's certificate is within its validity", facts.checks.validPeriod),
            ("the signer is of the state that issued the document", facts.checks.countryMatch),
        ]
        var content: [Markup] = [
            "<p>Passive authentication (ICAO Doc 9303-11 §5.1): \(ReportPage.verdict(self.outcome(rules.status)))</p>\n",
            ReportPage.table(
                ["check", "verdict"],
                checks.map { name, holds in
                    "<tr><td>\(name)</td><td>\(ReportPage.verdict(holds.map { $0 ? .pass : .fail } ?? .inconclusive))</td></tr>\n"
                }),
        ]
        var rows = facts.dataGroups.sorted { $0.key < $1.key }.map {
            ("hash of \($0.key)", $0.value ? "holds" : "differs")
        }
        func add(_ name: String, _ value: String?) {
            if let value, !value.isEmpty { rows.append((name, value)) }
        }
        add("reasons", facts.reasons.joined(separator: ", "))
        add("detail", facts.detail)
        add("DG1", chip.dg1?.reason)
        add("DG2", chip.dg2?.reason)
        add("DG7", chip.dg7.map { $0.reason ?? "\($0.count ?? 0) images of the signature" })
        add("DG11", chip.dg11?.reason)
        for (name, value) in chip.dg11?.rows ?? [] { add("DG11: \(name)", value) }
        add("DG12", chip.dg12?.reason)
        for (name, value) in chip.dg12?.rows ?? [] { add("DG12: \(name)", value) }
        add("digest", facts.digestAlgorithm)
        add("signature", facts.signatureAlgorithm)
        add("signed on", facts.signedOn)
        add("signer", facts.signer.map { self.text($0) })
        add("authority", facts.authority.map { self.text($0) })
        add("revocation", facts.revocation)
        add("deviations", facts.deviations.joined(separator: ", "))
        add("trust anchors", String(facts.trustAnchors))
        add("about the trust anchors", facts.trustAnchorNotes.joined(separator: "; "))
        content.append(ReportTables.pairs(["what", "value"], rows))
        return ReportPage.section("Chip", content)
    }

    static func outcome(_ status: ChipRules.Status) -> DataCheckData.Outcome {
        switch status {
        case .valid: .pass
        case .invalid: .fail
        case .inconclusive: .inconclusive
        }
    }

    private static func text(_ certificate: CertificateFacts) -> String {
        "\(certificate.country ?? "no country"), \(certificate.key), \(certificate.notBefore) to \(certificate.notAfter), "
            + "SHA-256 \(certificate.sha256)"
    }
}

extension PersonalDetails {
    /// Names and values, for reports.
    fileprivate var rows: [(String, String?)] {
        [
            ("full name", self.fullName), ("other names", self.otherNames?.joined(separator: "; ")),
            ("personal number", self.personalNumber), ("date of birth", self.dateOfBirth),
            ("place of birth", self.placeOfBirth?.joined(separator: ", ")),
            ("address", self.address?.joined(separator: ", ")), ("telephone", self.telephone),
            ("profession", self.profession), ("title", self.title), ("summary", self.personalSummary),
            ("other documents", self.otherDocumentNumbers?.joined(separator: ", ")), ("custody", self.custody),
            ("proof of citizenship", self.hasProofOfCitizenship == true ? "an image" : nil),
        ]
    }
}

extension DocumentDetails {
    /// Names and values, for reports.
    fileprivate var rows: [(String, String?)] {
        [
            ("issuing authority", self.issuingAuthority), ("issuing date", self.issuingDate),
            ("other persons", self.otherPersons?.joined(separator: "; ")), ("endorsements", self.endorsements),
            ("tax or exit requirements", self.taxOrExitRequirements), ("personalized at", self.personalizedAt),
            ("personalization system", self.personalizationSystem),
            ("front", self.hasFrontImage == true ? "an image" : nil),
            ("rear", self.hasRearImage == true ? "an image" : nil),
        ]
    }
}

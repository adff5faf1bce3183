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

extension DataCheckRules {
    /// The VIZ shows what the machine-readable data say (Doc 9303-3 §4.1).
    static func vizAgreement(_ extraction: ExtractionRules) -> DataCheckData.Check {
        let name = "vizAgrees"
        guard let record = extraction.viz else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "the VIZ text was not read")
        }
        guard record.comparedWith != nil else {
            return DataCheckData.Check(
                name: name, outcome: .inconclusive,
                reason: "there are no machine-readable data to compare the VIZ text with")
        }
        func fields(_ outcome: VIZRules.Outcome) -> [String] {
            record.fields.filter { $0.comparison == outcome }.map(\.name)
        }
        // The image checks judge sides that contradict each other.
        let isOwn = record.comparedWith == record.part
        let suspicious = isOwn ? record.fields.filter { $0.isSuspicion == true }.map(\.name) : []
        let contradicting = isOwn ? fields(.contradicts).filter { !suspicious.contains($0) } : []
        guard contradicting.isEmpty else {
            return DataCheckData.Check(
                name: name, outcome: .fail, reason: contradicting.joined(separator: ", "))
        }
        guard suspicious.isEmpty else {
            return DataCheckData.Check(
                name: name, outcome: .inconclusive,
                reason: "contradicts without certainty: \(suspicious.joined(separator: ", "))")
        }
        let missing = fields(.notFound) + fields(.contradicts)
        return missing.isEmpty
            ? DataCheckData.Check(name: name, outcome: .pass)
            : DataCheckData.Check(
                name: name, outcome: .inconclusive,
                reason: "not found with certainty: \(missing.joined(separator: ", "))")
    }

    /// Whether the VIZ contradicts the machine-readable data of its own side, although not with certainty.
    static func isSuspicious(_ extraction: ExtractionRules) -> Bool {
        guard let record = extraction.viz, record.comparedWith == record.part else { return false }
        return record.fields.contains { $0.isSuspicion == true }
    }

    /// Years from the birth of a holder to today, at most.
    private static let longestLifeYears = 130

    /// Birth before issue before expiry, and neither birth nor issue in the future.
    static func plausibility(
        _ mrzs: [MRZDocument], _ extraction: ExtractionRules, today: CalendarDate
    ) -> DataCheckData.Check {
        let name = "datesPlausible"
        var sources = mrzs.map { (birth: $0.birthDate?.date, issue: CalendarDate?.none, expiry: $0.expiryDate?.date) }
        sources += extraction.cards.map { ($0.value.birthDate, $0.value.issueDate, $0.value.expiryDate) }
        guard sources.contains(where: { $0.birth != nil || $0.issue != nil || $0.expiry != nil }) else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "no date was read")
        }
        var wrong: Set<String> = []
        for dates in sources {
            if let birth = dates.birth {
                if birth > today { wrong.insert("dateOfBirth") }
                if today.year - birth.year > Self.longestLifeYears { wrong.insert("dateOfBirth") }
                if let expiry = dates.expiry, expiry <= birth { wrong.formUnion(["dateOfBirth", "expiryDate"]) }
                if let issue = dates.issue, issue < birth { wrong.formUnion(["dateOfBirth", "issuingDate"]) }
            }
            if let issue = dates.issue {
                if issue > today { wrong.insert("issuingDate") }
                if let expiry = dates.expiry, expiry <= issue { wrong.formUnion(["issuingDate", "expiryDate"]) }
            }
        }
        return wrong.isEmpty
            ? DataCheckData.Check(name: name, outcome: .pass)
            : DataCheckData.Check(name: name, outcome: .fail, reason: wrong.sorted().joined(separator: ", "))
    }
}

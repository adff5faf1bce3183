/// Cross-checks of the extracted data (Jumio's capability `dataChecks`).
struct DataCheckRules {
    /// The checks with their outcomes.
    package let data: DataCheckData
    /// The decision that follows from them.
    package let decision: CapabilityDecision

    /// The reason of a check that an expired document passes.
    static let withinGrace = "the document has expired, within the days that the partner grants"

    /// - Parameters:
    ///   - today: The day on which the document must not have expired.
    ///   - policy: What the partner accepts; `nil`: the defaults.
    package init(extraction: ExtractionRules, today: CalendarDate, policy: DecisionPolicy? = nil) {
        var checks: [DataCheckData.Check] = []
        let mrzs = extraction.mrzs.map(\.value) + [extraction.chipMRZ].compactMap { $0 }
        checks.append(Self.checkDigits(extraction))
        checks.append(Self.calendar(mrzs))
        checks.append(Self.sources(extraction))
        checks.append(Self.plausibility(mrzs, extraction, today: today))
        checks.append(
            Self.expiry(mrzs, extraction.cards.map(\.value), today: today, graceDays: policy?.expiryGraceDays ?? 0))
        if let age = policy?.minimumAge { checks.append(Self.age(mrzs, extraction, today: today, least: age)) }
        checks.append(Self.vizAgreement(extraction))
        if let chip = extraction.chip {
            checks.append(Self.authenticity(chip))
            checks.append(Self.agreement(extraction))
        }
        self.data = DataCheckData(checks: checks)

        func has(_ outcome: DataCheckData.Outcome, _ name: String) -> Bool {
            checks.contains { $0.name == name && $0.outcome == outcome }
        }
        func failed(_ name: String) -> Bool { has(.fail, name) }
        self.decision =
            if failed("chipAuthentic") {
                CapabilityDecision(type: .rejected, label: .nfcCertificate)
            } else if failed("mrzCheckDigits") {
                CapabilityDecision(type: .rejected, label: .mrzChecksum)
            } else if failed("vizAgrees") {
                CapabilityDecision(type: .rejected, label: .mismatchVIZMRZData)
            } else if failed("datesPlausible") || failed("calendar") || failed("sourcesAgree") || failed("chipAgrees") {
                CapabilityDecision(type: .rejected, label: .mismatchingDatapoints)
            } else if failed("minimumAge") {
                CapabilityDecision(type: .rejected, label: .underage)
            } else if failed("notExpired"), policy?.rejectExpired == true {
                CapabilityDecision(type: .rejected, label: .documentExpiry)
            } else if Self.isSuspicious(extraction) {
                CapabilityDecision(type: .warning, label: .mismatchVIZMRZData)
            } else if extraction.chip?.isExpiredOnly == true || Self.restsOnUnprovenChip(extraction) {
                CapabilityDecision(type: .warning, label: .nfcCertificate)
            } else if failed("notExpired") {
                CapabilityDecision(type: .warning, label: .documentExpiry)
            } else if has(.inconclusive, "minimumAge") {
                CapabilityDecision(type: .warning, label: .ageUndetermined)
            } else if checks.allSatisfy({ $0.outcome == .inconclusive }) {
                // Nothing was checked.
                .preconditionNotFulfilled
            } else {
                .passed
            }
    }

    /// Whether the only source is an unproven chip: anybody can write such files, and their check digits hold.
    private static func restsOnUnprovenChip(_ extraction: ExtractionRules) -> Bool {
        extraction.chip?.status == .inconclusive && extraction.mrzs.isEmpty && extraction.cards.isEmpty
    }

    /// Probability of a character below which a check digit that fails over it proves nothing against the print.
    private static let legible = 0.5

    private static func checkDigits(_ extraction: ExtractionRules) -> DataCheckData.Check {
        let name = "mrzCheckDigits"
        let mrzs =
            extraction.mrzs.map { ($0.value, extraction.confidences[$0.part] ?? []) }
            + [extraction.chipMRZ].compactMap { $0 }.map { ($0, []) }
        let checked = mrzs.filter { !$0.0.checks.isEmpty }
        guard !checked.isEmpty else {
            return DataCheckData.Check(
                name: name, outcome: .inconclusive, reason: "no MRZ with check digits was read")
        }
        var failing: Set<MRZCheckKey> = []
        var doubtful: Set<MRZCheckKey> = []
        for (mrz, confidences) in checked {
            for check in MRZLayout(mrz.format).checks where mrz.checks[check.key] == false {
                let least = (check.covered + [check.digit]).flatMap { span -> ArraySlice<Double> in
                    guard confidences.indices.contains(span.line) else { return [] }
                    return confidences[span.line].dropFirst(span.range.lowerBound).prefix(span.range.count)
                }.min()
                if let least, least < Self.legible { doubtful.insert(check.key) } else { failing.insert(check.key) }
            }
        }
        func list(_ keys: Set<MRZCheckKey>) -> String { keys.sorted().map(\.rawValue).joined(separator: ", ") }
        guard failing.isEmpty else {
            return DataCheckData.Check(name: name, outcome: .fail, reason: list(failing.union(doubtful)))
        }
        guard doubtful.isEmpty else {
            return DataCheckData.Check(
                name: name, outcome: .inconclusive, reason: "hardly legible: \(list(doubtful))")
        }
        return DataCheckData.Check(name: name, outcome: .pass)
    }

    /// Check digits also hold for dates that do not exist, such as 29 February 1911.
    private static func calendar(_ mrzs: [MRZDocument]) -> DataCheckData.Check {
        let name = "calendar"
        guard !mrzs.isEmpty else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "no MRZ was read")
        }
        let dates = mrzs.flatMap { [("birthDate", $0.birthDate), ("expiryDate", $0.expiryDate)] }
        let impossible = dates.filter { $0.1?.isImpossible == true }.map(\.0)
        guard impossible.isEmpty else {
            return DataCheckData.Check(name: name, outcome: .fail, reason: impossible.joined(separator: ", "))
        }
        let unknown = dates.filter { $0.1?.isUnknown == true }.map(\.0)
        return unknown.isEmpty
            ? DataCheckData.Check(name: name, outcome: .pass)
            : DataCheckData.Check(
                name: name, outcome: .inconclusive, reason: "the day is unknown: \(unknown.joined(separator: ", "))")
    }

    /// A field must have the same value in every source.
    private static func sources(_ extraction: ExtractionRules) -> DataCheckData.Check {
        let name = "sourcesAgree"
        let readings: [[String: String]] =
            extraction.mrzs.map { source in
                self.fields(
                    number: source.value.documentNumber, birth: source.value.birthDate?.date,
                    expiry: source.value.expiryDate?.date)
            }
            + extraction.cards.map { source in
                self.fields(
                    number: source.value.documentNumber, birth: source.value.birthDate, expiry: source.value.expiryDate)
            }
        guard readings.count > 1 else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "only one source was read")
        }
        let names = Set(readings.flatMap(\.keys)).sorted()
        let differing = names.filter { field in Set(readings.compactMap { $0[field] }).count > 1 }
        return differing.isEmpty
            ? DataCheckData.Check(name: name, outcome: .pass)
            : DataCheckData.Check(name: name, outcome: .fail, reason: differing.joined(separator: ", "))
    }

    private static func fields(number: String?, birth: CalendarDate?, expiry: CalendarDate?) -> [String: String] {
        var fields: [String: String] = [:]
        fields["documentNumber"] = number.flatMap { $0.isEmpty ? nil : $0 }
        fields["dateOfBirth"] = birth?.iso8601
        fields["expiryDate"] = expiry?.iso8601
        return fields
    }

    private static func expiry(
        _ mrzs: [MRZDocument], _ cards: [AAMVACard], today: CalendarDate, graceDays: Int
    ) -> DataCheckData.Check {
        let name = "notExpired"
        let dates = mrzs.compactMap { $0.expiryDate?.date } + cards.compactMap(\.expiryDate)
        guard let first = dates.min() else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "no date of expiry was read")
        }
        if first >= today { return DataCheckData.Check(name: name, outcome: .pass) }
        return graceDays > 0 && first.adding(days: graceDays) >= today
            ? DataCheckData.Check(name: name, outcome: .pass, reason: Self.withinGrace)
            : DataCheckData.Check(name: name, outcome: .fail, reason: "the document has expired")
    }

    /// Uses the latest date of birth of all sources: none may make the person older.
    private static func age(
        _ mrzs: [MRZDocument], _ extraction: ExtractionRules, today: CalendarDate, least: Int
    ) -> DataCheckData.Check {
        let name = "minimumAge"
        let dates = mrzs.compactMap { $0.birthDate?.date } + extraction.cards.compactMap(\.value.birthDate)
        guard let birth = dates.max() else {
            return DataCheckData.Check(name: name, outcome: .inconclusive, reason: "no date of birth was read")
        }
        // A person born on 29 February turns a year older on 1 March, the day after 28 February.
        let birthday = CalendarDate(year: birth.year + least, month: birth.month, day: birth.day)
        return birthday <= today
            ? DataCheckData.Check(name: name, outcome: .pass)
            : DataCheckData.Check(name: name, outcome: .fail, reason: "below the partner's minimum age")
    }
}

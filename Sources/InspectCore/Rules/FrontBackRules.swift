/// Whether front and back are two sides of one document (Jumio's image check MISMATCH_FRONT_BACK).
struct FrontBackRules {
    package let outcome: DataCheckData.Outcome
    /// Names of fields in which the sides differ.
    package let differing: [String]

    /// - Returns: `nil` unless both sides were given.
    init?(_ extraction: ExtractionRules, parts: [PartKind]) {
        guard parts.contains(.front), parts.contains(.back) else { return nil }
        func fields(of part: PartKind) -> [[String: String]] {
            extraction.mrzs.filter { $0.part == part.rawValue }.map { mrz in
                Self.fields(
                    mrz.value.documentNumber, mrz.value.birthDate?.date, mrz.value.expiryDate?.date,
                    isProven: mrz.value.checksHold)
            }
                + extraction.cards.filter { $0.part == part.rawValue }.map { card in
                    Self.fields(card.value.documentNumber, card.value.birthDate, card.value.expiryDate, isProven: true)
                }
        }
        var compared = 0
        var differing: Set<String> = []
        for front in fields(of: .front) {
            for back in fields(of: .back) {
                for (name, value) in front {
                    guard let other = back[name] else { continue }
                    compared += 1
                    if value != other { differing.insert(name) }
                }
            }
        }
        if let viz = extraction.viz, let other = viz.comparedWith, other != viz.part {
            compared += viz.fields.count { $0.comparison == .agrees }
            differing.formUnion(viz.fields.filter { $0.comparison == .contradicts }.map(\.name))
        }
        self.differing = differing.sorted()
        self.outcome = !differing.isEmpty ? .fail : compared > 0 ? .pass : .inconclusive
    }

    private static func fields(
        _ number: String?, _ birth: CalendarDate?, _ expiry: CalendarDate?, isProven: Bool
    ) -> [String: String] {
        guard isProven else { return [:] }
        var fields: [String: String] = [:]
        fields["documentNumber"] = number.flatMap { $0.isEmpty ? nil : $0 }
        fields["dateOfBirth"] = birth?.iso8601
        fields["expiryDate"] = expiry?.iso8601
        return fields
    }
}

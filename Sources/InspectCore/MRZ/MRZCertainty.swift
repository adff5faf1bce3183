/// The fields of an MRZ that are certain: read clearly, and proven by check digits if the format has them.
///
/// A value that is not certain is still the most likely reading, and is marked as uncertain.
struct MRZCertainty: Sendable {
    /// Probability of the least certain character from which a field is certain that its check digits prove. Two digits
    /// hold by chance once in a hundred times, so the reader must also prefer each character to all others.
    private static let proven = 0.5
    /// The same for a field that no check digit covers: names, states, sex.
    private static let unproven = 0.97

    /// The fields under their names in the result document.
    package enum Field: String, Sendable, CaseIterable {
        case documentNumber = "documentNumber"
        case dateOfBirth = "dateOfBirth"
        case expiryDate = "expiryDate"
        case personalNumber = "personalNumber"
        case lastName = "lastName"
        case firstName = "firstName"
        case issuingCountry = "issuingCountry"
        case nationality = "nationality"
        case gender = "gender"
        case type = "type"
    }

    /// In the order of the enumeration.
    package let uncertain: [Field]

    /// - Parameter reading: The reading that `mrz` was parsed from.
    package init(_ mrz: MRZDocument, reading: MRZReading) {
        let layout = MRZLayout(mrz.format)
        let posteriors = reading.posteriors ?? reading.confidences
        func least(_ spans: [MRZSpan]) -> Double {
            spans.flatMap { span -> [Double] in
                guard posteriors.indices.contains(span.line), span.range.upperBound <= posteriors[span.line].count
                else {
                    return [0]
                }
                return Array(posteriors[span.line][span.range])
            }.min() ?? 0
        }
        let composite = mrz.checks[.composite] ?? true
        /// Certain by `key`, together with the characters that it covers and itself.
        func isProven(_ key: MRZCheckKey) -> Bool {
            guard let check = layout.checks.first(where: { $0.key == key }) else { return false }
            return mrz.checks[key] == true && composite && least(check.covered + [check.digit]) >= Self.proven
        }
        // A failing digit shows that the print is damaged or altered, so no unproven field is certain then.
        let isSound = mrz.checksHold
        func isClear(_ span: MRZSpan?) -> Bool { span.map { isSound && least([$0]) >= Self.unproven } ?? true }

        // A long number's rest lies in the optional data, and its digit proves both.
        let long = MRZLongNumber(mrz.lines.map { Array($0.utf8) }, format: mrz.format)
        let isEither = Self.mayHaveZeros(
            mrz.lines[layout.number.line].utf8.dropFirst(layout.number.range.lowerBound)
                .prefix(layout.number.range.count))
        let number =
            long.map { $0.holds && composite && least([layout.number, layout.optional[0]]) >= Self.proven }
            ?? (layout.checks.contains { $0.key == .documentNumber }
                ? isProven(.documentNumber) && (!isEither || isClear(layout.number)) : isClear(layout.number))
        func date(_ key: MRZCheckKey, _ span: MRZSpan?, _ date: MRZDate?) -> Bool {
            guard let span else { return true }
            let digits = layout.checks.contains { $0.key == key } ? isProven(key) : isClear(span)
            // French licences prove the date of expiry by the composite digit alone.
            return digits && date?.isImpossible == false
        }
        let isFrench = mrz.format == .frenchID
        let names = isFrench ? [layout.name, MRZSpan(1, 13..<27)] : [layout.name]
        let state = isClear(layout.state) && IssuingState.isKnown(mrz.issuingState)
        let certain: [Field: Bool] = [
            .documentNumber: number,
            .dateOfBirth: date(.birthDate, layout.birth, mrz.birthDate),
            .expiryDate: date(.expiryDate, layout.expiry, mrz.expiryDate),
            .personalNumber: mrz.format != .td3 || isProven(.personalNumber),
            .lastName: names.allSatisfy { isClear($0) },
            .firstName: names.allSatisfy { isClear($0) },
            .issuingCountry: state,
            .nationality: layout.nationality == nil
                || (isClear(layout.nationality) && IssuingState.isKnown(mrz.nationality)),
            .gender: isClear(layout.sex),
            .type: isClear(layout.code),
        ]
        self.uncertain = Field.allCases.filter { certain[$0] == false }
    }

    /// Whether the check digit of `number` also holds with zeros for some of its letters O: it weighs characters by 7, 3 and 1 modulo
    /// 10 (Doc 9303-3 §4.9), and O counts 24, so it proves neither where the weights' sum is a multiple of 5.
    private static func mayHaveZeros(_ number: some Sequence<UInt8>) -> Bool {
        var sums: Set<Int> = []
        for (index, character) in number.enumerated() where character == UInt8(ascii: "O") {
            let weight = [7, 3, 1][index % 3]
            sums.formUnion(sums.map { ($0 + weight) % 5 } + [weight % 5])
        }
        return sums.contains(0)
    }
}

/// The check digits of MRZs.
package enum MRZCheckKey: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    case documentNumber = "documentNumber"
    case birthDate = "birthDate"
    case expiryDate = "expiryDate"
    case personalNumber = "personalNumber"
    case composite = "composite"
}

/// A parsed MRZ: its fields as printed, and which check digits hold.
///
/// Nothing is corrected here: an MRZ that is wrong as printed keeps its characters and reports the digits that fail.
package struct MRZDocument: Sendable, Hashable {
    /// Decides where each field is.
    package var format: MRZFormat
    /// As printed, two or three of the format's length.
    package var lines: [String]
    /// One or two characters, fillers dropped: `P`, `PD`, `ID`, `V`.
    package var documentCode: String
    /// Issuing state or organisation, fillers dropped: `D`, `UTO`.
    package var issuingState: String
    /// Without fillers; of long numbers (Doc 9303-5 §4.2.2 note j) both parts.
    package var documentNumber: String
    /// The primary identifier (Doc 9303-3 §4.6), fillers as blanks.
    package var surname: String
    /// The secondary identifier, fillers as blanks; empty if there is none.
    package var givenNames: String
    /// Empty if the format has none.
    package var nationality: String
    /// `nil` if the format has none.
    package var birthDate: MRZDate?
    /// `M`, `F`, `X`, or empty for unspecified.
    package var sex: String
    /// `nil` if the format has none.
    package var expiryDate: MRZDate?
    /// TD3 positions 29–42 of line 2; `nil` in other formats.
    package var personalNumber: String?
    /// Optional data elements in order, inner fillers as spaces, a long number's remainder taken out.
    package var optionalData: [String]
    /// Every check digit of the format, and whether it holds as printed.
    package var checks: [MRZCheckKey: Bool]
    /// Whether the name fills its field, so that it may have been cut (Doc 9303-3 §4.6).
    var nameMayBeTruncated: Bool

    /// ``checks`` under the names that result documents use.
    package var checksByName: [String: Bool] {
        Dictionary(uniqueKeysWithValues: self.checks.map { ($0.key.rawValue, $0.value) })
    }

    /// Whether every check digit holds.
    package var checksHold: Bool { self.checks.values.allSatisfy { $0 } }

    /// Parses complete lines.
    ///
    /// - Parameters:
    ///   - lines: Characters A–Z, 0–9 and `<` only.
    ///   - today: Decides the century of birth dates.
    /// - Returns: `nil` when the lines have the lengths of no known format, or hold other characters.
    package init?(lines: [String], today: CalendarDate) {
        guard let format = MRZFormat(lines: lines) else { return nil }
        self.init(lines: lines, format: format, today: today)
    }

    init?(lines: [String], format: MRZFormat, today: CalendarDate) {
        let bytes = lines.map { Array($0.utf8) }
        guard bytes.map(\.count) == format.lineLengths,
            bytes.allSatisfy({ line in
                line.allSatisfy { MRZText.isDigit($0) || MRZText.isLetter($0) || $0 == MRZText.filler }
            })
        else { return nil }
        let layout = MRZLayout(format)
        func raw(_ span: MRZSpan) -> ArraySlice<UInt8> { bytes[span.line][span.range] }

        self.format = format
        self.lines = lines
        self.documentCode = MRZText.words(raw(layout.code))
        self.issuingState = MRZText.words(raw(layout.state))
        self.nationality = layout.nationality.map { MRZText.words(raw($0)) } ?? ""
        self.birthDate = layout.birth.map { MRZDate(raw($0), kind: .birth, today: today) }
        self.expiryDate = layout.expiry.map { MRZDate(raw($0), kind: .expiry, today: today) }
        self.sex = layout.sex.map { MRZText.words(raw($0)) } ?? ""
        self.checks = MRZChecks.evaluate(bytes, layout: layout)

        let long = MRZLongNumber(bytes, format: format)
        self.documentNumber = long?.number ?? MRZText.words(raw(layout.number))
        var optional = layout.optional.map { Array(raw($0)) }
        if let long { optional[0].removeFirst(long.remainderLength) }
        let data = optional.map { MRZText.words($0) }
        self.personalNumber = format == .td3 ? data[0] : nil
        self.optionalData = format == .td3 ? [] : data

        let name = raw(layout.name)
        self.nameMayBeTruncated = name.last != MRZText.filler
        if format == .frenchID {
            self.surname = MRZText.words(name)
            self.givenNames = Self.given(bytes[1][13..<27])
        } else {
            (self.surname, self.givenNames) = Self.split(name)
        }
    }

    /// Primary identifier before the first `<<`, secondary after it (Doc 9303-3 §4.6).
    private static func split(_ name: ArraySlice<UInt8>) -> (surname: String, givenNames: String) {
        var end = name.startIndex
        while end + 1 < name.endIndex, name[end] != MRZText.filler || name[end + 1] != MRZText.filler { end += 1 }
        guard end + 1 < name.endIndex else { return (MRZText.words(name), "") }
        return (MRZText.words(name[..<end]), Self.given(name[end...]))
    }

    /// Given names; the doubled filler that some issuers put between them counts as one.
    private static func given(_ bytes: ArraySlice<UInt8>) -> String {
        MRZText.words(bytes).split(separator: " ").joined(separator: " ")
    }
}

extension MRZCheckKey: Comparable {
    package static func < (left: MRZCheckKey, right: MRZCheckKey) -> Bool {
        let order = Self.allCases
        return order.firstIndex(of: left) ?? 0 < order.firstIndex(of: right) ?? 0
    }
}

/// The data of a North American driving licence or identification card's barcode (AAMVA DL/ID Card Design Standard).
///
/// Values that the issuer left blank, or filled with `NONE`, are `nil`.
package struct AAMVACard: Sendable, Hashable {
    /// The kinds of card, by the names of their subfiles.
    package enum Kind: String, Sendable, Codable {
        case drivingLicence = "DL"
        case identificationCard = "ID"
    }

    /// The sexes that DBC distinguishes.
    package enum Sex: String, Sendable, Codable {
        case male = "M"
        case female = "F"
        case unspecified = "X"
    }

    /// Header and raw values.
    package let elements: AAMVAElements
    /// An identification card only if the barcode has a subfile `ID` and none `DL`.
    package let kind: Kind

    /// DCS, or DAB; of the whole name (DAA) if neither is there.
    package let surname: String?
    /// First and middle names as printed, separated by a blank.
    package let givenNames: String?
    /// DAC.
    package let firstName: String?
    /// DAD.
    package let middleNames: String?
    /// DCU, or DAE; such as `JR`.
    package let suffix: String?
    /// Whether the issuer truncated the name (DDE, DDF, DDG); `nil` if the barcode does not say.
    package let isSurnameTruncated: Bool?
    /// DDF; `nil` if the barcode does not say.
    package let isFirstNameTruncated: Bool?
    let isMiddleNameTruncated: Bool?

    /// DAQ.
    package let documentNumber: String?
    /// DBB.
    package let birthDate: CalendarDate?
    /// DBD.
    package let issueDate: CalendarDate?
    /// DBA.
    package let expiryDate: CalendarDate?
    /// When this design of card was introduced (DDB).
    package let cardRevisionDate: CalendarDate?
    /// DBC; `nil` if it is not specified.
    package let sex: Sex?
    /// Whole inches; whichever unit is not printed is `nil`.
    package let heightInches: Int?
    /// Whole centimetres; whichever unit is not printed is `nil`.
    package let heightCentimetres: Int?
    /// Three-letter code (ANSI D-20), for example `BRO`.
    package let eyeColour: String?
    /// Three-letter code (ANSI D-20); `BAL` is bald.
    package let hairColour: String?

    /// DAG, or DAL.
    package let street: String?
    /// DAH, or DAM.
    package let street2: String?
    /// DAI, or DAN.
    package let city: String?
    /// Two-letter state or province.
    package let jurisdiction: String?
    /// Without the filler `0000` of a ZIP code whose last four digits are unknown.
    package let postalCode: String?
    /// ISO 3166-1 alpha-3, `USA` or `CAN`; version 1 does not say.
    package let country: String?

    /// The jurisdiction's own code for the vehicles that the holder may drive (DCA).
    package let vehicleClass: String?
    /// The jurisdiction's own codes for restrictions on driving (DCB).
    package let restrictions: String?
    /// The jurisdiction's own codes for further vehicles that the holder may drive (DCD).
    package let endorsements: String?
    /// Distinguishes this card from the holder's other cards (DCF).
    package let documentDiscriminator: String?
    /// The serial number of the blank card (DCK).
    package let inventoryControlNumber: String?
    /// REAL ID: `true` for a compliant card (DDA is F), `false` for a non-compliant one (N).
    package let isCompliant: Bool?
    /// Whether the holder's stay is limited in time (DDD).
    package let isLimitedDuration: Bool?
    /// DDK.
    package let isOrganDonor: Bool?
    /// DDL.
    package let isVeteran: Bool?

    /// Reads the text of a barcode.
    ///
    /// - Returns: `nil` if the text is not from an AAMVA card.
    package init?(_ text: String) {
        guard let elements = AAMVAElements(text) else { return nil }
        self.init(elements)
    }

    init(_ elements: AAMVAElements) {
        func value(_ identifiers: String...) -> String? {
            for identifier in identifiers {
                guard let value = elements.fields[identifier], !value.isEmpty else { continue }
                if value.uppercased() != "NONE" { return value }
            }
            return nil
        }
        self.elements = elements
        self.kind =
            elements.subfiles.contains("ID") && !elements.subfiles.contains("DL")
            ? .identificationCard : .drivingLicence

        let name = AAMVAName(
            whole: value("DAA"), surname: value("DCS", "DAB"), given: value("DCT"), first: value("DAC"),
            middle: value("DAD"), suffix: value("DCU", "DAE"))
        self.surname = name.surname
        self.firstName = name.first
        self.middleNames = name.middle
        let given = [name.first, name.middle].compactMap { $0 }.joined(separator: " ")
        self.givenNames = given.isEmpty ? nil : given
        self.suffix = name.suffix
        self.isSurnameTruncated = Self.truncation(elements.fields["DDE"])
        self.isFirstNameTruncated = Self.truncation(elements.fields["DDF"])
        self.isMiddleNameTruncated = Self.truncation(elements.fields["DDG"])

        self.documentNumber = value("DAQ")
        self.birthDate = Self.date(value("DBB"))
        self.issueDate = Self.date(value("DBD"))
        self.expiryDate = Self.date(value("DBA"))
        self.cardRevisionDate = Self.date(value("DDB"))
        self.sex =
            switch value("DBC")?.uppercased() {
            case "1", "M": .male
            case "2", "F": .female
            case "9", "X": .unspecified
            default: nil
            }
        (self.heightInches, self.heightCentimetres) = Self.height(
            value("DAU"), centimetres: value("DAV"), elements.version)
        self.eyeColour = value("DAY")
        self.hairColour = value("DAZ")

        self.street = value("DAG", "DAL")
        self.street2 = value("DAH", "DAM")
        self.city = value("DAI", "DAN")
        self.jurisdiction = value("DAJ", "DAO")
        self.country = value("DCG")
        self.postalCode = value("DAK", "DAP").map { Self.postalCode($0) }

        self.vehicleClass = value("DCA", "DAR")
        self.restrictions = value("DCB", "DAS")
        self.endorsements = value("DCD", "DAT").flatMap { $0.allSatisfy { $0 == "-" } ? nil : $0 }
        self.documentDiscriminator = value("DCF")
        self.inventoryControlNumber = value("DCK")
        self.isCompliant =
            switch value("DDA")?.uppercased() {
            case "F": true
            case "N": false
            default: nil
            }
        self.isLimitedDuration = Self.flag(value("DDD"))
        self.isOrganDonor = Self.flag(value("DDK", "DBH"))
        self.isVeteran = Self.flag(value("DDL"))
    }

    // MARK: Values

    /// `MMDDCCYY` on cards of the USA, `CCYYMMDD` on those of Canada and of version 1, and sometimes the other way
    /// round. No date reads both ways: a year starts with 18 to 21, and no month does.
    static func date(_ text: String?) -> CalendarDate? {
        guard let digits = text?.compactMap(\.wholeNumberValue).prefix(8), digits.count == 8 else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        let candidates = [
            CalendarDate(year: number(4..<8), month: number(0..<2), day: number(2..<4)),
            CalendarDate(year: number(0..<4), month: number(4..<6), day: number(6..<8)),
        ]
        return candidates.first { (1800..<2200).contains($0.year) && $0.isValid }
    }

    /// `T` truncated, `N` not; `U` is "unknown".
    private static func truncation(_ text: String?) -> Bool? {
        switch text?.uppercased() {
        case "T": true
        case "N": false
        default: nil
        }
    }

    private static func flag(_ text: String?) -> Bool? {
        switch text?.uppercased() {
        case "1", "Y": true
        case "0", "N": false
        default: nil
        }
    }

    /// `068 in`, `170 cm`; in version 1 also `508` for five feet and eight inches.
    static func height(_ text: String?, centimetres: String?, _ version: Int) -> (inches: Int?, centimetres: Int?) {
        func number(_ text: String) -> Int? { Int(String(text.prefix { $0.isASCII && $0.isNumber })) }
        let metric = centimetres.flatMap(number).flatMap { (60...260).contains($0) ? $0 : nil }
        guard let text, let value = number(text) else { return (nil, metric) }
        let unit = text.drop { !$0.isLetter }.lowercased()
        if unit.hasPrefix("cm") { return (nil, (60...260).contains(value) ? value : metric) }
        if unit.hasPrefix("in") || version > 1 { return ((24...108).contains(value) ? value : nil, metric) }
        let (feet, inches) = value.quotientAndRemainder(dividingBy: 100)
        if (2...8).contains(feet), inches < 12 { return (feet * 12 + inches, metric) }
        return ((24...108).contains(value) ? value : nil, metric)
    }

    private static func postalCode(_ text: String) -> String {
        let isZip = (9...10).contains(text.count) && text.allSatisfy { $0.isASCII && $0.isNumber }
        return isZip && text.hasSuffix("0000") ? String(text.prefix(5)) : text
    }
}

/// The parts of a holder's name, which each version of the standard writes differently.
struct AAMVAName {
    var surname: String?
    var first: String?
    var middle: String?
    var suffix: String?

    /// - Parameters:
    ///   - whole: Version 1: `LAST,FIRST,MIDDLE,SUFFIX`, by some issuers `FIRST MIDDLE LAST` (DAA).
    ///   - surname: Versions 2 and later (DCS), or version 1 in parts (DAB).
    ///   - given: Versions 2 and 3: first and middle names together (DCT).
    ///   - first: Versions 4 and later (DAC).
    ///   - middle: Versions 4 and later, several separated by commas (DAD).
    init(whole: String?, surname: String?, given: String?, first: String?, middle: String?, suffix: String?) {
        func present(_ text: some StringProtocol) -> String? {
            let trimmed = text.trimmingBlanks
            return trimmed.isEmpty ? nil : trimmed
        }
        func words(_ text: String) -> [String] { text.split { $0 == " " || $0 == "," }.map(String.init) }
        func joined(_ words: some Sequence<String>) -> String? { present(words.joined(separator: " ")) }

        self.surname = surname
        self.first = first
        self.middle = middle.flatMap { joined(words($0)) }
        self.suffix = suffix
        if let given, first == nil {
            let names = words(given)
            self.first = names.first
            self.middle = self.middle ?? joined(names.dropFirst())
        }
        guard let whole, surname == nil else { return }
        let parts = whole.split(omittingEmptySubsequences: false) { $0 == "," || $0 == "@" }.map(String.init)
        if parts.count == 1 {
            let names = words(whole)
            self.surname = names.last
            self.first = names.count > 1 ? names.first : nil
            self.middle = joined(names.dropFirst().dropLast())
            return
        }
        self.surname = present(parts[0])
        let names = words(parts[1])
        if parts.count > 2, let middle = present(parts[2]) {
            self.first = present(parts[1])
            self.middle = middle
        } else {
            self.first = names.first
            self.middle = joined(names.dropFirst())
        }
        if parts.count > 3 { self.suffix = self.suffix ?? present(parts[3]) }
    }
}

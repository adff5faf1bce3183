/// The alphabet of a field of an MRZ.
enum MRZAlphabet {
    case any
    /// A–Z and `<`.
    case letters
    /// 0–9.
    case digits
    /// 0–9 and `<`: dates with unknown parts, check digits of empty fields.
    case digitsOrFiller
    /// First character of cards' codes: A, C, I (Doc 9303-5 §4.2.2 note d, -6 §4.2.2 note d).
    case cardCode
    /// P (Doc 9303-4 §4.2.2 note c).
    case passportCode
    /// V (Doc 9303-7 §4.2 and §5.2).
    case visaCode
    /// F, M, `<` (Doc 9303-3 §4: X of the VIZ becomes `<`), and X, which some issuers print.
    case sex

    /// Whether this is the first character of a document code.
    var isCode: Bool { self == .cardCode || self == .passportCode || self == .visaCode }

    func allows(_ byte: UInt8) -> Bool {
        let isDigit = (0x30...0x39).contains(byte)
        let isFiller = byte == MRZText.filler
        return switch self {
        case .any: true
        case .letters: !isDigit
        case .digits: isDigit
        case .digitsOrFiller: isDigit || isFiller
        case .cardCode: byte == UInt8(ascii: "A") || byte == UInt8(ascii: "C") || byte == UInt8(ascii: "I")
        case .passportCode: byte == UInt8(ascii: "P")
        case .visaCode: byte == UInt8(ascii: "V")
        case .sex: isFiller || byte == 0x46 || byte == 0x4D || byte == 0x58
        }
    }
}

/// A stretch of one line.
struct MRZSpan {
    var line: Int
    var range: Range<Int>

    init(_ line: Int, _ range: Range<Int>) {
        self.line = line
        self.range = range
    }
}

/// A check digit: the spans that it covers, in order, and its position.
struct MRZCheck {
    var key: MRZCheckKey
    var covered: [MRZSpan]
    var digit: MRZSpan
}

/// Positions of one format (Doc 9303-4 §4.2.2, -5 §4.2.2, -6 §4.2.2, -7 §4 and §5; national layouts: `MRZFormat`).
struct MRZLayout {
    var code: MRZSpan
    var state: MRZSpan
    var name: MRZSpan
    var number: MRZSpan
    var nationality: MRZSpan?
    var birth: MRZSpan?
    var sex: MRZSpan?
    var expiry: MRZSpan?
    var optional: [MRZSpan]
    var checks: [MRZCheck]
    /// The alphabets of fields that are not free text; `checks` are digits or fillers everywhere.
    var alphabets: [(MRZSpan, MRZAlphabet)]

    init(_ format: MRZFormat) {
        switch format {
        case .td1: self = .td1
        case .td2: self = .booklet(width: 36, check: .composite)
        case .td3: self = .booklet(width: 44, check: .personalNumber)
        case .mrva: self = .booklet(width: 44, check: nil)
        case .mrvb: self = .booklet(width: 36, check: nil)
        case .frenchID: self = .frenchID
        case .frenchLicence: self = .frenchLicence
        case .swissLicence: self = .swissLicence
        }
        let first = MRZSpan(self.code.line, self.code.range.prefix(1))
        // The second character is a letter or a filler (Doc 9303-4 §4.2.2 note c and similar notes); French licences have a digit.
        if format != .frenchLicence { self.alphabets.append((self.code, .letters)) }
        switch format {
        case .td1, .td2, .frenchID: self.alphabets.append((first, .cardCode))
        case .td3: self.alphabets.append((first, .passportCode))
        case .mrva, .mrvb: self.alphabets.append((first, .visaCode))
        case .frenchLicence, .swissLicence: break
        }
    }

    private init(
        code: MRZSpan, state: MRZSpan, name: MRZSpan, number: MRZSpan, nationality: MRZSpan?, birth: MRZSpan?,
        sex: MRZSpan?, expiry: MRZSpan?, optional: [MRZSpan], checks: [MRZCheck]
    ) {
        self.code = code
        self.state = state
        self.name = name
        self.number = number
        self.nationality = nationality
        self.birth = birth
        self.sex = sex
        self.expiry = expiry
        self.optional = optional
        self.checks = checks
        self.alphabets = [(state, .letters), (name, .letters)]
        self.alphabets.append(contentsOf: [nationality].compactMap { $0 }.map { ($0, .letters) })
        self.alphabets.append(contentsOf: [birth].compactMap { $0 }.map { ($0, .digitsOrFiller) })
        self.alphabets.append(contentsOf: [expiry].compactMap { $0 }.map { ($0, .digitsOrFiller) })
        self.alphabets.append(contentsOf: [sex].compactMap { $0 }.map { ($0, .sex) })
        self.alphabets.append(contentsOf: checks.map { ($0.digit, .digitsOrFiller) })
    }

    private static let td1 = MRZLayout(
        code: MRZSpan(0, 0..<2), state: MRZSpan(0, 2..<5), name: MRZSpan(2, 0..<30), number: MRZSpan(0, 5..<14),
        nationality: MRZSpan(1, 15..<18), birth: MRZSpan(1, 0..<6), sex: MRZSpan(1, 7..<8), expiry: MRZSpan(1, 8..<14),
        optional: [MRZSpan(0, 15..<30), MRZSpan(1, 18..<29)],
        checks: [
            MRZCheck(key: .documentNumber, covered: [MRZSpan(0, 5..<14)], digit: MRZSpan(0, 14..<15)),
            MRZCheck(key: .birthDate, covered: [MRZSpan(1, 0..<6)], digit: MRZSpan(1, 6..<7)),
            MRZCheck(key: .expiryDate, covered: [MRZSpan(1, 8..<14)], digit: MRZSpan(1, 14..<15)),
            MRZCheck(
                key: .composite,
                covered: [MRZSpan(0, 5..<30), MRZSpan(1, 0..<7), MRZSpan(1, 8..<15), MRZSpan(1, 18..<29)],
                digit: MRZSpan(1, 29..<30)),
        ])

    /// TD2, TD3 and both visas share their first 28 positions of line 2.
    private static func booklet(width: Int, check: MRZCheckKey?) -> MRZLayout {
        var checks = [
            MRZCheck(key: .documentNumber, covered: [MRZSpan(1, 0..<9)], digit: MRZSpan(1, 9..<10)),
            MRZCheck(key: .birthDate, covered: [MRZSpan(1, 13..<19)], digit: MRZSpan(1, 19..<20)),
            MRZCheck(key: .expiryDate, covered: [MRZSpan(1, 21..<27)], digit: MRZSpan(1, 27..<28)),
        ]
        var optionalEnd = width
        if check == .personalNumber {
            optionalEnd = 42
            checks.append(
                MRZCheck(key: .personalNumber, covered: [MRZSpan(1, 28..<42)], digit: MRZSpan(1, 42..<43)))
        } else if check == .composite {
            optionalEnd = width - 1
        }
        if check != nil {
            let covered = [MRZSpan(1, 0..<10), MRZSpan(1, 13..<20), MRZSpan(1, 21..<width - 1)]
            checks.append(MRZCheck(key: .composite, covered: covered, digit: MRZSpan(1, width - 1..<width)))
        }
        return MRZLayout(
            code: MRZSpan(0, 0..<2), state: MRZSpan(0, 2..<5), name: MRZSpan(0, 5..<width), number: MRZSpan(1, 0..<9),
            nationality: MRZSpan(1, 10..<13), birth: MRZSpan(1, 13..<19), sex: MRZSpan(1, 20..<21),
            expiry: MRZSpan(1, 21..<27), optional: [MRZSpan(1, 28..<optionalEnd)], checks: checks)
    }

    /// `name` is the surname here; the given names are in line 2 (``MRZDocument``).
    private static let frenchID = MRZLayout(
        code: MRZSpan(0, 0..<2), state: MRZSpan(0, 2..<5), name: MRZSpan(0, 5..<30), number: MRZSpan(1, 0..<12),
        nationality: nil, birth: MRZSpan(1, 27..<33), sex: MRZSpan(1, 34..<35), expiry: nil,
        optional: [MRZSpan(0, 30..<36)],
        checks: [
            MRZCheck(key: .documentNumber, covered: [MRZSpan(1, 0..<12)], digit: MRZSpan(1, 12..<13)),
            MRZCheck(key: .birthDate, covered: [MRZSpan(1, 27..<33)], digit: MRZSpan(1, 33..<34)),
            MRZCheck(
                key: .composite, covered: [MRZSpan(0, 0..<36), MRZSpan(1, 0..<35)], digit: MRZSpan(1, 35..<36)),
        ])

    private static let frenchLicence = MRZLayout(
        code: MRZSpan(0, 0..<2), state: MRZSpan(0, 2..<5), name: MRZSpan(0, 21..<29), number: MRZSpan(0, 5..<14),
        nationality: nil, birth: nil, sex: nil, expiry: MRZSpan(0, 15..<21), optional: [],
        checks: [
            MRZCheck(key: .documentNumber, covered: [MRZSpan(0, 0..<14)], digit: MRZSpan(0, 14..<15)),
            MRZCheck(key: .composite, covered: [MRZSpan(0, 0..<29)], digit: MRZSpan(0, 29..<30)),
        ])

    /// Line 1: number and language; line 2: `FACHE`, 9 of PIN, 3 of version, `<<`, birth.
    private static let swissLicence = MRZLayout(
        code: MRZSpan(1, 0..<2), state: MRZSpan(1, 2..<5), name: MRZSpan(2, 0..<30), number: MRZSpan(0, 0..<9),
        nationality: nil, birth: MRZSpan(1, 19..<25), sex: nil, expiry: nil,
        optional: [MRZSpan(1, 5..<14), MRZSpan(1, 14..<17)], checks: [])
}

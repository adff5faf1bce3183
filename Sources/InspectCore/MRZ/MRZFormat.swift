/// The layouts of machine-readable zones that are known.
public enum MRZFormat: String, Codable, Sendable, CaseIterable {
    /// 3×30, cards (ICAO Doc 9303-5).
    case td1 = "TD1"
    /// 2×36, larger cards (Doc 9303-6).
    case td2 = "TD2"
    /// 2×44, passports (Doc 9303-4).
    case td3 = "TD3"
    /// 2×44, visas (Doc 9303-7).
    case mrva = "MRVA"
    /// 2×36, smaller visas (Doc 9303-7).
    case mrvb = "MRVB"
    /// 2×36, French identity cards until 2021, which follow no part of Doc 9303.
    case frenchID = "FRA_ID"
    /// 1×30, French driving licences.
    case frenchLicence = "FRA_DL"
    /// Lines of 9, 30 and 30: Swiss driving licences; no check digits.
    case swissLicence = "CHE_DL"

    /// Characters of each line.
    public var lineLengths: [Int] {
        switch self {
        case .td1: [30, 30, 30]
        case .td2, .mrvb, .frenchID: [36, 36]
        case .td3, .mrva: [44, 44]
        case .frenchLicence: [30]
        case .swissLicence: [9, 30, 30]
        }
    }

    /// The format of complete lines, or `nil` if no known format has lines of these lengths.
    ///
    /// Formats of equal shape are told apart by the document code (V is kept for visas, Doc 9303-7 §4) and, for the
    /// French and Swiss layouts, by the code and state with which they always begin.
    public init?(lines: [String]) {
        let lengths = lines.map(\.utf8.count)
        let shaped = Self.allCases.filter { $0.lineLengths == lengths }
        guard let first = shaped.first else { return nil }
        switch first {
        case .td2 where lines[0].hasPrefix("V"): self = .mrvb
        case .td2 where lines[0].hasPrefix("IDFRA"): self = .frenchID
        case .td3 where lines[0].hasPrefix("V"): self = .mrva
        default: self = first
        }
    }
}

/// What a field of a machine-readable zone may hold.
enum MRZAlphabet {
    case any
    /// A–Z and `<`.
    case letters
    /// 0–9.
    case digits
    /// 0–9 and `<`: dates with unknown parts, check digits of empty fields.
    case digitsOrFiller
    /// F, M, `<` (Doc 9303-3 §4: X of the visual zone becomes `<`), and X, which some issuers print.
    case sex

    func allows(_ byte: UInt8) -> Bool {
        let isDigit = (0x30...0x39).contains(byte)
        let isFiller = byte == MRZText.filler
        return switch self {
        case .any: true
        case .letters: !isDigit
        case .digits: isDigit
        case .digitsOrFiller: isDigit || isFiller
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

/// A check digit: what it covers, in order, and where it stands.
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
    /// What is not free text; `checks` are digits or fillers everywhere.
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
        self.alphabets = [(code, .any), (state, .letters), (name, .letters)]
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

    /// `name` is the surname here; the given names stand in line 2 (``MRZDocument``).
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

/// The layouts of MRZs that are known.
package enum MRZFormat: String, Codable, Sendable, CaseIterable {
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
    package var lineLengths: [Int] {
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
    /// Formats of equal shape are distinguished by the document code (V is kept for visas, Doc 9303-7 §4) and, for the
    /// French and Swiss layouts, by the code and state with which they always begin.
    package init?(lines: [String]) {
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

import Foundation

/// Fields of the VIZ that are read and compared (ICAO Doc 9303-3 §3, -4 §4.1; EU directive 2006/126/EC annex I; AAMVA
/// card design standard annex A).
package enum VIZField: String, Codable, Sendable, CaseIterable {
    case lastName = "lastName"
    case firstName = "firstName"
    case documentNumber = "documentNumber"
    case dateOfBirth = "dateOfBirth"
    case expiryDate = "expiryDate"
    case issuingDate = "issuingDate"
    case issuingAuthority = "issuingAuthority"
    case categories = "categories"
    case placeOfBirth = "placeOfBirth"
    case nationality = "nationality"
    case gender = "gender"
    case personalNumber = "personalNumber"
    case address = "address"

    /// Whether its value consists of words, which nothing proves.
    var isText: Bool {
        [.lastName, .firstName, .placeOfBirth, .issuingAuthority, .address, .nationality].contains(self)
    }

    /// The fields of every passport's data page, without those that are codes in the MRZ.
    static let ofPassports: Set<VIZField> = [
        .lastName, .firstName, .documentNumber, .dateOfBirth, .placeOfBirth, .issuingDate, .expiryDate,
        .issuingAuthority,
    ]

    /// The fields of the front of every EU licence.
    static let ofLicences: Set<VIZField> = [
        .lastName, .firstName, .dateOfBirth, .placeOfBirth, .issuingDate, .expiryDate, .issuingAuthority,
        .documentNumber, .categories,
    ]

    var isDate: Bool { self == .dateOfBirth || self == .expiryDate || self == .issuingDate }
}

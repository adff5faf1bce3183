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

    var isDate: Bool { self == .dateOfBirth || self == .expiryDate || self == .issuingDate }
}

/// The numbers that stand before the fields of driving licences.
enum VIZNumbering {
    /// - Parameter isEuropean: EU directive 2006/126/EC annex I; otherwise AAMVA's card design standard, annex A, whose
    ///   numbers are the same but for the licence's own.
    static func field(_ number: String, isEuropean: Bool) -> VIZField? {
        switch number.uppercased() {
        case "1": .lastName
        case "2": .firstName
        case "3": .dateOfBirth
        case "4A": .issuingDate
        case "4B": .expiryDate
        case "4C": isEuropean ? .issuingAuthority : nil
        case "4D": isEuropean ? nil : .documentNumber
        case "5": isEuropean ? .documentNumber : nil
        case "8": .address
        case "9": .categories
        case "15": isEuropean ? nil : .gender
        default: nil
        }
    }
}

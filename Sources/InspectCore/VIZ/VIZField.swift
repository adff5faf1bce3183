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

    var isDate: Bool { self == .dateOfBirth || self == .expiryDate || self == .issuingDate }
}

/// The labels beside or above a field.
enum VIZLabel {
    /// Names of fields as documents print them, accents dropped. Words that other fields share are left out.
    private static let names: [VIZField: [String]] = [
        .lastName: [
            "SURNAME", "FAMILY NAME", "LAST NAME", "NOM", "NAME", "NACHNAME", "FAMILIENNAME", "APELLIDOS", "APELLIDO",
            "COGNOME", "NAZWISKO", "SURNAMES", "NAAM", "LN", "PRIMARY IDENTIFIER", "SUKUNIMI", "EFTERNAMN",
            "APELIDO", "NOM DE FAMILLE",
        ],
        .firstName: [
            "GIVEN NAMES", "GIVEN NAME", "FIRST NAME", "FIRST NAMES", "PRENOM", "PRENOMS", "PRENOM S", "VORNAME",
            "VORNAMEN", "NOMBRE", "NOMBRES", "NOMI", "IMIONA", "FN", "FORENAMES", "SECONDARY IDENTIFIER", "ETUNIMET",
            "NOMES",
        ],
        .documentNumber: [
            "PASSPORT NO", "PASSPORT NUMBER", "DOCUMENT NO", "DOCUMENT NUMBER", "CARD NO", "CARD NUMBER", "PASS NR",
            "PASSNR", "AUSWEISNUMMER", "NO DU PASSEPORT", "N DU PASSEPORT", "DL NO", "DLN", "LICENSE NO", "LICENCE NO",
            "PASAPORTE NO", "PASSAPORTO N", "IDENTITY CARD NO", "ID NO",
        ],
        .dateOfBirth: [
            "DATE OF BIRTH", "DOB", "BIRTH DATE", "DATE DE NAISSANCE", "GEBURTSDATUM", "GEBURTSTAG",
            "FECHA DE NACIMIENTO", "DATA DI NASCITA", "DATA URODZENIA", "GEBOORTEDATUM", "DATA DE NASCIMENTO",
            "SYNTYMAAIKA", "FODELSEDATUM",
        ],
        .expiryDate: [
            "DATE OF EXPIRY", "EXPIRY", "EXPIRY DATE", "EXP", "EXPIRES", "DATE D EXPIRATION", "GULTIG BIS",
            "GUELTIG BIS", "VALIDO HASTA", "DATA DI SCADENZA", "DATA WAZNOSCI", "GELDIG TOT", "DATE OF EXPIRATION",
            "VALID UNTIL", "CADUCA", "FECHA DE CADUCIDAD", "DATE DEXPIRATION", "SCADENZA", "VALIDADE",
        ],
        .issuingDate: [
            "DATE OF ISSUE", "ISS", "ISSUED", "DATE DE DELIVRANCE", "AUSSTELLUNGSDATUM", "FECHA DE EXPEDICION",
            "DATA DI RILASCIO", "DATA WYDANIA", "DATE DE DELIVRANCE",
        ],
    ]

    private static let fields: [[String]: VIZField] = Dictionary(
        Self.names.flatMap { field, names in names.map { (VIZText.words($0).map(Self.folded), field) } }
    ) { first, _ in first }

    /// Small letters run together: `rn` and `m` look the same.
    private static func folded(_ word: String) -> String { word.replacing("RN", with: "M") }

    /// The field of a name, of whose longer words one letter may have been misread.
    private static func known(_ words: [String]) -> VIZField? {
        let words = words.map(Self.folded)
        if let field = self.fields[words] { return field }
        let near = self.fields.filter { name, _ in
            name.count == words.count
                && zip(name, words).allSatisfy { $0 == $1 || ($0.count >= 6 && Self.isNear(Array($0), Array($1))) }
        }
        return Set(near.values).count == 1 ? near.values.first : nil
    }

    /// Whether the words differ by one insertion, deletion or substitution.
    private static func isNear(_ left: [Character], _ right: [Character]) -> Bool {
        guard abs(left.count - right.count) <= 1 else { return false }
        let start = zip(left, right).prefix { $0 == $1 }.count
        let end = zip(left.reversed(), right.reversed()).prefix { $0 == $1 }.count
        return start + end >= max(left.count, right.count) - 1
    }

    /// Labels that are ambiguous alone.
    private static let ambiguous: Set<String> = ["NAME", "NOM", "NAAM", "NOMBRE", "NOMI"]

    /// The field that `text` names: its first name is one of that field, and no other one, in another language perhaps, is
    /// one of another field.
    ///
    /// `Surname / Nom`, `3. DOB` and `(1) Surname / Nom de fam` name one; `Religious name or pseudonym` does not.
    static func field(_ text: String) -> VIZField? {
        var named: [VIZField?] = []
        var first = ""
        for (index, part) in text.split(separator: "/").enumerated() {
            var words = self.plain(String(part))
            // The numbers of licences before the name of the field, and those of passports in the European Union.
            if index == 0, words.count > 1, words[0].contains(where: \.isNumber), words[0].count <= 2 {
                words.removeFirst()
            }
            guard !words.isEmpty else { continue }
            if named.isEmpty { first = words.joined(separator: " ") }
            named.append(self.known(words))
        }
        guard let field = named.first ?? nil, named.allSatisfy({ $0 == nil || $0 == field }) else { return nil }
        return self.ambiguous.contains(first) && named.count(where: { $0 == field }) < 2 ? nil : field
    }

    static func plain(_ text: String) -> [String] {
        VIZText.words(text).map { word in
            String(
                word.decomposedStringWithCanonicalMapping.unicodeScalars.filter { $0.isASCII }.map { Character($0) })
        }
    }
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
        case "9": isEuropean ? .categories : nil
        default: nil
        }
    }
}

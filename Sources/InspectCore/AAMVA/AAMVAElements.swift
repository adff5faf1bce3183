/// The header and elements of an AAMVA barcode as they occur in it (AAMVA DL/ID Card Design Standard, Annex D.12).
///
/// Issuers often write wrong subfile offsets into the header, and readers that mangle control characters shift them
/// further. The parser therefore ignores offsets and finds each element by its three-character identifier at the start of a
/// line.
package struct AAMVAElements: Sendable, Hashable {
    /// Issuer identification number, six digits.
    package let issuer: String
    /// Version of the standard: 1 = 2000, 2 = 2003, 3 = 2005, 4 = 2009, 5 = 2010, 6 = 2011, 7 = 2012, 8 = 2013,
    /// 9 = 2016, 10 = 2020.
    package let version: Int
    /// Version of the issuer's own additions; version 1 of the standard has none.
    package let jurisdictionVersion: Int?
    /// Types of the subfiles in the header's order, for example `DL`, `ZV`.
    package let subfiles: [String]
    /// Values by element identifier, for example `DAQ`, without surrounding blanks. The issuer's own elements (`ZVA`)
    /// are among them.
    package let fields: [String: String]

    /// - Returns: `nil` if `text` has no AAMVA header or not a single element.
    package init?(_ text: String) {
        let scalars = Array(text.unicodeScalars)
        guard let (start, marker) = Self.findMarker(scalars) else { return nil }
        var position = start
        func digits(_ count: Int) -> String? {
            guard position + count <= scalars.count else { return nil }
            let slice = scalars[position..<position + count]
            guard slice.allSatisfy({ ("0"..."9").contains($0) }) else { return nil }
            position += count
            return String(String.UnicodeScalarView(slice))
        }
        if marker == "ANSI", position < scalars.count, scalars[position] == " " { position += 1 }
        guard let issuer = digits(6), let version = digits(2).flatMap({ Int($0) }) else { return nil }
        self.issuer = issuer
        self.version = version
        self.jurisdictionVersion = version >= 2 ? digits(2).flatMap { Int($0) } : nil
        let announced = digits(2).flatMap { Int($0) } ?? 0

        var subfiles: [String] = []
        while subfiles.count < max(announced, 1), position + 10 <= scalars.count {
            let type = scalars[position..<position + 2]
            guard type.allSatisfy({ $0.isASCII && $0.properties.isAlphabetic }) else { break }
            let before = position
            position += 2
            guard digits(8) != nil else {
                position = before
                break
            }
            subfiles.append(String(String.UnicodeScalarView(type)))
        }
        self.subfiles = subfiles
        self.fields = Self.fields(scalars[position...], subfiles: subfiles)
        guard !self.fields.isEmpty else { return nil }
    }

    /// The header's file type and the position of its end; `nil` if the text does not start with one.
    private static func findMarker(_ scalars: [Unicode.Scalar]) -> (Int, String)? {
        for marker in ["ANSI", "AAMVA"] {
            let wanted = Array(marker.unicodeScalars)
            for start in 0..<min(24, max(0, scalars.count - wanted.count))
            where scalars[start..<start + wanted.count].elementsEqual(wanted) {
                return (start + wanted.count, marker)
            }
        }
        return nil
    }

    private static func fields(_ scalars: ArraySlice<Unicode.Scalar>, subfiles: [String]) -> [String: String] {
        var lines = scalars.split { Self.isSeparator($0) }.map { String(String.UnicodeScalarView($0)) }
        // Readers that turn control characters into visible ones.
        if lines.count == 1, lines[0].contains("|") { lines = lines[0].split(separator: "|").map(String.init) }
        if lines.count == 1 { lines = Self.splitAtIdentifiers(lines[0]) }
        var fields: [String: String] = [:]
        for line in lines {
            let element = Self.withoutSubfileType(line, subfiles: subfiles)
            let identifier = String(element.prefix(3))
            guard Self.isIdentifier(identifier), fields[identifier] == nil else { continue }
            fields[identifier] = element.dropFirst(3).trimmingBlanks
        }
        return fields
    }

    /// The standard's separators are LF, RS and CR; any other control character, and the placeholders that decoders write
    /// in its place, are not data.
    private static func isSeparator(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0xFEFF
            || scalar.value == 0xFFFD
    }

    /// A subfile starts with its type, directly before its first element: `DLDAQ…`, `ZVZVA…`.
    private static func withoutSubfileType(_ line: String, subfiles: [String]) -> Substring {
        let type = String(line.prefix(2))
        let rest = line.dropFirst(2)
        let known = subfiles.contains(type) || type == "DL" || type == "ID"
        guard known, Self.isIdentifier(String(rest.prefix(3))) else { return Substring(line) }
        return type == "DL" || type == "ID" || rest.hasPrefix(type) ? rest : Substring(line)
    }

    /// Identifiers of the standard run from `DAA` to `DDO`, those of issuers start with `Z`.
    private static func isIdentifier(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 3, bytes.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }) else {
            return false
        }
        if bytes[0] == UInt8(ascii: "Z") { return (0x41...0x5A).contains(bytes[1]) }
        return bytes[0] == UInt8(ascii: "D") && (0x41...0x44).contains(bytes[1]) && bytes[2] >= 0x41
    }

    /// For text whose line ends became blanks: an identifier of a name, date, number or address after a blank starts
    /// a new element.
    private static func splitAtIdentifiers(_ text: String) -> [String] {
        var lines: [String] = []
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            let identifier = String(word.prefix(3))
            if lines.isEmpty || Self.mandatory.contains(identifier) {
                lines.append(String(word))
            } else {
                lines[lines.count - 1] += " " + word
            }
        }
        return lines
    }

    /// The elements that every card has (Annex D.12.5.1, and the version of 2000).
    private static let mandatory: Set<String> = [
        "DAA", "DAC", "DAD", "DAG", "DAH", "DAI", "DAJ", "DAK", "DAQ", "DAR", "DAS", "DAT", "DAU", "DAW", "DAY", "DAZ",
        "DBA", "DBB", "DBC", "DBD", "DCA", "DCB", "DCD", "DCF", "DCG", "DCK", "DCS", "DCT", "DCU", "DDA", "DDB", "DDE",
        "DDF", "DDG", "DDK",
    ]
}

extension StringProtocol {
    /// Without blanks at either end.
    package var trimmingBlanks: String {
        let view = self.drop { $0 == " " }
        var end = view.endIndex
        while end > view.startIndex, view[view.index(before: end)] == " " { end = view.index(before: end) }
        return String(view[view.startIndex..<end])
    }
}

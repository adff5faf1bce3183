package import InspectCore

extension DataGroup {
    /// The images of DG7, as the chip holds them (Doc 9303-10 §4.7.7): a number of one octet, then the images.
    package static func signatureImages(dg7 file: ArraySlice<UInt8>) throws(LDSError) -> [ArraySlice<UInt8>] {
        let fields = try TLV(first: file, tag: 0x67, "DG7").children(most: 16)
        try Self.checkCount(fields.first, "DG7")
        let images = fields.filter { $0.tag == 0x5F43 }.map(\.content)
        guard !images.isEmpty else { throw .malformed("DG7 holds no image") }
        guard images.allSatisfy({ image in FacialRecord.beginnings.contains { image.starts(with: $0) } }) else {
            throw .unsupported("the signature is neither JPEG nor JPEG 2000")
        }
        return images
    }

    /// The holder's details in DG11 (Doc 9303-10 §4.7.11). Tags that the standard does not have are passed over.
    package static func personalDetails(dg11 file: ArraySlice<UInt8>) throws(LDSError) -> PersonalDetails {
        var details = PersonalDetails()
        for field in try TLV(first: file, tag: 0x6B, "DG11").children(most: Self.mostFields) {
            switch field.tag {
            case 0x5F0E: details.fullName = Self.name(field)
            case 0xA0: details.otherNames = try Self.names(field, tag: 0x5F0F)
            case 0x5F0F: details.otherNames = (details.otherNames ?? []) + [Self.name(field)].compactMap { $0 }
            case 0x5F10: details.personalNumber = Self.text(field)
            case 0x5F2B: details.dateOfBirth = Self.day(field)
            case 0x5F11: details.placeOfBirth = Self.parts(field)
            case 0x5F42: details.address = Self.parts(field)
            case 0x5F12: details.telephone = Self.text(field)
            case 0x5F13: details.profession = Self.text(field)
            case 0x5F14: details.title = Self.text(field)
            case 0x5F15: details.personalSummary = Self.text(field)
            case 0x5F16: details.hasProofOfCitizenship = !field.content.isEmpty
            case 0x5F17: details.otherDocumentNumbers = Self.parts(field)
            case 0x5F18: details.custody = Self.text(field)
            default: continue
            }
        }
        return details
    }

    /// The document's details in DG12 (Doc 9303-10 §4.7.12). Tags that the standard does not have are passed over.
    package static func documentDetails(dg12 file: ArraySlice<UInt8>) throws(LDSError) -> DocumentDetails {
        var details = DocumentDetails()
        for field in try TLV(first: file, tag: 0x6C, "DG12").children(most: Self.mostFields) {
            switch field.tag {
            case 0x5F19: details.issuingAuthority = Self.text(field)
            case 0x5F26: details.issuingDate = Self.day(field)
            case 0xA0: details.otherPersons = try Self.names(field, tag: 0x5F1A)
            case 0x5F1B: details.endorsements = Self.text(field)
            case 0x5F1C: details.taxOrExitRequirements = Self.text(field)
            case 0x5F1D: details.hasFrontImage = !field.content.isEmpty
            case 0x5F1E: details.hasRearImage = !field.content.isEmpty
            case 0x5F55: details.personalizedAt = Self.moment(field)
            case 0x5F56: details.personalizationSystem = Self.text(field)
            default: continue
            }
        }
        return details
    }

    /// More elements than the standard has tags for, for issuers that repeat some.
    private static let mostFields = 32
    /// A chip's file may have megabytes, a result must not.
    private static let longestText = 1000

    /// A number of elements in one octet, at least one. Whether there are as many is not compared: issuers count carelessly.
    private static func checkCount(_ field: TLV?, _ name: String) throws(LDSError) {
        guard let field, field.tag == TLV.Tag.integer, field.content.count == 1, try field.integer() > 0 else {
            throw .malformed("\(name) does not say how many elements follow")
        }
    }

    /// UTF-8 (Doc 9303-10 §4.7.11), with blanks for fillers.
    private static func text(_ field: TLV) -> String? {
        let text = String(decoding: field.content.prefix(4 * Self.longestText), as: UTF8.self).map {
            $0 == "<" ? " " : $0
        }
        let trimmed = String(text.prefix(Self.longestText)).trimmingBlanks
        return trimmed.isEmpty ? nil : trimmed
    }

    /// Elements that fillers separate.
    private static func parts(_ field: TLV) -> [String]? {
        let text = String(decoding: field.content.prefix(Self.longestText), as: UTF8.self)
        let parts = text.split(separator: "<").map(\.trimmingBlanks).filter { !$0.isEmpty }
        return parts.isEmpty ? nil : Array(parts.prefix(Self.mostFields))
    }

    /// `SMITH<<JOHN<J` as `SMITH, JOHN J` (Doc 9303-3 §4.6: two fillers between the identifiers, one within).
    private static func name(_ field: TLV) -> String? {
        let text = String(decoding: field.content.prefix(Self.longestText), as: UTF8.self)
        let parts = text.split(separator: "<<").map { part in
            String(part.map { $0 == "<" ? " " : $0 }).trimmingBlanks
        }.filter { !$0.isEmpty }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func names(_ template: TLV, tag: UInt32) throws(LDSError) -> [String]? {
        let fields = try template.children(most: Self.mostFields)
        try Self.checkCount(fields.first, "a list of names")
        let names = fields.filter { $0.tag == tag }.compactMap { Self.name($0) }
        return names.isEmpty ? nil : names
    }

    /// Digits of a date or a time: characters, or two to an octet as in older versions of the LDS.
    private static func digits(_ field: TLV, _ count: Int) -> [Int]? {
        let octets = Array(field.content)
        let digits =
            octets.count == count
            ? octets.map { Int($0) - 0x30 }
            : octets.count * 2 == count ? octets.flatMap { [Int($0 >> 4), Int($0 & 15)] } : []
        return digits.count == count && digits.allSatisfy((0...9).contains) ? digits : nil
    }

    private static func day(_ field: TLV) -> String? { self.digits(field, 8).flatMap { Self.day($0) } }

    private static func day(_ digits: [Int]) -> String? {
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { $0 * 10 + $1 } }
        let date = CalendarDate(year: number(0..<4), month: number(4..<6), day: number(6..<8))
        return date.isValid ? date.iso8601 : nil
    }

    private static func moment(_ field: TLV) -> String? {
        guard let digits = self.digits(field, 14), let day = Self.day(digits) else { return nil }
        let time = [8, 10, 12].map { "\(digits[$0])\(digits[$0 + 1])" }.joined(separator: ":")
        return time < "24" && digits[10] < 6 && digits[12] < 6 ? "\(day)T\(time)" : nil
    }
}

import InspectCore
import Testing

@testable import Chip

@Suite struct LDSTests {
    private func tlv(_ tag: [UInt8], _ content: [UInt8]) -> [UInt8] {
        let length: [UInt8] =
            content.count < 128
            ? [UInt8(content.count)] : [0x82, UInt8(content.count >> 8), UInt8(content.count & 255)]
        return tag + length + content
    }

    @Test func `Elements of every form of tag and length are read`() throws {
        let long = try TLV(first: [0x7F, 0x61, 0x82, 0x00, 0x03, 0x02, 0x01, 0x05, 0xAA])
        #expect(long.tag == 0x7F61 && long.isConstructed)
        #expect(try long.children().map { try $0.integer() } == [5])
        #expect(long.encoded.count == 8)
        let open = try TLV(first: [0x30, 0x80, 0x30, 0x80, 0x04, 0x01, 0x07, 0, 0, 0, 0, 0xFF])
        #expect(open.encoded.count == 11)
        #expect(try open.children().first?.children().first?.octets() == [7])
        let pieces = try TLV(first: [0x24, 0x80, 0x04, 0x01, 0x01, 0x04, 0x02, 0x02, 0x03, 0, 0])
        #expect(try pieces.octets() == [1, 2, 3])
        #expect(try TLV(first: [0x06, 0x03, 0x2A, 0x86, 0x48]).objectIdentifier() == "1.2.840")
        #expect(try TLV(first: [0x06, 0x04, 0x67, 0x81, 0x08, 0x01]).objectIdentifier() == "2.23.136.1")
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x81], [0x30, 0x05, 0x00], [0x30, 0x85, 0, 0, 0, 0, 0], [0x1F],
            [0x1F, 0x81, 0x81, 0x81, 0x01],
            [0x30, 0x84, 0x7F, 0xFF, 0xFF, 0xFF], [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x04, 0x80, 0, 0],
            [0x30, 0x80, 0],
        ] as [[UInt8]])
    func `Bytes that are not an element are refused`(bytes: [UInt8]) {
        #expect(throws: LDSError.self) { try TLV(first: bytes[...]) }
    }

    @Test func `Nesting that is too deep and too many elements are refused`() {
        let deep = [UInt8]((0..<100_000).flatMap { _ in [0x30, 0x80] as [UInt8] })
        #expect(throws: LDSError.self) { try TLV(first: deep[...]) }
        let wide: [UInt8] = [0x30, 0x80] + [UInt8](repeating: 0x05, count: 1) + [0]
        let many = wide.prefix(2) + (0..<5000).flatMap { _ in [0x05, 0x00] as [UInt8] } + [0, 0]
        #expect(throws: LDSError.self) { try TLV(first: many[...]) }
        let flat = self.tlv([0x30], (0..<65).flatMap { _ in [0x05, 0x00] as [UInt8] })
        #expect(throws: LDSError.self) { try TLV(first: flat[...]).children() }
    }

    @Test func `Numbers and names that are too large are refused`() throws {
        for bytes: [UInt8] in [[0x02, 0], [0x02, 1, 0x80], [0x02, 5, 1, 0, 0, 0, 0], [0x04, 1, 1]] {
            let element = try TLV(first: bytes[...])
            #expect(throws: LDSError.self) { try element.integer() }
        }
        let huge = try TLV(first: [0x06, 0x0B] + [UInt8](repeating: 0xFF, count: 10) + [0x01])
        #expect(throws: LDSError.self) { try huge.objectIdentifier() }
        #expect(throws: LDSError.self) { try TLV(first: [0x06, 0x01, 0x80]).objectIdentifier() }
    }

    @Test func `DG1 is the MRZ of a document of any format`() throws {
        for (count, lines) in [(90, 3), (72, 2), (88, 2)] {
            let file = self.tlv([0x61], self.tlv([0x5F, 0x1F], [UInt8](repeating: 0x3C, count: count)))
            #expect(try DataGroup.mrzLines(dg1: file[...]).count == lines)
        }
        for mrz in [[UInt8](repeating: 0x3C, count: 89), [UInt8](repeating: 0x61, count: 88), []] {
            let file = self.tlv([0x61], self.tlv([0x5F, 0x1F], mrz))
            #expect(throws: LDSError.self) { try DataGroup.mrzLines(dg1: file[...]) }
        }
    }

    @Test func `DG7 holds images of the signature`() throws {
        let jpeg: [UInt8] = [0xFF, 0xD8, 0xFF, 0xE0, 1, 2, 3]
        func file(_ count: [UInt8], _ images: [[UInt8]]) -> [UInt8] {
            self.tlv([0x67], self.tlv([0x02], count) + images.flatMap { self.tlv([0x5F, 0x43], $0) })
        }
        let images = try DataGroup.signatureImages(dg7: file([2], [jpeg, jpeg])[...])
        #expect(images.map(Array.init) == [jpeg, jpeg])
        for (count, images) in [([0], [jpeg]), ([0, 1], [jpeg]), ([1], []), ([1], [[1, 2, 3]]), ([], [jpeg])]
            as [([UInt8], [[UInt8]])]
        {
            #expect(throws: LDSError.self) { try DataGroup.signatureImages(dg7: file(count, images)[...]) }
        }
    }

    @Test func `DG11 says who the holder is`() throws {
        func text(_ tag: [UInt8], _ text: String) -> [UInt8] { self.tlv(tag, Array(text.utf8)) }
        let names = self.tlv(
            [0xA0], [0x02, 0x01, 0x01] + text([0x5F, 0x0F], "SMITH<<ANNE") + text([0x5F, 0x0F], "<<"))
        let fields: [[UInt8]] = [
            self.tlv([0x5C], [0x5F, 0x0E, 0x5F, 0x2B]), text([0x5F, 0x0E], "MÜLLER<<ÅSA<MARIE"), names,
            text([0x5F, 0x10], "123456"), text([0x5F, 0x2B], "19740812"), text([0x5F, 0x11], "KØBENHAVN<DK"),
            text([0x5F, 0x42], "123 MAPLE RD<ANYTOWN<<MN"), text([0x5F, 0x12], "+45 1"),
            text([0x5F, 0x13], "TRAVEL<AGENT"), text([0x5F, 0x14], " "), text([0x5F, 0x17], "A1<B2"),
            self.tlv([0x5F, 0x16], [0xFF, 0xD8, 0xFF]), text([0x5F, 0x18], "NONE"), text([0x5F, 0x00], "?"),
        ]
        let details = try DataGroup.personalDetails(dg11: self.tlv([0x6B], fields.flatMap { $0 })[...])
        #expect(details.fullName == "MÜLLER, ÅSA MARIE" && details.otherNames == ["SMITH, ANNE"])
        #expect(details.personalNumber == "123456" && details.dateOfBirth == "1974-08-12")
        #expect(details.placeOfBirth == ["KØBENHAVN", "DK"] && details.address == ["123 MAPLE RD", "ANYTOWN", "MN"])
        #expect(details.telephone == "+45 1" && details.profession == "TRAVEL AGENT" && details.title == nil)
        #expect(details.otherDocumentNumbers == ["A1", "B2"] && details.custody == "NONE")
        #expect(details.hasProofOfCitizenship == true && details.personalSummary == nil && details.reason == nil)
        // Two digits to an octet, as in older versions of the LDS; and a day that does not exist.
        let old = try DataGroup.personalDetails(
            dg11: self.tlv([0x6B], self.tlv([0x5F, 0x2B], [0x19, 0x74, 0x08, 0x12]))[...])
        #expect(old.dateOfBirth == "1974-08-12")
        let none = try DataGroup.personalDetails(dg11: self.tlv([0x6B], text([0x5F, 0x2B], "19740230"))[...])
        #expect(none.dateOfBirth == nil)
        let long = try DataGroup.personalDetails(
            dg11: self.tlv([0x6B], text([0x5F, 0x15], String(repeating: "ä", count: 5000)))[...])
        #expect(long.personalSummary?.count == 1000)
        #expect(throws: LDSError.self) { try DataGroup.personalDetails(dg11: self.tlv([0x6C], [])[...]) }
        #expect(throws: LDSError.self) {
            try DataGroup.personalDetails(dg11: self.tlv([0x6B], self.tlv([0xA0], [0x02, 0x01, 0x00]))[...])
        }
    }

    @Test func `DG12 says who issued the document, and when`() throws {
        func text(_ tag: [UInt8], _ text: String) -> [UInt8] { self.tlv(tag, Array(text.utf8)) }
        let fields: [[UInt8]] = [
            text([0x5F, 0x19], "CITY OF<UTOPIA"), text([0x5F, 0x26], "20240415"), text([0x5F, 0x1B], "NONE"),
            self.tlv([0xA0], [0x02, 0x01, 0x01] + text([0x5F, 0x1A], "SMITH<<BRENDA<P")),
            self.tlv([0x5F, 0x1D], [1]), text([0x5F, 0x55], "20240416133612"), text([0x5F, 0x56], "N-4962"),
        ]
        let details = try DataGroup.documentDetails(dg12: self.tlv([0x6C], fields.flatMap { $0 })[...])
        #expect(details.issuingAuthority == "CITY OF UTOPIA" && details.issuingDate == "2024-04-15")
        #expect(details.otherPersons == ["SMITH, BRENDA P"] && details.endorsements == "NONE")
        #expect(details.hasFrontImage == true && details.hasRearImage == nil)
        #expect(details.personalizedAt == "2024-04-16T13:36:12" && details.personalizationSystem == "N-4962")
        for moment in ["20240416243612", "20240416133", "2024041613361X"] {
            let file = self.tlv([0x6C], text([0x5F, 0x55], moment))
            #expect(try DataGroup.documentDetails(dg12: file[...]).personalizedAt == nil, "\(moment)")
        }
    }

    @Test func `A data group's hash covers its file without trailing zeros`() throws {
        let group = self.tlv([0x6E], [1, 2, 3])
        #expect(try Array(DataGroup.hashed((group + [0, 0])[...], number: 14)) == group)
        #expect(throws: LDSError.self) { try DataGroup.hashed((group + [1])[...], number: 14) }
        #expect(throws: LDSError.self) { try DataGroup.hashed(group[...], number: 13) }
        #expect(throws: LDSError.self) { try DataGroup.hashed(group[...], number: 17) }
    }

    @Test(
        arguments: [
            ("UTO", "UT", true), ("D", "DE", true), ("D", "de", true), ("FRA", "FR", true), ("FRA", "DE", false),
            ("GBD", "GB", true), ("RKS", "KS", true), ("EUE", "EU", true), ("UTO", "UTO", true), ("AUT", "AU", false),
        ] as [(String, String, Bool)])
    func `A state has a code of three letters and one of two`(state: String, country: String, isSame: Bool) {
        #expect(IssuingState.matches(state, country: country) == isSame)
    }

    @Test func `An unknown state is undetermined`() {
        #expect(IssuingState.matches("XYZ", country: "XY") == nil)
        #expect(IssuingState.matches("", country: "DE") == nil)
    }
}

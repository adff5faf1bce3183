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

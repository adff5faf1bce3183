/// The portrait of DG2 (ICAO Doc 9303-10 §4.7.2): the first image of an ISO/IEC 19794-5 facial record.
package struct FacialRecord: Sendable {
    /// JPEG or JPEG 2000, as the chip holds it.
    package var image: ArraySlice<UInt8>
    /// Face images in the record; the first is the portrait.
    package var count: Int

    /// First bytes of what ISO/IEC 19794-5:2005 §5.8.2 allows: JPEG (ISO/IEC 10918-1), a JP2 file or a bare codestream
    /// (ISO/IEC 15444-1 Annexes A and I).
    static let beginnings: [[UInt8]] = [
        [0xFF, 0xD8, 0xFF], [0, 0, 0, 0x0C, 0x6A, 0x50, 0x20, 0x20], [0xFF, 0x4F, 0xFF, 0x51],
    ]

    package init(dg2 file: ArraySlice<UInt8>) throws(LDSError) {
        let group = try TLV(first: TLV(first: file, tag: 0x75, "DG2").content, tag: 0x7F61, "the biometric group")
        // A number of instances, then one template for each; several are rare, and the first is the portrait.
        guard let instance = try group.children(most: 16).first(where: { $0.tag == 0x7F60 }) else {
            throw .malformed("DG2 holds no biometric template")
        }
        guard let block = try instance.children(most: 16).first(where: { [0x5F2E, 0x7F2E].contains($0.tag) }) else {
            throw .malformed("DG2 holds no biometric data")
        }
        guard block.tag == 0x5F2E else { throw .unsupported("the biometric data are constructed or encrypted") }
        var reader = BigEndianReader(block.content)

        // Facial record header (ISO/IEC 19794-5:2005 §5.4): "FAC", "010", length, number of images.
        guard try reader.bytes(8) == Array("FAC\u{0}010\u{0}".utf8) else {
            throw .unsupported("the biometric data are not an ISO/IEC 19794-5:2005 record")
        }
        guard try reader.number(4) <= block.content.count else { throw .malformed("the facial record is cut off") }
        self.count = try reader.number(2)
        guard self.count > 0 else { throw .malformed("the facial record holds no image") }

        // Facial information (§5.5): length of this image's block, feature points, then 14 bytes about the person.
        let start = reader.position
        let length = try reader.number(4)
        let points = try reader.number(2)
        // Feature points (§5.6) take 8 bytes each; image information (§5.7) takes 12.
        try reader.skip(14 + 8 * points + 12)
        // Some issuers count the block wrongly; the record's own end is the limit then.
        let end = length > reader.position - start ? min(start + length, block.content.count) : block.content.count
        let image = try reader.upTo(end)
        guard Self.beginnings.contains(where: { image.starts(with: $0) }) else {
            throw .unsupported("the portrait is neither JPEG nor JPEG 2000")
        }
        self.image = image
    }
}

/// Numbers with the most significant byte first, each read only if it is there.
private struct BigEndianReader {
    private let data: ArraySlice<UInt8>
    private(set) var position = 0

    init(_ bytes: ArraySlice<UInt8>) { self.data = bytes }

    mutating func bytes(_ count: Int) throws(LDSError) -> [UInt8] {
        guard count <= self.data.count - self.position else { throw .malformed("the facial record is cut off") }
        defer { self.position += count }
        let start = self.data.startIndex + self.position
        return Array(self.data[start..<start + count])
    }

    mutating func number(_ count: Int) throws(LDSError) -> Int {
        try self.bytes(count).reduce(0) { $0 << 8 | Int($1) }
    }

    mutating func skip(_ count: Int) throws(LDSError) { _ = try self.bytes(count) }

    func upTo(_ end: Int) throws(LDSError) -> ArraySlice<UInt8> {
        guard end > self.position else { throw .malformed("the facial record holds no image") }
        return self.data[self.data.startIndex + self.position..<self.data.startIndex + end]
    }
}

/// Why bytes of a chip could not be read.
package enum LDSError: Error, Sendable, Hashable {
    /// They are not what the standard says.
    case malformed(String)
    /// They may be correct, but this version does not support the form.
    case unsupported(String)

    /// What is wrong; never the bytes themselves.
    package var detail: String {
        switch self {
        case .malformed(let detail), .unsupported(let detail): detail
        }
    }
}

/// One data element in tag, length, value form (ISO/IEC 8825-1, BER; ISO/IEC 7816-4 §5.2.2): a view into bytes of any
/// origin.
///
/// Each call parses one level, and checks every limit before it reads: no input can make it read out of bounds, recurse
/// without end or allocate more than the input's size. Lengths may be longer than needed and may be indefinite, since both
/// occur on chips; signed bytes are hashed as received.
package struct TLV: Sendable, Hashable {
    /// Identifier octets as one number: `0x30`, `0x5F1F`, `0x7F61`.
    package let tag: UInt32
    /// Tag, length and value as received.
    package let encoded: ArraySlice<UInt8>
    /// The value; of an indefinite form without its end-of-contents octets.
    package let content: ArraySlice<UInt8>

    /// Nesting limit when searching for the end of an indefinite form.
    static let deepest = 16
    /// Limit on elements read when searching for the end of an indefinite form.
    static let mostNested = 4096

    /// Whether the value is made of elements (ISO/IEC 8825-1 §8.1.2.5).
    var isConstructed: Bool {
        var first = self.tag
        while first > 0xFF { first >>= 8 }
        return first & 0x20 != 0
    }

    /// Reads the first element of `bytes`; the caller judges the rest.
    package init(first bytes: ArraySlice<UInt8>) throws(LDSError) {
        var budget = Self.mostNested
        self = try Self.read(bytes, depth: 0, budget: &budget)
    }

    /// Reads an element with this tag.
    package init(first bytes: ArraySlice<UInt8>, tag: UInt32, _ name: String) throws(LDSError) {
        try self.init(first: bytes)
        guard self.tag == tag else { throw .malformed("\(name) does not begin with its tag") }
    }

    private init(tag: UInt32, encoded: ArraySlice<UInt8>, content: ArraySlice<UInt8>) {
        self.tag = tag
        self.encoded = encoded
        self.content = content
    }

    private static func read(
        _ bytes: ArraySlice<UInt8>, depth: Int, budget: inout Int
    ) throws(LDSError) -> TLV {
        guard depth <= self.deepest else { throw .malformed("elements are nested too deeply") }
        budget -= 1
        guard budget >= 0 else { throw .malformed("too many elements") }
        var rest = bytes
        guard var octet = rest.popFirst() else { throw .malformed("an element is missing") }
        var tag = UInt32(octet)
        if octet & 0x1F == 0x1F {
            // Three octets are the longest tag of the LDS and of CMS alike.
            repeat {
                guard tag <= 0xFFFF, let next = rest.popFirst() else { throw .malformed("a tag has no end") }
                octet = next
                tag = tag << 8 | UInt32(octet)
            } while octet & 0x80 != 0
        }
        guard let first = rest.popFirst() else { throw .malformed("a length is missing") }
        if first == 0x80 { return try self.readIndefinite(tag, of: bytes, rest, depth: depth, budget: &budget) }
        var length = Int(first)
        if first > 0x80 {
            // Four octets hold more than any part may have.
            guard first <= 0x84 else { throw .malformed("a length is too long") }
            length = 0
            for _ in 0..<(first & 0x7F) {
                guard let next = rest.popFirst() else { throw .malformed("a length has no end") }
                length = length << 8 | Int(next)
            }
        }
        guard length <= rest.count else { throw .malformed("an element is cut off") }
        let end = rest.startIndex + length
        return TLV(tag: tag, encoded: bytes[bytes.startIndex..<end], content: rest[rest.startIndex..<end])
    }

    /// The indefinite form (ISO/IEC 8825-1 §8.1.3.6): elements up to one of two zero octets.
    private static func readIndefinite(
        _ tag: UInt32, of bytes: ArraySlice<UInt8>, _ value: ArraySlice<UInt8>, depth: Int, budget: inout Int
    ) throws(LDSError) -> TLV {
        var rest = value
        while !rest.starts(with: [0, 0]) {
            let inner = try self.read(rest, depth: depth + 1, budget: &budget)
            rest = rest[inner.encoded.endIndex...]
        }
        let element = TLV(
            tag: tag, encoded: bytes[bytes.startIndex..<rest.startIndex + 2],
            content: value[value.startIndex..<rest.startIndex])
        guard element.isConstructed else { throw .malformed("a primitive element has no length") }
        return element
    }

    /// The elements of the value.
    ///
    /// - Parameter most: More than so many are refused.
    package func children(most: Int = 64) throws(LDSError) -> [TLV] {
        guard self.isConstructed else { throw .malformed("an element has no elements") }
        var children: [TLV] = []
        var rest = self.content
        while !rest.isEmpty {
            guard children.count < most else { throw .malformed("too many elements") }
            let child = try TLV(first: rest)
            children.append(child)
            rest = rest[child.encoded.endIndex...]
        }
        return children
    }

    /// The bytes of an OCTET STRING, also of one that is sent in pieces (ISO/IEC 8825-1 §8.7).
    package func octets() throws(LDSError) -> [UInt8] {
        if self.tag == Tag.octetString { return Array(self.content) }
        guard self.tag == Tag.octetString | 0x20 else { throw .malformed("an octet string is missing") }
        var bytes: [UInt8] = []
        for piece in try self.children(most: Self.mostNested) {
            guard piece.tag == Tag.octetString else { throw .malformed("an octet string holds something else") }
            bytes += piece.content
        }
        return bytes
    }

    /// An INTEGER that is at least 0 and has at most 31 bits.
    package func integer() throws(LDSError) -> Int {
        guard self.tag == Tag.integer, (1...4).contains(self.content.count),
            self.content.first.map({ $0 < 0x80 }) == true
        else { throw .malformed("a small number is missing") }
        return self.content.reduce(0) { $0 << 8 | Int($1) }
    }

    /// An OBJECT IDENTIFIER in dotted decimals (ISO/IEC 8825-1 §8.19).
    func objectIdentifier() throws(LDSError) -> String {
        guard self.tag == Tag.objectIdentifier, (1...64).contains(self.content.count), self.content.last! < 0x80 else {
            throw .malformed("an object identifier is missing")
        }
        var arcs: [UInt64] = []
        var arc: UInt64 = 0
        for octet in self.content {
            guard arc < 1 << 56 else { throw .malformed("an object identifier is too long") }
            arc = arc << 7 | UInt64(octet & 0x7F)
            guard octet < 0x80 else { continue }
            if arcs.isEmpty {
                // The first two arcs share a number: 40 × first + second, and the first is at most 2.
                let first = min(arc / 40, 2)
                arcs = [first, arc - 40 * first]
            } else {
                arcs.append(arc)
            }
            arc = 0
        }
        return arcs.map(String.init).joined(separator: ".")
    }

    /// Identifier octets of the universal types (ISO/IEC 8824-1 §8.4).
    enum Tag {
        /// INTEGER
        package static let integer: UInt32 = 0x02
        static let bitString: UInt32 = 0x03
        static let octetString: UInt32 = 0x04
        /// NULL
        package static let null: UInt32 = 0x05
        static let objectIdentifier: UInt32 = 0x06
        static let printableString: UInt32 = 0x13
        /// SEQUENCE
        package static let sequence: UInt32 = 0x30
        /// SET
        package static let set: UInt32 = 0x31
    }
}

/// Writes the fields of a message: integers little-endian, byte strings with their length before them.
struct ByteWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append(_ value: UInt32) {
        withUnsafeBytes(of: value.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: UInt64) {
        withUnsafeBytes(of: value.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    mutating func append(_ value: some Collection<UInt8>) {
        self.append(UInt32(value.count))
        self.bytes.append(contentsOf: value)
    }

    mutating func append(_ value: String) { self.append(value.utf8) }
}

/// A message without the expected fields.
struct MalformedMessage: Error {}

/// Reads the output of ``ByteWriter``. The worker reads messages of a process that it does not trust, so every length is checked
/// against the bytes present.
struct ByteReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { self.rest = bytes[...] }

    mutating func readUInt32() throws(MalformedMessage) -> UInt32 {
        UInt32(truncatingIfNeeded: try self.readInteger(byteCount: 4))
    }

    mutating func readUInt64() throws(MalformedMessage) -> UInt64 { try self.readInteger(byteCount: 8) }

    mutating func readBytes() throws(MalformedMessage) -> ArraySlice<UInt8> {
        let count = Int(try self.readUInt32())
        guard count <= self.rest.count else { throw MalformedMessage() }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }

    /// Invalid UTF-8 is repaired, not refused.
    mutating func readString() throws(MalformedMessage) -> String {
        String(decoding: try self.readBytes(), as: UTF8.self)
    }

    private mutating func readInteger(byteCount: Int) throws(MalformedMessage) -> UInt64 {
        guard self.rest.count >= byteCount else { throw MalformedMessage() }
        let value = self.rest.prefix(byteCount).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        self.rest = self.rest.dropFirst(byteCount)
        return value
    }
}

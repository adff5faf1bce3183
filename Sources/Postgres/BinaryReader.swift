/// Reads one value after another from PostgreSQL's binary formats.
struct BinaryReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { self.rest = bytes }

    /// The next bytes, with their indices in the whole value; `nil` if fewer are left.
    mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
        guard self.rest.count >= count else { return nil }
        defer { self.rest = self.rest.dropFirst(count) }
        return self.rest.prefix(count)
    }

    /// A big-endian number.
    mutating func int32() -> Int? {
        self.bytes(4).map { bytes in Int(bytes.reduce(Int32(0)) { $0 << 8 | Int32($1) }) }
    }
}

/// What GCM authenticates in addition to the text: fields of bytes, each after its length as four bytes, the highest first. Two lists of
/// fields therefore never have the same encoding.
enum AssociatedData {
    static func encode(_ fields: [[UInt8]]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + 4 + $1.count })
        for field in fields {
            withUnsafeBytes(of: UInt32(field.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes += field
        }
        return bytes
    }

    static func encode(_ fields: [String]) -> [UInt8] { self.encode(fields.map { Array($0.utf8) }) }
}

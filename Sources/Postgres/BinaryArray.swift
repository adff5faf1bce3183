internal import Foundation
internal import Glibc

/// Arrays in PostgreSQL's binary format (`array_send` of the server): number of dimensions, whether there are NULLs, the
/// elements' type; for each dimension its length and lower bound; then each element's length (-1: NULL) and bytes.
enum BinaryArray {
    /// Element types by object identifier (`pg_type.dat` of the server; these never change).
    enum Element: Int32 {
        case bytea = 17
        case bigint = 20
        case text = 25
        case jsonb = 3802
    }

    static func append(_ values: [Int64], to buffer: inout [UInt8]) {
        buffer.reserveCapacity(buffer.count + 20 + values.count * 12)
        Self.appendHeader(values.count, hasNull: false, .bigint, to: &buffer)
        for value in values {
            Self.append(Int32(8), to: &buffer)
            Self.append(value, to: &buffer)
        }
    }

    /// - Throws: ``PostgresError/Code/invalidParameter`` for U+0000, which PostgreSQL's text cannot hold.
    static func append(_ values: [String?], as element: Element, to buffer: inout [UInt8]) throws(PostgresError) {
        Self.appendHeader(values.count, hasNull: values.contains { $0 == nil }, element, to: &buffer)
        for value in values {
            guard var value else {
                Self.append(Int32(-1), to: &buffer)
                continue
            }
            let hasNUL = value.withUTF8 { text in
                // jsonb's binary form is a version, 1, and the text.
                let version = element == .jsonb ? 1 : 0
                Self.append(Int32(text.count + version), to: &buffer)
                if version > 0 { buffer.append(UInt8(version)) }
                buffer.append(contentsOf: text)
                return text.count > 0 && memchr(text.baseAddress!, 0, text.count) != nil
            }
            if hasNUL { throw PostgresError(.invalidParameter, "a text holds U+0000") }
        }
    }

    static func append(_ values: [Data?], to buffer: inout [UInt8]) {
        Self.appendHeader(values.count, hasNull: values.contains { $0 == nil }, .bytea, to: &buffer)
        for value in values {
            Self.append(Int32(value?.count ?? -1), to: &buffer)
            if let value { buffer.append(contentsOf: value) }
        }
    }

    private static func appendHeader(
        _ count: Int, hasNull: Bool, _ element: Element, to buffer: inout [UInt8]
    ) {
        Self.append(Int32(count == 0 ? 0 : 1), to: &buffer)
        Self.append(Int32(hasNull ? 1 : 0), to: &buffer)
        Self.append(element.rawValue, to: &buffer)
        if count > 0 {
            Self.append(Int32(count), to: &buffer)
            Self.append(Int32(1), to: &buffer)
        }
    }

    private static func append(_ number: some FixedWidthInteger, to buffer: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { buffer.append(contentsOf: $0) }
    }
}

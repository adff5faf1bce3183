package import Foundation
internal import Glibc
package import InspectCore

/// One parameter of a statement; the server infers the type from the statement.
package enum PostgresValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case text(String)
    /// `bytea`, sent in binary.
    case bytes(Data)
    case intArray([Int64])
    case doubleArray([Double])
    case textArray([String?])
    /// `bigint[]`, sent in binary: cheaper for the server than ``intArray(_:)``, but the parameter must have exactly this type.
    case bigints([Int64])
    /// `text[]`, sent in binary, which avoids escaping texts with many quotes.
    case texts([String?])
    /// `bytea[]`, sent in binary.
    case byteas([Data?])
    /// `jsonb[]`, sent in binary.
    case jsonbs([String?])

    /// An optional text: `nil` is NULL.
    package static func optional(_ text: String?) -> PostgresValue { text.map { PostgresValue.text($0) } ?? .null }
    /// An optional number: `nil` is NULL.
    package static func optional(_ number: Int64?) -> PostgresValue {
        guard let number else { return .null }
        return PostgresValue.int(number)
    }
    /// Optional bytes: `nil` is NULL.
    package static func optional(_ bytes: Data?) -> PostgresValue { bytes.map { .bytes($0) } ?? .null }
}

extension PostgresValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }
    package init(integerLiteral value: Int64) { self = .int(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(floatLiteral value: Double) { self = .double(value) }
    package init(nilLiteral: ()) { self = .null }
}

extension PostgresValue {
    /// A value's position and format in its buffer.
    struct Encoding {
        /// Where it begins.
        var offset: Int
        var count: Int
        var isBinary: Bool
    }

    /// Appends the value in libpq's format, with a terminating zero unless it is binary.
    ///
    /// Arrays are sent as text, where the statement determines the elements' type; in binary it must be stated.
    ///
    /// - Returns: `nil` for NULL.
    /// - Throws: ``PostgresError/Code/invalidParameter`` for U+0000, which PostgreSQL's text cannot hold and which would
    ///   silently cut the value off.
    func append(to buffer: inout [UInt8]) throws(PostgresError) -> Encoding? {
        let offset = buffer.count
        var isBinary = false
        switch self {
        case .null: return nil
        case .bool(let value): buffer.append(UInt8(ascii: value ? "t" : "f"))
        case .int(let value): buffer.append(number: value)
        case .double(let value): buffer.append(contentsOf: String(value).utf8)
        case .text(let value): buffer.append(contentsOf: value.utf8)
        case .bytes(let value):
            buffer.append(contentsOf: value)
            isBinary = true
        case .intArray(let values):
            Self.appendArray(values, to: &buffer) { $1.append(number: $0) }
        case .doubleArray(let values):
            Self.appendArray(values, to: &buffer) { $1.append(contentsOf: String($0).utf8) }
        case .textArray(let values):
            Self.appendArray(values, to: &buffer) { text, buffer in
                guard var text else { return buffer.append(contentsOf: "NULL".utf8) }
                text.withUTF8 { Self.appendQuoted($0, to: &buffer) }
            }
        case .bigints(let values):
            BinaryArray.append(values, to: &buffer)
            isBinary = true
        case .texts(let values):
            try BinaryArray.append(values, as: .text, to: &buffer)
            isBinary = true
        case .byteas(let values):
            BinaryArray.append(values, to: &buffer)
            isBinary = true
        case .jsonbs(let values):
            try BinaryArray.append(values, as: .jsonb, to: &buffer)
            isBinary = true
        }
        let count = buffer.count - offset
        if !isBinary {
            let hasNUL = buffer.withUnsafeBytes { bytes in
                count > 0 && memchr(bytes.baseAddress! + offset, 0, count) != nil
            }
            if hasNUL { throw PostgresError(.invalidParameter, "a text holds U+0000") }
            buffer.append(0)
        }
        return Encoding(offset: offset, count: count, isBinary: isBinary)
    }

    private static func appendArray<Element>(
        _ elements: [Element], to buffer: inout [UInt8], _ append: (Element, inout [UInt8]) -> Void
    ) {
        buffer.append(UInt8(ascii: "{"))
        for (index, element) in elements.enumerated() {
            if index > 0 { buffer.append(UInt8(ascii: ",")) }
            append(element, &buffer)
        }
        buffer.append(UInt8(ascii: "}"))
    }

    /// An array's element in quotes (PostgreSQL, "Array Input and Output Syntax").
    private static func appendQuoted(_ text: UnsafeBufferPointer<UInt8>, to buffer: inout [UInt8]) {
        buffer.append(UInt8(ascii: "\""))
        var start = 0
        for index in text.indices where text[index] == UInt8(ascii: "\"") || text[index] == UInt8(ascii: "\\") {
            buffer.append(contentsOf: text[start..<index])
            buffer.append(UInt8(ascii: "\\"))
            start = index
        }
        buffer.append(contentsOf: text[start...])
        buffer.append(UInt8(ascii: "\""))
    }
}

extension [UInt8] {
    /// Appends a number in decimal digits.
    fileprivate mutating func append(number: Int64) {
        if number < 0 { self.append(UInt8(ascii: "-")) }
        var digits: InlineDigits = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        Swift.withUnsafeMutableBytes(of: &digits) { digits in
            var rest = number.magnitude
            var first = digits.count
            repeat {
                first -= 1
                digits[first] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            } while rest > 0
            self.append(contentsOf: digits[first...])
        }
    }

    /// Room for the digits of the largest number.
    private typealias InlineDigits = (
        UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8,
        UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8
    )
}

extension PostgresValue {
    /// JSON as text. `jsonb` cannot hold U+0000, and libpq would cut a text at a zero byte.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/payloadInvalid``.
    package static func json(_ data: Data) throws(InspectError) -> String {
        guard !data.contains(0), let text = String(data: data, encoding: .utf8) else {
            throw InspectError(.payloadInvalid, "not UTF-8, or a zero byte")
        }
        return text
    }
}

public import Foundation

/// One parameter of a statement; the server infers the type from the statement.
public enum PostgresValue: Sendable, Equatable {
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
    case bytesArray([Data?])

    /// An optional text: `nil` is NULL.
    public static func optional(_ text: String?) -> PostgresValue { text.map { PostgresValue.text($0) } ?? .null }
    /// An optional number: `nil` is NULL.
    public static func optional(_ number: Int64?) -> PostgresValue {
        guard let number else { return .null }
        return PostgresValue.int(number)
    }
    /// Optional bytes: `nil` is NULL.
    public static func optional(_ bytes: Data?) -> PostgresValue { bytes.map { .bytes($0) } ?? .null }
}

extension PostgresValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByNilLiteral
{
    public init(stringLiteral value: String) { self = .text(value) }
    public init(integerLiteral value: Int64) { self = .int(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(nilLiteral: ()) { self = .null }
}

extension PostgresValue {
    /// The value as libpq takes it: bytes that end with a zero unless they are binary, or `nil` for NULL.
    ///
    /// - Throws: ``PostgresError/Code/invalidParameter`` for U+0000, which PostgreSQL's text cannot hold and which would
    ///   silently cut the value off.
    func encoded() throws(PostgresError) -> (bytes: [UInt8], isBinary: Bool)? {
        switch self {
        case .null: return nil
        case .bool(let value): return (Self.terminated(value ? "t" : "f"), false)
        case .int(let value): return (Self.terminated(String(value)), false)
        case .double(let value): return (Self.terminated(String(value)), false)
        case .text(let value): return (try Self.checked(value), false)
        case .bytes(let value): return ([UInt8](value), true)
        case .intArray(let values):
            return (Self.terminated("{" + values.lazy.map { String($0) }.joined(separator: ",") + "}"), false)
        case .doubleArray(let values):
            return (Self.terminated("{" + values.lazy.map { String($0) }.joined(separator: ",") + "}"), false)
        case .textArray(let values):
            var literal = Self.arrayLiteral(values.map { $0.map { Array($0.utf8) } })
            guard !literal.contains(0) else { throw Self.nul }
            literal.append(0)
            return (literal, false)
        case .bytesArray(let values):
            return (Self.arrayLiteral(values.map { $0.map(Self.hex) }) + [0], false)
        }
    }

    private static let nul = PostgresError(.invalidParameter, "a text holds U+0000")

    private static func terminated(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

    private static func checked(_ text: String) throws(PostgresError) -> [UInt8] {
        var bytes = Array(text.utf8)
        guard !bytes.contains(0) else { throw self.nul }
        bytes.append(0)
        return bytes
    }

    /// An array literal with every element quoted (PostgreSQL, "Array Input and Output Syntax").
    private static func arrayLiteral(_ elements: [[UInt8]?]) -> [UInt8] {
        var literal: [UInt8] = [UInt8(ascii: "{")]
        literal.reserveCapacity(2 + elements.reduce(0) { $0 + ($1?.count ?? 4) + 3 })
        for (index, element) in elements.enumerated() {
            if index > 0 { literal.append(UInt8(ascii: ",")) }
            guard let element else {
                literal += Array("NULL".utf8)
                continue
            }
            literal.append(UInt8(ascii: "\""))
            for byte in element {
                if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { literal.append(UInt8(ascii: "\\")) }
                literal.append(byte)
            }
            literal.append(UInt8(ascii: "\""))
        }
        literal.append(UInt8(ascii: "}"))
        return literal
    }

    /// `bytea` in its hexadecimal text form.
    private static func hex(_ data: Data) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var text = Array("\\x".utf8)
        text.reserveCapacity(2 + data.count * 2)
        for byte in data {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return text
    }
}

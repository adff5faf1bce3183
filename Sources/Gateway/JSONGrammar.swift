internal import Foundation
internal import InspectCore

/// Checks a body by the grammar of RFC 8259, and that no object has a name twice.
///
/// Parsers agree about what passes. About the rest they do not: of a repeated name, one takes the first value, and another, such as
/// jsonb, the last; some allow a comma before a bracket.
struct JSONGrammar {
    /// Nesting depth of objects and arrays.
    static let depth = 16
    /// Limit on values, names and brackets outside strings, which determine the memory that parsing takes in addition to the text. Chosen:
    /// far more than a request's members, so that a body of brackets alone takes little memory.
    static let tokens = 20_000
    /// Characters of a number: a longer one is rounded, by each parser in its own way.
    static let digits = 100

    private enum Step {
        case name(String)
        case place(Int)
    }

    private let bytes: UnsafeRawBufferPointer
    private var index = 0
    private var depth = 0
    private var tokens = 0
    /// Where the value at `index` is.
    private var path: [Step] = []

    private init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// - Throws: ``ErrorCode/payloadInvalid``, with the member that is wrong, unless the text is an object.
    static func check(_ text: Data) throws(InspectError) {
        let fault = text.withUnsafeBytes { bytes -> InspectError? in
            var grammar = JSONGrammar(bytes)
            do throws(InspectError) {
                try grammar.document()
                return nil
            } catch { return error }
        }
        if let fault { throw fault }
    }

    /// Whether a text is one number as JSON writes it.
    static func isNumber(_ text: String) -> Bool {
        Data(text.utf8).withUnsafeBytes { bytes in
            var grammar = JSONGrammar(bytes)
            return (try? grammar.number()) != nil && grammar.next == nil
        }
    }

    // MARK: Values

    private mutating func document() throws(InspectError) {
        guard !self.bytes.starts(with: [0xef, 0xbb, 0xbf]) else {
            throw self.fault("the body begins with a byte order mark")
        }
        self.skipSpace()
        guard self.next == UInt8(ascii: "{") else { throw self.fault("the body is not a JSON object") }
        try self.value()
        self.skipSpace()
        guard self.next == nil else { throw self.fault("something follows the JSON object") }
    }

    private mutating func value() throws(InspectError) {
        self.skipSpace()
        switch self.next {
        case UInt8(ascii: "{"): try self.object()
        case UInt8(ascii: "["): try self.array()
        case UInt8(ascii: "\""): try self.string(keeping: false)
        case UInt8(ascii: "t"): try self.literal("true")
        case UInt8(ascii: "f"): try self.literal("false")
        case UInt8(ascii: "n"): try self.literal("null")
        default: try self.number()
        }
    }

    private mutating func object() throws(InspectError) {
        try self.open()
        if !self.take("}") {
            // By Swift's comparison, so that a Swift dictionary can hold all of them.
            var names: Set<String> = []
            repeat {
                self.skipSpace()
                guard self.next == UInt8(ascii: "\"") else {
                    throw self.fault(self.next == UInt8(ascii: "}") ? "a comma before }" : "a name is not in quotes")
                }
                let name = try self.string(keeping: true)
                self.path.append(.name(name))
                guard names.insert(name).inserted else { throw self.fault("'\(name.prefix(40))' appears twice") }
                self.skipSpace()
                guard self.take(":") else { throw self.fault("a colon is missing") }
                try self.count()
                try self.value()
                self.path.removeLast()
            } while try self.hasComma()
            guard self.take("}") else { throw self.fault("a comma or } is missing") }
        }
        self.depth -= 1
    }

    private mutating func array() throws(InspectError) {
        try self.open()
        if !self.take("]") {
            var place = 0
            repeat {
                self.skipSpace()
                guard self.next != UInt8(ascii: "]") else { throw self.fault("a comma before ]") }
                self.path.append(.place(place))
                try self.value()
                self.path.removeLast()
                place += 1
            } while try self.hasComma()
            guard self.take("]") else { throw self.fault("a comma or ] is missing") }
        }
        self.depth -= 1
    }

    /// Steps over a number.
    private mutating func number() throws(InspectError) {
        let start = self.index
        _ = self.take("-")
        // No zero before other digits.
        guard self.take("0") || self.digits() else { throw self.fault("a value is missing, or is not JSON") }
        if self.take("."), !self.digits() { throw self.fault("a number is not JSON") }
        if self.take("e") || self.take("E") {
            _ = self.take("+") || self.take("-")
            guard self.digits() else { throw self.fault("a number is not JSON") }
        }
        guard self.index - start <= Self.digits else {
            throw self.fault("a number of more than \(Self.digits) characters")
        }
        // Otherwise the fault would be reported for the enclosing object.
        if let byte = self.next, byte.isWord { throw self.fault("a number is not JSON") }
        let text = String(decoding: self.bytes[start..<self.index], as: UTF8.self)
        guard Double(text)?.isFinite == true else { throw self.fault("a number that cannot be stored") }
    }

    /// Steps over digits.
    ///
    /// - Returns: Whether there is one.
    private mutating func digits() -> Bool {
        let start = self.index
        while let byte = self.next, (0x30...0x39).contains(byte) { self.index += 1 }
        return self.index > start
    }

    private mutating func literal(_ word: StaticString) throws(InspectError) {
        let end = self.index + word.utf8CodeUnitCount
        guard end <= self.bytes.count,
            word.withUTF8Buffer({ self.bytes[self.index..<end].elementsEqual($0) })
        else { throw self.fault("a value is not JSON") }
        self.index = end
    }

    // MARK: Strings

    /// Steps over a string.
    ///
    /// - Returns: Its text, if it is kept; otherwise an empty one.
    @discardableResult
    private mutating func string(keeping: Bool) throws(InspectError) -> String {
        self.index += 1
        // What precedes `start` is in `text`, without its escapes.
        var (text, start, isASCII) = ("", self.index, true)
        func piece(_ end: Int, in bytes: UnsafeRawBufferPointer) -> String? {
            let octets = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
            guard keeping || !isASCII else { return "" }
            return String(validating: octets, as: UTF8.self)
        }
        while let byte = self.next {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                guard let piece = piece(self.index, in: self.bytes) else { throw self.fault("a string is not UTF-8") }
                self.index += 1
                guard byte == UInt8(ascii: "\\") else { return text + piece }
                let scalar = try self.escape()
                if keeping { text += piece + String(scalar) }
                (start, isASCII) = (self.index, true)
            // libpq would truncate the text.
            case 0: throw self.fault("a zero byte")
            case 0..<0x20: throw self.fault("a control character without an escape")
            default:
                if byte >= 0x80 { isASCII = false }
                self.index += 1
            }
        }
        throw self.fault("a string has no end")
    }

    /// The character that an escape stands for, after its backslash.
    private mutating func escape() throws(InspectError) -> Unicode.Scalar {
        guard let byte = self.next else { throw self.fault("a string has no end") }
        self.index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw self.fault("an escape that JSON does not have")
        }
        var value = UInt32(try self.unit())
        if (0xd800..<0xdc00).contains(value), self.take("\\"), self.take("u") {
            let low = UInt32(try self.unit())
            if (0xdc00..<0xe000).contains(low) { value = 0x10000 + (value - 0xd800) << 10 + (low - 0xdc00) }
        }
        guard let scalar = Unicode.Scalar(value) else { throw self.fault("half a surrogate pair") }
        // PostgreSQL's texts cannot contain it.
        guard value != 0 else { throw self.fault("the character U+0000") }
        return scalar
    }

    /// Four hexadecimal digits.
    private mutating func unit() throws(InspectError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = self.next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw self.fault("an escape without four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            self.index += 1
        }
        return value
    }

    // MARK: Steps

    private var next: UInt8? { self.index < self.bytes.count ? self.bytes[self.index] : nil }

    private mutating func skipSpace() {
        while let byte = self.next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { self.index += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard self.next == UInt8(ascii: character) else { return false }
        self.index += 1
        return true
    }

    /// Steps over the bracket that opens an object or an array, and to what follows.
    private mutating func open() throws(InspectError) {
        self.index += 1
        self.depth += 1
        guard self.depth <= Self.depth else { throw self.fault("nested more than \(Self.depth) deep") }
        try self.count()
        self.skipSpace()
    }

    private mutating func hasComma() throws(InspectError) -> Bool {
        self.skipSpace()
        guard self.take(",") else { return false }
        try self.count()
        return true
    }

    private mutating func count() throws(InspectError) {
        self.tokens += 1
        guard self.tokens <= Self.tokens else { throw self.fault("more than \(Self.tokens) values") }
    }

    private func fault(_ text: String) -> InspectError {
        let names = self.path.map { step in
            switch step {
            case .name(let name): String(name.prefix(40))
            case .place(let place): "\(place)"
            }
        }
        return InspectError(
            .payloadInvalid, text,
            hint: "A body is one JSON object (RFC 8259) in UTF-8; no name may appear twice in an object.",
            field: names.isEmpty ? nil : names.joined(separator: "."))
    }
}

extension UInt8 {
    /// Whether it may be part of a number or a word in some language.
    fileprivate var isWord: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
    }
}

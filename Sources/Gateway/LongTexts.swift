internal import Foundation
internal import InspectCore

/// A body's long strings, which are Base64, stay in place: the parser sees a short marker instead of each.
///
/// A string of 60 MB would otherwise be copied, converted and walked through several times.
struct LongTexts {
    /// Octets from which a string counts as long: the size limit of a payload without its images.
    static let threshold = 16 * 1024

    private let body: Data
    /// Random, so that no client can forge a marker.
    private let mark = "long-\(UUID().uuidString)-"
    private var ranges: [Range<Int>] = []

    /// The body with markers.
    private(set) var text = Data()

    init(_ body: Data) {
        self.body = body
        body.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var copied = 0
            var index = 0
            func next(_ byte: UInt8, _ from: Int) -> Int? {
                guard from < bytes.count, let found = memchr(base + from, CInt(byte), bytes.count - from) else {
                    return nil
                }
                return UnsafeRawPointer(found) - base
            }
            while let start = next(UInt8(ascii: "\""), index) {
                // A quote that ends a string has an even number of backslashes before it.
                var end = next(UInt8(ascii: "\""), start + 1)
                while let quote = end {
                    var slash = quote
                    while bytes[slash - 1] == UInt8(ascii: "\\") { slash -= 1 }
                    if (quote - slash).isMultiple(of: 2) { break }
                    end = next(UInt8(ascii: "\""), quote + 1)
                }
                // Without an end, the parser reports the fault.
                guard let end else { break }
                index = end + 1
                guard end - start > Self.threshold else { continue }
                Self.append(base + copied, start + 1 - copied, to: &self.text)
                self.text.append(contentsOf: Array("\(self.mark)\(self.ranges.count)".utf8))
                self.ranges.append(start + 1..<end)
                copied = end
            }
            Self.append(base + copied, bytes.count - copied, to: &self.text)
        }
    }

    /// The position of the long string behind a parsed marker.
    private func range(_ text: String) -> Range<Int>? {
        guard text.hasPrefix(self.mark), let number = Int(text.dropFirst(self.mark.count)) else { return nil }
        return self.ranges.indices.contains(number) ? self.ranges[number] : nil
    }

    /// Octets of the string behind a parsed one, with escapes as received.
    func count(_ text: String) -> Int { self.range(text)?.count ?? text.utf8.count }

    /// The decoded Base64 of a parsed string, whether it is a marker or the text itself.
    ///
    /// - Returns: `nil` if it is not Base64.
    func bytes(_ text: String) -> Data? {
        guard let range = self.range(text) else {
            // Some encoders break lines.
            return Self.decode(Data(text.utf8.filter { $0 != 0x0a && $0 != 0x0d }))
        }
        return self.body.withUnsafeBytes { Self.plain(UnsafeRawBufferPointer(rebasing: $0[range])) }
            .flatMap(Self.decode)
    }

    /// The text of a parsed string, whether it is a marker or the text itself.
    func string(_ text: String) -> String? {
        guard let range = self.range(text) else { return text }
        return self.body.withUnsafeBytes { bytes in
            // With its quotes.
            let quoted = Data(bytes[(range.lowerBound - 1)...range.upperBound])
            return try? JSONDecoder().decode(String.self, from: quoted)
        }
    }

    /// Whether re-encoded JSON contains a marker: a long string where none is allowed.
    func isLeft(in data: Data) -> Bool { !self.ranges.isEmpty && data.range(of: Data(self.mark.utf8)) != nil }

    /// Whether a long string has the escape of U+0000, which ``JSONGrammar`` refuses in the others.
    var haveNull: Bool {
        self.body.withUnsafeBytes { bytes in
            self.ranges.contains { Self.hasNull(UnsafeRawBufferPointer(rebasing: bytes[$0])) }
        }
    }

    private static func hasNull(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        var index = 0
        while index < bytes.count, let found = memchr(base + index, CInt(UInt8(ascii: "\\")), bytes.count - index) {
            let slash = UnsafeRawPointer(found) - base
            if bytes[slash + 1] == UInt8(ascii: "u"), bytes[(slash + 1)...].prefix(5).elementsEqual("u0000".utf8) {
                return true
            }
            // The string has an end, so no backslash is its last octet.
            index = slash + 2
        }
        return false
    }

    /// Resolves the escapes that Base64 has in JSON: line breaks, slashes and ASCII, as some encoders write them.
    private static func plain(_ bytes: UnsafeRawBufferPointer) -> Data? {
        guard let base = bytes.baseAddress else { return Data() }
        var plain = Data(capacity: bytes.count)
        var index = 0
        while let found = memchr(base + index, CInt(UInt8(ascii: "\\")), bytes.count - index) {
            let slash = UnsafeRawPointer(found) - base
            Self.append(base + index, slash - index, to: &plain)
            index = slash + 2
            // The string has an end, so no backslash is its last octet.
            switch bytes[slash + 1] {
            case UInt8(ascii: "n"), UInt8(ascii: "r"): break
            case UInt8(ascii: "/"): plain.append(UInt8(ascii: "/"))
            case UInt8(ascii: "u"):
                guard let octet = Self.ascii(bytes[index...].prefix(4)) else { return nil }
                if octet != 0x0a && octet != 0x0d { plain.append(octet) }
                index += 4
            default: return nil
            }
        }
        Self.append(base + index, bytes.count - index, to: &plain)
        return plain
    }

    /// The ASCII character of an escape with these four hexadecimal digits.
    private static func ascii(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt8? {
        guard digits.count == 4 else { return nil }
        var value = 0
        for digit in digits {
            guard let number = Character(UnicodeScalar(digit)).hexDigitValue else { return nil }
            value = value * 16 + number
        }
        return value < 0x80 ? UInt8(value) : nil
    }

    /// Through a pointer: indexing a slice costs a call for each octet.
    private static func append(_ start: UnsafeRawPointer, _ count: Int, to data: inout Data) {
        data.append(start.assumingMemoryBound(to: UInt8.self), count: count)
    }

    /// Decodes Base64 without line breaks.
    ///
    /// Foundation's decoder alone accepts padding anywhere and drops what belongs to it.
    private static func decode(_ text: Data) -> Data? {
        guard text.count.isMultiple(of: 4) else { return nil }
        let isPadded = text.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress,
                let found = memchr(base, CInt(UInt8(ascii: "=")), bytes.count)
            else { return true }
            let padding = bytes.count - (UnsafeRawPointer(found) - base)
            return padding == 1 || padding == 2 && bytes[bytes.count - 1] == UInt8(ascii: "=")
        }
        return isPadded ? Data(base64Encoded: text) : nil
    }
}

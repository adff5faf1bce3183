/// Characters of MRZs as ASCII, and their check digits.
package enum MRZText {
    /// `<` (Doc 9303-3 §4.3).
    package static let filler = UInt8(ascii: "<")
    /// The 37 characters in the order of the line reader's classes.
    package static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789<".utf8)

    /// 0–9.
    package static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    /// A–Z; an MRZ has no small letters.
    package static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

    /// Bytes of an MRZ as text.
    package static func string(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: Array(bytes), as: UTF8.self)
    }

    /// Text without its fillers at both ends, inner ones as spaces.
    package static func words(_ bytes: some Collection<UInt8>) -> String {
        var text = Array(bytes)
        while text.last == Self.filler { text.removeLast() }
        let start = text.firstIndex { $0 != Self.filler } ?? text.endIndex
        return Self.string(text[start...].map { $0 == Self.filler ? 0x20 : $0 })
    }

    /// Digit (0–9) over `bytes`: weights 7, 3, 1 repeating, modulo 10; A–Z count 10–35, `<` counts 0
    /// (Doc 9303-3 §4.9).
    static func checkDigit(_ bytes: some Sequence<UInt8>) -> UInt8 {
        var sum = 0
        var position = 0
        for byte in bytes {
            let value = Self.isDigit(byte) ? Int(byte) - 0x30 : Self.isLetter(byte) ? Int(byte) - 0x41 + 10 : 0
            sum += value * (position % 3 == 0 ? 7 : position % 3 == 1 ? 3 : 1)
            position += 1
        }
        return UInt8(sum % 10)
    }
}

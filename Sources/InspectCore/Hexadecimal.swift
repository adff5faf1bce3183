extension Sequence<UInt8> {
    /// Lower-case hexadecimal digits, two for each byte.
    package var hexadecimal: String {
        func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * self.underestimatedCount)
        for byte in self {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }
}

extension [UInt8] {
    /// - Returns: `nil` unless the text is lower-case hexadecimal digits, two for each byte.
    package init?(hexadecimal text: String) {
        func value(_ digit: UInt8) -> UInt8? {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        let digits = Array<UInt8>(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        self.reserveCapacity(digits.count / 2)
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            self.append(high << 4 | low)
        }
    }
}

package import Foundation

/// HTML that is also well-formed XML. Literals are markup; interpolated values are text and are escaped. No text that is made at
/// run time becomes markup: there is no initializer for it.
package struct Markup: ExpressibleByStringInterpolation, Sendable {
    /// Well-formed XML.
    package let html: String

    package init(stringLiteral value: StaticString) { self.html = value.description }
    package init(stringInterpolation: StringInterpolation) { self.html = stringInterpolation.html }
    package init(_ parts: [Markup]) { self.html = parts.map(\.html).joined() }

    /// Escapes what is interpolated.
    package struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var html = ""

        package init(literalCapacity: Int, interpolationCount: Int) { self.html.reserveCapacity(literalCapacity) }

        /// Adds markup from the source code.
        package mutating func appendLiteral(_ literal: StaticString) { self.html += literal.description }
        /// Adds text, escaped.
        package mutating func appendInterpolation(_ text: String) { self.html += Markup.escaped(text) }
        /// Adds a number in decimal digits.
        package mutating func appendInterpolation(_ number: Int) { self.html += String(number) }
        /// Adds a number as ``number(_:)`` writes it.
        package mutating func appendInterpolation(_ number: Double) { self.html += Markup.number(number) }
        /// Adds markup as it is.
        package mutating func appendInterpolation(_ markup: Markup) { self.html += markup.html }
        /// Adds several, one after the other.
        package mutating func appendInterpolation(_ parts: [Markup]) { parts.forEach { self.html += $0.html } }
        /// Bytes as Base64, which needs no escaping.
        package mutating func appendInterpolation(base64 bytes: Data) { self.html += bytes.base64EncodedString() }
    }

    /// Text without characters that HTML interprets, that XML 1.0 forbids (§2.2) or that change the direction of text: a
    /// name must not change how the page reads.
    static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x26: result += "&amp;"
            case 0x3C: result += "&lt;"
            case 0x3E: result += "&gt;"
            case 0x22: result += "&quot;"
            case 0x27: result += "&#39;"
            case 0x09, 0x0A: result.unicodeScalars.append(scalar)
            // The images that Unicode has for control characters.
            case 0..<0x20: result.unicodeScalars.append(Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}")
            case 0x7F: result += "\u{2421}"
            case 0x80..<0xA0, 0x61C, 0x200B...0x200F, 0x2028...0x202E, 0x2060...0x206F, 0xFEFF:
                result += "[U+\(String(scalar.value, radix: 16, uppercase: true))]"
            case let value where value & 0xFFFE == 0xFFFE: result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Four significant digits, which is more than any measurement has.
    package static func number(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "nan" : value < 0 ? "-inf" : "inf" }
        let decimals = abs(value) >= 100 ? 0 : abs(value) >= 10 ? 1 : abs(value) >= 1 ? 2 : 4
        var text = String(format: "%.\(decimals)f", value)
        if decimals > 0 {
            while text.hasSuffix("0") { text.removeLast() }
            if text.hasSuffix(".") { text.removeLast() }
        }
        return text == "-0" ? "0" : text
    }
}

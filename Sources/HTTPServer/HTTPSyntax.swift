internal import Foundation

/// The parts of RFC 9110's and RFC 9112's grammar that the server needs.
package enum HTTPSyntax {
    /// Lines without their CR LF and without the empty one at the end.
    static func lines(_ bytes: UnsafeRawBufferPointer) -> [UnsafeRawBufferPointer] {
        var lines: [UnsafeRawBufferPointer] = []
        var start = 0
        for index in bytes.indices where bytes[index] == 0x0a {
            if index - 1 > start { lines.append(UnsafeRawBufferPointer(rebasing: bytes[start..<index - 1])) }
            start = index + 1
        }
        return lines
    }

    /// A header or trailer field, its name in lower case.
    static func field(_ line: UnsafeRawBufferPointer) throws(HTTPFault) -> (name: String, value: String) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), Self.isToken(line[..<colon]) else {
            throw HTTPFault("a header field without a valid name")
        }
        let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
        // CGI-like servers treat `_` as `-`.
        let plain = name.replacing("_", with: "-")
        guard name == plain || !["content-length", "transfer-encoding", "host", "authorization"].contains(plain) else {
            throw HTTPFault("a header field that another reader would take for \(plain)")
        }
        var value = line[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value = value.dropFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value = value.dropLast() }
        return (name, String(decoding: value, as: UTF8.self))
    }

    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
                case 0x21, 0x23...0x27, 0x2a, 0x2b, 0x2d, 0x2e, 0x5e, 0x5f, 0x60, 0x7c, 0x7e: true
                default: false
                }
            }
    }

    /// Whether an octet may occur in a target as it is. Fragments are for clients, and some readers take a backslash for a
    /// slash.
    static func isTarget(_ byte: UInt8) -> Bool {
        (0x21...0x7e).contains(byte) && byte != UInt8(ascii: "#") && byte != UInt8(ascii: "\\")
    }

    /// Digits alone: no sign, no leading zero, and few enough for an integer.
    package static func number(_ digits: some Collection<UInt8>) -> Int? {
        guard (1...18).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            digits.count == 1 || digits.first != 0x30
        else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }

    /// `uri-host [":" port]`, without user, path or list.
    static func isHost(_ text: String) -> Bool {
        var rest = Array(text.utf8)[...]
        if rest.first == UInt8(ascii: "[") {
            guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
            let address = rest[..<end].dropFirst()
            guard !address.isEmpty,
                address.allSatisfy({ Self.isHex($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: ".") })
            else { return false }
            rest = rest[(end + 1)...]
        } else {
            let name = rest.prefix { $0 != UInt8(ascii: ":") }
            guard !name.isEmpty,
                name.allSatisfy({ byte in
                    switch byte {
                    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
                    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
                    default: false
                    }
                })
            else { return false }
            rest = rest.dropFirst(name.count)
        }
        guard rest.first == UInt8(ascii: ":") else { return rest.isEmpty }
        return rest.dropFirst().count <= 5 && rest.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    static func isHex(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    /// Resolves escapes; `nil` if one is incomplete, or decodes to a control character or invalid UTF-8.
    package static func unescaped(_ text: Substring) -> String? {
        var plain: [UInt8] = []
        var bytes = Array(text.utf8)[...]
        while let byte = bytes.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                plain.append(byte)
                continue
            }
            guard bytes.count >= 2, bytes.prefix(2).allSatisfy(Self.isHex),
                let value = UInt8(String(decoding: bytes.prefix(2), as: UTF8.self), radix: 16),
                value >= 0x20, value != 0x7f
            else { return nil }
            plain.append(value)
            bytes = bytes.dropFirst(2)
        }
        return String(validating: plain, as: UTF8.self)
    }

    /// Parameters of a query, and the first name that was given twice.
    static func query(_ text: Substring) throws(HTTPFault) -> (values: [String: String], repeated: String?) {
        var values: [String: String] = [:]
        var repeated: String?
        for pair in text.split(separator: "&") {
            let name = pair.prefix { $0 != "=" }
            guard let key = Self.unescaped(name.replacing("+", with: " ")[...]),
                let value = Self.unescaped(pair.dropFirst(name.count + 1).replacing("+", with: " ")[...])
            else { throw HTTPFault("the query has escapes that are none") }
            if values[key] == nil { values[key] = value } else { repeated = repeated ?? key }
        }
        return (values, repeated)
    }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`
    ///
    /// - Parameter seconds: Since 1970.
    package static func date(_ seconds: Int) -> String {
        var time = seconds
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ value: CInt) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let day = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][Int(parts.tm_wday)]
        let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][
            Int(parts.tm_mon)]
        return "\(day), \(two(parts.tm_mday)) \(month) \(parts.tm_year + 1900) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
    }
}

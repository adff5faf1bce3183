package import Foundation

/// Base64url without padding (RFC 7515, section 2).
package enum Base64URL {
    /// The text in ASCII bytes.
    package static func encode(_ bytes: Data) -> Data {
        var text = bytes.base64EncodedData()
        while text.last == UInt8(ascii: "=") { text.removeLast() }
        text.withUnsafeMutableBytes { text in
            for index in text.indices {
                switch text[index] {
                case UInt8(ascii: "+"): text[index] = UInt8(ascii: "-")
                case UInt8(ascii: "/"): text[index] = UInt8(ascii: "_")
                default: break
                }
            }
        }
        return text
    }

    /// The text as a string.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: self.encode(Data(bytes)), as: UTF8.self)
    }

    /// - Returns: `nil` for what ``encode(_:)`` does not write: each value has one text.
    package static func decode(_ text: some Collection<UInt8>) -> Data? {
        var plain = [UInt8]()
        plain.reserveCapacity(text.count + 3)
        for byte in text {
            switch byte {
            case UInt8(ascii: "-"): plain.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): plain.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: plain.append(byte)
            }
        }
        while plain.count % 4 != 0 { plain.append(UInt8(ascii: "=")) }
        guard let bytes = Data(base64Encoded: Data(plain)) else { return nil }
        // Bits of the last character that no byte needs are zero (RFC 4648, section 3.5).
        let rest = bytes.suffix(bytes.count % 3)
        return rest.isEmpty || rest.base64EncodedData() == Data(plain.suffix(4)) ? bytes : nil
    }

    /// - Returns: `nil` unless the text is the one encoding of its bytes.
    package static func decode(_ text: String) -> Data? { self.decode(text.utf8) }
}

package import Foundation

/// Base64url without padding (RFC 7515, section 2).
package enum Base64URL {
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

    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        String(decoding: self.encode(Data(bytes)), as: UTF8.self)
    }

    /// - Returns: `nil` for what ``encode(_:)`` does not write: each value has one text.
    package static func decode(_ text: String) -> Data? {
        var plain = text.replacing("-", with: "+").replacing("_", with: "/")
        plain += String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: plain), Self.encode(bytes) == Data(text.utf8) else { return nil }
        return bytes
    }
}

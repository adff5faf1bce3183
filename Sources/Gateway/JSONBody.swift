internal import Foundation
internal import HTTPServer
internal import InspectCore

enum JSONBody {
    /// Nesting depth of objects and arrays.
    static let depth = 16
    /// Limit on values, names and brackets outside strings, which determine the memory that parsing takes beside the text.
    static let tokens = 20_000

    /// Parses a body that passed the checks. Long strings stay behind: ``LongTexts``.
    ///
    /// - Throws: ``ErrorCode/payloadInvalid``.
    static func object(_ body: Data) throws(InspectError) -> ([String: Any], LongTexts) {
        let texts = LongTexts(body)
        if let problem = self.problem(texts.text) { throw InspectError(.payloadInvalid, problem) }
        let parsed = try? JSONSerialization.jsonObject(with: texts.text)
        guard let object = parsed as? [String: Any] else {
            throw InspectError(.payloadInvalid, "the body is not a JSON object")
        }
        return (object, texts)
    }

    /// The members as JSON again.
    ///
    /// - Throws: ``ErrorCode/payloadTooLarge`` if a long string is left among them.
    static func data(_ object: [String: Any], _ texts: LongTexts) throws(InspectError) -> Data {
        guard JSONSerialization.isValidJSONObject(object),
            let data = try? JSONSerialization.data(withJSONObject: object)
        else { throw InspectError(.payloadInvalid, "a number that cannot be stored") }
        guard !texts.isLeft(in: data) else { throw InspectError(.payloadTooLarge) }
        return data
    }

    /// Checks only brackets and separators outside strings; the parser reports other faults.
    private static func problem(_ body: Data) -> String? {
        body.withUnsafeBytes { bytes in
            var depth = 0
            var tokens = 0
            var index = 0
            while index < bytes.count {
                switch bytes[index] {
                case UInt8(ascii: "\""):
                    index += 1
                    while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
                        // Refused even in strings: a parser might take the text for UTF-16, and libpq would truncate it.
                        if bytes[index] == 0 { return "a zero byte" }
                        index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                    }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    tokens += 1
                    if depth > Self.depth { return "nested more than \(Self.depth) deep" }
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ","), UInt8(ascii: ":"): tokens += 1
                case 0: return "a zero byte"
                default: break
                }
                if tokens > Self.tokens { return "more than \(Self.tokens) values" }
                index += 1
            }
            return nil
        }
    }
}

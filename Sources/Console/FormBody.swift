internal import Foundation
internal import InspectCore

/// A form as browsers send it (`application/x-www-form-urlencoded`).
struct FormBody {
    private var fields: [String: String] = [:]

    /// - Throws: ``InspectError`` if it is not a form in UTF-8, or has a field twice.
    init(_ body: Data) throws(InspectError) {
        for pair in body.split(separator: UInt8(ascii: "&")) {
            let pieces = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decoded(pieces[0]), let value = pieces.count == 2 ? Self.decoded(pieces[1]) : ""
            else {
                throw InspectError(.parameterInvalid, "the form's encoding is not valid")
            }
            guard self.fields.updateValue(value, forKey: name) == nil else {
                throw InspectError(.parameterInvalid, "a field appears twice")
            }
        }
    }

    /// A field without white space at its ends; `nil`: it is missing or empty.
    subscript(name: String) -> String? {
        let text = (self.fields[name] ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }

    private static func decoded(_ bytes: Data) -> String? {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var rest = bytes[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): result.append(0x20)
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
                else {
                    return nil
                }
                result.append(high << 4 | low)
            default: result.append(byte)
            }
        }
        guard !result.contains(0) else { return nil }
        return String(validating: result, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

internal import Foundation
internal import InspectCore

/// JSON in the canonical form of RFC 8785 (JCS), so that every program computes the same digest over it.
indirect enum CanonicalJSON: Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([CanonicalJSON])
    case object([String: CanonicalJSON])

    /// - Throws: ``InspectError`` with ``ErrorCode/payloadInvalid``: it is not JSON, or has a number that no double is, or a text that
    ///   is not Unicode.
    init(parsing json: Data) throws(InspectError) {
        guard let value = try? JSONDecoder().decode(CanonicalJSON.self, from: json) else {
            throw InspectError(.payloadInvalid, "not JSON, or a number that cannot be stored")
        }
        self = value
    }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let bool = try? value.decode(Bool.self) {
            self = .bool(bool)
        } else if let text = try? value.decode(String.self) {
            self = .string(text)
        } else if let items = try? value.decode([CanonicalJSON].self) {
            self = .array(items)
        } else if let members = try? value.decode([String: CanonicalJSON].self) {
            self = .object(members)
        } else {
            let number = try value.decode(Double.self)
            guard number.isFinite else { throw InspectError(.payloadInvalid, "a number that cannot be stored") }
            self = .number(number)
        }
    }

    /// The members of an object; `nil`: it is not an object.
    var members: [String: CanonicalJSON]? { if case .object(let members) = self { members } else { nil } }

    var text: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number(let value): Self.write(value)
        case .string(let value): Self.string(value)
        case .array(let items): "[" + items.map(\.text).joined(separator: ",") + "]"
        case .object(let members):
            "{"
                + members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
                .map { Self.string($0.key) + ":" + $0.value.text }.joined(separator: ",") + "}"
        }
    }

    private static func string(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{8}": quoted += "\\b"
            case "\t": quoted += "\\t"
            case "\n": quoted += "\\n"
            case "\u{C}": quoted += "\\f"
            case "\r": quoted += "\\r"
            case "\0"..."\u{1F}":
                quoted += scalar.value < 16 ? "\\u000" : "\\u00"
                quoted += String(scalar.value, radix: 16)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    /// As ECMAScript writes a number (Number::toString): the fewest digits that are this double, and an exponent where it is far from 1.
    static func write(_ value: Double) -> String {
        guard value != 0 else { return "0" }
        // Swift has the same digits in another form: 1e+21, 1.5e-07, 120.0.
        let parts = "\(value.magnitude)".split(separator: "e")
        let halves = parts[0].split(separator: ".")
        var digits = halves.joined()
        var point = halves[0].count + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
        let zeros = digits.prefix { $0 == "0" }.count
        digits = String(digits.dropFirst(zeros))
        point -= zeros
        while digits.hasSuffix("0") { digits.removeLast() }
        let sign = value < 0 ? "-" : ""
        switch point {
        case digits.count...21 where digits.count <= 21:
            return sign + digits + String(repeating: "0", count: point - digits.count)
        case 1...21: return sign + digits.prefix(point) + "." + digits.dropFirst(point)
        case -5...0: return sign + "0." + String(repeating: "0", count: -point) + digits
        default:
            let exponent = point - 1
            let fraction = digits.count > 1 ? "." + digits.dropFirst() : ""
            return sign + digits.prefix(1) + fraction + "e" + (exponent < 0 ? "-" : "+") + "\(abs(exponent))"
        }
    }
}

import Foundation

/// Any JSON.
enum JSONValue: Decodable, Equatable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case list([JSONValue])
    case object([String: JSONValue])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .list(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    subscript(_ name: String) -> JSONValue? {
        if case .object(let members) = self { members[name] } else { nil }
    }

    var type: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .number(let value): value == value.rounded() ? "integer" : "number"
        case .text: "string"
        case .list: "array"
        case .object: "object"
        }
    }
}

/// Judges values by the description's schemas (the keywords of JSON Schema that these use), each closed: a member that an object's
/// schema lacks is a fault. `Tests/schemas.py` does the same with a library of others.
struct SchemaJudge {
    struct NoSuchMember: Error {}

    private let schemas: [String: JSONValue]
    /// Keywords that say nothing about a value.
    private static let silent: Set<String> = [
        "description", "default", "contentEncoding", "properties", "additionalProperties", "required", "$ref",
    ]

    init?(_ document: JSONValue) {
        guard case .object(let schemas)? = document["components"]?["schemas"] else { return nil }
        self.schemas = schemas
    }

    /// What does not fit: paths and keywords.
    func faults(_ value: JSONValue, _ name: String) -> [String] {
        guard let schema = self.schemas[name] else { return ["there is no schema \(name)"] }
        return self.faults(value, schema, "")
    }

    private func faults(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        guard case .object(let keywords) = schema else { return ["\(path): no schema"] }
        var faults: [String] = []
        if case .text(let reference)? = keywords["$ref"] {
            guard let target = self.schemas[String(reference.split(separator: "/").last ?? "")] else {
                return ["\(path): nothing at \(reference)"]
            }
            faults += self.faults(value, target, path)
        }
        faults += self.members(value, keywords, path)
        for (keyword, rule) in keywords where !Self.silent.contains(keyword) {
            guard let fits = self.fits(value, keyword, rule) else {
                faults.append("\(path): \(keyword) is not known here")
                continue
            }
            if !fits { faults.append("\(path): \(keyword)") }
        }
        if case .list(let elements) = value, let items = keywords["items"] {
            for (place, element) in elements.enumerated() { faults += self.faults(element, items, "\(path)[\(place)]") }
        }
        return faults
    }

    /// What is wrong with an object's members.
    private func members(_ value: JSONValue, _ keywords: [String: JSONValue], _ path: String) -> [String] {
        guard case .object(let members) = value else { return [] }
        var faults: [String] = []
        if case .list(let required)? = keywords["required"] {
            for case .text(let name) in required where members[name] == nil { faults.append("\(path): no \(name)") }
        }
        guard keywords["properties"] != nil || keywords["additionalProperties"] != nil else { return faults }
        for (name, member) in members {
            if let schema = keywords["properties"]?[name] {
                faults += self.faults(member, schema, "\(path).\(name)")
            } else if let others = keywords["additionalProperties"], others != .bool(false) {
                faults += self.faults(member, others, "\(path).\(name)")
            } else {
                faults.append("\(path): \(name) is not in the schema")
            }
        }
        return faults
    }

    /// Whether a value obeys one keyword; `nil`: the keyword is not known.
    private func fits(_ value: JSONValue, _ keyword: String, _ rule: JSONValue) -> Bool? {
        switch (keyword, rule) {
        case ("type", .text(let type)): value.type == type || (type == "number" && value.type == "integer")
        case ("type", .list(let types)):
            types.contains { self.fits(value, "type", $0) == true }
        case ("enum", .list(let values)): values.contains(value)
        case ("const", _): value == rule
        case ("anyOf", .list(let schemas)): schemas.contains { self.faults(value, $0, "").isEmpty }
        case ("oneOf", .list(let schemas)): schemas.count { self.faults(value, $0, "").isEmpty } == 1
        case ("items", _): true
        case ("uniqueItems", _): true
        case ("minimum", .number(let limit)): Self.number(value).map { $0 >= limit } ?? true
        case ("maximum", .number(let limit)): Self.number(value).map { $0 <= limit } ?? true
        case ("minItems", .number(let limit)): Self.count(value).map { $0 >= limit } ?? true
        case ("maxItems", .number(let limit)): Self.count(value).map { $0 <= limit } ?? true
        case ("minLength", .number(let limit)): Self.length(value).map { $0 >= limit } ?? true
        case ("maxLength", .number(let limit)): Self.length(value).map { $0 <= limit } ?? true
        case ("pattern", .text(let pattern)):
            if case .text(let text) = value {
                text.range(of: pattern, options: .regularExpression) != nil
            } else {
                true
            }
        case ("format", .text(let format)):
            if case .text(let text) = value { Self.has(text, format) } else { true }
        default: nil
        }
    }

    private static func number(_ value: JSONValue) -> Double? {
        if case .number(let number) = value { number } else { nil }
    }

    private static func count(_ value: JSONValue) -> Double? {
        if case .list(let elements) = value { Double(elements.count) } else { nil }
    }

    private static func length(_ value: JSONValue) -> Double? {
        if case .text(let text) = value { Double(text.unicodeScalars.count) } else { nil }
    }

    private static func has(_ text: String, _ format: String) -> Bool {
        switch format {
        case "uuid": UUID(uuidString: text) != nil
        case "date": text.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}/) != nil
        case "date-time":
            text.wholeMatch(of: /[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})/) != nil
        default: true
        }
    }
}

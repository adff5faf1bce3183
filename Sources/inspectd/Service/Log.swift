import Foundation
import InspectCore

/// JSON lines on standard error, one object a line: constant messages, data in fields.
///
/// Fields carry ids, counts, codes and durations only; never a name, a document number, an image, an embedding or a secret.
struct Log: Sendable {
    enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error

        var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
        static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
        init?(name: String) {
            guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = level
        }
    }

    enum Value: Sendable, ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
        case string(String)
        case integer(Int64)
        case double(Double)
        case bool(Bool)

        init(stringLiteral value: String) { self = .string(value) }
        init(integerLiteral value: Int64) { self = .integer(value) }

        fileprivate var json: Any {
            switch self {
            case .string(let value): value
            case .integer(let value): value
            case .double(let value): (value * 1000).rounded() / 1000
            case .bool(let value): value
            }
        }
    }

    var threshold: Level = .info

    func debug(_ message: StaticString, _ fields: [String: Value] = [:]) { self.write(.debug, message, fields) }
    func info(_ message: StaticString, _ fields: [String: Value] = [:]) { self.write(.info, message, fields) }
    func warning(_ message: StaticString, _ fields: [String: Value] = [:]) { self.write(.warning, message, fields) }
    func error(_ message: StaticString, _ fields: [String: Value] = [:]) { self.write(.error, message, fields) }

    private func write(_ level: Level, _ message: StaticString, _ fields: [String: Value]) {
        guard level >= self.threshold else { return }
        var object: [String: Any] = fields.mapValues(\.json)
        object["time"] = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        object["level"] = level.name
        object["message"] = "\(message)"
        guard var line = try? JSONSerialization.data(withJSONObject: object, options: [.sortedKeys]) else { return }
        line.append(0x0A)
        // One write per line keeps the lines of several threads and processes intact. A failed write, on a full disk or a
        // closed pipe, must not stop the program.
        try? FileHandle.standardError.write(contentsOf: line)
    }
}

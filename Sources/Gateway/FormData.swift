internal import Foundation
internal import InspectCore

/// A body of `multipart/form-data` (RFC 7578). Values are slices of the body: nothing is copied.
///
/// Read strictly, since two readers that disagree about where a value ends would see two requests: no preamble, no nested
/// multipart, no transfer encoding.
struct FormData {
    struct Field {
        var name: String
        var value: Data
    }

    /// Fields of one body: all parts of a job, its frames among them, and its other members.
    static let limit = 320
    /// Octets of the header of a field.
    private static let headLimit = 4096

    private static let gap = Data("\r\n\r\n".utf8)

    private(set) var fields: [Field] = []

    /// The boundary of a media type; `nil`: it is another one, or has none that is valid (RFC 2046, section 5.1.1).
    static func boundary(of type: String) -> String? {
        let words = type.split(separator: ";", omittingEmptySubsequences: false).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        guard words.first?.lowercased() == "multipart/form-data" else { return nil }
        let given = words.dropFirst().filter { $0.lowercased().hasPrefix("boundary=") }
        guard given.count == 1 else { return nil }
        var text = given[0].dropFirst("boundary=".count)
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        let allowed = Set("'()+_,-./:=? ".utf8)
        guard (1...70).contains(text.utf8.count), text.last != " ",
            text.utf8.allSatisfy({ Self.isAlphanumeric($0) || allowed.contains($0) })
        else { return nil }
        return String(text)
    }

    /// - Throws: ``ErrorCode/payloadInvalid``.
    init(_ body: Data, boundary: String) throws(InspectError) {
        let delimiter = Data("\r\n--\(boundary)".utf8)
        let opening = delimiter.dropFirst(2)
        guard body.starts(with: opening) else { throw Self.fault("the body does not begin with its boundary") }
        var index = body.startIndex + opening.count
        while true {
            let mark = body[index...].prefix(2)
            if mark.elementsEqual([0x2d, 0x2d]) {
                // Only line breaks may follow the last boundary; one is usual.
                guard body[(index + 2)...].allSatisfy({ $0 == 0x0d || $0 == 0x0a }) else {
                    throw Self.fault("bytes after the last boundary")
                }
                return
            }
            guard mark.elementsEqual([0x0d, 0x0a]) else { throw Self.fault("a boundary without a line break") }
            guard self.fields.count < Self.limit else { throw Self.fault("more than \(Self.limit) fields") }
            index += 2
            let head = body[index...].prefix(Self.headLimit)
            guard let gap = Self.place(of: Self.gap, in: head) else {
                throw Self.fault("the header of a field is too long, or does not end")
            }
            let start = gap + Self.gap.count
            // A boundary right after the header ends the field for some readers, and is its value for others.
            guard let end = Self.place(of: delimiter, in: body[start...]), !body[start...].starts(with: opening) else {
                throw Self.fault("a boundary is missing, or does not begin its line")
            }
            self.fields.append(Field(name: try Self.name(head[..<gap]), value: body[start..<end]))
            index = end + delimiter.count
        }
    }

    /// Where a sequence that begins with CR is found first. In images CR is rare, so that `memchr` does the work.
    private static func place(of needle: Data, in bytes: Data) -> Int? {
        bytes.withUnsafeBytes { bytes -> Int? in
            needle.withUnsafeBytes { needle -> Int? in
                guard let base = bytes.baseAddress, let wanted = needle.baseAddress else { return nil }
                var index = 0
                while index + needle.count <= bytes.count,
                    let found = memchr(base + index, 0x0d, bytes.count - needle.count + 1 - index)
                {
                    if memcmp(found, wanted, needle.count) == 0 { return UnsafeRawPointer(found) - base }
                    index = UnsafeRawPointer(found) - base + 1
                }
                return nil
            }
        }.map { bytes.startIndex + $0 }
    }

    /// The field that a header names.
    private static func name(_ head: Data) throws(InspectError) -> String {
        guard let text = String(data: head, encoding: .utf8) else { throw Self.fault("a header is not UTF-8") }
        var name: String?
        for line in text.components(separatedBy: "\r\n") {
            guard let colon = line.firstIndex(of: ":") else { throw Self.fault("a header has no colon") }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            switch line[..<colon].lowercased() {
            case "content-disposition":
                guard name == nil, let given = Self.parameter("name", of: value) else {
                    throw Self.fault("a field has no name, or two")
                }
                name = given
            case "content-transfer-encoding":
                guard ["binary", "8bit", "7bit"].contains(value.lowercased()) else {
                    throw Self.fault("Content-Transfer-Encoding is not binary")
                }
            default: break
            }
        }
        guard let name else { throw Self.fault("a field has no name") }
        return name
    }

    /// A parameter of a disposition of the type `form-data`.
    private static func parameter(_ name: String, of disposition: String) -> String? {
        guard disposition.lowercased().hasPrefix("form-data") else { return nil }
        var rest = disposition.dropFirst("form-data".count)[...]
        var found: String?
        while true {
            rest = rest.drop { $0 == " " || $0 == "\t" }
            guard !rest.isEmpty else { return found }
            guard rest.removeFirst() == ";" else { return nil }
            rest = rest.drop { $0 == " " || $0 == "\t" }
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest.dropFirst(key.count)
            guard rest.first == "=" else { return nil }
            rest = rest.dropFirst()
            let value: Substring
            if rest.first == "\"" {
                // Browsers escape quotes as %22; others as \".
                var end = rest.index(after: rest.startIndex)
                while end < rest.endIndex, rest[end] != "\"" {
                    end = rest.index(after: end)
                    if rest[rest.index(before: end)] == "\\", end < rest.endIndex { end = rest.index(after: end) }
                }
                guard end < rest.endIndex else { return nil }
                value = rest[rest.index(after: rest.startIndex)..<end]
                rest = rest[rest.index(after: end)...]
            } else {
                value = rest.prefix { $0 != ";" && $0 != " " }
                rest = rest.dropFirst(value.count)
            }
            if key.lowercased() == name {
                guard found == nil, (1...100).contains(value.utf8.count) else { return nil }
                found = String(value)
            }
        }
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
        default: false
        }
    }

    private static func fault(_ text: String) -> InspectError {
        InspectError(
            .payloadInvalid, text,
            hint: "A form has a field for each part, named FRONT, BACK and so on, and one for each other member.")
    }
}

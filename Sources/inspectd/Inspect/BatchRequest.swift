import Foundation
import InspectCore

/// One inspection by `inspect`, from a line of a batch or from the options.
struct BatchRequest: Decodable {
    /// The members of a line other than the files.
    struct Members: Decodable {
        fileprivate enum CodingKeys: String, CodingKey, CaseIterable {
            case id, challenge, csca, workflow, format, gate
        }

        var id: String?
        var challenge: String?
        /// Files and folders, instead of those of the command line.
        var csca: [String]?
        var workflow: String?
        var format: String?
        var gate: Bool?
    }

    /// A member for each kind of part, named as its option.
    private struct FileKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(_ kind: PartKind) { self.stringValue = kind.row.option }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The kinds of part that can be inspected without a vendor's server.
    static let kinds = PartKind.allCases.filter { !$0.isOpaque }

    var members = Members()
    var files: [PartKind: String] = [:]
    /// The prefix of the members' names if they are options.
    private var prefix = ""

    init(from decoder: any Decoder) throws {
        self.members = try Members(from: decoder)
        let container = try decoder.container(keyedBy: FileKey.self)
        let known = Members.CodingKeys.allCases.map(\.rawValue) + Self.kinds.map(\.row.option)
        if let unknown = container.allKeys.map(\.stringValue).filter({ !known.contains($0) }).min() {
            let keys = known.sorted().joined(separator: ", ")
            throw InspectError(.payloadInvalid, "unknown key '\(unknown.prefix(40))'; keys are \(keys)")
        }
        for kind in Self.kinds {
            self.files[kind] = try container.decodeIfPresent(String.self, forKey: FileKey(kind))
        }
    }

    init(_ arguments: Arguments) {
        self.prefix = "--"
        self.members.challenge = arguments["challenge"]
        for kind in Self.kinds { self.files[kind] = arguments[kind.row.option] }
    }

    /// What is wrong with a line that is no request, and the line's id if it has one.
    static func fault(of line: Data, _ error: any Error) -> (id: String?, error: InspectError) {
        let members = try? JSONSerialization.jsonObject(with: line) as? [String: Any]
        let id = members?["id"] as? String
        if let error = error as? InspectError { return (id, error) }
        if members != nil, case DecodingError.typeMismatch(_, let context) = error, let key = context.codingPath.first {
            return (id, InspectError(.payloadInvalid, "key '\(key.stringValue)' has a value of the wrong type"))
        }
        return (id, InspectError(.payloadInvalid, "the line is not a request object"))
    }

    /// Where a file is named, for errors.
    func source(_ member: String) -> String { self.prefix + member }
}

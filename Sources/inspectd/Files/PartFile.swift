import Foundation
import InspectCore

/// Files of parts, from the command line or a line of a batch.
enum PartFile {
    /// Reads a complete file.
    ///
    /// - Parameters:
    ///   - source: The option or batch member of the file, such as `--front` or `front`.
    ///   - allowsEmpty: Whether the caller itself refuses an empty file.
    /// - Throws: ``ErrorCode/partNotFound``, ``ErrorCode/partEmpty`` or ``ErrorCode/partTooLarge``, without the file's
    ///   name.
    static func read(_ path: String, of source: String, allowsEmpty: Bool = false) throws(InspectError) -> Data {
        let bytes = try Self.found { () throws(InputFile.Failure) in
            try InputFile.read(path, of: source, limit: PartKind.byteLimit + 1)
        }
        guard allowsEmpty || !bytes.isEmpty else { throw InspectError(.partEmpty, source) }
        guard bytes.count <= PartKind.byteLimit else { throw InspectError(.partTooLarge, source) }
        return bytes
    }

    /// The parts of one kind: from a file, or from a folder if a job may have several.
    static func parts(
        _ kind: PartKind, _ path: String, of source: String, allowsEmpty: Bool = false
    ) throws(InspectError) -> [Data] {
        kind.row.isMany
            ? try self.folder(path, of: source) : [try self.read(path, of: source, allowsEmpty: allowsEmpty)]
    }

    /// An option for each kind.
    static func options(_ kinds: [PartKind]) -> [Arguments.Option] {
        kinds.map { .value($0.row.option, $0.row.isMany ? "DIR" : "FILE", $0.row.meaning) }
    }

    /// The options of some kinds, such as `--front or --back`.
    static func choices(_ kinds: [PartKind], or others: String...) -> String {
        let options = kinds.map { "--\($0.row.option)" } + others
        return "\(options.dropLast().joined(separator: ", ")) or \(options.last ?? "")"
    }

    static func workflowOption(_ workflows: [Workflow]) -> Arguments.Option {
        let names = workflows.map(\.rawValue)
        let list = "\(names.dropLast().joined(separator: ", ")) or \(names.last ?? "")"
        return .value("workflow", "W", "\(list); by default what the files allow")
    }

    /// The value of `--challenge` is not a challenge.
    static let noChallenge = InspectError(.challengeInvalid, "the file contains no challenge")

    /// The files of a folder, in the order of their names.
    private static func folder(_ folder: String, of source: String) throws(InspectError) -> [Data] {
        let files = try Self.found { () throws(InputFile.Failure) in try InputFile.list(folder, of: source) }
        var frames: [Data] = []
        for file in files { frames.append(try self.read(file, of: source)) }
        return frames
    }

    private static func found<Value>(_ look: () throws(InputFile.Failure) -> Value) throws(InspectError) -> Value {
        do { return try look() } catch { throw InspectError(.partNotFound, error.description) }
    }
}

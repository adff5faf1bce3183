import Foundation
import InspectCore

/// Files that the command line names as parts.
enum PartFile {
    /// Reads a file whole.
    ///
    /// - Throws: ``ErrorCode/partNotFound``, ``ErrorCode/partEmpty`` or ``ErrorCode/partTooLarge``, naming the part but
    ///   not the file: names of files tell who is on them.
    ///
    /// - Parameter allowsEmpty: Whether an empty file is left to somebody else to refuse.
    static func read(_ path: String, as kind: PartKind, allowsEmpty: Bool = false) throws(InspectError) -> Data {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw InspectError(.partNotFound, "\(kind.rawValue): the file cannot be opened")
        }
        defer { try? handle.close() }
        guard let bytes = try? handle.read(upToCount: PartKind.byteLimit + 1) ?? Data() else {
            throw InspectError(.partNotFound, "\(kind.rawValue): the file cannot be read")
        }
        guard allowsEmpty || !bytes.isEmpty else { throw InspectError(.partEmpty, kind.rawValue) }
        guard bytes.count <= PartKind.byteLimit else { throw InspectError(.partTooLarge, kind.rawValue) }
        return bytes
    }

    /// The files of a folder by name: the frames of a capture in order.
    static func list(_ folder: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return names.filter { !$0.hasPrefix(".") }.sorted().map { "\(folder)/\($0)" }
    }
}

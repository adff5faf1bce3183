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

    /// The files of a folder, in the order of their names.
    static func frames(_ folder: String, of source: String) throws(InspectError) -> [Data] {
        let files = try Self.found { () throws(InputFile.Failure) in try InputFile.list(folder, of: source) }
        var frames: [Data] = []
        for file in files { frames.append(try self.read(file, of: source)) }
        return frames
    }

    private static func found<Value>(_ look: () throws(InputFile.Failure) -> Value) throws(InspectError) -> Value {
        do { return try look() } catch { throw InspectError(.partNotFound, error.description) }
    }
}

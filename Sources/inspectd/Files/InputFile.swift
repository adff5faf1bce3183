import Foundation
import Glibc

enum InputFile {
    /// Why a file cannot be read: the option and the fault.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// Reads a complete file.
    ///
    /// - Parameters:
    ///   - option: The option of the file, such as `--front`.
    ///   - limit: Reading stops after this many bytes.
    ///   - isSetting: Whether the file belongs to the operator's settings. Only then does the error contain its name: other
    ///     names may reveal a person.
    static func read(
        _ path: String, of option: String, limit: Int = .max, isSetting: Bool = false
    ) throws(Failure) -> Data {
        let file = isSetting ? path : "the file"
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw self.failure(errno == ENOTDIR ? ENOENT : errno, file, option) }
        return try self.content(
            of: FileHandle(fileDescriptor: descriptor, closeOnDealloc: true), file, option: option, limit: limit)
    }

    /// The same; `-` is standard input.
    static func readOrInput(
        _ path: String, of option: String, limit: Int = .max, isSetting: Bool = false
    ) throws(Failure) -> Data {
        guard path == "-" else { return try self.read(path, of: option, limit: limit, isSetting: isSetting) }
        return try self.content(of: .standardInput, "standard input", option: option, limit: limit)
    }

    /// Checks before anything starts that a file or folder of the operator's settings is readable.
    static func check(_ path: String, of option: String) throws(Failure) {
        guard access(path, R_OK) != 0 else { return }
        throw self.failure(errno, path, option)
    }

    /// The files of a folder by name: the frames of a capture in order.
    static func list(_ folder: String, of option: String) throws(Failure) -> [String] {
        guard let stream = opendir(folder) else {
            let code = errno
            throw self.failure(code, code == ENOTDIR ? "the file" : "the folder", option)
        }
        closedir(stream)
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        let files = names.filter { !$0.hasPrefix(".") }.sorted()
        guard !files.isEmpty else { throw Failure(description: "\(option): the folder is empty") }
        return files.map { "\(folder)/\($0)" }
    }

    private static func content(
        of handle: FileHandle, _ file: String, option: String, limit: Int
    ) throws(Failure) -> Data {
        var status = stat()
        guard fstat(handle.fileDescriptor, &status) == 0 else { throw self.failure(errno, file, option) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw self.failure(EISDIR, file, option) }
        guard let bytes = try? handle.read(upToCount: limit) ?? Data() else { throw self.failure(EIO, file, option) }
        return bytes
    }

    private static func failure(_ code: CInt, _ file: String, _ option: String) -> Failure {
        let reason =
            switch code {
            case ENOENT: "does not exist"
            case EISDIR: "is a folder"
            case ENOTDIR: "is not a folder"
            case EACCES: "may not be read"
            default: "cannot be read: \(String(cString: strerror(code)))"
            }
        return Failure(description: "\(option): \(file) \(reason)")
    }
}

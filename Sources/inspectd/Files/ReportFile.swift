import Foundation
import InspectCore

/// Reports as files. They show people's documents and faces, so only their owner may read them.
enum ReportFile {
    /// Checks before the analysis that a report can be written.
    ///
    /// - Throws: ``InputFile/Failure`` for a folder that is missing, no folder, or may not be written.
    static func check(_ path: String) throws(InputFile.Failure) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
            throw InputFile.Failure(description: "--report: the file is a folder")
        }
        // Searching the folder fails if it is a file.
        guard access("\(folder)/.", W_OK | X_OK) != 0 else { return }
        let code = errno
        let reason =
            switch code {
            case ENOENT: "folder does not exist"
            case ENOTDIR: "folder is a file"
            case EACCES, EROFS: "folder may not be written"
            default: "file cannot be written: \(String(cString: strerror(code)))"
            }
        throw InputFile.Failure(description: "--report: the \(reason)")
    }

    /// Writes a report under a temporary name with mode 0600 and moves it into place, so that the mode of an existing file
    /// never exposes it.
    ///
    /// - Throws: ``ErrorCode/internalError`` with the system's reason.
    static func write(_ html: String, to path: String) throws(InspectError) {
        let draft = "\(path).\(getpid()).part"
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw self.failure(errno) }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
        do {
            try handle.write(contentsOf: Data(html.utf8))
            try handle.close()
        } catch {
            unlink(draft)
            throw InspectError(.internalError, "--report: the file cannot be written")
        }
        guard rename(draft, path) == 0 else {
            let code = errno
            unlink(draft)
            throw self.failure(code)
        }
    }

    static func page(of error: InspectError, from origin: ReportOrigin) -> String {
        InspectionReport(
            document: .notExecuted(error), facts: InspectionFacts(request: InspectionRequest(workflow: .id), parts: []),
            previews: [:], today: CalendarDate(Date()), origin: origin
        ).html
    }

    private static func failure(_ code: Int32) -> InspectError {
        InspectError(.internalError, "--report: the file cannot be written: \(String(cString: strerror(code)))")
    }
}

import Foundation
import InspectCore

/// Pages for reviewers as files. They show people's documents and faces, so nobody but their owner may read them.
enum ReportFile {
    /// Writes a page under a temporary name with mode 0600 and moves it into place: also a file that was there before, with
    /// whatever mode, never shows it to others.
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

    /// The page of an inspection that could not be carried out.
    static func page(of error: InspectError) -> String {
        InspectionReport(
            document: .notExecuted(error), facts: InspectionFacts(request: InspectionRequest(workflow: .id), parts: []),
            previews: [:], today: CalendarDate(Date())
        ).html
    }

    private static func failure(_ code: Int32) -> InspectError {
        InspectError(.internalError, "--report: the file cannot be written: \(String(cString: strerror(code)))")
    }
}

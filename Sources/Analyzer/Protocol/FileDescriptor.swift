internal import CSystem
internal import Glibc

/// The sole owner of one open file descriptor.
struct FileDescriptor: ~Copyable, Sendable {
    let raw: CInt

    init(owning raw: CInt) { self.raw = raw }

    deinit { close(self.raw) }
}

/// A system call that failed.
struct SystemError: Error, CustomStringConvertible {
    /// The name of the system call.
    let call: String
    /// `errno`.
    let code: CInt

    var description: String { "\(self.call): \(String(cString: strerror(self.code)))" }

    /// Converts CSystem's convention (a negated errno means failure) to an error.
    @discardableResult
    static func check(_ call: String, _ result: CInt) throws(SystemError) -> CInt {
        guard result >= 0 else { throw SystemError(call: call, code: -result) }
        return result
    }
}

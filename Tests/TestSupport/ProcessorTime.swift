import Foundation
import Glibc

/// Processor time: unlike the time on the wall, it does not pass while others have the processor.
package enum ProcessorTime {
    /// What the calling thread has used.
    package static func ofThread() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// What a process has used, such as the back-end of a connection, in steps of ten milliseconds.
    package static func of(_ pid: Int32) throws -> Duration {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        // The name, in parentheses, may hold anything. The 14th and 15th fields are user and system time.
        let fields = (text.split(separator: ")").last ?? "").split(separator: " ")
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw POSIXError(.EINVAL)
        }
        return .seconds(user + system) / sysconf(CInt(_SC_CLK_TCK))
    }
}

internal import Glibc
internal import InspectCore

/// How an analyzer was lost in the middle of a request.
struct ProcessLoss {
    let failure: Frame.Failure
    /// `nil` if the warm parent was lost with it.
    let end: ProcessEnd?
    /// Its stderr. Only searched for messages of a failed allocation: it may quote anything.
    let complaint: String

    /// The job's error.
    func error(stage: String, deadline: Duration, configuration: AnalyzerConfiguration) -> InspectError {
        let stage = "stage \(stage)"
        switch self.failure {
        case .deadline: return InspectError(.analyzerTimeout, "\(stage): no answer within \(deadline)")
        case .garbage: return InspectError(.analyzerCrashed, "\(stage): the answer breaks the protocol")
        case .tooLarge(let size):
            return InspectError(
                .analyzerCrashed, "\(stage): an answer of \(size) bytes; the limit is \(configuration.largestFrame)")
        // Its parts could not be written for lack of memory.
        case .system(let code) where [ENOSPC, ENOMEM].contains(code):
            return self.outOfMemory(stage, configuration)
        case .closed, .system: break
        }
        guard let end = self.end else {
            return InspectError(.analyzerCrashed, "\(stage): the analyzers' parent ended")
        }
        switch end.signal {
        case SIGXCPU,
            SIGKILL where end.cpuMicroseconds >= configuration.cpuSeconds * 1_000_000:
            return InspectError(.analyzerTimeout, "\(stage): more than \(configuration.cpuSeconds) s of CPU time")
        case SIGABRT, SIGTRAP, SIGILL:
            // How a failed allocation ends a process: C++'s terminate, Swift's runtime.
            if ["bad_alloc", "allocate", "out of memory", "Out of memory"].contains(where: self.complaint.contains) {
                return self.outOfMemory(stage, configuration)
            }
        case SIGKILL where end.maxResidentBytes > configuration.memoryLimit / 2:
            // Not sent by the pool: the kernel's out-of-memory killer.
            return self.outOfMemory(stage, configuration)
        default: break
        }
        return InspectError(.analyzerCrashed, "\(stage): \(end.cause)")
    }

    private func outOfMemory(_ stage: String, _ configuration: AnalyzerConfiguration) -> InspectError {
        InspectError(.analyzerOutOfMemory, "\(stage): the limit is \(configuration.memoryLimit >> 20) MiB")
    }
}

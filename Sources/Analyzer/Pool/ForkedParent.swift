internal import CSystem
internal import Glibc
internal import Synchronization

/// A warm parent forked from this process rather than started as a program.
///
/// Starting a program loads seventy libraries, which takes half as long as analysing an image. A command that has just begun has
/// one thread and no secret in memory except its environment, which the fork overwrites, so forking it is as good as starting the program.
/// Long-running processes start programs.
package final class ForkedParent: Sendable {
    struct Process {
        var pid: pid_t
        var control: CInt
        var errors: CInt
    }

    private let process: Mutex<Process?>

    private init(_ process: Process) { self.process = Mutex(process) }

    /// Forks. The child creates its engine meanwhile and serves the pool that is configured with the result.
    ///
    /// - Returns: `nil` if that is impossible, as in a process with several threads: the pool then starts a program.
    package static func fork(makeEngine: () throws -> any AnalyzerEngine) -> ForkedParent? {
        guard csys_thread_count() == 1 else { return nil }
        var sockets: (ours: CInt, theirs: CInt) = (-1, -1)
        var errors: (ours: CInt, theirs: CInt) = (-1, -1)
        guard csys_socket_pair(1, &sockets.ours, &sockets.theirs) >= 0 else { return nil }
        guard csys_pipe_nonblocking(&errors.ours, &errors.theirs) >= 0 else {
            close(sockets.ours)
            close(sockets.theirs)
            return nil
        }
        let environment = AnalyzerConfiguration.baseEnvironment.map { strdup("\($0)=\($1)") } + [nil]
        let pid = csys_fork_program(environment, sockets.theirs, errors.theirs)
        if pid == 0 { AnalyzerServer.run(makeEngine: makeEngine) }
        environment.forEach { free($0) }
        // Otherwise the end of the process would not close the sockets.
        close(sockets.theirs)
        close(errors.theirs)
        guard pid > 0 else {
            close(sockets.ours)
            close(errors.ours)
            return nil
        }
        return ForkedParent(Process(pid: pid, control: sockets.ours, errors: errors.ours))
    }

    /// The process, for the first caller: only one pool can have it.
    func take() -> Process? {
        self.process.withLock { process in
            defer { process = nil }
            return process
        }
    }
}

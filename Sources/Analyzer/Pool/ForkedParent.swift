internal import CSystem
internal import Glibc
internal import Synchronization

/// A warm parent that was forked from this program rather than started as a program of its own.
///
/// A start loads seventy libraries, which takes half as long as judging a picture. A command that has only just begun has one
/// thread and no secret in its memory but its environment, which the fork overwrites: what is forked then is what would be
/// started. Whoever runs longer starts programs.
package final class ForkedParent: Sendable {
    struct Process {
        var pid: pid_t
        var control: CInt
        var errors: CInt
    }

    private let process: Mutex<Process?>

    private init(_ process: Process) { self.process = Mutex(process) }

    /// Forks; the child makes its engine meanwhile and serves whichever pool is configured with the result.
    ///
    /// - Returns: `nil` where it cannot be done, as in a process with several threads: the pool then starts a program.
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
        // Else the end of the process would not end the sockets.
        close(sockets.theirs)
        close(errors.theirs)
        guard pid > 0 else {
            close(sockets.ours)
            close(errors.ours)
            return nil
        }
        return ForkedParent(Process(pid: pid, control: sockets.ours, errors: errors.ours))
    }

    /// The process, for the first who asks: only one pool can have it.
    func take() -> Process? {
        self.process.withLock { process in
            defer { process = nil }
            return process
        }
    }
}

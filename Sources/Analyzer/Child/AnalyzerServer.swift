internal import CSystem
internal import Glibc
internal import InspectCore

/// The warm parent: creates the engine once, then forks analyzer processes, one for each attempt at a job.
///
/// Started by ``AnalyzerPool`` with the control socket as descriptor 3. When the worker closes that socket or is killed, the
/// parent ends, and its analyzers get SIGKILL from the kernel (PR_SET_PDEATHSIG).
package enum AnalyzerServer {
    /// Exit statuses, following sysexits.h.
    private enum Exit {
        static let ok: CInt = 0
        static let usage: CInt = 64
        static let unavailable: CInt = 69
        static let system: CInt = 71
    }

    /// Serves the control socket until it ends. Must be called before the process has a second thread.
    ///
    /// - Parameter makeEngine: Loads the models. An error is sent to the worker, whose pool then fails to start.
    package static func run(makeEngine: () throws -> any AnalyzerEngine) -> Never {
        let begun = csys_now_nanoseconds()
        let control = CInt(CSYS_CONTROL_DESCRIPTOR)
        guard csys_is_socket(control) == 1 else {
            complain("descriptor 3 is not a socket: inspectd worker starts analyzers; do not start them by hand")
            csys_exit_now(Exit.usage)
        }
        do {
            try SystemError.check("prepare", csys_prepare_parent(control))
            let engine = try self.makeSingleThreaded(makeEngine)
            // From here on nothing is opened and no rights are needed; work that every fork would repeat is done once.
            try SystemError.check("capset", csys_drop_capabilities())
            try SystemError.check("sandbox", csys_prepare_sandbox())
            try SystemError.check("heap", csys_prepare_forks())
            var parent = try WarmParentLoop(control: control, engine: engine)
            try ControlMessage.ready(microseconds: (csys_now_nanoseconds() - begun) / 1000).send(to: control)
            try parent.serve()
        } catch let error as InspectError {
            complain("\(error)")
            try? ControlMessage.failed(error).send(to: control)
            csys_exit_now(Exit.unavailable)
        } catch {
            complain("\(error)")
            csys_exit_now(Exit.system)
        }
        csys_exit_now(Exit.ok)
    }

    private static func makeSingleThreaded(_ makeEngine: () throws -> any AnalyzerEngine) throws -> any AnalyzerEngine {
        let engine: any AnalyzerEngine
        do {
            engine = try makeEngine()
        } catch let error as InspectError {
            throw error
        } catch {
            throw InspectError(.modelUnavailable, "\(error)")
        }
        let threads = csys_thread_count()
        guard threads == 1 else {
            // Only the forking thread would exist in the child, and locks held by the others would stay locked.
            throw InspectError(.analyzerUnavailable, "the engine left \(threads) threads; fork needs exactly one")
        }
        return engine
    }
}

/// One line on stderr, which the worker reads when the process ends unexpectedly.
func complain(_ message: String) {
    var line = "inspectd analyzer: \(message)\n"
    line.withUTF8 { _ = write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

/// Forks, reaps and kills for the worker; one thread, no state but the table of children.
private struct WarmParentLoop {
    let control: CInt
    let signals: CInt
    let engine: any AnalyzerEngine
    var children: [pid_t: UInt64] = [:]

    init(control: CInt, engine: any AnalyzerEngine) throws(SystemError) {
        self.control = control
        self.engine = engine
        self.signals = try SystemError.check("signalfd", csys_child_signal_descriptor())
    }

    mutating func serve() throws {
        while true {
            let ready = try SystemError.check("poll", csys_wait_input(self.control, self.signals, -1))
            if ready & 2 != 0 { try self.reap() }
            if ready & 1 != 0 {
                guard let (message, descriptors) = try ControlMessage.receive(from: self.control) else { break }
                defer { descriptors.forEach { close($0) } }
                switch message {
                case .fork(let child, let limits) where descriptors.count == 3:
                    try self.fork(child, limits, socket: descriptors[0], memory: descriptors[1], error: descriptors[2])
                case .kill(let child):
                    // The table holds only children not yet reaped, so the pid cannot mean another process.
                    if let pid = self.children.first(where: { $0.value == child })?.key { csys_kill_group(pid) }
                default: throw MalformedMessage()
                }
            }
        }
        for pid in self.children.keys { csys_kill_group(pid) }
        // So that no analyzer remains when the worker sees this process end.
        var end = csys_exit()
        for pid in self.children.keys { csys_reap(pid, 5000, &end) }
    }

    private mutating func fork(
        _ child: UInt64, _ limits: ChildLimits, socket: CInt, memory: CInt, error: CInt
    ) throws {
        let parent = getpid()
        let pid = csys_fork()
        switch pid {
        case 0:
            // If the analyzer held the control socket, the worker would not notice the parent's end.
            close(self.control)
            close(self.signals)
            AnalyzerChild.run(
                engine: self.engine, limits: limits, parent: parent, socket: socket, memory: memory, error: error)
        case ..<0:
            let end = ProcessEnd(
                pid: 0, exitStatus: -pid, signal: 0, dumpedCore: false, maxResidentBytes: 0, cpuMicroseconds: 0)
            try ControlMessage.ended(child: child, end: end).send(to: self.control)
        default: self.children[pid] = child
        }
    }

    private mutating func reap() throws {
        var buffer = [UInt8](repeating: 0, count: 1024)
        // wait returns more than its content; it is read so that the descriptor becomes unreadable again.
        _ = buffer.withUnsafeMutableBytes { csys_read_available(self.signals, $0.baseAddress!, $0.count) }
        var end = csys_exit()
        while csys_reap_any(&end) == 1 {
            guard let child = self.children.removeValue(forKey: end.pid) else { continue }
            try ControlMessage.ended(child: child, end: ProcessEnd(end)).send(to: self.control)
        }
    }
}

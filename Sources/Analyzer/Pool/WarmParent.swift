internal import CSystem
internal import Dispatch
internal import Glibc
internal import InspectCore
internal import Synchronization

/// The worker's connection to one running warm parent: asks it to fork and kill, and learns from it which analyzers ended.
final class WarmParent: Sendable {
    let pid: pid_t
    /// How long it took to load the models.
    let loadTime: Duration
    let startedNanoseconds: UInt64
    private let control: FileDescriptor
    private let errors: FileDescriptor
    private let state = Mutex(State())
    /// Reads the parent's messages on a separate thread, since reading blocks.
    private let reader = DispatchQueue(label: "inspectd.analyzer.parent")

    private struct State {
        var nextChild: UInt64 = 1
        var running: [UInt64: ChildEnd] = [:]
        var isAlive = true
        var isRetired = false
        var forks = 0
    }

    private init(pid: pid_t, loadTime: Duration, control: consuming FileDescriptor, errors: consuming FileDescriptor) {
        self.pid = pid
        self.loadTime = loadTime
        self.startedNanoseconds = csys_now_nanoseconds()
        self.control = control
        self.errors = errors
    }

    /// Starts the program and waits until it has loaded its models. Blocks.
    ///
    /// - Parameters:
    ///   - isUnwanted: Called several times a second while it waits; `true` ends the attempt.
    ///   - onEnd: Called once, from another thread, when the process has ended for whatever reason.
    /// - Throws: ``ErrorCode/analyzerUnavailable`` with the end of what the program wrote to stderr, or the error that
    ///   its engine raised.
    static func start(
        _ configuration: AnalyzerConfiguration, isUnwanted: () -> Bool,
        onEnd: @escaping @Sendable (WarmParent, ProcessEnd?) -> Void
    ) throws(InspectError) -> WarmParent {
        do {
            let parent = try self.launch(configuration, isUnwanted)
            parent.reader.async { parent.read(onEnd: onEnd) }
            return parent
        } catch let error as InspectError {
            throw error
        } catch {
            throw InspectError(.analyzerUnavailable, "\(error)")
        }
    }

    private static func launch(_ configuration: AnalyzerConfiguration, _ isUnwanted: () -> Bool) throws -> WarmParent {
        let begun = csys_now_nanoseconds()
        let process = try configuration.forked?.take() ?? self.spawn(configuration, isUnwanted)
        let pid = process.pid
        let control = FileDescriptor(owning: process.control)
        let errors = FileDescriptor(owning: process.errors)

        var tail: [UInt8] = []
        var open = true
        let deadline = begun + configuration.startDeadline.nanoseconds
        var failure = InspectError(.analyzerUnavailable, "the analyzer did not start in time")
        while csys_now_nanoseconds() < deadline, !isUnwanted() {
            let ready = try SystemError.check("poll", csys_wait_input(control.raw, open ? errors.raw : -1, 100))
            if ready & 2 != 0 { open = self.collect(errors.raw, into: &tail) }
            guard ready & 1 != 0 else { continue }
            switch try? ControlMessage.receive(from: control.raw)?.message {
            case .ready(let microseconds):
                return WarmParent(
                    pid: pid, loadTime: .microseconds(Int64(microseconds)), control: control, errors: errors)
            case .failed(let error): failure = error
            default:
                _ = self.collect(errors.raw, into: &tail)
                var end = csys_exit()
                let cause = csys_reap(pid, 1000, &end) == 0 ? ProcessEnd(end).cause : "no exit"
                throw InspectError(
                    .analyzerUnavailable,
                    "the analyzer ended while starting (\(cause)): \(printable(tail, limit: 400))")
            }
            break
        }
        csys_kill(pid)
        var end = csys_exit()
        csys_reap(pid, -1, &end)
        throw failure
    }

    private static func spawn(
        _ configuration: AnalyzerConfiguration, _ isUnwanted: () -> Bool
    ) throws(SystemError) -> ForkedParent.Process {
        var near: CInt = -1
        var far: CInt = -1
        try SystemError.check("socketpair", csys_socket_pair(1, &near, &far))
        let control = near
        let theirControl = FileDescriptor(owning: far)
        do throws(SystemError) {
            try SystemError.check("pipe", csys_pipe_nonblocking(&near, &far))
        } catch {
            close(control)
            throw error
        }
        let errors = near
        let theirErrors = FileDescriptor(owning: far)
        let environment = AnalyzerConfiguration.baseEnvironment.merging(configuration.environment) { $1 }
        do throws(SystemError) {
            let pid = try self.spawn(
                [configuration.executable] + configuration.arguments, environment.map { "\($0)=\($1)" },
                control: theirControl.raw, errors: theirErrors.raw, isUnwanted)
            return ForkedParent.Process(pid: pid, control: control, errors: errors)
        } catch {
            close(control)
            close(errors)
            throw error
        }
    }

    /// How long to wait for a program that is open for writing.
    private static let longestWrite: Duration = .seconds(2)

    private static func spawn(
        _ arguments: [String], _ environment: [String], control: CInt, errors: CInt, _ isUnwanted: () -> Bool
    ) throws(SystemError) -> pid_t {
        let argumentPointers = arguments.map { strdup($0) } + [nil]
        let environmentPointers = environment.map { strdup($0) } + [nil]
        defer {
            argumentPointers.forEach { free($0) }
            environmentPointers.forEach { free($0) }
        }
        var pid: pid_t = 0
        // An upgrade may be writing the program, or another process may have inherited it open for writing until its exec.
        let deadline = csys_now_nanoseconds() + self.longestWrite.nanoseconds
        var result = csys_spawn(arguments[0], argumentPointers, environmentPointers, control, errors, &pid)
        while result == -ETXTBSY, csys_now_nanoseconds() < deadline, !isUnwanted() {
            usleep(20_000)
            result = csys_spawn(arguments[0], argumentPointers, environmentPointers, control, errors, &pid)
        }
        try SystemError.check("posix_spawn", result)
        return pid
    }

    /// Adds the pipe's content; false when the pipe has ended. Only the end of a long text is kept.
    @discardableResult
    static func collect(_ pipe: CInt, into tail: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = buffer.withUnsafeMutableBytes { csys_read_available(pipe, $0.baseAddress!, $0.count) }
            guard count > 0 else { return count != 0 }
            tail = (tail + buffer.prefix(count)).suffix(4096)
        }
    }

    /// Asks for a new analyzer.
    ///
    /// - Returns: Its number and the promise of its end.
    func fork(
        _ limits: ChildLimits, socket: CInt, memory: CInt, errors: CInt
    ) throws(SystemError) -> (child: UInt64, end: ChildEnd) {
        let end = try ChildEnd()
        let child = self.state.withLock { state in
            defer { state.nextChild += 1 }
            if state.isAlive { state.running[state.nextChild] = end } else { end.resolve(nil) }
            state.forks += 1
            return state.nextChild
        }
        do {
            try ControlMessage.fork(child: child, limits: limits)
                .send(to: self.control.raw, descriptors: [socket, memory, errors])
        } catch {
            _ = self.state.withLock { $0.running.removeValue(forKey: child) }
            throw error
        }
        return (child, end)
    }

    /// Asks to kill an analyzer. If the parent cannot be reached, it is killed, and all analyzers with it.
    func kill(_ child: UInt64) {
        do {
            try ControlMessage.kill(child: child).send(to: self.control.raw)
        } catch {
            self.killItself()
        }
    }

    /// Kills the parent; the kernel then kills its analyzers.
    func killItself() {
        // Under the lock: the process is reaped only after `isAlive` is false, so the pid is still its own.
        self.state.withLock { state in
            if state.isAlive { csys_kill(self.pid) }
        }
    }

    /// Closes the control socket for writing; the parent then kills its analyzers and ends.
    func requestStop() { csys_close_for_writing(self.control.raw) }

    /// Ends the parent as soon as its last analyzer has ended.
    func retire() {
        self.state.withLock { state in
            state.isRetired = true
            if state.running.isEmpty { self.requestStop() }
        }
    }

    var isAlive: Bool { self.state.withLock { $0.isAlive } }
    /// How many analyzers were requested.
    var forks: Int { self.state.withLock { $0.forks } }

    private func read(onEnd: @Sendable (WarmParent, ProcessEnd?) -> Void) {
        var tail: [UInt8] = []
        var errorsAreOpen = true
        loop: while true {
            let ready = csys_wait_input(self.control.raw, errorsAreOpen ? self.errors.raw : -1, -1)
            if ready < 0 { break }
            if ready & 2 != 0 { errorsAreOpen = Self.collect(self.errors.raw, into: &tail) }
            guard ready & 1 != 0 else { continue }
            switch try? ControlMessage.receive(from: self.control.raw)?.message {
            case .ended(let child, let end):
                let known = self.state.withLock { state in
                    let known = state.running.removeValue(forKey: child)
                    if state.isRetired, state.running.isEmpty { self.requestStop() }
                    return known
                }
                known?.resolve(end)
            default: break loop
            }
        }
        // The socket ended, so the process has ended or is about to, or sent an invalid message.
        var end = csys_exit()
        var reaped: CInt = 0
        let ended = self.waitForExit(milliseconds: 2000)
        if !ended { self.killItself() }
        let orphans = self.state.withLock { state in
            state.isAlive = false
            defer { state.running = [:] }
            return state.running.values
        }
        reaped = csys_reap(self.pid, -1, &end)
        orphans.forEach { $0.resolve(nil) }
        onEnd(self, reaped == 0 ? ProcessEnd(end) : nil)
    }

    private func waitForExit(milliseconds: CInt) -> Bool { csys_has_exited(self.pid, milliseconds) == 1 }
}

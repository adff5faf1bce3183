internal import CSystem
internal import Glibc
internal import InspectCore

/// The worker's connection to one analyzer process.
final class ChildConnection: Sendable {
    let memory: SharedMemory
    let forkTime: Duration
    let parent: WarmParent
    let pid: pid_t
    private let number: UInt64
    private let end: ChildEnd
    private let socket: FileDescriptor
    private let errors: FileDescriptor

    /// How long a fork may take until the analyzer's first message (usually 5 ms).
    private static let helloNanoseconds: UInt64 = 10_000_000_000

    /// Why there is no new analyzer.
    enum ForkFailure: Error {
        /// The parent is gone or does not answer; a new one may work.
        case parentLost
        case childFailed(InspectError)
    }

    /// Makes the parent fork an analyzer and waits until it is ready. Blocks.
    init(parent: WarmParent, configuration: AnalyzerConfiguration) throws(ForkFailure) {
        let begun = csys_now_nanoseconds()
        self.parent = parent
        do throws(SystemError) {
            var near: CInt = -1
            var far: CInt = -1
            try SystemError.check("socketpair", csys_socket_pair(0, &near, &far))
            self.socket = FileDescriptor(owning: near)
            let theirSocket = FileDescriptor(owning: far)
            try SystemError.check("pipe", csys_pipe_nonblocking(&near, &far))
            self.errors = FileDescriptor(owning: near)
            let theirErrors = FileDescriptor(owning: far)
            self.memory = try SharedMemory(size: configuration.sharedMemory)
            let theirMemory = try self.memory.readOnlyDescriptor()
            let limits = ChildLimits(
                addressSpace: configuration.memoryLimit, cpuSeconds: configuration.cpuSeconds,
                cpuSecondsInAll: configuration.cpuSeconds * AnalyzerConfiguration.stagesOfAnAttempt,
                sharedMemory: UInt64(configuration.sharedMemory), largestFrame: UInt64(configuration.largestFrame))
            (self.number, self.end) = try parent.fork(
                limits, socket: theirSocket.raw, memory: theirMemory.raw, errors: theirErrors.raw)
        } catch  where error.call == "sendmsg" {
            throw .parentLost
        } catch {
            throw .childFailed(InspectError(.analyzerUnavailable, "\(error)"))
        }
        do throws(Frame.Failure) {
            let hello = try Frame.receive(
                from: self.socket.raw, limit: 0, deadlineNanoseconds: begun + Self.helloNanoseconds)
            guard hello.kind == .hello else { throw .garbage }
            self.pid = pid_t(bitPattern: hello.sequence)
        } catch {
            self.forkTime = .zero
            self.pid = 0
            guard case .ended(let end?) = self.kill(after: .milliseconds(100), patience: .seconds(1)) else {
                throw .parentLost
            }
            let what = end.pid == 0 ? "fork failed with errno \(end.exitStatus)" : end.cause
            throw .childFailed(
                InspectError(
                    .analyzerUnavailable, "the analyzer ended while starting (\(what)): \(self.complaint(limit: 300))"))
        }
        self.forkTime = .nanoseconds(Int64(csys_now_nanoseconds() - begun))
    }

    func send(_ frame: Frame, deadlineNanoseconds: UInt64) throws(Frame.Failure) {
        try frame.send(to: self.socket.raw, deadlineNanoseconds: deadlineNanoseconds)
    }

    /// Receives the reply to the request `sequence`.
    func receive(_ sequence: UInt32, limit: Int, deadlineNanoseconds: UInt64) throws(Frame.Failure) -> Frame {
        let frame = try Frame.receive(from: self.socket.raw, limit: limit, deadlineNanoseconds: deadlineNanoseconds)
        guard frame.sequence == sequence else { throw .garbage }
        return frame
    }

    /// Whether the process can take its job. Before that only the end of the stream can have arrived.
    var isIdle: Bool { csys_has_input(self.socket.raw) == 0 }

    /// Asks the parent to kill the process, which closes the socket. May be called from any thread.
    func kill() { self.parent.kill(self.number) }

    /// Asks the parent to kill the process if it does not end within `grace`, and waits until it is gone.
    func kill(after grace: Duration = .zero, patience: Duration) -> ChildEnd.Outcome {
        if case .ended(let end) = self.end.wait(grace) { return .ended(end) }
        self.kill()
        return self.end.wait(patience)
    }

    /// Ends a process in an orderly way by closing its socket. Does not wait.
    func hangUp() { csys_close_for_writing(self.socket.raw) }

    /// Empties the stderr pipe of libraries' messages, so that a crash at the next stage has room for its own.
    func discardComplaints() {
        var tail: [UInt8] = []
        WarmParent.collect(self.errors.raw, into: &tail)
    }

    /// The end of the process's stderr. Not for error messages once it has seen an image.
    func complaint(limit: Int) -> String {
        var tail: [UInt8] = []
        WarmParent.collect(self.errors.raw, into: &tail)
        return printable(tail, limit: limit)
    }

    /// Kills the parent because it did not kill this process when asked.
    func killParent() { self.parent.killItself() }
}

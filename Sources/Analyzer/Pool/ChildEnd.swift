internal import CSystem
internal import Synchronization

/// The promise of how an analyzer ended.
///
/// A pipe that is closed when the end is known: poll uses the kernel's monotonic clock. libdispatch's semaphores use the wall
/// clock, which may be set back by an hour, and would then wait for an hour.
final class ChildEnd: Sendable {
    private struct State: ~Copyable {
        var end: ProcessEnd?
        var open: FileDescriptor?
    }

    private let state: Mutex<State>
    private let reader: FileDescriptor

    init() throws(SystemError) {
        var near: CInt = -1
        var far: CInt = -1
        try SystemError.check("pipe", csys_pipe_nonblocking(&near, &far))
        self.reader = FileDescriptor(owning: near)
        self.state = Mutex(State(end: nil, open: FileDescriptor(owning: far)))
    }

    /// - Parameter end: `nil` if the parent died, so that it is unknown.
    func resolve(_ end: ProcessEnd?) {
        self.state.withLock { state in
            state.end = end
            state.open = nil
        }
    }

    enum Outcome {
        case running
        case ended(ProcessEnd?)
    }

    /// Blocks until the end is known or the time is up.
    func wait(_ time: Duration) -> Outcome {
        let deadline = csys_now_nanoseconds() + time.nanoseconds
        var left: UInt64
        repeat {
            let now = csys_now_nanoseconds()
            left = now < deadline ? (deadline - now + 999_999) / 1_000_000 : 0
            // Signals interrupt poll.
            if csys_wait_input(self.reader.raw, -1, CInt(clamping: left)) > 0 {
                return .ended(self.state.withLock { $0.end })
            }
        } while left > 0
        return .running
    }
}

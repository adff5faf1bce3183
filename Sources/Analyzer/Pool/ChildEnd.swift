internal import Dispatch
internal import Synchronization

/// The promise of how an analyzer ended.
final class ChildEnd: Sendable {
    private let end = Mutex<ProcessEnd?>(nil)
    private let resolved = DispatchSemaphore(value: 0)

    /// - Parameter end: `nil` if the parent died, so that nobody knows.
    func resolve(_ end: ProcessEnd?) {
        self.end.withLock { $0 = end }
        self.resolved.signal()
    }

    enum Outcome {
        case running
        case ended(ProcessEnd?)
    }

    /// Blocks until the end is known, or the time is up.
    func wait(_ time: Duration) -> Outcome {
        let deadline = DispatchTime(uptimeNanoseconds: DispatchTime.now().uptimeNanoseconds + time.nanoseconds)
        guard self.resolved.wait(timeout: deadline) == .success else { return .running }
        self.resolved.signal()  // for whoever asks again
        return .ended(self.end.withLock { $0 })
    }
}

import Synchronization

/// A stop that may be requested before anybody waits for it; a second signal ends the process directly.
final class StopOnce: Sendable {
    private struct State {
        var isRequested = false
        var waiting: CheckedContinuation<Void, Never>?
        var action: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func request() {
        let (waiting, action) = self.state.withLock { state in
            state.isRequested = true
            defer { (state.waiting, state.action) = (nil, nil) }
            return (state.waiting, state.action)
        }
        action?()
        waiting?.resume()
    }

    /// Does something on request, or at once if the request was made before.
    func atRequest(_ action: @escaping @Sendable () -> Void) {
        let isRequested = self.state.withLock { state in
            if !state.isRequested { state.action = action }
            return state.isRequested
        }
        if isRequested { action() }
    }

    func requested() async {
        await withCheckedContinuation { continuation in
            let isRequested = self.state.withLock { state in
                if !state.isRequested { state.waiting = continuation }
                return state.isRequested
            }
            if isRequested { continuation.resume() }
        }
    }
}

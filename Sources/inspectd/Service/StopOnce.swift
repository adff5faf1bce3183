import Synchronization

/// A stop that may be requested before anybody waits for it; a second signal ends the process by itself.
final class StopOnce: Sendable {
    private struct State {
        var isRequested = false
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    func request() {
        let waiting = self.state.withLock { state in
            state.isRequested = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
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

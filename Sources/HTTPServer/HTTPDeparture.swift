internal import Synchronization

/// Notifies the work on a request that its client has left, so that it stops waiting. The client may still read: one that
/// only stopped sending gets the answer, without the wait.
package final class HTTPDeparture: Sendable {
    /// Of the client whose request the task answers.
    @TaskLocal package static var current: HTTPDeparture?

    private struct State {
        var hasLeft = false
        var notify: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    /// Has a closure called when the client leaves, at once if it has left; `nil` removes it. It runs on the server's
    /// thread and must not block.
    package func notify(_ notify: (@Sendable () -> Void)?) {
        let hasLeft = self.state.withLock { state in
            state.notify = state.hasLeft ? nil : notify
            return state.hasLeft
        }
        if hasLeft { notify?() }
    }

    /// Reports that the client has left; the closure is called once.
    package func leave() {
        let notify = self.state.withLock { state in
            defer { state.notify = nil }
            state.hasLeft = true
            return state.notify
        }
        notify?()
    }
}

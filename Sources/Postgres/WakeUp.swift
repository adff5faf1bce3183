internal import Dispatch
internal import InspectCore
internal import Synchronization

/// Wakes one waiting task; a wake-up without a waiting task is kept.
package final class WakeUp: Sendable {
    private struct State {
        var isSet = false
        var generation = 0
        var waiting: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())
    private static let timers = DispatchQueue(label: "inspectd.wake-up")

    package init() {}

    /// Ends the wait, or the next one if no task waits.
    package func notify() {
        let waiting = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard let waiting = state.waiting else {
                state.isSet = true
                return nil
            }
            state.waiting = nil
            return waiting
        }
        waiting?.resume()
    }

    /// Waits for a wake-up, or until the time is over. Only one task may wait at a time.
    package func wait(timeout: Duration) async {
        guard timeout > .zero else {
            self.state.withLock { $0.isSet = false }
            return
        }
        await withCheckedContinuation { continuation in
            let generation = self.state.withLock { state -> Int? in
                if state.isSet {
                    state.isSet = false
                    return nil
                }
                precondition(state.waiting == nil, "two tasks wait for one wake-up")
                state.generation += 1
                state.waiting = continuation
                return state.generation
            }
            guard let generation else { return continuation.resume() }
            Self.timers.asyncAfter(deadline: .now() + timeout.seconds) {
                let waiting = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
                    guard state.generation == generation else { return nil }
                    defer { state.waiting = nil }
                    return state.waiting
                }
                waiting?.resume()
            }
        }
    }
}

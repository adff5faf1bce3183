internal import Synchronization

/// Admits a limited number at once. Waiting callers are admitted in turn, one of each name, so that one name's backlog
/// delays no other.
final class FairGate: Sendable {
    struct State {
        var free: Int
        var waiting: [String: [CheckedContinuation<Void, Never>]] = [:]
        /// Names that wait, the next one first.
        var turns: [String] = []
    }

    let state: Mutex<State>

    init(_ limit: Int) { self.state = Mutex(State(free: limit)) }

    func run<Result>(_ name: String, _ body: () async throws -> Result) async rethrows -> Result {
        await self.enter(name)
        defer { self.leave() }
        return try await body()
    }

    private func enter(_ name: String) async {
        await withCheckedContinuation { continuation in
            let isFree = self.state.withLock { state in
                if state.free > 0 {
                    state.free -= 1
                    return true
                }
                if state.waiting[name] == nil { state.turns.append(name) }
                state.waiting[name, default: []].append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next = self.state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.turns.isEmpty else {
                state.free += 1
                return nil
            }
            let name = state.turns.removeFirst()
            let continuation = state.waiting[name]?.removeFirst()
            if state.waiting[name]?.isEmpty == false { state.turns.append(name) } else { state.waiting[name] = nil }
            return continuation
        }
        next?.resume()
    }
}

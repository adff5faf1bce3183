internal import InspectCore
internal import Synchronization

/// Fetches single keys for many callers: those that ask while a statement is under way share the next one.
final class KeyLoader: Sendable {
    typealias Answer = Result<CustodyKey, InspectError>

    private struct State {
        var waiting: [KeyID: [CheckedContinuation<Answer, Never>]] = [:]
        var isFetching = false
    }

    /// Keys in one statement.
    private static let batch = 500
    private let state = Mutex(State())

    /// - Parameter fetch: One call at a time.
    func key(_ id: KeyID, _ fetch: @escaping @Sendable ([KeyID]) async -> [KeyID: Answer]) async -> Answer {
        await withCheckedContinuation { continuation in
            let begins = self.state.withLock { state in
                state.waiting[id, default: []].append(continuation)
                defer { state.isFetching = true }
                return !state.isFetching
            }
            if begins { Task { await self.work(fetch) } }
        }
    }

    private func work(_ fetch: @Sendable ([KeyID]) async -> [KeyID: Answer]) async {
        while true {
            let callers = self.state.withLock { state in
                let ids = state.waiting.keys.prefix(Self.batch)
                let callers = Dictionary(uniqueKeysWithValues: ids.map { ($0, state.waiting[$0] ?? []) })
                for id in callers.keys { state.waiting[id] = nil }
                if callers.isEmpty { state.isFetching = false }
                return callers
            }
            if callers.isEmpty { return }
            let answers = await fetch(Array(callers.keys))
            for (id, continuations) in callers {
                let answer = answers[id] ?? .failure(InspectError(.keyUnknown))
                for continuation in continuations { continuation.resume(returning: answer) }
            }
        }
    }
}

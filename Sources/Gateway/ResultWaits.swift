internal import Foundation
internal import InspectCore
internal import Synchronization

/// Clients that wait for a job's end. However many they are, one statement at a time asks for all of them.
final class ResultWaits: Sendable {
    /// Between two looks at least; a look that takes long is followed by a longer pause, so that waiting takes a tenth of one
    /// connection's time at most.
    private static let pause = Duration.milliseconds(100)

    private struct State {
        var waiters: [Int64: [UUID: CheckedContinuation<Bool, Never>]] = [:]
        var isLooking = false
        var isClosed = false
    }

    private let store: any GatewayStore
    private let state = Mutex(State())

    init(_ store: any GatewayStore) { self.store = store }

    /// Clients that wait.
    var count: Int { self.state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// Waits until a job is finished.
    ///
    /// - Returns: False if it was not by then, or if the gateway stops.
    func wait(for job: Int64, within limit: Duration) async -> Bool {
        let token = UUID()
        let timer = Task {
            try await Task.sleep(for: limit)
            self.end(job, token, isFinished: false)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let starts = self.state.withLock { state -> Bool? in
                if state.isClosed { return nil }
                state.waiters[job, default: [:]][token] = continuation
                defer { state.isLooking = true }
                return !state.isLooking
            }
            guard let starts else { return continuation.resume(returning: false) }
            if starts { Task { await self.look() } }
        }
    }

    /// Ends every wait; from now on nobody waits.
    func close() {
        let ended = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values.flatMap(\.values)
        }
        for continuation in ended { continuation.resume(returning: false) }
    }

    private func end(_ job: Int64, _ token: UUID, isFinished: Bool) {
        let continuation = self.state.withLock { state in
            let found = state.waiters[job]?.removeValue(forKey: token)
            if state.waiters[job]?.isEmpty == true { state.waiters[job] = nil }
            return found
        }
        continuation?.resume(returning: isFinished)
    }

    /// Looks until nobody waits any more.
    private func look() async {
        while true {
            let jobs = self.state.withLock { state -> [Int64] in
                if state.waiters.isEmpty { state.isLooking = false }
                return Array(state.waiters.keys)
            }
            if jobs.isEmpty { return }
            let start = ContinuousClock.now
            // A database that does not answer for a while is no reason to end the waits: the job goes on.
            let finished = (try? await self.store.finished(jobs)) ?? []
            let ended = self.state.withLock { state in
                finished.flatMap { state.waiters.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
            }
            for continuation in ended { continuation.resume(returning: true) }
            try? await Task.sleep(for: max(Self.pause, (ContinuousClock.now - start) * 9))
        }
    }
}

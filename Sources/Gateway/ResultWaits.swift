internal import Foundation
internal import InspectCore
internal import Synchronization

/// Clients that wait for a job's end. One statement at a time polls for all of them.
final class ResultWaits: Sendable {
    /// Shortest interval between two polls. A slow poll is followed by a longer pause, so that polling takes at most a
    /// tenth of one connection's time.
    private static let pause = Duration.milliseconds(100)

    private struct Waiter {
        var partner: String
        /// Whether the answer to a session's blob ends it, while the job goes on.
        var endsWithAnswer: Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [Int64: [UUID: Waiter]] = [:]
        /// How many of them each partner has.
        var partners: [String: Int] = [:]
        var isPolling = false
        var isClosed = false
    }

    private let store: GatewayStore
    private let perPartner: Int
    private let state = Mutex(State())

    init(_ store: GatewayStore, perPartner: Int) {
        self.store = store
        self.perPartner = perPartner
    }

    /// Whether a further client of a partner may wait.
    func hasRoom(for partner: String) -> Bool {
        self.state.withLock { $0.partners[partner] ?? 0 < self.perPartner }
    }

    /// Clients that wait.
    var count: Int { self.state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// Waits until a job is finished.
    ///
    /// - Parameter endsWithAnswer: Or until its session waits for the next blob.
    /// - Returns: False if it is unfinished by then, if the gateway stops, or at once if too many of the partner's clients
    ///   wait.
    func wait(
        for job: Int64, within limit: Duration, partner: String, endsWithAnswer: Bool = false
    ) async -> Bool {
        let token = UUID()
        let timer = Task {
            try await Task.sleep(for: limit)
            self.end(job, token, isFinished: false)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let starts = self.state.withLock { state -> Bool? in
                if state.isClosed || state.partners[partner] ?? 0 >= self.perPartner { return nil }
                state.partners[partner, default: 0] += 1
                state.waiters[job, default: [:]][token] = Waiter(
                    partner: partner, endsWithAnswer: endsWithAnswer, continuation: continuation)
                defer { state.isPolling = true }
                return !state.isPolling
            }
            guard let starts else { return continuation.resume(returning: false) }
            if starts { Task { await self.poll() } }
        }
    }

    /// Ends every wait and refuses new ones.
    func close() {
        let ended = self.state.withLock { state in
            state.isClosed = true
            defer {
                state.waiters = [:]
                state.partners = [:]
            }
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in ended { waiter.continuation.resume(returning: false) }
    }

    private func end(_ job: Int64, _ token: UUID, isFinished: Bool) {
        let waiter = self.state.withLock { state in
            let found = state.waiters[job]?.removeValue(forKey: token)
            if state.waiters[job]?.isEmpty == true { state.waiters[job] = nil }
            if let found { Self.leave(&state, [found]) }
            return found
        }
        waiter?.continuation.resume(returning: isFinished)
    }

    private static func leave(_ state: inout State, _ waiters: [Waiter]) {
        for waiter in waiters {
            let left = (state.partners[waiter.partner] ?? 0) - 1
            state.partners[waiter.partner] = left > 0 ? left : nil
        }
    }

    /// Polls until no client waits.
    private func poll() async {
        while true {
            let (jobs, sessions) = self.state.withLock { state -> ([Int64], [Int64]) in
                if state.waiters.isEmpty { state.isPolling = false }
                let sessions = state.waiters.filter { $1.values.contains(where: \.endsWithAnswer) }
                return (Array(state.waiters.keys), Array(sessions.keys))
            }
            if jobs.isEmpty { return }
            let start = ContinuousClock.now
            // An unavailable database does not end the waits: the job continues.
            let finished = (try? await self.store.finished(jobs)) ?? []
            let answered = sessions.isEmpty ? [] : (try? await self.store.answered(sessions)) ?? []
            let ended = self.state.withLock { state in
                var ended = finished.flatMap { state.waiters.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
                for job in answered {
                    let others = state.waiters[job]?.filter { !$1.endsWithAnswer } ?? [:]
                    ended += state.waiters[job]?.values.filter(\.endsWithAnswer) ?? []
                    state.waiters[job] = others.isEmpty ? nil : others
                }
                Self.leave(&state, ended)
                return ended
            }
            for waiter in ended { waiter.continuation.resume(returning: true) }
            try? await Task.sleep(for: max(Self.pause, (ContinuousClock.now - start) * 9))
        }
    }
}

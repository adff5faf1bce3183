internal import Foundation
internal import HTTPServer
internal import Synchronization

/// Clients that wait for something in the database: a job's end, an event. One statement at a time asks for all of them.
///
/// What was found for a subject stays true, so a client that begins to wait later is answered as well.
final class Waits<Subject: Hashable & Sendable>: Sendable {
    private struct Waiter {
        var partner: String
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [Subject: [UUID: Waiter]] = [:]
        /// How many of them each partner has.
        var partners: [String: Int] = [:]
        var isPolling = false
        var isClosed = false

        /// Removes waiters who are about to be answered.
        mutating func leave(_ waiters: some Sequence<Waiter>) {
            for waiter in waiters {
                let left = (self.partners[waiter.partner] ?? 0) - 1
                self.partners[waiter.partner] = left > 0 ? left : nil
            }
        }
    }

    private let perPartner: Int
    /// Shortest interval between two statements. A slow one is followed by a longer pause, so that they take at most a tenth
    /// of one connection's time.
    private let pause: Duration
    private let signal: EventSignal?
    private let find: @Sendable ([Subject]) async throws -> [Subject]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - signal: Tells when to ask again; `nil`: after each pause.
    ///   - find: Those of the subjects whose clients need wait no longer.
    init(
        perPartner: Int, pause: Duration, signal: EventSignal? = nil,
        find: @escaping @Sendable ([Subject]) async throws -> [Subject]
    ) {
        self.perPartner = perPartner
        self.pause = pause
        self.signal = signal
        self.find = find
    }

    /// Whether a further client of a partner may wait.
    func hasRoom(for partner: String) -> Bool {
        self.state.withLock { $0.partners[partner] ?? 0 < self.perPartner }
    }

    /// Clients that wait.
    var count: Int { self.state.withLock { $0.waiters.values.reduce(0) { $0 + $1.count } } }

    /// Waits until a subject is found.
    ///
    /// - Returns: False if it is not found by then, if the gateway stops or the client leaves, or at once if too many of the
    ///   partner's clients wait.
    func wait(for subject: Subject, within limit: Duration, partner: String) async -> Bool {
        let token = UUID()
        let timer = Task {
            try await Task.sleep(for: limit)
            self.end(subject, token)
        }
        let departure = HTTPDeparture.current
        defer {
            timer.cancel()
            departure?.notify(nil)
        }
        return await withCheckedContinuation { continuation in
            let starts = self.state.withLock { state -> Bool? in
                if state.isClosed || state.partners[partner] ?? 0 >= self.perPartner { return nil }
                state.partners[partner, default: 0] += 1
                state.waiters[subject, default: [:]][token] = Waiter(partner: partner, continuation: continuation)
                self.signal?.start()
                defer { state.isPolling = true }
                return !state.isPolling
            }
            guard let starts else { return continuation.resume(returning: false) }
            // What happened since the client last asked is found at once.
            if starts { Task { await self.poll() } } else { self.signal?.notify() }
            departure?.notify { self.end(subject, token) }
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
        self.signal?.close()
    }

    /// Ends one wait, whose time is over or whose client has left.
    private func end(_ subject: Subject, _ token: UUID) {
        let waiter = self.state.withLock { state in
            let waiter = state.waiters[subject]?.removeValue(forKey: token)
            if state.waiters[subject]?.isEmpty == true { state.waiters[subject] = nil }
            if let waiter { state.leave([waiter]) }
            return waiter
        }
        waiter?.continuation.resume(returning: false)
    }

    /// Polls until no client waits.
    private func poll() async {
        while true {
            let subjects = self.state.withLock { state -> [Subject] in
                if state.waiters.isEmpty { state.isPolling = false }
                return Array(state.waiters.keys)
            }
            if subjects.isEmpty { return }
            let start = ContinuousClock.now
            // An unavailable database does not end the waits: jobs continue, and events come.
            let found = (try? await self.find(subjects)) ?? []
            let ended = self.state.withLock { state in
                let ended = found.flatMap { state.waiters.removeValue(forKey: $0)?.values.map { $0 } ?? [] }
                state.leave(ended)
                return ended
            }
            for waiter in ended { waiter.continuation.resume(returning: true) }
            try? await Task.sleep(for: max(self.pause, (ContinuousClock.now - start) * 9))
            await self.signal?.wait()
        }
    }
}

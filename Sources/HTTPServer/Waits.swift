internal import Synchronization

/// Clients that wait for something in the database: a job's end, an event, a change. However many wait, one statement at a time
/// asks for all of them; while none waits, none is sent.
///
/// What was found for a subject stays true, so a client that begins to wait later is answered as well.
package final class Waits<Subject: Hashable & Sendable, Answer: Sendable>: Sendable {
    /// How a wait ends.
    package enum Outcome: Sendable {
        /// What the client waited for has come.
        case found(Answer)
        /// The time is over, the server stops, or the client has left.
        case over
        /// The owner has so many newer clients that this one gives way.
        case yielded
        /// Too many clients wait.
        case full
    }

    private struct Waiter {
        var owner: String
        var accepts: @Sendable (Answer) -> Bool
        var continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        /// By their numbers, which rise with each wait.
        var waiters: [Subject: [Int: Waiter]] = [:]
        /// What each owner's clients wait for.
        var owners: [String: [Int: Subject]] = [:]
        var begun = 0
        var isPolling = false
        var isClosed = false

        var count: Int { self.owners.values.reduce(0) { $0 + $1.count } }

        /// Removes a client that is about to be answered.
        mutating func remove(_ number: Int, _ subject: Subject) -> CheckedContinuation<Outcome, Never>? {
            guard let waiter = self.waiters[subject]?.removeValue(forKey: number) else { return nil }
            if self.waiters[subject]?.isEmpty == true { self.waiters[subject] = nil }
            self.owners[waiter.owner]?[number] = nil
            if self.owners[waiter.owner]?.isEmpty == true { self.owners[waiter.owner] = nil }
            return waiter.continuation
        }
    }

    private let limit: Int
    private let perOwner: Int
    private let oldestYields: Bool
    private let begins: @Sendable (Bool) -> Void
    private let pause: @Sendable (Duration) async -> Void
    private let find: @Sendable ([Subject]) async throws -> [(Subject, Answer)]
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: Most clients that wait at once.
    ///   - perOwner: Most of them that belong to one partner or person.
    ///   - oldestYields: Whether a further client of an owner takes the oldest one's place, instead of being refused.
    ///   - begins: Called when a client begins to wait, with whether the statements begin with it. It runs under a lock and must not block.
    ///   - pause: Waits until the next statement may be sent, after one that took so long.
    ///   - find: What has come, of these subjects. An error ends no wait: the database will be available again.
    package init(
        limit: Int = .max, perOwner: Int, oldestYields: Bool = false,
        begins: @escaping @Sendable (_ isFirst: Bool) -> Void = { _ in },
        pause: @escaping @Sendable (Duration) async -> Void,
        find: @escaping @Sendable ([Subject]) async throws -> [(Subject, Answer)]
    ) {
        self.limit = limit
        self.perOwner = perOwner
        self.oldestYields = oldestYields
        self.begins = begins
        self.pause = pause
        self.find = find
    }

    /// Whether an owner has fewer clients that wait than it may have.
    package func hasRoom(for owner: String) -> Bool {
        self.state.withLock { $0.owners[owner]?.count ?? 0 < self.perOwner }
    }

    /// Clients that wait.
    package var count: Int { self.state.withLock { $0.count } }

    /// Waits until something is found for a subject.
    ///
    /// - Parameter accepts: Whether what was found ends the wait. It runs under a lock and must not block.
    package func wait(
        for subject: Subject, within time: Duration, owner: String,
        until accepts: @escaping @Sendable (Answer) -> Bool = { _ in true }
    ) async -> Outcome {
        let number = self.state.withLock { state in
            state.begun += 1
            return state.begun
        }
        let timer = Task {
            try await Task.sleep(for: time)
            self.end(number, subject)
        }
        let departure = HTTPDeparture.current
        defer {
            timer.cancel()
            departure?.notify(nil)
        }
        return await withCheckedContinuation { continuation in
            let (refusal, oldest) = self.state.withLock { state -> (Outcome?, CheckedContinuation<Outcome, Never>?) in
                if state.isClosed { return (.over, nil) }
                var oldest: CheckedContinuation<Outcome, Never>?
                if state.owners[owner]?.count ?? 0 >= self.perOwner {
                    guard self.oldestYields, let first = state.owners[owner]?.min(by: { $0.key < $1.key }) else {
                        return (.full, nil)
                    }
                    oldest = state.remove(first.key, first.value)
                } else if state.count >= self.limit {
                    return (.full, nil)
                }
                state.owners[owner, default: [:]][number] = subject
                state.waiters[subject, default: [:]][number] = Waiter(
                    owner: owner, accepts: accepts, continuation: continuation)
                self.begins(!state.isPolling)
                if !state.isPolling {
                    state.isPolling = true
                    Task { await self.poll() }
                }
                return (nil, oldest)
            }
            oldest?.resume(returning: .yielded)
            if let refusal { return continuation.resume(returning: refusal) }
            departure?.notify { self.end(number, subject) }
        }
    }

    /// Ends every wait and refuses new ones.
    package func close() {
        let ended = self.state.withLock { state in
            state.isClosed = true
            defer { (state.waiters, state.owners) = ([:], [:]) }
            return state.waiters.values.flatMap(\.values)
        }
        for waiter in ended { waiter.continuation.resume(returning: .over) }
    }

    /// Ends one wait, whose time is over or whose client has left.
    private func end(_ number: Int, _ subject: Subject) {
        self.state.withLock { $0.remove(number, subject) }?.resume(returning: .over)
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
            for (subject, answer) in (try? await self.find(subjects)) ?? [] {
                let ended = self.state.withLock { state in
                    (state.waiters[subject] ?? [:]).filter { $0.value.accepts(answer) }.keys.compactMap {
                        state.remove($0, subject)
                    }
                }
                for continuation in ended { continuation.resume(returning: .found(answer)) }
            }
            await self.pause(ContinuousClock.now - start)
        }
    }
}

extension Waits.Outcome: Equatable where Answer: Equatable {}

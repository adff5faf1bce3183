internal import Foundation
internal import HTTPServer
internal import Synchronization

/// What a page shows that may change while it is open.
enum LiveSubject: Hashable, Sendable {
    /// The cases that the person may review.
    case cases
    case queue
    /// Samples of the queue.
    case plots
    /// Actions on selections.
    case tasks
    /// One case.
    case job(String)

    /// As the database knows it.
    var name: String {
        switch self {
        case .cases: "cases"
        case .queue: "queue"
        case .plots: "plots"
        case .tasks: "tasks"
        case .job(let id): id
        }
    }
}

/// An open page: whose, and of what.
struct LivePage: Hashable, Sendable {
    /// Digest of the session's cookie; the database answers what that session may see.
    var session: Data
    var subject: LiveSubject
}

/// Wakes open pages. However many wait, one statement a second asks for all of them; while none waits, none is sent.
final class LiveSignal: Sendable {
    enum Outcome: Equatable, Sendable {
        case changed(String)
        case unchanged
        /// The session has ended, or may see this no more.
        case ended
        /// The person has opened so many others since that this page gives way.
        case yielded
        /// Too many pages wait.
        case full
    }

    private struct Waiter {
        var page: LivePage
        /// The stamp that the page knows; `nil`: none yet.
        var known: String?
        var person: String
        /// Rises with each wait.
        var number: Int
        var continuation: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        var waiters: [UUID: Waiter] = [:]
        var begun = 0
        var isPolling = false
        var isClosed = false
    }

    private let limit: Int
    private let perPerson: Int
    private let pause: Duration
    private let stamps: @Sendable ([LivePage]) async throws -> [LivePage: String]
    private let state = Mutex(State())

    /// - Parameter perPerson: Fewer than the six connections that a browser opens to one host.
    init(
        limit: Int = 500, perPerson: Int = 4, pause: Duration = .seconds(1),
        stamps: @escaping @Sendable ([LivePage]) async throws -> [LivePage: String]
    ) {
        self.limit = limit
        self.perPerson = perPerson
        self.pause = pause
        self.stamps = stamps
    }

    /// Pages that wait.
    var count: Int { self.state.withLock { $0.waiters.count } }

    /// Waits until a page's subject has another stamp than the page knows; at once if it knows none.
    func wait(for page: LivePage, since known: String?, person: String, within time: Duration) async -> Outcome {
        let token = UUID()
        let timer = Task {
            try await Task.sleep(for: time)
            self.end(token)
        }
        let departure = HTTPDeparture.current
        defer {
            timer.cancel()
            departure?.notify(nil)
        }
        return await withCheckedContinuation { continuation in
            let (refusal, oldest) = self.state.withLock { state -> (Outcome?, Waiter?) in
                if state.isClosed { return (.unchanged, nil) }
                let own = state.waiters.filter { $0.value.person == person }
                var oldest: Waiter?
                if own.count >= self.perPerson, let token = own.min(by: { $0.value.number < $1.value.number })?.key {
                    oldest = state.waiters.removeValue(forKey: token)
                } else if state.waiters.count >= self.limit {
                    return (.full, nil)
                }
                state.begun += 1
                state.waiters[token] = Waiter(
                    page: page, known: known, person: person, number: state.begun, continuation: continuation)
                if !state.isPolling {
                    state.isPolling = true
                    Task { await self.poll() }
                }
                return (nil, oldest)
            }
            oldest?.continuation.resume(returning: .yielded)
            if let refusal { return continuation.resume(returning: refusal) }
            departure?.notify { self.end(token) }
        }
    }

    /// Ends every wait, and lets nobody wait again.
    func close() {
        let ended = self.state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
        for continuation in ended { continuation.resume(returning: .unchanged) }
    }

    private func end(_ token: UUID) {
        let waiter = self.state.withLock { $0.waiters.removeValue(forKey: token) }
        waiter?.continuation.resume(returning: .unchanged)
    }

    /// Asks until nobody waits.
    private func poll() async {
        while true {
            let pages = self.state.withLock { state -> Set<LivePage> in
                if state.waiters.isEmpty { state.isPolling = false }
                return Set(state.waiters.values.map(\.page))
            }
            if pages.isEmpty { return }
            // A database that does not answer ends no wait.
            if let stamps = try? await self.stamps(Array(pages)) {
                let over = self.state.withLock { state in
                    state.waiters.compactMap { token, waiter -> (CheckedContinuation<Outcome, Never>, Outcome)? in
                        guard pages.contains(waiter.page) else { return nil }
                        let stamp = stamps[waiter.page]
                        guard stamp == nil || stamp != waiter.known else { return nil }
                        state.waiters[token] = nil
                        return (waiter.continuation, stamp.map(Outcome.changed) ?? .ended)
                    }
                }
                for (continuation, outcome) in over { continuation.resume(returning: outcome) }
            }
            try? await Task.sleep(for: self.pause)
        }
    }
}

internal import Foundation
internal import HTTPServer
internal import Synchronization

/// What a page shows that may change while it is open.
enum LiveSubject: Hashable, Sendable {
    /// The cases of these partners; `nil`: of every partner.
    case cases([String]?)
    case queue
    /// Samples of the queue.
    case plots
    /// One case.
    case job(String)

    /// What the stamps say about it; equal as long as nothing has changed.
    fileprivate func stamp(_ stamps: [String: String]) -> String {
        switch self {
        case .queue: return stamps["queue"] ?? ""
        case .plots: return stamps["plots"] ?? ""
        case .job(let id): return stamps[id] ?? ""
        case .cases(let partners):
            let prefix = "cases "
            let known = partners.map(Set.init)
            let own = stamps.filter { name, _ in
                name.hasPrefix(prefix) && known?.contains(String(name.dropFirst(prefix.count))) != false
            }
            // FNV-1a: another console before the same database answers with the same stamp.
            var hash: UInt64 = 0xcbf2_9ce4_8422_2325
            for (name, stamp) in own.sorted(by: { $0.key < $1.key }) {
                for byte in "\(name) \(stamp)\n".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
            }
            return String(hash, radix: 16)
        }
    }
}

/// Wakes open pages. However many wait, one statement a second asks for all of them; while none waits, none is sent.
final class LiveSignal: Sendable {
    enum Outcome: Equatable, Sendable {
        case changed(String)
        case unchanged
        /// The person has opened so many others since that this page gives way.
        case ended
        /// Too many pages wait.
        case full
    }

    private struct Waiter {
        var subject: LiveSubject
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
    private let stamps: @Sendable (_ cases: Bool, _ jobs: [String]) async throws -> [String: String]
    private let state = Mutex(State())

    /// - Parameter perPerson: Fewer than the six connections that a browser opens to one host.
    init(
        limit: Int = 500, perPerson: Int = 4, pause: Duration = .seconds(1),
        stamps: @escaping @Sendable (_ cases: Bool, _ jobs: [String]) async throws -> [String: String]
    ) {
        self.limit = limit
        self.perPerson = perPerson
        self.pause = pause
        self.stamps = stamps
    }

    /// Pages that wait.
    var count: Int { self.state.withLock { $0.waiters.count } }

    /// Waits until a subject has another stamp than the page knows; at once if the page knows none.
    func wait(for subject: LiveSubject, since known: String?, person: String, within time: Duration) async -> Outcome {
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
                    subject: subject, known: known, person: person, number: state.begun, continuation: continuation)
                if !state.isPolling {
                    state.isPolling = true
                    Task { await self.poll() }
                }
                return (nil, oldest)
            }
            oldest?.continuation.resume(returning: .ended)
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
            let subjects = self.state.withLock { state -> Set<LiveSubject> in
                if state.waiters.isEmpty { state.isPolling = false }
                return Set(state.waiters.values.map(\.subject))
            }
            if subjects.isEmpty { return }
            let jobs = subjects.compactMap { if case .job(let id) = $0 { id } else { nil } }
            let cases = subjects.contains { if case .cases = $0 { true } else { false } }
            // A database that does not answer ends no wait.
            if let stamps = try? await self.stamps(cases, jobs) {
                let changed = self.state.withLock { state in
                    let changed = state.waiters.compactMap {
                        token, waiter -> (CheckedContinuation<Outcome, Never>, String)? in
                        guard subjects.contains(waiter.subject) else { return nil }
                        let stamp = waiter.subject.stamp(stamps)
                        guard stamp != waiter.known else { return nil }
                        state.waiters[token] = nil
                        return (waiter.continuation, stamp)
                    }
                    return changed
                }
                for (continuation, stamp) in changed { continuation.resume(returning: .changed(stamp)) }
            }
            try? await Task.sleep(for: self.pause)
        }
    }
}

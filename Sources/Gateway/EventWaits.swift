internal import Callbacks
internal import Foundation
internal import Postgres
internal import Synchronization

/// Clients that wait for an event. A notification wakes one statement for all of them; polling finds what was notified to nobody.
final class EventWaits: Sendable {
    /// Shortest interval between two statements. A slow one is followed by a longer pause, as in ``ResultWaits``.
    private static let pause = Duration.milliseconds(20)
    private static let poll = Duration.seconds(1)
    /// Without a connection for notifications.
    private static let deafPoll = Duration.milliseconds(250)

    private struct Waiter {
        var partner: String
        var place: EventPage.Place
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var waiters: [UUID: Waiter] = [:]
        /// How many of them each partner has.
        var partners: [String: Int] = [:]
        var isPolling = false
        var isClosed = false
        /// Listens from the first wait on.
        var listener: Task<Void, Never>?
        var isListening = false
    }

    private let store: GatewayStore
    private let perPartner: Int
    private let wakeUp = WakeUp()
    private let state = Mutex(State())

    init(_ store: GatewayStore, perPartner: Int) {
        self.store = store
        self.perPartner = perPartner
    }

    /// Clients that wait.
    var count: Int { self.state.withLock { $0.waiters.count } }

    /// Waits until there is an event after a place.
    ///
    /// - Returns: False if there is none by then, if the gateway stops, or at once if too many of the partner's clients wait.
    func wait(after place: EventPage.Place, within limit: Duration, partner: String) async -> Bool {
        let token = UUID()
        let timer = Task {
            try await Task.sleep(for: limit)
            self.end([token], hasEvents: false)
        }
        defer { timer.cancel() }
        return await withCheckedContinuation { continuation in
            let starts = self.state.withLock { state -> Bool? in
                if state.isClosed || state.partners[partner] ?? 0 >= self.perPartner { return nil }
                state.partners[partner, default: 0] += 1
                state.waiters[token] = Waiter(partner: partner, place: place, continuation: continuation)
                if state.listener == nil { state.listener = Task { await self.listen() } }
                defer { state.isPolling = true }
                return !state.isPolling
            }
            guard let starts else { return continuation.resume(returning: false) }
            // What was written since the client's page was read is found at once.
            if starts { Task { await self.run() } } else { self.wakeUp.notify() }
        }
    }

    /// Ends every wait and refuses new ones.
    func close() {
        let (tokens, listener) = self.state.withLock { state in
            state.isClosed = true
            return (Array(state.waiters.keys), state.listener)
        }
        listener?.cancel()
        self.end(tokens, hasEvents: false)
        self.wakeUp.notify()
    }

    private func end(_ tokens: [UUID], hasEvents: Bool) {
        let ended = self.state.withLock { state in
            let ended = tokens.compactMap { state.waiters.removeValue(forKey: $0) }
            for waiter in ended {
                let left = (state.partners[waiter.partner] ?? 0) - 1
                state.partners[waiter.partner] = left > 0 ? left : nil
            }
            return ended
        }
        for waiter in ended { waiter.continuation.resume(returning: hasEvents) }
    }

    /// Looks for events until no client waits.
    private func run() async {
        while true {
            let (waiters, isListening) = self.state.withLock { state in
                if state.waiters.isEmpty { state.isPolling = false }
                return (state.waiters.map { (token: $0.key, place: $0.value.place) }, state.isListening)
            }
            if waiters.isEmpty { return }
            let start = ContinuousClock.now
            // An unavailable database does not end the waits.
            let found = (try? await self.store.pulls(waiters.map(\.place))) ?? []
            self.end(found.filter(waiters.indices.contains).map { waiters[$0].token }, hasEvents: true)
            try? await Task.sleep(for: max(Self.pause, (ContinuousClock.now - start) * 9))
            await self.wakeUp.wait(timeout: isListening ? Self.poll : Self.deafPoll)
        }
    }

    private func listen() async {
        guard let url = self.store.listenURL else { return }
        let options = ConnectionOptions(name: "inspectd gateway listen")
        await NotificationListener(url, options: options, channels: ["insp_pull"]).run { event in
            switch event {
            case .listening:
                self.state.withLock { $0.isListening = true }
                self.wakeUp.notify()
            case .notification:
                self.wakeUp.notify()
                // One notification stands for 50 ms (insp.announce_pulls), so look again after that.
                try? await Task.sleep(for: .milliseconds(60))
                self.wakeUp.notify()
            case .lost: self.state.withLock { $0.isListening = false }
            }
        }
    }
}

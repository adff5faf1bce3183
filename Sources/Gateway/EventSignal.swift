internal import Postgres
internal import Synchronization

/// Signals that there may be new events to pull: by notifications, and by polling, for events whose notification was missed.
final class EventSignal: Sendable {
    private static let poll = Duration.seconds(1)
    /// Without a connection for notifications.
    private static let deafPoll = Duration.milliseconds(250)

    private struct State {
        var listener: Task<Void, Never>?
        var isListening = false
    }

    /// Of the server itself: a pooler forwards no notifications. `nil`: there are none.
    private let url: String?
    private let wakeUp = WakeUp()
    private let state = Mutex(State())

    init(_ url: String?) { self.url = url }

    /// Listens from the first call on.
    func start() {
        guard let url = self.url else { return }
        self.state.withLock { state in
            if state.listener == nil { state.listener = Task { await self.listen(url) } }
        }
    }

    func notify() { self.wakeUp.notify() }

    /// Waits for a notification, or for the time of the next poll. Only one task may wait at a time.
    func wait() async {
        await self.wakeUp.wait(timeout: self.state.withLock { $0.isListening } ? Self.poll : Self.deafPoll)
    }

    func close() {
        self.state.withLock { $0.listener }?.cancel()
        self.wakeUp.notify()
    }

    private func listen(_ url: String) async {
        let options = ConnectionOptions(name: "inspectd gateway listen")
        await NotificationListener(url, options: options, channels: ["insp_pull"]).run { event in
            switch event {
            case .listening:
                self.state.withLock { $0.isListening = true }
                self.wakeUp.notify()
            case .notification:
                self.wakeUp.notify()
                // One notification stands for 50 ms (insp.announce_pulls), so poll again after that.
                try? await Task.sleep(for: .milliseconds(60))
                self.wakeUp.notify()
            case .lost: self.state.withLock { $0.isListening = false }
            }
        }
    }
}

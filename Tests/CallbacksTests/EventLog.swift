import Synchronization

@testable import Callbacks

/// Collects what a dispatcher reports.
final class EventLog: Sendable {
    private let events = Mutex<[CallbackEvent]>([])

    func append(_ event: CallbackEvent) { self.events.withLock { $0.append(event) } }

    var all: [CallbackEvent] { self.events.withLock { $0 } }

    var attempts: [CallbackEvent.Attempt] {
        self.all.compactMap { if case .attempted(let attempt) = $0 { attempt } else { nil } }
    }
}

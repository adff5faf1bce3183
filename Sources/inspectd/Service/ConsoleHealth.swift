import Console
import Foundation
import HTTPServer
import InspectCore
import Synchronization

/// Answers a console's probes, on a separate port and thread.
final class ConsoleHealth: Sendable {
    private enum State {
        case starting
        case open(ConsoleStore, ConsoleService, HTTPServer)
        case stopping
    }

    private let state = Mutex(State.starting)

    private let metrics: ConsoleMetrics

    init(_ metrics: ConsoleMetrics) { self.metrics = metrics }

    func begin(_ store: ConsoleStore, _ service: ConsoleService, _ server: HTTPServer) {
        self.state.withLock { $0 = .open(store, service, server) }
    }

    func end() { self.state.withLock { $0 = .stopping } }

    func answer(_ path: String) -> HealthAnswer? {
        let state = self.state.withLock { $0 }
        let reason: String? =
            switch state {
            case .starting: "waits for the database or the key store"
            case .open(let store, _, _): store.isConnected ? nil : "the database does not answer"
            case .stopping: "is stopping"
            }
        switch path {
        // Without its database, a console still answers with 503, so a restart would not help.
        case "/healthz": return ProbeReport.answer(good: "alive")
        case "/readyz":
            return ProbeReport.answer(
                reason.map { [.init(check: "console", reason: $0)] } ?? [], good: "ready", bad: "unready")
        case "/metrics":
            var parts: (ConsoleService, HTTPServer)?
            if case .open(_, let service, let server) = state { parts = (service, server) }
            return HealthAnswer(
                contentType: MetricRegistry.contentType,
                body: self.metrics.text(parts?.0, parts?.1, isReady: reason == nil))
        default: return nil
        }
    }
}

/// Answers with 503 until the console's service is made, which needs the port that the server got.
final class ConsoleGate: Sendable {
    private let service = Mutex<ConsoleService?>(nil)

    func open(_ service: ConsoleService) { self.service.withLock { $0 = service } }

    func refusal(_ error: InspectError, status: Int) -> HTTPResponse {
        self.service.withLock { $0 }?.refusal(error, status: status) ?? .problem(error, status: status)
    }

    func admit(_ request: HTTPRequest) async -> HTTPAdmission {
        guard let service = self.service.withLock({ $0 }) else { return .refuse(.problem(.databaseUnavailable)) }
        return await service.admit(request)
    }
}

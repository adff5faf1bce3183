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
        case "/healthz": return Self.json(200, "alive", nil)
        case "/readyz": return Self.json(reason == nil ? 200 : 503, reason == nil ? "ready" : "unready", reason)
        case "/metrics":
            var parts: (ConsoleService, HTTPServer)?
            if case .open(_, let service, let server) = state { parts = (service, server) }
            return HealthAnswer(
                contentType: MetricRegistry.contentType,
                body: self.metrics.text(parts?.0, parts?.1, isReady: reason == nil))
        default: return nil
        }
    }

    private static func json(_ status: UInt32, _ word: String, _ reason: String?) -> HealthAnswer {
        struct Report: Encodable {
            var status: String
            var reasons: [[String: String]]?
        }
        let report = Report(status: word, reasons: reason.map { [["check": "console", "reason": $0]] })
        return HealthAnswer(
            status: status, contentType: "application/json",
            body: String(decoding: ResultEnvelope.json(report), as: UTF8.self) + "\n")
    }
}

/// Answers with 503 until the console's service is made, which needs the port that the server got.
final class ConsoleGate: Sendable {
    private let service = Mutex<ConsoleService?>(nil)

    func open(_ service: ConsoleService) { self.service.withLock { $0 = service } }

    func admit(_ request: HTTPRequest) async -> HTTPAdmission {
        guard let service = self.service.withLock({ $0 }) else { return .refuse(.problem(.databaseUnavailable)) }
        return await service.admit(request)
    }
}

extension Events {
    static func log(_ access: ConsoleAccess, to log: Log) {
        var fields: [String: Log.Value] = [
            "route": .string(access.route), "status": .integer(Int64(access.status)),
            "seconds": .double(access.duration / .seconds(1)),
        ]
        fields["code"] = access.code.map { .string($0) }
        log.info("request answered", fields)
    }

    static func log(_ fault: ConsoleFault, to log: Log) {
        switch fault {
        case .databaseUnavailable: log.warning("database unavailable", ["connection": "console"])
        case .failed(let code): log.error("request failed", ["error": .string(code)])
        case .provider(let reason): log.warning("sign-in failed", ["reason": .string(reason)])
        }
    }
}

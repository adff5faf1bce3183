import Foundation
import Gateway
import HTTPServer
import InspectCore
import Synchronization

/// A gateway's metrics. Labels hold routes, statuses and codes; never a credential, a job or a partner.
struct GatewayMetrics: Sendable {
    private let registry: MetricRegistry
    private let process: ProcessMetrics
    let objects: ObjectStoreMetrics
    private let requests, refusals: MetricRegistry.Counter
    private let duration: MetricRegistry.Histogram
    private let connections, inFlight, waiting, held: MetricRegistry.Gauge

    init() {
        let registry = MetricRegistry()
        self.registry = registry
        self.process = ProcessMetrics(registry)
        self.objects = ObjectStoreMetrics(registry)
        self.requests = registry.counter(
            "inspectd_gateway_requests_total", "Answered requests.", labels: ["route", "status"])
        self.refusals = registry.counter(
            "inspectd_gateway_refusals_total", "Refused requests, by error code.", labels: ["code"])
        self.duration = registry.histogram(
            "inspectd_gateway_request_duration_seconds", "Time from a request's head to its answer, waits included.",
            labels: ["route"], bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60])
        self.connections = registry.gauge("inspectd_gateway_connections", "Client connections.")
        self.inFlight = registry.gauge("inspectd_gateway_requests_in_flight", "Requests being received or answered.")
        self.waiting = registry.gauge("inspectd_gateway_waiting_clients", "Clients that wait for a result or an event.")
        self.held = registry.gauge(
            "inspectd_gateway_held_bytes", "Memory for request bodies and unread answers.")
    }

    func take(_ access: HTTPAccess) {
        self.requests.add(1, access.route, "\(access.status)")
        if let code = access.code { self.refusals.add(1, code) }
        self.duration.observe(access.duration / .seconds(1), access.route)
    }

    func text(_ service: GatewayService, _ server: HTTPServer, isReady: Bool) -> String {
        self.process.update(nil, isReady: isReady)
        self.connections.set(Double(server.connections))
        self.inFlight.set(Double(server.requestsInFlight))
        self.waiting.set(Double(service.waiting))
        self.held.set(Double(server.heldBytes))
        return self.registry.text()
    }
}

/// Answers a gateway's probes and scrapes, on a separate port and thread.
final class GatewayHealth: Sendable {
    private let service: GatewayService
    private let server: HTTPServer
    private let store: GatewayStore
    private let metrics: GatewayMetrics
    private let isStopping = Mutex(false)

    init(_ service: GatewayService, _ server: HTTPServer, _ store: GatewayStore, _ metrics: GatewayMetrics) {
        self.service = service
        self.server = server
        self.store = store
        self.metrics = metrics
    }

    func stopping() { self.isStopping.withLock { $0 = true } }

    func answer(_ path: String) -> HealthAnswer? {
        var reasons: [ProbeReport.Reason] = []
        if self.isStopping.withLock({ $0 }) { reasons.append(.init(check: "gateway", reason: "is stopping")) }
        switch self.store.obstacle {
        case nil: break
        case .databaseUnavailable?: reasons.append(.init(check: "database", reason: "the database does not answer"))
        case let code?: reasons.append(.init(check: "keys", reason: code.row.message))
        }
        switch path {
        // Without its database, a gateway still answers with 503, so a restart would not help.
        case "/healthz": return ProbeReport.answer(good: "alive")
        case "/readyz": return ProbeReport.answer(reasons, good: "ready", bad: "unready")
        case "/metrics":
            return HealthAnswer(
                contentType: MetricRegistry.contentType,
                body: self.metrics.text(self.service, self.server, isReady: reasons.isEmpty))
        default: return nil
        }
    }
}

extension Events {
    /// A gateway's accesses are recorded in `insp.v_access` with their results; this line adds the request.
    static func log(_ access: HTTPAccess, to log: Log) {
        var fields: [String: Log.Value] = [
            "route": .string(access.route), "status": .integer(Int64(access.status)),
            "seconds": .double(access.duration / .seconds(1)),
        ]
        fields["code"] = access.code.map { .string($0) }
        fields["credential"] = access.credential.map { .string($0) }
        fields["job"] = access.job.map { .string($0) }
        log.info("request answered", fields)
    }
}

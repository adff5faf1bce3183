import Console
import HTTPServer
import InspectCore
import Postgres

/// A console's metrics. Labels hold routes, statuses and codes; never a person, a job or a partner.
struct ConsoleMetrics: Sendable {
    private let registry: MetricRegistry
    private let process: ProcessMetrics
    private let requests, refusals, faults: MetricRegistry.Counter
    private let duration: MetricRegistry.Histogram
    private let connections, inFlight, waiting: MetricRegistry.Gauge

    init() {
        let registry = MetricRegistry()
        self.registry = registry
        self.process = ProcessMetrics(registry)
        self.requests = registry.counter(
            "inspectd_console_requests_total", "Answered requests.", labels: ["route", "status"])
        self.refusals = registry.counter(
            "inspectd_console_refusals_total", "Refused requests, by error code.", labels: ["code"])
        self.faults = registry.counter(
            "inspectd_console_faults_total", "Requests that failed through our fault or a provider's, by kind.",
            labels: ["kind"], preset: [["database"], ["internal"], ["provider"]])
        self.duration = registry.histogram(
            "inspectd_console_request_duration_seconds",
            "Time from a request's head to its answer; for pages that wait for changes, the wait included.",
            labels: ["route"], bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60])
        self.connections = registry.gauge("inspectd_console_connections", "Browsers' connections.")
        self.inFlight = registry.gauge("inspectd_console_requests_in_flight", "Requests being received or answered.")
        self.waiting = registry.gauge("inspectd_console_open_pages", "Open pages that wait for a change.")
    }

    func take(_ access: HTTPAccess) {
        self.requests.add(1, access.route, "\(access.status)")
        if let code = access.code { self.refusals.add(1, code) }
        self.duration.observe(access.duration / .seconds(1), access.route)
    }

    func take(_ fault: StatementFault) {
        switch fault {
        case .databaseUnavailable: self.faults.add(1, "database")
        case .failed: self.faults.add(1, "internal")
        }
    }

    func takeProviderFault() { self.faults.add(1, "provider") }

    func text(_ service: ConsoleService?, _ server: HTTPServer?, isReady: Bool) -> String {
        self.process.update(nil, isReady: isReady)
        self.connections.set(Double(server?.connections ?? 0))
        self.inFlight.set(Double(server?.requestsInFlight ?? 0))
        self.waiting.set(Double(service?.waiting ?? 0))
        return self.registry.text()
    }
}

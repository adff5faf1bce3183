import Analyzer
import Callbacks
import Foundation
import HTTPServer
import InspectCore
import JobQueue
import Synchronization

/// Answers probes and scrapes: `/healthz` says whether the process works, `/readyz` whether it can take jobs.
///
/// It reads only memory, so an answer waits neither for the database nor for Swift's threads.
final class HealthService: Sendable {
    /// A loop runs every second, and a statement times out after 30 seconds: beyond this time, the loop hangs.
    static let loopPatience = Duration.seconds(60)
    /// As long as the worker itself trusts its last heartbeat.
    static let heartbeatPatience = Duration.seconds(10)

    private let metrics: WorkerMetrics
    private let roles: Command.Roles
    private let state = Mutex(State())

    private struct State {
        var worker: JobWorker?
        /// `nil` until it is known whether the database is sealed.
        var dispatcher: CallbackDispatcher?
        /// Why that is not known.
        var awaited: ErrorCode?
        var hasAnalyzers = false
        var isStopping = false
    }

    init(_ metrics: WorkerMetrics, roles: Command.Roles) {
        self.metrics = metrics
        self.roles = roles
    }

    func attach(_ worker: JobWorker) { self.state.withLock { $0.worker = worker } }

    func attach(_ dispatcher: CallbackDispatcher) { self.state.withLock { $0.dispatcher = dispatcher } }

    func wait(_ code: ErrorCode) { self.state.withLock { $0.awaited = code } }

    func stopping() { self.state.withLock { $0.isStopping = true } }

    func take(_ event: AnalyzerEvent) {
        switch event {
        case .parentStarted: self.state.withLock { $0.hasAnalyzers = true }
        case .parentFailed, .parentEnded: self.state.withLock { $0.hasAnalyzers = false }
        case .parentReplaced, .parentKept, .processStarted, .processAwaited, .processEnded: break
        }
    }

    func answer(_ path: String) -> HealthAnswer? {
        switch path {
        case "/healthz": ProbeReport.answer(self.faults(), good: "alive", bad: "stuck")
        case "/readyz": ProbeReport.answer(self.obstacles(), good: "ready", bad: "unready")
        case "/metrics":
            HealthAnswer(
                contentType: MetricRegistry.contentType,
                body: self.metrics.text(
                    self.state.withLock { $0.worker }?.vitals, isReady: self.obstacles().isEmpty))
        default: nil
        }
    }

    /// Why the process must be restarted. An unavailable database is not a reason.
    private func faults() -> [ProbeReport.Reason] {
        var ages: [(String, Duration?)] = []
        let (worker, dispatcher) = self.state.withLock { ($0.worker, $0.dispatcher) }
        if let worker { ages.append(("queue", worker.vitals.pumpAge)) }
        if self.roles.contains(.callback), let dispatcher { ages.append(("callbacks", dispatcher.vitals.loopAge)) }
        // A dispatcher or worker that has ended stays unhealthy.
        guard !self.state.withLock({ $0.isStopping }) else { return [] }
        return ages.compactMap { check, age in
            guard let age, age > Self.loopPatience else { return nil }
            return ProbeReport.Reason(check: check, reason: "the loop has not moved for \(Int(age.seconds)) s")
        }
    }

    /// Why the process can take no jobs.
    private func obstacles() -> [ProbeReport.Reason] {
        let state = self.state.withLock { $0 }
        let (worker, hasAnalyzers, isStopping) = (state.worker, state.hasAnalyzers, state.isStopping)
        var reasons: [ProbeReport.Reason] = []
        func add(_ check: String, _ reason: String) { reasons.append(.init(check: check, reason: reason)) }
        guard let dispatcher = state.dispatcher else {
            let code = state.awaited
            let isDatabase = code == nil || code == .databaseUnavailable
            add(isDatabase ? "database" : "keys", code?.row.message ?? "is asked first")
            return reasons
        }
        if isStopping || worker?.vitals.isStopping == true { add("worker", "is stopping") }
        if self.roles.contains(.inspect) {
            if !hasAnalyzers { add("analyzers", "no analyzer parent with loaded models runs") }
            if let vitals = worker?.vitals {
                if !vitals.isRegistered {
                    add("database", "the worker is not registered")
                } else if vitals.isSuspended || vitals.heartbeatAge > Self.heartbeatPatience {
                    add("database", "the last heartbeat got through \(Int(vitals.heartbeatAge.seconds)) s ago")
                }
            } else {
                add("worker", "is starting")
            }
        }
        if self.roles.contains(.callback), !dispatcher.vitals.isConnected {
            add("callbacks", "the database does not answer the dispatcher")
        }
        return reasons
    }
}

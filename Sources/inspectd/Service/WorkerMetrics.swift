import Analyzer
import Callbacks
import Foundation
import HTTPServer
import InspectCore
import Inspection
import JobQueue

/// A worker's metrics. Labels hold lanes, stages, codes, outcomes and words of results; never an id, a partner or a person.
struct WorkerMetrics: Sendable {
    /// Upper bounds in seconds: for round trips, for work, and for whole jobs.
    private static let short = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
    private static let medium = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60]
    private static let long = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

    let process: ProcessMetrics
    let queue: QueueMetrics
    let objects: ObjectStoreMetrics
    private let registry: MetricRegistry
    private let claimed, started, held, released, leasesLost, overdue, workersLost: MetricRegistry.Counter
    private let finished, retries, deadLettered, rescued, testsFinished: MetricRegistry.Counter
    private let promoted, swept, expired, purged, suspensions, deaths, rowsHeld, abandoned: MetricRegistry.Counter
    private let databaseFailures, reconnects: MetricRegistry.Counter
    private let claimDuration, stageDuration, jobDuration, attempts: MetricRegistry.Histogram
    private let parentStarts, parentLosses, analyzerStarts, analyzerWaits, analyzerLosses,
        parentReplacements: MetricRegistry.Counter
    private let callbackAttempts, testCallbackAttempts, revocations: MetricRegistry.Counter
    private let endpointChanges: MetricRegistry.Counter
    private let callbackDuration, callbackWait: MetricRegistry.Histogram
    private let shadowInspections, shadowLabels, shadowFields, shadowOmissions, shadowTime: MetricRegistry.Counter

    init() {
        let registry = MetricRegistry()
        self.registry = registry
        self.process = ProcessMetrics(registry)
        self.queue = QueueMetrics(registry)
        self.objects = ObjectStoreMetrics(registry)
        func counter(_ name: String, _ help: String, _ label: String? = nil, _ values: [String] = [])
            -> MetricRegistry.Counter
        {
            registry.counter(
                "inspectd_\(name)_total", help, labels: label.map { [$0] } ?? [], preset: values.map { [$0] })
        }
        self.claimed = counter("jobs_claimed", "Jobs that this worker claimed.")
        self.started = counter("job_attempts_started", "Attempts that this worker started.")
        self.finished = counter(
            "jobs_finished", "Jobs that this worker finished: completed with a result, or dead-lettered.", "outcome",
            ["completed", "dead_lettered"])
        self.testsFinished = counter(
            "test_jobs_finished",
            "Jobs of test credentials that this worker finished; no other counter of outcomes has them.",
            "outcome", ["completed", "held", "dead_lettered"])
        self.held = counter("jobs_held_for_review", "Jobs that this worker decided and that wait for a reviewer.")
        self.retries = counter("job_retries", "Failed attempts that will be retried.", "code")
        self.deadLettered = counter(
            "jobs_dead_lettered", "Jobs that ended as NOT_EXECUTED here, by error code.", "code")
        self.released = counter("jobs_released", "Jobs released to the queue with the attempt refunded.")
        self.leasesLost = counter("leases_lost", "Jobs whose lease was lost before a write.")
        self.rowsHeld = counter(
            "rows_held", "Times that a job's writes waited because another transaction held its row lock.")
        self.abandoned = counter(
            "jobs_abandoned", "Jobs for which the database refused every write; left to the rescue.")
        self.overdue = counter("jobs_overdue", "Jobs stopped at their deadline.")
        self.rescued = counter(
            "jobs_rescued", "Jobs that this worker rescued from dead workers.", "outcome",
            ["requeued", "dead_lettered"])
        self.workersLost = counter("workers_lost", "Workers that this worker declared dead.")
        self.promoted = counter("jobs_promoted", "Delayed jobs that this worker made ready.")
        self.swept = counter("jobs_swept", "Jobs below the floor that this worker gave a new place in the queue.")
        self.expired = counter("jobs_expired", "Jobs that this worker finished as EXPIRED.")
        self.purged = counter(
            "purged", "Removals by retention in this worker: jobs' parts, jobs' results, partitions.", "what",
            ["parts", "results", "partitions"])
        self.suspensions = counter(
            "worker_suspensions", "Times that the worker dropped its work because no heartbeat succeeded.")
        self.deaths = counter("worker_deaths", "Times that another worker declared this worker dead.")
        let connections = ["queue", "heartbeat", "listener", "auxiliary", "maintenance", "callback"]
        self.databaseFailures = counter(
            "database_failures", "Failures of a database connection.", "connection", connections)
        self.reconnects = counter("database_reconnects", "Reconnections.", "connection", connections)
        self.claimDuration = registry.histogram(
            "inspectd_claim_duration_seconds", "Time of a claim that returned jobs.",
            bounds: Self.short)
        self.stageDuration = registry.histogram(
            "inspectd_stage_duration_seconds", "Duration of one stage in an analyzer.", labels: ["stage"],
            bounds: Self.medium)
        self.jobDuration = registry.histogram(
            "inspectd_job_duration_seconds", "Time from the claim of a job to its result in the database.",
            bounds: Self.long)
        self.attempts = registry.histogram(
            "inspectd_job_attempts", "Attempts of finished jobs.", bounds: [1, 2, 3, 4, 5, 6, 7, 8])
        self.parentStarts = counter("analyzer_parent_starts", "Analyzer parents that loaded their models.")
        self.parentLosses = counter(
            "analyzer_parent_losses", "Analyzer parents that ended or could not be started.", "kind",
            ["ended", "not_started", "not_renewed"])
        self.analyzerStarts = counter("analyzer_starts", "Analyzer processes forked.")
        self.analyzerWaits = counter(
            "analyzer_waits", "Jobs that waited for the fork of an analyzer process.")
        self.analyzerLosses = counter(
            "analyzer_losses", "Analyzer processes lost.", "kind",
            ["crash", "timeout", "memory", "cancelled", "other"])
        self.parentReplacements = counter(
            "analyzer_parent_replacements", "Analyzer parents replaced without interruption.", "reason",
            ["crash", "forks", "age"])
        let outcomes = ["delivered", "failed", "dead_lettered", "released", "stale"]
        self.endpointChanges = counter(
            "endpoint_changes", "Endpoints whose breaker opened or closed, or that became disabled.", "kind",
            ["failing", "recovered", "disabled"])
        self.callbackAttempts = counter("callback_attempts", "Attempts to deliver callbacks.", "outcome", outcomes)
        self.testCallbackAttempts = counter(
            "test_callback_attempts", "Attempts to deliver callbacks of tests; no other counter has them.", "outcome",
            outcomes)
        self.revocations = counter(
            "token_revocations", "Access tokens of removed authorizations, revoked or not.", "outcome",
            ["revoked", "failed"])
        self.callbackDuration = registry.histogram(
            "inspectd_callback_attempt_duration_seconds", "Duration of one attempt to deliver a callback.",
            labels: ["outcome"], preset: [["delivered"]], bounds: Self.medium)
        self.callbackWait = registry.histogram(
            "inspectd_callback_wait_seconds", "Time from when a callback was due to its claim.", bounds: Self.medium)
        self.shadowInspections = registry.counter(
            "inspectd_shadow_inspections_total", "Inspections decided once more by the limits or models of --shadow.",
            labels: ["document_type", "workflow", "outcome"])
        self.shadowLabels = registry.counter(
            "inspectd_shadow_labels_total", "Labels that the limits or models of --shadow add or remove.",
            labels: ["document_type", "capability", "label", "change"])
        self.shadowFields = registry.counter(
            "inspectd_shadow_fields_total", "Fields that the models of --shadow read otherwise.",
            labels: ["document_type", "field", "change"])
        self.shadowOmissions = counter(
            "shadow_omissions", "Jobs that the models of --shadow did not inspect.", "reason",
            ShadowAnalysis.Omission.allCases.map(\.rawValue))
        self.shadowTime = counter("shadow_cpu_seconds", "Processor time of what --shadow repeats.")
    }

    /// All metrics, for a scrape. Reads only memory.
    func text(_ vitals: JobWorkerVitals?, isReady: Bool) -> String {
        self.process.update(vitals, isReady: isReady)
        return self.registry.text()
    }

    func take(_ event: JobQueueEvent) {
        switch event {
        case .roundTrip(_, let claimed, let seconds) where claimed > 0:
            self.claimed.add(Double(claimed))
            self.claimDuration.observe(seconds)
        case .started: self.started.add()
        // Tests have fixed outcomes, including failures, and no analysis: they would distort the figures that alerts use.
        case .finished(let job, _) where job.isTest: self.testsFinished.add(1, "completed")
        case .heldForReview(let job, _) where job.isTest: self.testsFinished.add(1, "held")
        case .deadLettered(let job, _) where job.isTest: self.testsFinished.add(1, "dead_lettered")
        case .retried(let job, _, _) where job.isTest: break
        case .finished(let job, let seconds):
            self.finished.add(1, "completed")
            self.jobDuration.observe(seconds)
            self.attempts.observe(Double(job.attempt))
        case .heldForReview(_, let seconds):
            self.held.add()
            self.jobDuration.observe(seconds)
        case .deadLettered(let job, let error):
            self.finished.add(1, "dead_lettered")
            self.deadLettered.add(1, error.code.rawValue)
            self.attempts.observe(Double(job.attempt))
        case .retried(_, let error, _): self.retries.add(1, error.code.rawValue)
        case .released: self.released.add()
        case .leaseLost: self.leasesLost.add()
        case .rowHeld: self.rowsHeld.add()
        case .abandoned: self.abandoned.add()
        case .overdue: self.overdue.add()
        case .databaseUnavailable(let role, _, _): self.databaseFailures.add(1, Self.kind(of: role))
        case .reconnected(let role): self.reconnects.add(1, Self.kind(of: role))
        case .suspended: self.suspensions.add()
        case .declaredDead: self.deaths.add()
        case .promoted(let count): self.promoted.add(Double(count))
        case .rescued(let requeued, let deadLettered, let workers):
            self.rescued.add(Double(requeued), "requeued")
            self.rescued.add(Double(deadLettered), "dead_lettered")
            self.workersLost.add(Double(workers))
        case .swept(let count): self.swept.add(Double(count))
        case .expired(let count): self.expired.add(Double(count))
        case .purged(let parts, let results, let partitions):
            self.purged.add(Double(parts), "parts")
            self.purged.add(Double(results), "results")
            self.purged.add(Double(partitions), "partitions")
        case .roundTrip, .registered, .resumed, .newEpoch, .keysDelayed, .keysDestroyed, .objectsDelayed,
            .objectsDeleted,
            .stopping, .stopped:
            break
        }
    }

    /// A further connection of a kind, such as "queue 2", counts for the kind.
    private static func kind(of role: String) -> String { String(role.prefix { $0 != " " }) }

    func take(_ event: CallbackEvent) {
        switch event {
        case .attempted(let attempt) where attempt.isTest:
            self.testCallbackAttempts.add(1, attempt.outcome.rawValue)
        case .attempted(let attempt):
            let outcome = attempt.outcome.rawValue
            self.callbackAttempts.add(1, outcome)
            self.callbackDuration.observe(Double(attempt.milliseconds) / 1000, outcome)
            self.callbackWait.observe(max(0, attempt.waitedMilliseconds / 1000))
        case .databaseUnavailable: self.databaseFailures.add(1, "callback")
        case .databaseRestored: self.reconnects.add(1, "callback")
        case .settlementRefused: self.callbackAttempts.add(1, "stale")
        case .endpointChanged(_, _, isTest: true): break
        case .endpointChanged(_, let kind, _): self.endpointChanges.add(1, kind)
        case .revocationEnded(_, let code): self.revocations.add(1, code == nil ? "revoked" : "failed")
        }
    }

    func take(_ event: AnalyzerEvent) {
        switch event {
        case .parentStarted: self.parentStarts.add()
        case .parentFailed: self.parentLosses.add(1, "not_started")
        case .parentEnded: self.parentLosses.add(1, "ended")
        case .parentReplaced(_, _, let reason): self.parentReplacements.add(1, reason.rawValue)
        case .parentKept: self.parentLosses.add(1, "not_renewed")
        case .processStarted: self.analyzerStarts.add()
        case .processAwaited: self.analyzerWaits.add()
        case .processEnded(_, _, _, _, expected: true): break
        case .processEnded(_, _, _, let error, expected: false):
            let kind =
                switch error {
                case .analyzerCrashed: "crash"
                case .analyzerTimeout: "timeout"
                case .analyzerOutOfMemory: "memory"
                case nil: "cancelled"
                default: "other"
                }
            self.analyzerLosses.add(1, kind)
        }
    }

    /// Begins a shadow run: its counters start at 0.
    func expectShadow() {
        for type in ShadowComparison.documentTypes {
            for workflow in Workflow.allCases {
                for outcome in ShadowComparison.Outcome.allCases {
                    self.shadowInspections.add(0, type, workflow.rawValue, outcome.rawValue)
                }
            }
        }
    }

    func take(_ shadow: InspectionRunner.Shadow) {
        let comparison = shadow.comparison
        let type = comparison.documentType
        self.shadowTime.add(shadow.cpuSeconds)
        self.shadowInspections.add(1, type, comparison.workflow.rawValue, comparison.outcome.rawValue)
        for (labels, change) in [(comparison.added, "added"), (comparison.removed, "removed")] {
            for label in labels { self.shadowLabels.add(1, type, label.capability, label.label, change) }
        }
        for field in comparison.fields { self.shadowFields.add(1, type, field.name, field.change.rawValue) }
    }

    func takeOmittedShadow(_ reason: ShadowAnalysis.Omission) { self.shadowOmissions.add(1, reason.rawValue) }

    func stage(_ stage: JobStatus, took duration: Duration) {
        self.stageDuration.observe(duration / .seconds(1), stage.stageName)
    }
}

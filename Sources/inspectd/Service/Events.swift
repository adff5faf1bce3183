import Analyzer
import Callbacks
import Gateway
import InspectCore
import Inspection
import JobQueue
import ObjectStore
import Postgres

/// Events of the program's parts as log lines.
enum Events {
    static func log(_ fault: StatementFault, on connection: String, to log: Log) {
        switch fault {
        case .databaseUnavailable: log.warning("database unavailable", ["connection": .string(connection)])
        case .failed(let code): log.error("request failed", ["error": .string(code)])
        }
    }

    static func log(_ event: JobQueueEvent, to log: Log) {
        switch event {
        case .registered(let worker): log.info("worker registered", ["worker": .integer(worker)])
        case .roundTrip(let written, let claimed, let seconds):
            log.debug(
                "queue round trip",
                ["written": .integer(Int64(written)), "claimed": .integer(Int64(claimed)), "seconds": .double(seconds)])
        case .started(let job): log.debug("job started", Self.fields(of: job))
        case .finished(let job, let seconds):
            log.info("job finished", Self.fields(of: job, ["seconds": .double(seconds)]))
        case .heldForReview(let job, let seconds):
            log.info("job waits for a review", Self.fields(of: job, ["seconds": .double(seconds)]))
        case .retried(let job, let error, let after):
            log.warning("job will be retried", Self.fields(of: job, error, ["afterSeconds": .double(after.seconds)]))
        case .deadLettered(let job, let error): log.warning("job dead-lettered", Self.fields(of: job, error))
        case .released(let job): log.info("job released", Self.fields(of: job))
        case .leaseLost(let job): log.warning("lease lost", Self.fields(of: job))
        case .rowHeld(let job): log.warning("another transaction holds the lock on the job's row", Self.fields(of: job))
        case .abandoned(let job, let sqlState):
            log.error(
                "no write for the job can be stored: the database refuses them",
                Self.fields(of: job, ["sqlState": .string(sqlState)]))
        case .overdue(let job): log.warning("job overdue", Self.fields(of: job))
        case .databaseUnavailable(let role, let error, let after):
            log.error(
                "database unavailable",
                ["connection": .string(role), "error": .string(error), "retryAfterSeconds": .double(after.seconds)])
        case .reconnected(let role): log.info("database restored", ["connection": .string(role)])
        case .suspended(let silence): log.error("worker suspended", ["silentForSeconds": .double(silence.seconds)])
        case .resumed: log.info("worker resumed")
        case .declaredDead(let worker): log.error("worker was declared dead", ["worker": .integer(worker)])
        case .newEpoch: log.warning("the database lost transactions or was replaced: all queues are scanned again")
        case .promoted(let count): log.debug("delayed jobs promoted", ["count": .integer(Int64(count))])
        case .rescued(let requeued, let deadLettered, let workers):
            log.warning(
                "jobs rescued",
                [
                    "requeued": .integer(Int64(requeued)), "deadLettered": .integer(Int64(deadLettered)),
                    "workers": .integer(Int64(workers)),
                ])
        case .swept(let count): log.info("late commits swept", ["count": .integer(Int64(count))])
        case .expired(let count): log.info("jobs expired", ["count": .integer(Int64(count))])
        case .keysDelayed(let error):
            log.warning("keys wait to be destroyed", ["reason": .string(error)])
        case .keysDestroyed(let count): log.info("keys destroyed", ["keys": .integer(Int64(count))])
        case .objectsDelayed(let error): log.warning("objects wait to be deleted", ["reason": .string(error)])
        case .objectsDeleted(let count, let swept):
            log.info("objects deleted", ["objects": .integer(Int64(count)), "swept": .integer(Int64(swept))])
        case .purged(let parts, let results, let partitions):
            log.info(
                "retention",
                [
                    "parts": .integer(Int64(parts)), "results": .integer(Int64(results)),
                    "partitions": .integer(Int64(partitions)),
                ])
        case .stopping(let running): log.info("worker stopping", ["running": .integer(Int64(running))])
        case .stopped: log.info("queue worker stopped")
        }
    }

    static func log(_ event: CallbackEvent, to log: Log) {
        switch event {
        case .attempted(let attempt):
            var fields: [String: Log.Value] = [
                "callback": .string(attempt.webhookID), "endpoint": .integer(attempt.endpoint),
                "attempt": .integer(Int64(attempt.number)), "outcome": .string(attempt.outcome.rawValue),
                "milliseconds": .integer(Int64(attempt.milliseconds)),
                "waitedMilliseconds": .double(attempt.waitedMilliseconds),
            ]
            fields["status"] = attempt.status.map { .integer(Int64($0)) }
            fields["error"] = attempt.error.map { .string($0) }
            fields["code"] = attempt.code.map { .string($0.rawValue) }
            fields["job"] = attempt.job.map { .string($0) }
            fields.merge(Self.fields(of: attempt.trace)) { $1 }
            if attempt.outcome == .delivered {
                log.info("callback delivered", fields)
            } else {
                log.warning("callback not delivered", fields)
            }
        case .databaseUnavailable(let reason):
            log.error("database unavailable", ["connection": "callback", "error": .string(reason)])
        case .databaseRestored: log.info("database restored", ["connection": "callback"])
        case .settlementRefused(let webhookID, let reason):
            log.error("callback outcome refused", ["webhookId": .string(webhookID), "error": .string(reason)])
        case .revocationEnded(let endpoint, let code?):
            log.warning("access token not revoked", ["endpoint": .integer(endpoint), "code": .string(code.rawValue)])
        case .revocationEnded(let endpoint, nil): log.info("access token revoked", ["endpoint": .integer(endpoint)])
        case .endpointChanged(let endpoint, let kind, _):
            let fields: [String: Log.Value] = ["endpoint": .integer(endpoint), "kind": .string(kind)]
            if kind == "recovered" {
                log.info("endpoint recovered", fields)
            } else {
                log.error("endpoint fails", fields)
            }
        }
    }

    static func log(_ event: AnalyzerEvent, to log: Log) {
        switch event {
        case .parentStarted(let pid, let time):
            log.info(
                "analyzer parent started", ["pid": .integer(Int64(pid)), "milliseconds": .double(time.milliseconds)])
        case .parentFailed(let reason, let retry):
            log.error(
                "analyzer parent failed",
                ["error": .string(reason), "retryAfterSeconds": .double(retry.milliseconds / 1000)])
        case .parentEnded(let pid, let cause):
            log.error(
                "analyzer parent ended", ["pid": .integer(Int64(pid)), "cause": .string(cause ?? "unknown")])
        case .parentReplaced(let pid, let next, let reason):
            log.info(
                "analyzer parent replaced",
                ["pid": .integer(Int64(next)), "old": .integer(Int64(pid)), "reason": .string(reason.rawValue)])
        case .parentKept(let reason, let retry):
            log.error(
                "analyzer parent could not be replaced",
                ["error": .string(reason), "retryAfterSeconds": .double(retry.milliseconds / 1000)])
        case .processStarted(let time):
            log.debug("analyzer started", ["milliseconds": .double(time.milliseconds)])
        case .processAwaited(let time): log.debug("analyzer awaited", ["milliseconds": .double(time.milliseconds)])
        case .processEnded(let driver, let end, let reason, let error, let expected):
            var fields: [String: Log.Value] = [
                "reason": .string(reason), "cause": .string(end?.cause ?? "unknown"),
            ]
            fields["driver"] = driver.map { .integer(Int64($0)) }
            fields["code"] = error.map { .string($0.rawValue) }
            if expected { log.debug("analyzer ended", fields) } else { log.warning("analyzer lost", fields) }
        }
    }

    /// A completed stage, which is the job's new status.
    static func log(stageOf job: JobReference, _ duration: Duration, to log: Log) {
        log.debug("stage done", Self.fields(of: job, ["seconds": .double(duration / .seconds(1))]))
    }

    /// The changes that other limits or models would have made: words of the contract, never a value that was read or measured.
    static func fields(of shadow: InspectionRunner.Shadow) -> [String: Log.Value] {
        let comparison = shadow.comparison
        func words(_ labels: [ShadowComparison.Label]) -> Log.Value {
            .string(labels.map { "\($0.capability):\($0.label)" }.joined(separator: " "))
        }
        return [
            "outcome": .string(comparison.outcome.rawValue), "documentType": .string(comparison.documentType),
            "decision": .string(comparison.decision.rawValue),
            "shadowDecision": .string(comparison.shadowDecision.rawValue),
            "added": words(comparison.added), "removed": words(comparison.removed),
            "fields": .string(comparison.fields.map { "\($0.name):\($0.change.rawValue)" }.joined(separator: " ")),
        ]
    }

    static func log(shadowOf job: JobReference, _ shadow: InspectionRunner.Shadow, to log: Log) {
        log.debug("shadow decided", Self.fields(of: job, Self.fields(of: shadow)))
    }

    static func log(shadowOf job: JobReference, omitted reason: ShadowAnalysis.Omission, to log: Log) {
        log.debug("shadow omitted", Self.fields(of: job, ["reason": .string(reason.rawValue)]))
    }

    /// A part by URL that was not fetched, with the reason, which the job's owner must not learn.
    static func log(fetchOf part: String, for job: JobReference, failed reason: String, to log: Log) {
        log.warning("part not fetched", Self.fields(of: job, ["part": .string(part), "reason": .string(reason)]))
    }

    /// A failed call of the object store.
    static func log(_ operation: ObjectStore.Operation, failed error: InspectError, to log: Log) {
        log.warning(
            "object store call failed",
            [
                "operation": .string(operation.rawValue), "code": .string(error.code.rawValue),
                "detail": .string(error.detail),
            ])
    }

    /// The fields of every line about a job.
    private static func fields(of job: JobReference, _ more: [String: Log.Value] = [:]) -> [String: Log.Value] {
        var fields: [String: Log.Value] = [
            "job": .string(job.id), "attempt": .integer(Int64(job.attempt)), "stage": .string(job.stage.name),
        ]
        fields.merge(Self.fields(of: job.trace)) { $1 }
        return fields.merging(more) { $1 }
    }

    private static func fields(
        of job: JobReference, _ error: InspectError, _ more: [String: Log.Value] = [:]
    ) -> [String: Log.Value] {
        Self.fields(
            of: job, more.merging(["code": .string(error.code.rawValue), "detail": .string(error.detail)]) { $1 })
    }

    /// The trace's fields under OpenTelemetry's JSON names; none for a job without a trace.
    private static func fields(of trace: TraceContext?) -> [String: Log.Value] {
        trace.map { ["traceId": .string($0.traceID), "spanId": .string($0.spanID)] } ?? [:]
    }
}

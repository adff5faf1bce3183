import Foundation
import HTTPServer
import InspectCore
import JobQueue

struct ProcessMetrics: Sendable {
    private let ready, slots, busy, permits, outside, heartbeatAge, resident, descriptors: MetricRegistry.Gauge
    private let cpu: MetricRegistry.Counter

    init(_ registry: MetricRegistry) {
        registry.gauge("inspectd_build_info", "1, with the version as a label.", labels: ["version"]).set(
            1, Version.current)
        self.ready = registry.gauge("inspectd_ready", "Whether /readyz answers 200.")
        self.slots = registry.gauge("inspectd_slots", "Jobs that this worker runs at once.")
        self.busy = registry.gauge("inspectd_slots_busy", "Jobs that this worker runs now.")
        self.permits = registry.gauge(
            "inspectd_fetch_permits", "Jobs that may wait for other servers at once in this worker, outside its slots.")
        self.outside = registry.gauge("inspectd_fetch_permits_busy", "Jobs that wait for other servers now.")
        self.heartbeatAge = registry.gauge(
            "inspectd_heartbeat_age_seconds", "Time since this worker's last successful heartbeat.")
        registry.gauge("process_start_time_seconds", "Start of the process, in Unix time.").set(
            Date().timeIntervalSince1970)
        self.cpu = registry.counter("process_cpu_seconds_total", "Processor time of the process, analyzers apart.")
        self.resident = registry.gauge("process_resident_memory_bytes", "Memory of the process, analyzers apart.")
        self.descriptors = registry.gauge("process_open_fds", "Open file descriptors of the process.")
    }

    func update(_ vitals: JobWorkerVitals?, isReady: Bool) {
        self.ready.set(isReady ? 1 : 0)
        if let vitals {
            self.slots.set(Double(vitals.slots))
            self.busy.set(Double(vitals.running))
            self.permits.set(Double(vitals.permits))
            self.outside.set(Double(vitals.outside))
            self.heartbeatAge.set(vitals.heartbeatAge.seconds)
        }
        var usage = rusage()
        if getrusage(0, &usage) == 0 {
            let times = [usage.ru_utime, usage.ru_stime]
            self.cpu.raise(to: times.reduce(0) { $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6 })
        }
        // Sizes in pages: total, then resident.
        if let text = try? FileHandle(forReadingAtPath: "/proc/self/statm")?.readToEnd(),
            let pages = String(decoding: text, as: UTF8.self).split(separator: " ").dropFirst().first.flatMap({
                Double($0)
            })
        {
            self.resident.set(pages * Double(sysconf(CInt(_SC_PAGESIZE))))
        }
        if let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            self.descriptors.set(Double(names.count))
        }
    }
}

/// Metrics of the whole queue, from the database.
struct QueueMetrics: Sendable {
    private let waiting, oldest, running, delayed, paused: MetricRegistry.Gauge
    private let keysGone, keysGoneOldest, objectsGone, objectsGoneOldest: MetricRegistry.Gauge
    private let workers, callbacksPending, callbacksOldest, readAt, dutyAge, dutyFails: MetricRegistry.Gauge
    private let eventsOldest: MetricRegistry.Gauge

    init(_ registry: MetricRegistry) {
        func byLane(_ name: String, _ help: String) -> MetricRegistry.Gauge {
            registry.gauge("inspectd_queue_\(name)", help, labels: ["lane"])
        }
        self.waiting = byLane(
            "waiting_jobs", "Jobs ready to be claimed; an estimate where many thousands wait.")
        self.oldest = byLane("oldest_seconds", "Time since the oldest waiting job was accepted; 0 if none waits.")
        self.running = byLane("running_jobs", "Jobs running on all workers.")
        self.delayed = byLane("delayed_jobs", "Jobs that wait for a time: scheduled, or between two attempts.")
        self.paused = byLane("paused", "Whether claims from the lane are stopped.")
        self.workers = registry.gauge("inspectd_workers_live", "Workers with a heartbeat within 15 seconds.")
        self.callbacksPending = registry.gauge(
            "inspectd_callbacks_pending", "Callbacks to be delivered; counting stops at 10000.")
        self.callbacksOldest = registry.gauge(
            "inspectd_callbacks_oldest_seconds", "Time since the oldest pending callback was written; 0 if none is.")
        self.eventsOldest = registry.gauge(
            "inspectd_events_unnumbered_oldest_seconds",
            "Time since the oldest event that cannot be pulled yet was written; 0 if there is none.")
        self.keysGone = registry.gauge(
            "inspectd_keys_to_destroy",
            "Keys of erased data that the key store has to destroy; counting stops at 10000.")
        self.keysGoneOldest = registry.gauge(
            "inspectd_keys_to_destroy_oldest_seconds", "Time since the first of them was to be destroyed; 0 if none is."
        )
        self.objectsGone = registry.gauge(
            "inspectd_objects_to_delete",
            "Objects of erased data that the object store has to delete; counting stops at 10000.")
        self.objectsGoneOldest = registry.gauge(
            "inspectd_objects_to_delete_oldest_seconds", "Time since the first of them was to be deleted; 0 if none is."
        )
        self.dutyAge = registry.gauge(
            "inspectd_maintenance_age_seconds", "Time since any worker last finished a maintenance duty.",
            labels: ["duty"])
        self.dutyFails = registry.gauge(
            "inspectd_maintenance_failing", "Whether the last run of a maintenance duty failed.", labels: ["duty"])
        self.readAt = registry.gauge(
            "inspectd_queue_read_timestamp_seconds", "Time of the last poll of the queue, in Unix time.")
    }

    func take(_ depth: QueueDepth) {
        for (name, lane) in depth.lanes {
            self.waiting.set(lane.waiting, name)
            self.oldest.set(lane.oldestSeconds, name)
            self.running.set(lane.running, name)
            self.delayed.set(lane.delayed, name)
            self.paused.set(lane.isPaused ? 1 : 0, name)
        }
        self.workers.set(depth.workers)
        self.callbacksPending.set(depth.callbacksPending)
        self.callbacksOldest.set(depth.callbacksOldestSeconds)
        self.eventsOldest.set(depth.eventsUnnumberedOldestSeconds)
        self.keysGone.set(depth.keysGone)
        self.keysGoneOldest.set(depth.keysGoneOldestSeconds)
        self.objectsGone.set(depth.objectsGone)
        self.objectsGoneOldest.set(depth.objectsGoneOldestSeconds)
        for (name, duty) in depth.duties {
            self.dutyAge.set(duty.ageSeconds, name)
            self.dutyFails.set(duty.fails ? 1 : 0, name)
        }
        self.readAt.set(Date().timeIntervalSince1970)
    }

    /// Removes the gauges until the database answers again: old values would look current.
    func clear() {
        for gauge in [
            self.waiting, self.oldest, self.running, self.delayed, self.paused, self.workers, self.callbacksPending,
            self.callbacksOldest, self.eventsOldest, self.keysGone, self.keysGoneOldest, self.objectsGone,
            self.objectsGoneOldest, self.dutyAge,
            self.dutyFails,
        ] { gauge.clear() }
    }
}

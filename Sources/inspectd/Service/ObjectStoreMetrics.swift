import HTTPServer
import ObjectStore

/// Failed calls of the object store, in workers and gateways.
struct ObjectStoreMetrics: Sendable {
    private let failures: MetricRegistry.Counter

    init(_ registry: MetricRegistry) {
        self.failures = registry.counter(
            "inspectd_object_store_failures_total", "Calls of the object store that failed, retries included.",
            labels: ["operation"], preset: ObjectStore.Operation.allCases.map { [$0.rawValue] })
    }

    func take(_ operation: ObjectStore.Operation) { self.failures.add(1, operation.rawValue) }
}

internal import Foundation
internal import JobQueue

/// Measures the queue alone, on the product's own path: `insp.enqueue_many`, then a ``JobWorker`` whose handler analyses
/// nothing. Each mode is a separate type, and its report makes one JSON line.
///
/// The database must have the schema and an empty queue, and the benchmark's data stays there: use a separate database,
/// as the schema's owner.
package enum QueueBenchmark {
    /// Gets what is being done; a benchmark may take minutes.
    package typealias Progress = @Sendable (String) -> Void

    /// The value below which a share of the values lies; 0 if there are none. One of the values themselves, as in the peers' driver
    /// (`Tests/Peers/peers/common.py`), with which it is compared; `Statistics.percentile` interpolates.
    static func percentile(_ values: [Double], _ share: Double) -> Double {
        guard !values.isEmpty else { return 0 }
        let sorted = values.sorted()
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }

    /// The same of times in seconds, as milliseconds with three decimals.
    static func milliseconds(_ seconds: [Double], _ share: Double) -> Double {
        self.rounded(self.percentile(seconds, share) * 1000)
    }

    static func rounded(_ value: Double) -> Double { (value * 1000).rounded() / 1000 }

    /// `a / b` with three decimals; 0 if nothing was measured.
    static func ratio(_ a: Double, _ b: Double) -> Double { b > 0 ? self.rounded(a / b) : 0 }

    /// CPU time of this process so far.
    static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}

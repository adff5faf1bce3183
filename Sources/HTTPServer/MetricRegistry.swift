internal import Foundation
internal import Synchronization

/// Named counters, gauges and histograms in Prometheus' text format 0.0.4.
///
/// One lock guards all of them: there are a few thousand updates a second at most, and a scrape reads a consistent state.
package final class MetricRegistry: Sendable {
    /// The content type of ``text()``.
    package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    fileprivate let families = Mutex<[Family]>([])

    package init() {}

    /// Only ever rises; its name ends in `_total`.
    package struct Counter: Sendable {
        fileprivate let registry: MetricRegistry
        fileprivate let index: Int

        /// Adds to the series with these label values, which come in the order in which the labels were declared.
        package func add(_ amount: Double = 1, _ labels: String...) {
            precondition(amount >= 0, "a counter only rises")
            self.registry.change(self.index, labels) { $0.value += amount }
        }

        /// For a counter that is kept elsewhere.
        package func raise(to value: Double, _ labels: String...) {
            self.registry.change(self.index, labels) { $0.value = max($0.value, value) }
        }
    }

    /// A current value.
    package struct Gauge: Sendable {
        fileprivate let registry: MetricRegistry
        fileprivate let index: Int

        /// Sets the series with these label values, which come in the order in which the labels were declared.
        package func set(_ value: Double, _ labels: String...) {
            self.registry.change(self.index, labels) { $0.value = value }
        }

        /// Removes the value: no value is better than an outdated one.
        package func clear() { self.registry.families.withLock { $0[self.index].series = [:] } }
    }

    /// Counts of values at or below each bound.
    package struct Histogram: Sendable {
        fileprivate let registry: MetricRegistry
        fileprivate let index: Int
        fileprivate let bounds: [Double]

        /// Counts a value in the first bucket whose bound is not below it. Durations are in seconds.
        package func observe(_ value: Double, _ labels: String...) {
            let bucket = self.bounds.firstIndex { value <= $0 } ?? self.bounds.count
            self.registry.change(self.index, labels) { series in
                series.buckets[bucket] += 1
                series.value += value
            }
        }
    }

    /// - Parameter preset: Label values that start at 0, since PromQL sees no increase when a series appears.
    package func counter(
        _ name: String, _ help: String, labels: [String] = [], preset: [[String]] = []
    ) -> Counter {
        precondition(name.hasSuffix("_total"), "\(name): a counter's name ends in _total")
        return Counter(registry: self, index: self.add(name, help, "counter", labels, preset))
    }

    /// A value that may fall, such as a count of jobs that run.
    package func gauge(_ name: String, _ help: String, labels: [String] = []) -> Gauge {
        Gauge(registry: self, index: self.add(name, help, "gauge", labels, []))
    }

    /// - Parameter bounds: Upper bounds of the buckets, rising; the last one, infinity, is added.
    package func histogram(
        _ name: String, _ help: String, labels: [String] = [], preset: [[String]] = [], bounds: [Double]
    ) -> Histogram {
        precondition(!bounds.isEmpty && zip(bounds, bounds.dropFirst()).allSatisfy(<), "\(name): bounds must rise")
        return Histogram(
            registry: self, index: self.add(name, help, "histogram", labels, preset, bounds: bounds), bounds: bounds)
    }

    /// All metrics, as a scrape reads them.
    package func text() -> String {
        self.families.withLock { $0 }.map(\.text).joined()
    }

    // MARK: -

    fileprivate struct Series: Sendable {
        /// The value; of a histogram, the sum.
        var value = 0.0
        /// Counts of each bucket alone; added up when they are written.
        var buckets: [UInt64]
    }

    fileprivate struct Family: Sendable {
        let name: String
        let help: String
        let type: String
        let labels: [String]
        let bounds: [Double]
        var series: [[String]: Series] = [:]
    }

    private func add(
        _ name: String, _ help: String, _ type: String, _ labels: [String], _ preset: [[String]],
        bounds: [Double] = []
    ) -> Int {
        precondition(Self.isName(name) && labels.allSatisfy(Self.isName), "\(name): not a name")
        return self.families.withLock { families in
            precondition(!families.contains { $0.name == name }, "\(name) exists already")
            var family = Family(name: name, help: help, type: type, labels: labels, bounds: bounds)
            let known = labels.isEmpty && type != "gauge" ? [[]] : preset
            for values in known { family.series[values] = Series(buckets: family.emptyBuckets) }
            families.append(family)
            return families.count - 1
        }
    }

    fileprivate func change(_ index: Int, _ values: [String], _ body: (inout Series) -> Void) {
        self.families.withLock { families in
            precondition(values.count == families[index].labels.count, "\(families[index].name): wrong labels")
            let empty = Series(buckets: families[index].emptyBuckets)
            body(&families[index].series[values, default: empty])
        }
    }

    private static func isName(_ name: String) -> Bool {
        name.first.map { $0.isASCII && $0.isLowercase } == true
            && name.utf8.allSatisfy { (0x61...0x7a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5f }
    }
}

extension MetricRegistry.Family {
    fileprivate var emptyBuckets: [UInt64] {
        self.bounds.isEmpty ? [] : Array(repeating: 0, count: self.bounds.count + 1)
    }

    fileprivate var text: String {
        guard !self.series.isEmpty else { return "" }
        var text = "# HELP \(self.name) \(Self.escaped(self.help, quotes: false))\n# TYPE \(self.name) \(self.type)\n"
        for (values, series) in self.series.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            let labels = zip(self.labels, values).map { "\($0)=\"\(Self.escaped($1, quotes: true))\"" }
            guard self.type == "histogram" else {
                text += Self.line(self.name, labels, Self.number(series.value))
                continue
            }
            var count: UInt64 = 0
            for (bucket, bound) in zip(series.buckets, self.bounds + [.infinity]) {
                count += bucket
                text += Self.line("\(self.name)_bucket", labels + ["le=\"\(Self.number(bound))\""], String(count))
            }
            text += Self.line("\(self.name)_sum", labels, Self.number(series.value))
            text += Self.line("\(self.name)_count", labels, String(count))
        }
        return text
    }

    private static func line(_ name: String, _ labels: [String], _ value: String) -> String {
        labels.isEmpty ? "\(name) \(value)\n" : "\(name){\(labels.joined(separator: ","))} \(value)\n"
    }

    /// Whole numbers without a point, others as the shortest text that reads back as the same value.
    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        if value == value.rounded(), abs(value) < 1e15 { return String(Int64(value)) }
        return "\(value)"
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = text.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
        if quotes { escaped = escaped.replacing("\"", with: "\\\"") }
        return escaped
    }
}

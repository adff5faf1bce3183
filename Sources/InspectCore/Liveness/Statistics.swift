/// Summary statistics of series.
enum Statistics {
    static func median(_ values: [Double]) -> Double? { self.percentile(values, 0.5) }

    /// Linear between the two nearest values.
    static func percentile(_ values: [Double], _ share: Double) -> Double? {
        self.percentile(sorted: values.sorted(), share)
    }

    /// The same for sorted values.
    static func percentile(sorted: [Double], _ share: Double) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let place = share * Double(sorted.count - 1)
        let below = Int(place.rounded(.down))
        let above = min(below + 1, sorted.count - 1)
        return sorted[below] + (sorted[above] - sorted[below]) * (place - Double(below))
    }

    /// The first place of a value among sorted values: where it is, or where it belongs.
    static func place(of value: Double, in sorted: [Double]) -> Int {
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] < value { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Mean squared distance from the mean; 0 for fewer than two values.
    static func variance(_ values: [Double]) -> Double {
        guard values.count > 1 else { return 0 }
        let mean = values.reduce(0, +) / Double(values.count)
        return values.map { ($0 - mean) * ($0 - mean) }.reduce(0, +) / Double(values.count - 1)
    }
}

extension Duration {
    /// The whole duration in nanoseconds; at most 292 years, at least 0.
    var nanoseconds: UInt64 {
        let (seconds, attoseconds) = self.components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        return overflow ? UInt64(Int64.max) : UInt64(product) + UInt64(attoseconds / 1_000_000_000)
    }
}

extension Duration {
    /// The duration in seconds.
    package var seconds: Double {
        Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18
    }

    /// The duration in milliseconds, to a tenth.
    package var milliseconds: Double { (self.seconds * 10_000).rounded() / 10 }
}

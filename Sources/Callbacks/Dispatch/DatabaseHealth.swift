/// Whether the database answers a dispatcher's loops, each of which has its own connection.
struct DatabaseHealth {
    enum Loop: CaseIterable, Sendable {
        case claim, settle
    }

    private var failing: Set<Loop> = []
    private var hasAnswered = false

    /// Whether the last call of every loop succeeded.
    var isConnected: Bool { self.hasAnswered && self.failing.isEmpty }

    /// - Returns: Whether no loop failed before, so that the failure is reported. While one loop fails, successes of the other are
    ///   not reported: they would alternate.
    mutating func failed(_ loop: Loop) -> Bool {
        defer { self.failing.insert(loop) }
        return self.failing.isEmpty
    }

    /// - Returns: Whether this was the last loop that failed.
    mutating func answered(_ loop: Loop) -> Bool {
        self.hasAnswered = true
        return self.forget(loop)
    }

    /// A loop needs the database no longer.
    ///
    /// - Returns: Whether it was the last loop that failed.
    mutating func forget(_ loop: Loop) -> Bool {
        self.failing.remove(loop) != nil && self.failing.isEmpty
    }
}

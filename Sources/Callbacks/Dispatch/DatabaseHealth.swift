/// Whether the database answers a dispatcher's loops, each over a connection of its own.
struct DatabaseHealth {
    enum Loop: CaseIterable, Sendable {
        case claim, settle
    }

    private var failing: Set<Loop> = []
    private var hasAnswered = false

    /// Whether it answered last, of all loops.
    var isConnected: Bool { self.hasAnswered && self.failing.isEmpty }

    /// - Returns: Whether no loop failed before, which is worth a report. While one fails, the successes of the other are not:
    ///   they would alternate.
    mutating func failed(_ loop: Loop) -> Bool {
        defer { self.failing.insert(loop) }
        return self.failing.isEmpty
    }

    /// - Returns: Whether this was the last loop that failed.
    mutating func answered(_ loop: Loop) -> Bool {
        self.hasAnswered = true
        return self.forget(loop)
    }

    /// A loop has nothing more to ask the database for.
    ///
    /// - Returns: Whether it was the last loop that failed.
    mutating func forget(_ loop: Loop) -> Bool {
        self.failing.remove(loop) != nil && self.failing.isEmpty
    }
}

/// Tracks which claimed callbacks are being sent, and which are next. It knows only the endpoint of each.
///
/// A dispatcher claims more of an endpoint's callbacks than it may send at once (``DispatchMachine/claimedAhead``), so that
/// the next can start when one ends, without waiting for the round trips that settle the one and claim the other.
struct CallbackLanes<Entry> {
    /// The callbacks of one endpoint.
    private struct Lane {
        var atOnce: Int
        var running = 0
        var waiting: ArraySlice<Entry> = []
        /// Failures not yet settled. Until they are, nothing more is started: they may disable the endpoint.
        var failures = 0
        /// Whether it is in ``CallbackLanes/ready``.
        var isListed = false

        var isReady: Bool { self.failures == 0 && !self.waiting.isEmpty && self.running < self.atOnce }
        var isOver: Bool { self.failures == 0 && !self.isListed && self.waiting.isEmpty && self.running == 0 }

        mutating func begin() -> Entry? {
            guard self.isReady, let entry = self.waiting.popFirst() else { return nil }
            self.running += 1
            return entry
        }
    }

    private let limit: Int
    private var lanes: [Int64: Lane] = [:]
    /// Endpoints that may start another callback, in the order of their turns, each once.
    private var ready: [Int64] = []
    /// How many are being sent.
    private(set) var running = 0

    /// - Parameter limit: How many are sent at once, over all endpoints.
    init(limit: Int) { self.limit = limit }

    /// How many endpoints have callbacks that wait, run or delay others.
    var count: Int { self.lanes.count }

    /// How many endpoints may start another callback.
    var readyCount: Int { self.running < self.limit ? self.ready.count : 0 }

    /// Takes claimed callbacks.
    ///
    /// - Parameters:
    ///   - permits: How many callbacks of each claimed endpoint may be sent at once from now on.
    ///   - endpoint: A callback's endpoint.
    mutating func add(_ entries: [Entry], permits: [Int64: Int], endpoint: (Entry) -> Int64) {
        for entry in entries { self.lanes[endpoint(entry), default: Lane(atOnce: 1)].waiting.append(entry) }
        for (endpoint, permits) in permits {
            guard let index = self.lanes.index(forKey: endpoint) else { continue }
            self.lanes.values[index].atOnce = permits
            self.list(endpoint, at: index)
        }
    }

    /// Starts all that may start: one of each endpoint, then another of each.
    mutating func begin() -> [Entry] {
        var begun: [Entry] = []
        var turn = 0
        while self.running < self.limit, turn < self.ready.count {
            let endpoint = self.ready[turn]
            turn += 1
            guard let index = self.lanes.index(forKey: endpoint) else { continue }
            self.lanes.values[index].isListed = false
            if let entry = self.lanes.values[index].begin() {
                self.running += 1
                begun.append(entry)
            }
            self.list(endpoint, at: index)
        }
        self.ready.removeFirst(turn)
        return begun
    }

    /// A callback that was started has ended.
    ///
    /// - Parameter holds: Whether the endpoint's next callbacks wait for ``resume(_:after:)``.
    mutating func end(_ endpoint: Int64, holds: Bool) {
        guard let index = self.lanes.index(forKey: endpoint) else { return }
        self.running -= 1
        self.lanes.values[index].running -= 1
        if holds { self.lanes.values[index].failures += 1 }
        self.list(endpoint, at: index)
    }

    /// This many failures are settled.
    mutating func resume(_ endpoint: Int64, after count: Int) {
        guard let index = self.lanes.index(forKey: endpoint) else { return }
        self.lanes.values[index].failures = max(0, self.lanes.values[index].failures - count)
        self.list(endpoint, at: index)
    }

    /// Removes all waiting callbacks of one endpoint or of all.
    mutating func abandon(_ endpoint: Int64? = nil) -> [Entry] {
        var abandoned: [Entry] = []
        for endpoint in endpoint.map({ [$0] }) ?? Array(self.lanes.keys) {
            guard let index = self.lanes.index(forKey: endpoint) else { continue }
            abandoned += self.lanes.values[index].waiting
            self.lanes.values[index].waiting = []
            self.list(endpoint, at: index)
        }
        return abandoned
    }

    /// Notes whether an endpoint may start another callback.
    private mutating func list(_ endpoint: Int64, at index: Dictionary<Int64, Lane>.Index) {
        // Copied once, rather than for each question.
        let lane = self.lanes.values[index]
        if lane.isOver {
            self.lanes.remove(at: index)
        } else if lane.isReady, !lane.isListed {
            self.lanes.values[index].isListed = true
            self.ready.append(endpoint)
        }
    }
}

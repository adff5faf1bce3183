internal import Synchronization

/// Partners' keys that this process has unwrapped: a slow KMS or token is asked once for each, even if many callers ask at the same moment.
///
/// A key stays until another one needs its place. Its destruction is noticed at each fetch, which also reads its row, and when keys
/// are added below it.
final class PartnerKeyCache: Sendable {
    private struct State {
        var keys: [KeyID: (key: CustodyKey, used: UInt64)] = [:]
        var ids: [Int64: KeyID] = [:]
        var flights: [KeyID: Task<Result<CustodyKey, KeyFault>, Never>] = [:]
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let limit: Int

    /// - Parameter limit: Keys that are kept.
    init(limit: Int = 1_000) { self.limit = max(1, limit) }

    /// A partner's key by the partner's number: the one that this process saw last, which may have been replaced since.
    func key(of partner: Int64) -> CustodyKey? {
        self.state.withLock { state in
            guard let id = state.ids[partner] else { return nil }
            return Self.use(id, &state)
        }
    }

    /// A key by its id; opens it if it is not cached.
    func key(_ id: KeyID, open: @escaping @Sendable () async -> Result<CustodyKey, KeyFault>) async -> Result<
        CustodyKey, KeyFault
    > {
        enum Found {
            case key(CustodyKey)
            case flight(Task<Result<CustodyKey, KeyFault>, Never>)
        }
        let found: Found = self.state.withLock { state in
            if let key = Self.use(id, &state) {
                // The caller has just read its row.
                state.ids[key.partner] = id
                return .key(key)
            }
            if let flight = state.flights[id] { return .flight(flight) }
            let flight = Task {
                let result = await open()
                self.land(id, result)
                return result
            }
            state.flights[id] = flight
            return .flight(flight)
        }
        switch found {
        case .key(let key): return .success(key)
        case .flight(let flight): return await flight.value
        }
    }

    /// Keeps a key that was just made.
    func keep(_ key: CustodyKey) { self.land(key.id, .success(key)) }

    func forget(_ partner: Int64) {
        self.state.withLock { state in
            if let id = state.ids.removeValue(forKey: partner) { state.keys[id] = nil }
        }
    }

    private func land(_ id: KeyID, _ result: Result<CustodyKey, KeyFault>) {
        self.state.withLock { state in
            state.flights[id] = nil
            guard case .success(let key) = result else { return }
            if state.keys.count >= self.limit, let oldest = state.keys.min(by: { $0.value.used < $1.value.used }) {
                state.keys[oldest.key] = nil
                if state.ids[oldest.value.key.partner] == oldest.key { state.ids[oldest.value.key.partner] = nil }
            }
            state.uses += 1
            state.keys[id] = (key, state.uses)
            state.ids[key.partner] = id
        }
    }

    private static func use(_ id: KeyID, _ state: inout State) -> CustodyKey? {
        guard let entry = state.keys[id] else { return nil }
        state.uses += 1
        state.keys[id] = (entry.key, state.uses)
        return entry.key
    }
}

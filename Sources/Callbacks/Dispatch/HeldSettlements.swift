internal import Postgres

/// Settlements that cannot be recorded for now, because an operator's open transaction, or any other, holds a row of theirs.
/// They wait here, so that they cost their own endpoints alone, and are tried again now and then until their claims lapse.
struct HeldSettlements {
    private(set) var waiting: [CallbackSettlement] = []
    private var nextTry = ContinuousClock.now

    /// Records what has ended, and tries again what waits if it is time to.
    ///
    /// - Returns: What is recorded now, and what came of it.
    mutating func record(
        _ settlements: [CallbackSettlement], by store: CallbackStore
    ) async throws -> (settled: [CallbackSettlement], record: CallbackRecord) {
        var settled: [CallbackSettlement] = []
        var record = CallbackRecord()
        if !settlements.isEmpty {
            do {
                record = try await store.record(settlements)
                settled = settlements
            } catch let error as PostgresError where error.isHeldRow {
                // Which of them it was is not known.
                let before = self.waiting
                do {
                    try await self.recordApart(settlements, by: store, &settled, &record)
                } catch {
                    self.waiting = before
                    throw error
                }
            }
        }
        if !self.waiting.isEmpty, ContinuousClock.now >= self.nextTry {
            let again = self.waiting
            self.waiting = []
            let start = ContinuousClock.now
            do {
                try await self.recordApart(again, by: store, &settled, &record)
            } catch {
                // What was recorded before it is. Recorded twice, the rest does no harm.
                self.waiting = again
            }
            // A try waits for each row that is held (`insp.callback_settle`): a twentieth of the time at most, so that the
            // others do not notice.
            self.nextTry = .now + max(.seconds(1), (ContinuousClock.now - start) * 20)
        }
        return (settled, record)
    }

    /// Records one endpoint's after the other.
    private mutating func recordApart(
        _ settlements: [CallbackSettlement], by store: CallbackStore, _ settled: inout [CallbackSettlement],
        _ record: inout CallbackRecord
    ) async throws {
        for (_, own) in Dictionary(grouping: settlements, by: \.callback.endpoint.id).sorted(by: { $0.key < $1.key }) {
            do {
                record.add(try await store.record(own))
                settled += own
            } catch let error as PostgresError where error.isHeldRow {
                self.waiting += own
            }
        }
    }

    /// Gives up what nobody needs to record any more: whoever claims it next sends it again.
    mutating func dropLapsed(at now: ContinuousClock.Instant) -> [CallbackSettlement] {
        let lapsed = self.waiting.filter { $0.deadline < now }
        if !lapsed.isEmpty { self.waiting.removeAll { $0.deadline < now } }
        return lapsed
    }
}

extension PostgresError {
    /// Whether the statement found a row that another transaction holds: `lock_not_available` or `deadlock_detected`.
    var isHeldRow: Bool { self.sqlState == "55P03" || self.sqlState == "40P01" }
}

internal import Postgres

/// What came of a batch of settlements.
struct SettledBatch {
    var settled: [CallbackSettlement] = []
    var record = CallbackRecord()
    /// Those that the database refuses whenever it is told of them. Their claims lapse.
    var refused: [(settlement: CallbackSettlement, reason: String)] = []
    /// Those that are still to be settled, because of ``failure``.
    var unsettled: [CallbackSettlement] = []
    var failure: (any Error)?
    /// Whether the database answered, be it that it refused.
    var isAnswered = false
}

/// Settlements that cannot be written for now, because an operator's open transaction, or any other, holds a row of theirs.
/// They wait here, so that they cost their own endpoints alone, and are tried again now and then until their claims lapse.
struct HeldSettlements {
    private(set) var waiting: [CallbackSettlement] = []
    private var nextTry = ContinuousClock.now

    /// Settles what has ended, and tries again what waits if it is time to.
    mutating func settle(_ settlements: [CallbackSettlement], by store: CallbackStore) async -> SettledBatch {
        var batch = SettledBatch()
        if !settlements.isEmpty { await self.settle(settlements, by: store, &batch) }
        if batch.failure == nil, !self.waiting.isEmpty, ContinuousClock.now >= self.nextTry {
            let again = self.waiting
            self.waiting = []
            let start = ContinuousClock.now
            await self.settleApart(again, by: store, &batch)
            self.waiting += batch.unsettled
            batch.unsettled = []
            // A try waits for each row that is held (`insp.callback_settle`): a twentieth of the time at most, so that the
            // others do not notice.
            self.nextTry = .now + max(.seconds(1), (ContinuousClock.now - start) * 20)
        }
        return batch
    }

    private mutating func settle(
        _ settlements: [CallbackSettlement], by store: CallbackStore, _ batch: inout SettledBatch
    ) async {
        do {
            batch.record.add(try await store.settle(settlements))
            batch.isAnswered = true
            batch.settled += settlements
        } catch let error as PostgresError where error.isHeldRow {
            // Which of them it was is not known.
            await self.settleApart(settlements, by: store, &batch)
        } catch let error as PostgresError where error.isOfOneRow {
            await self.settleHalves(settlements, by: store, &batch, error)
        } catch {
            batch.failure = error
            batch.unsettled += settlements
        }
    }

    /// Settles one endpoint's after the other.
    private mutating func settleApart(
        _ settlements: [CallbackSettlement], by store: CallbackStore, _ batch: inout SettledBatch
    ) async {
        for (_, own) in Dictionary(grouping: settlements, by: \.callback.endpoint.id).sorted(by: { $0.key < $1.key }) {
            guard batch.failure == nil else {
                batch.unsettled += own
                continue
            }
            do {
                batch.record.add(try await store.settle(own))
                batch.isAnswered = true
                batch.settled += own
            } catch let error as PostgresError where error.isHeldRow {
                batch.isAnswered = true
                self.waiting += own
            } catch let error as PostgresError where error.isOfOneRow {
                await self.settleHalves(own, by: store, &batch, error)
            } catch {
                batch.failure = error
                batch.unsettled += own
            }
        }
    }

    /// Finds the one that is refused: with it the others would be refused for ever.
    private mutating func settleHalves(
        _ settlements: [CallbackSettlement], by store: CallbackStore, _ batch: inout SettledBatch,
        _ error: PostgresError
    ) async {
        guard settlements.count > 1 else {
            batch.isAnswered = true
            batch.refused += settlements.map { ($0, error.reason) }
            return
        }
        let middle = settlements.count / 2
        for half in [settlements[..<middle], settlements[middle...]] {
            if batch.failure == nil {
                await self.settle(Array(half), by: store, &batch)
            } else {
                batch.unsettled += half
            }
        }
    }

    /// Gives up what nobody needs to settle any more: whoever claims it next sends it again.
    mutating func dropLapsed(at now: ContinuousClock.Instant) -> [CallbackSettlement] {
        let lapsed = self.waiting.filter { $0.deadline < now }
        if !lapsed.isEmpty { self.waiting.removeAll { $0.deadline < now } }
        return lapsed
    }
}

extension PostgresError {
    /// Whether the statement found a row that another transaction holds: `lock_not_available` or `deadlock_detected`.
    var isHeldRow: Bool { self.sqlState == "55P03" || self.sqlState == "40P01" }

    /// Whether a value or a row of one callback is at fault, and the same statement without it may succeed: classes 21, 22, 23
    /// (values and constraints), 54 (limits), P0 and IN (raised by functions), XX (damaged rows).
    var isOfOneRow: Bool {
        if self.code == .invalidParameter { return true }
        guard self.code == .server, let state = self.sqlState else { return false }
        return ["21", "22", "23", "54", "P0", "IN", "XX"].contains(String(state.prefix(2)))
    }
}

internal import Postgres

/// What came of a batch of settlements.
struct SettledBatch {
    var settled: [CallbackSettlement] = []
    var record = CallbackRecord()
    /// Those that the database refuses for good. Their claims lapse.
    var refused: [(settlement: CallbackSettlement, reason: String)] = []
    /// Those with a row that another transaction holds: an operator's that was left open, or any other. They wait, so that they
    /// cost their own endpoints alone.
    var held: [CallbackSettlement] = []
    /// Those that are still to be settled, because of ``failure``.
    var unsettled: [CallbackSettlement] = []
    var failure: (any Error)?
}

/// Settles, and keeps what cannot be settled from what can.
struct SettlementWriter {
    let store: CallbackStore

    /// - Parameter held: Those whose rows were held before; each endpoint's apart.
    func settle(_ settlements: [CallbackSettlement], held: [CallbackSettlement]) async -> SettledBatch {
        var batch = SettledBatch()
        if !settlements.isEmpty { await self.settle(settlements, &batch) }
        if batch.failure == nil {
            await self.settleApart(held, &batch)
        } else {
            batch.held += held
        }
        return batch
    }

    private func settle(
        _ settlements: [CallbackSettlement], _ batch: inout SettledBatch
    ) async {
        do {
            batch.record.add(try await self.store.settle(settlements))
            batch.settled += settlements
        } catch let error as PostgresError where error.isHeldRow {
            // Which of them it was is not known.
            await self.settleApart(settlements, &batch)
        } catch let error as PostgresError where error.isOfOneRow {
            await self.settleHalves(settlements, &batch, error)
        } catch {
            batch.failure = error
            batch.unsettled += settlements
        }
    }

    /// Settles one endpoint's after the other.
    private func settleApart(
        _ settlements: [CallbackSettlement], _ batch: inout SettledBatch
    ) async {
        for (_, own) in Dictionary(grouping: settlements, by: \.callback.endpoint.id).sorted(by: { $0.key < $1.key }) {
            guard batch.failure == nil else {
                batch.unsettled += own
                continue
            }
            do {
                batch.record.add(try await self.store.settle(own))
                batch.settled += own
            } catch let error as PostgresError where error.isHeldRow {
                batch.held += own
            } catch let error as PostgresError where error.isOfOneRow {
                await self.settleHalves(own, &batch, error)
            } catch {
                batch.failure = error
                batch.unsettled += own
            }
        }
    }

    /// Finds the one that is refused: with it the others would be refused for ever.
    private func settleHalves(
        _ settlements: [CallbackSettlement], _ batch: inout SettledBatch,
        _ error: PostgresError
    ) async {
        guard settlements.count > 1 else {
            batch.refused += settlements.map { ($0, error.reason) }
            return
        }
        let middle = settlements.count / 2
        for half in [settlements[..<middle], settlements[middle...]] {
            if batch.failure == nil {
                await self.settle(Array(half), &batch)
            } else {
                batch.unsettled += half
            }
        }
    }
}

extension PostgresError {
    /// Whether the statement found a row that another transaction holds: `lock_not_available` or `deadlock_detected`.
    var isHeldRow: Bool { self.sqlState == "55P03" || self.sqlState == "40P01" }

    /// Whether a value or a row of one callback is at fault, and the same statement without it may succeed: any SQLSTATE that
    /// is not ``isPassing``, but those that a new connection cures (a stale plan, a lost preparation, a login).
    var isOfOneRow: Bool {
        if self.code == .invalidParameter { return true }
        guard self.code == .server, let state = self.sqlState else { return false }
        return !self.isPassing && !["0A", "26", "28", "3D"].contains(state.prefix(2))
    }
}

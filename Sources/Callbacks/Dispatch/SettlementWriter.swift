internal import Postgres

/// The outcome of a batch of settlements.
struct SettledBatch {
    var settled: [CallbackSettlement] = []
    var record = CallbackRecord()
    /// Those that the database refuses permanently. Their claims lapse.
    var refused: [(settlement: CallbackSettlement, reason: String)] = []
    /// Those that fail by themselves with an error of their row or of the schema (``PostgresError/mayBeOfOneRow``).
    var suspected: [(settlement: CallbackSettlement, error: PostgresError)] = []
    /// Those with a row that another transaction holds, such as one that an operator left open, and a single suspected one. They
    /// wait, so that they delay only their own endpoints.
    var held: [CallbackSettlement] = []
    /// Those still to be settled because of ``failure``.
    var unsettled: [CallbackSettlement] = []
    var failure: (any Error)?
}

/// Settles, so that what cannot be settled does not block the rest.
struct SettlementWriter {
    let store: CallbackStore

    /// - Parameter held: Those whose rows were held before; settled separately for each endpoint.
    func settle(_ settlements: [CallbackSettlement], held: [CallbackSettlement]) async -> SettledBatch {
        var batch = SettledBatch()
        if !settlements.isEmpty { await self.settle(settlements, &batch) }
        if batch.failure == nil {
            await self.settleApart(held, &batch)
        } else {
            batch.held += held
        }
        self.judge(&batch)
        return batch
    }

    /// Whose fault the suspected ones' error is: their rows', if others are settled; the schema's, if several fail and none is
    /// settled. A single one waits for others.
    private func judge(_ batch: inout SettledBatch) {
        guard let first = batch.suspected.first else { return }
        if !batch.settled.isEmpty {
            batch.refused += batch.suspected.map { ($0.settlement, $0.error.reason) }
        } else if batch.suspected.count == 1 {
            batch.held.append(first.settlement)
        } else {
            batch.failure = batch.failure ?? first.error
            batch.unsettled += batch.suspected.map(\.settlement)
        }
    }

    private func settle(
        _ settlements: [CallbackSettlement], _ batch: inout SettledBatch
    ) async {
        do {
            batch.record.add(try await self.store.settle(settlements))
            batch.settled += settlements
        } catch let error as PostgresError where error.isHeldRow {
            // It is unknown which of them it was.
            await self.settleApart(settlements, &batch)
        } catch let error as PostgresError where error.mayBeOfOneRow {
            await self.settleHalves(settlements, &batch, error)
        } catch {
            batch.failure = error
            batch.unsettled += settlements
        }
    }

    /// Settles endpoint by endpoint.
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
            } catch let error as PostgresError where error.mayBeOfOneRow {
                await self.settleHalves(own, &batch, error)
            } catch {
                batch.failure = error
                batch.unsettled += own
            }
        }
    }

    /// Finds the refused one, which would make every batch with it fail.
    private func settleHalves(
        _ settlements: [CallbackSettlement], _ batch: inout SettledBatch,
        _ error: PostgresError
    ) async {
        guard settlements.count > 1 else {
            if error.isOfOneRow {
                batch.refused += settlements.map { ($0, error.reason) }
            } else {
                batch.suspected += settlements.map { ($0, error) }
            }
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

    /// Whether one callback's value or row is at fault, so that the statement may succeed without it: any SQLSTATE that is not
    /// ``isPassing``, except those that a new connection cures (a stale plan, a lost prepared statement, a login).
    var isOfOneRow: Bool {
        if self.code == .invalidParameter { return true }
        guard self.code == .server, let state = self.sqlState else { return false }
        return !self.isPassing && !["0A", "26", "28", "3D"].contains(state.prefix(2))
    }

    /// Whether one callback's row may be at fault, though the schema may be as well: the rule of `insp.may_be_of_row`.
    var mayBeOfOneRow: Bool { self.isOfOneRow || self.code == .server && self.sqlState == "XX000" }
}

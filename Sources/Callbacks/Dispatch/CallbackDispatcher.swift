internal import Foundation
package import HTTPClient
internal import Postgres
internal import Synchronization

/// Sends the outbox's callbacks until it is told to stop.
///
/// A claim is committed before anything is sent, and an attempt is recorded under that claim afterwards. Dying at any
/// point therefore loses nothing: the claim lapses, and another dispatcher sends the callback again with the same
/// `webhook-id`. One loop claims and another records, each over a connection of its own, and a third sends what was
/// claimed ahead, so that none waits for another, nor libcurl's thread for any: the answers that arrive during one round
/// trip are recorded in the next, and what they make room for is claimed meanwhile. Batches grow with the load by
/// themselves.
package final class CallbackDispatcher: Sendable {
    private let configuration: CallbackConfiguration
    private let sender: CallbackSender
    private let onEvent: @Sendable (CallbackEvent) -> Void
    private let shared: Mutex<DispatchState>
    private let claims = Wakeup()
    private let sends = Wakeup()
    private let records = Wakeup()
    /// Under which leases are known as this dispatcher's.
    private let holder = Int64.random(in: 1...Int64.max)

    /// How the dispatcher is at this moment, for health checks: seconds since the slower of its loops last went round (`nil`
    /// before both run; their waits are a second long), and whether its database answered last. Answers from any thread and
    /// at once.
    package var vitals: (loopAge: Double?, isConnected: Bool) {
        self.shared.withLock { shared in
            guard let claimed = shared.claimed, let recorded = shared.recorded else {
                return (nil, shared.database.isConnected)
            }
            return (
                (.now - min(shared.hasClaimed ? recorded : claimed, recorded)) / .seconds(1),
                shared.database.isConnected
            )
        }
    }

    /// - Parameter onEvent: Called on any thread; must return at once.
    package convenience init(
        configuration: CallbackConfiguration, onEvent: @escaping @Sendable (CallbackEvent) -> Void = { _ in }
    ) {
        self.init(configuration: configuration, resolver: Resolver(), onEvent: onEvent)
    }

    package init(
        configuration: CallbackConfiguration, resolver: Resolver,
        onEvent: @escaping @Sendable (CallbackEvent) -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.shared = Mutex(DispatchState(configuration))
        let client = HTTPClient(certificateAuthorities: configuration.certificateAuthorities, resolver: resolver)
        let tokens = TokenStore(
            databaseURL: configuration.databaseURL, preparesStatements: configuration.preparesStatements)
        self.sender = CallbackSender(
            client: client, timeoutMilliseconds: Int(configuration.timeout / .milliseconds(1)),
            agent: configuration.agent,
            authorizer: Authorizer(store: tokens, client: client, providers: configuration.providers))
        self.onEvent = onEvent
    }

    /// Dispatches until the task is cancelled, or until ``drain()`` has found nothing more to do. To be called once.
    ///
    /// Cancellation stops claiming at once and returns when the attempts under way have ended and are recorded, at the
    /// latest a few seconds after ``CallbackConfiguration/grace``. A database that cannot be reached is reported and tried
    /// again; it never ends the dispatcher.
    package func run() async {
        // Not a child task: what is under way must survive the cancellation of the caller for a while.
        let loop = Task { await self.dispatch() }
        await withTaskCancellationHandler {
            await loop.value
        } onCancel: {
            self.shared.withLock { $0.graceEnd = $0.graceEnd ?? .now + self.configuration.grace }
            self.claims.wake()
            self.records.wake()
        }
    }

    /// Looks for due callbacks at once.
    package func wake() { self.claims.wake() }

    /// Makes ``run()`` return as soon as no callback is due and none is under way. Callbacks that wait for a later attempt
    /// are left to the next dispatcher.
    package func drain() {
        self.shared.withLock { $0.isDraining = true }
        self.claims.wake()
    }

    // MARK: - The loops

    private func dispatch() async {
        let hints = CallbackHints(configuration: self.configuration, claims: self.claims, records: self.records)
        let ticker = Task { await hints.tick() }
        let listener = Task { await hints.listen() }
        let claimer = Task { await self.claim() }
        let starter = Task { await self.send() }
        await self.record()
        starter.cancel()
        ticker.cancel()
        listener.cancel()
        // Past the grace it may still wait for its database, and ends by itself.
        if self.shared.withLock({ $0.hasClaimed }) { await claimer.value }
    }

    /// Claims what is due and starts it, until the dispatcher is cancelled or has drained everything.
    private func claim() async {
        var link = Link()
        var floors = CallbackFloors()
        var nextSweep = ContinuousClock.now
        var last = ContinuousClock.now
        var patience = Patience(self.claims)
        for await _ in self.claims.stream {
            guard self.isDue(&patience, by: last + .milliseconds(20), unless: \.isEarlyToClaim) else {
                continue
            }
            var hasMore = true
            var isOver = false
            while hasMore, !isOver {
                hasMore = false
                let now = ContinuousClock.now
                let (graceEnd, isDraining, underWay, retried, unsettled) = self.shared.withLock { shared in
                    shared.claimed = now
                    shared.freed = 0
                    return (shared.graceEnd, shared.isDraining, shared.underWay.count, shared.retries, shared.unsettled)
                }
                isOver = graceEnd != nil
                let places = CallbackLanes.held * self.configuration.maximumInFlight
                let limit = min(self.configuration.batch, places - underWay)
                guard !isOver, limit > 0 else { continue }
                // Half of all places are kept for first attempts: what was tried before tends to hang.
                let retries = max(0, min(limit, self.configuration.maximumInFlight / 2 - retried))
                let isSweep = now >= nextSweep
                do {
                    guard let store = try await self.store(&link) else { continue }
                    let claim = try await store.claim(
                        limit, retries: retries, above: isSweep ? CallbackFloors(claims: floors.claims) : floors)
                    floors = claim.floors
                    last = .now
                    // Lapsed claims lie below the floors: now and then everything is searched, for a twentieth of the time at
                    // most.
                    if isSweep { nextSweep = .now + max(.seconds(5), (ContinuousClock.now - now) * 20) }
                    self.restored(.claim, &link)
                    self.take(claim, deadline: now + self.configuration.lease)
                    hasMore = claim.callbacks.count == limit
                    // Nothing was due with all places free.
                    isOver = isDraining && underWay == 0 && unsettled == 0 && claim.callbacks.isEmpty
                } catch let error as PostgresError where error.isHeldRow {
                    self.restored(.claim, &link)
                    // Somebody changes a table or holds a row: the next poll looks again.
                    nextSweep = .now
                } catch {
                    nextSweep = .now
                    await self.failed(error, .claim, &link, then: self.claims)
                }
            }
            if isOver { break }
        }
        self.shared.withLock { $0.hasClaimed = true }
        self.records.wake()
        await link.store?.connection.close()
    }

    private func take(_ claim: CallbackClaim, deadline: ContinuousClock.Instant) {
        guard !claim.places.isEmpty else { return }
        let givesBack = self.shared.withLock { $0.take(claim, at: .now, deadline: deadline) }
        if givesBack { self.records.wake() }
        self.sends.wake()
    }

    /// Begins what was claimed and what may follow an attempt that has ended, until it is cancelled.
    private func send() async {
        var patience = Patience(self.sends)
        for await _ in self.sends.stream {
            guard self.isDue(&patience, by: .now + .milliseconds(5), unless: \.isEarlyToSend) else { continue }
            self.begin(self.shared.withLock { $0.lanes.begin() })
        }
    }

    private func begin(_ entries: [CallbackLanes.Entry]) {
        guard !entries.isEmpty else { return }
        let latest = ContinuousClock.now + self.configuration.timeout
        var transfers: [CurlTransfer] = []
        var attempts: [(ClaimedCallback.Key, CallbackAttempt)] = []
        var late: [CallbackLanes.Entry] = []
        for entry in entries {
            // A claim that might lapse before the answer is given back: whoever takes it next has time.
            guard entry.deadline > latest else {
                late.append(entry)
                continue
            }
            let attempt = self.sender.start(
                entry.callback, claimed: entry.claimed, deadline: entry.deadline, transfers: &transfers
            ) { self.end($0) }
            attempts.append((entry.callback.key, attempt))
        }
        self.shared.withLock { shared in
            for (key, attempt) in attempts where shared.underWay.index(forKey: key) != nil {
                shared.underWay.updateValue(attempt, forKey: key)
            }
            for entry in late { shared.lanes.end(entry.callback.endpoint.id, holds: false) }
            shared.finished += late.map(\.released)
        }
        self.sender.client.submit(transfers)
        guard !late.isEmpty else { return }
        self.records.wake()
        // Behind them others may be ready now.
        self.sends.wake()
    }

    /// Takes what an attempt came to.
    private func end(_ settlement: CallbackSettlement) {
        let loops = self.shared.withLock { $0.end(settlement) }
        if loops.sends { self.sends.wake() }
        if loops.records { self.records.wake() }
        if loops.claims { self.claims.wake() }
    }

    /// Records what has ended, until nothing is under way and nothing will be claimed any more.
    private func record() async {
        var link = Link()
        var unsettled: [CallbackSettlement] = []
        var held = HeldSettlements()
        var last = ContinuousClock.now
        var patience = Patience(self.records)
        for await _ in self.records.stream {
            guard self.isDue(&patience, by: last + .milliseconds(25), unless: \.isEarlyToRecord) else {
                continue
            }
            let now = ContinuousClock.now
            let (finished, graceEnd) = self.shared.withLock { shared in
                shared.recorded = now
                let finished = shared.finished
                shared.finished = []
                for settlement in finished {
                    shared.underWay.removeValue(forKey: settlement.callback.key)
                    if settlement.callback.attempts > 0 { shared.retries -= 1 }
                }
                shared.unsettled += finished.count
                return (finished, shared.graceEnd)
            }
            unsettled += finished
            if let graceEnd, now >= graceEnd { self.breakOff() }
            if !unsettled.isEmpty || !held.waiting.isEmpty {
                let settlements = unsettled.count + held.waiting.count
                do {
                    if let store = try await self.store(&link) {
                        let batch = await held.settle(unsettled, by: store)
                        last = .now
                        self.report(batch)
                        self.resume(after: batch.settled + batch.refused.map(\.settlement), batch.record.changes)
                        unsettled = batch.unsettled
                        if let failure = batch.failure { throw failure }
                        if batch.isAnswered { self.restored(.settle, &link) }
                    }
                } catch {
                    await self.failed(error, .settle, &link, then: self.records)
                    let now = ContinuousClock.now
                    self.resume(after: unsettled.filter { $0.deadline < now }, [])
                    unsettled.removeAll { $0.deadline < now }
                }
                self.resume(after: held.dropLapsed(at: .now), [])
                // Places are free again, or the last one is settled.
                let count = unsettled.count + held.waiting.count
                let recorded = settlements - count
                let isForgotten = self.shared.withLock { shared in
                    shared.unsettled = count
                    shared.freed += recorded
                    // What lapsed is nobody's concern any more, nor is that it could not be settled.
                    return count == 0 && shared.database.forget(.settle)
                }
                if isForgotten { self.onEvent(.databaseRestored) }
                if count == 0 { self.claims.wake() }
            }
            let isDone = self.shared.withLock { shared in
                if !shared.finished.isEmpty { self.records.wake() }
                return shared.hasClaimed && shared.underWay.isEmpty && shared.finished.isEmpty && unsettled.isEmpty
                    && held.waiting.isEmpty
            }
            // Past the grace and a little more, the claims are left to lapse.
            if isDone || graceEnd.map({ ContinuousClock.now > $0 + .seconds(3) }) ?? false { break }
        }
        await link.store?.connection.close()
    }

    /// Whether a loop is to go round: while libcurl's thread has enough to do it waits a few milliseconds for more.
    ///
    /// - Parameter isEarly: Whether it is too little yet.
    private func isDue(
        _ patience: inout Patience, by deadline: ContinuousClock.Instant, unless isEarly: (DispatchState) -> Bool
    ) -> Bool {
        guard !self.shared.withLock({ $0.isBusy && isEarly($0) }) || patience.isOver(at: deadline) else { return false }
        patience.end()
        return true
    }

    private func breakOff() {
        let attempts = self.shared.withLock { shared in
            shared.finished += shared.lanes.abandon().map(\.released)
            return Array(shared.underWay.values)
        }
        for attempt in attempts { if let attempt { self.sender.cancel(attempt) } }
    }

    /// Lets endpoints go on whose failures are recorded; what is claimed of those that may not goes back.
    private func resume(after settlements: [CallbackSettlement], _ changes: [(endpoint: Int64, kind: String)]) {
        let failed = settlements.lazy.filter(\.holdsOthers).reduce(into: [Int64: Int]()) { counts, settlement in
            counts[settlement.callback.endpoint.id, default: 0] += 1
        }
        guard !failed.isEmpty else { return }
        self.shared.withLock { shared in
            for change in changes where change.kind != "recovered" {
                shared.finished += shared.lanes.abandon(change.endpoint).map(\.released)
            }
            for (endpoint, count) in failed { shared.lanes.resume(endpoint, after: count) }
        }
        self.sends.wake()
    }

    private func report(_ batch: SettledBatch) {
        let record = batch.record
        for (settlement, reason) in batch.refused {
            self.onEvent(.settlementRefused(webhookID: settlement.callback.webhookID, reason: reason))
        }
        for settlement in batch.settled where settlement.outcome.isAttempt {
            let isRecorded = !record.lost.contains(settlement.callback.id)
            self.onEvent(.attempted(CallbackEvent.Attempt(settlement, isRecorded: isRecorded)))
        }
        for change in record.changes {
            self.onEvent(.endpointChanged(endpoint: change.endpoint, kind: change.kind))
        }
    }

    // MARK: - The database

    /// A loop's way to the database.
    private struct Link {
        var store: CallbackStore?
        var backoff = Backoff()
        var nextConnect = ContinuousClock.now
    }

    /// The store, after connecting if need be; `nil` while it is too early for another try.
    private func store(_ link: inout Link) async throws -> CallbackStore? {
        if let store = link.store, await !store.connection.isOpen { link.store = nil }
        if link.store == nil {
            guard ContinuousClock.now >= link.nextConnect else { return nil }
            var options = ConnectionOptions(name: "inspectd callbacks")
            options.preparesStatements = self.configuration.preparesStatements
            link.store = CallbackStore(
                connection: try await PostgresConnection.connect(self.configuration.databaseURL, options: options),
                worker: self.configuration.worker, lease: self.configuration.lease, holder: self.holder)
        }
        return link.store
    }

    /// What was to be settled is kept for the next try: whether the database has it already is not known, and settling twice
    /// does no harm.
    private func failed(_ error: any Error, _ loop: DatabaseHealth.Loop, _ link: inout Link, then wakeup: Wakeup) async
    {
        await link.store?.connection.close()
        link.store = nil
        let isFirst = self.shared.withLock { $0.database.failed(loop) }
        if isFirst { self.onEvent(.databaseUnavailable(reason: "\(error)")) }
        let delay = link.backoff.next()
        link.nextConnect = .now + .seconds(delay)
        Task {
            try? await Task.sleep(for: .seconds(delay))
            wakeup.wake()
        }
    }

    private func restored(_ loop: DatabaseHealth.Loop, _ link: inout Link) {
        link.backoff.reset()
        let wasBroken = self.shared.withLock { $0.database.answered(loop) }
        if wasBroken { self.onEvent(.databaseRestored) }
    }
}

internal import Foundation
package import HTTPClient
internal import InspectCore
internal import Postgres
internal import Synchronization

/// Sends the outbox's callbacks until it is stopped.
///
/// A claim is committed before anything is sent, and an attempt is settled under that claim afterwards. A crash at any point
/// therefore loses nothing: the claim lapses, and another dispatcher sends the callback again with the same `webhook-id`. One
/// loop claims and another settles, each over its own connection, and a third sends what was claimed ahead, so that no loop
/// waits for another, and libcurl's thread for none. Answers that arrive during one round trip are settled in the next,
/// while new callbacks are claimed in their place. Batches grow with the load. ``DispatchMachine`` decides; this class carries
/// out its actions.
package final class CallbackDispatcher: Sendable {
    private let configuration: CallbackConfiguration
    private let sender: CallbackSender
    private let keys: PatientKeys?
    private let onEvent: @Sendable (CallbackEvent) -> Void
    private let machine: Mutex<DispatchMachine>
    private let claims = WakeUp()
    private let sends = WakeUp()
    private let settles = WakeUp()
    private let revocations = WakeUp()
    private let revoker: TokenRevoker
    /// Identifies this dispatcher's leases.
    private let holder = Int64.random(in: 1...Int64.max)

    /// The dispatcher's state for health checks: the time since the slower of its loops last ran (`nil` before both run; their
    /// waits take a second), and whether the last database call of every loop succeeded. Returns at once, on any thread.
    package var vitals: (loopAge: Duration?, isConnected: Bool) { self.machine.withLock { $0.vitals(at: .now) } }

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
        self.keys = configuration.keys.map { PatientKeys($0) }
        self.machine = Mutex(DispatchMachine(configuration))
        let client = HTTPClient(
            certificateAuthorities: configuration.certificateAuthorities, resolver: resolver, exit: configuration.exit)
        let tokens = TokenStore(
            databaseURL: configuration.databaseURL, preparesStatements: configuration.preparesStatements,
            keys: configuration.keys)
        self.sender = CallbackSender(
            client: client, timeoutMilliseconds: Int(configuration.timeout / .milliseconds(1)),
            agent: configuration.agent,
            authorizer: Authorizer(store: tokens, client: client, providers: configuration.providers))
        self.onEvent = onEvent
        var options = ConnectionOptions(name: "inspectd revocations")
        options.preparesStatements = configuration.preparesStatements
        self.revoker = TokenRevoker(
            source: ReconnectingConnection(configuration.databaseURL, options: options), client: client,
            providers: Authorizer.all(configuration.providers), keys: self.keys, region: configuration.region,
            onEvent: onEvent)
    }

    /// Dispatches until the task is cancelled, or until ``drain()`` has found nothing more to do. Call it once.
    ///
    /// Cancellation stops claiming at once; the call returns when the attempts under way have ended and are settled, at the latest
    /// a few seconds after ``CallbackConfiguration/grace``. An unreachable database is reported and tried again; it never ends
    /// the dispatcher.
    package func run() async {
        // Not a child task: attempts under way must survive the caller's cancellation for a while.
        let loops = Task { await self.dispatch() }
        await withTaskCancellationHandler {
            await loops.value
        } onCancel: {
            self.wake(self.machine.withLock { $0.stop(at: .now) })
        }
    }

    /// Polls for due callbacks at once.
    package func wake() { self.claims.notify() }

    /// Makes ``run()`` return as soon as no callback is due or under way. Callbacks that wait for a later attempt
    /// are left to the next dispatcher.
    package func drain() { self.wake(self.machine.withLock { $0.drain() }) }

    // MARK: - The loops

    private func dispatch() async {
        let listener = Task { await self.listen() }
        let claimer = Task { await self.claim() }
        let starter = Task { await self.send() }
        let revoker = Task { await self.revoker.run(self.revocations) }
        await self.settle()
        self.sends.notify()
        await starter.value
        listener.cancel()
        // Another dispatcher takes up whatever it could not finish.
        revoker.cancel()
        self.revocations.notify()
        // After the grace period it may still wait for its database; it then ends on its own.
        if self.machine.withLock({ $0.isClaimOver }) { await claimer.value }
    }

    /// Wakes the claims when the database notifies of due callbacks, and the revoker of tokens to be revoked. A hint only: polling
    /// finds them without one.
    private func listen() async {
        guard let url = self.configuration.listenURL else { return }
        let options = ConnectionOptions(name: "inspectd callbacks listen")
        await NotificationListener(url, options: options, channels: ["insp_callback", "insp_revoke"]).run { event in
            switch event {
            case .listening: self.claims.notify()
            case .notification(let notification) where notification.channel == "insp_revoke":
                self.revocations.notify()
            case .notification:
                self.claims.notify()
                // One notification stands for 50 ms (insp.callback_announce), so poll again after that.
                try? await Task.sleep(for: .milliseconds(60))
                self.claims.notify()
            case .lost: break
            }
        }
    }

    /// Claims what is due, until the dispatcher is cancelled or has drained everything.
    private func claim() async {
        let connection = self.connection()
        let known = CallbackEndpoints()
        var floors = CallbackFloors()
        var backoff = Backoff()
        loop: while true {
            switch self.machine.withLock({ $0.claimTurn(at: .now) }) {
            case .over: break loop
            case .wait(let until): await self.wait(self.claims, until: until)
            case .claim(let order):
                let effects: DispatchMachine.Effects
                do {
                    let claim = try await self.store(connection, known).claim(
                        order.limit, retries: order.retries,
                        above: order.isSweep ? CallbackFloors(claims: floors.claims) : floors)
                    floors = claim.floors
                    backoff.reset()
                    effects = self.machine.withLock { $0.claimed(claim, of: order, at: .now) }
                    self.follow(effects)
                } catch let error as PostgresError where error.isHeldRow {
                    effects = self.machine.withLock { $0.claimFailed(at: .now, retryAfter: nil) }
                    self.follow(effects)
                } catch {
                    await connection.close()
                    let delay = backoff.next()
                    effects = self.machine.withLock { $0.claimFailed(at: .now, retryAfter: delay) }
                    self.follow(effects, error)
                }
                if !effects.goesOn { await self.wait(self.claims, until: nil) }
            }
        }
        self.settles.notify()
        await connection.close()
    }

    /// Starts claimed callbacks, and those that may follow an ended attempt.
    private func send() async {
        while true {
            switch self.machine.withLock({ $0.sendTurn(at: .now) }) {
            case .over: return
            case .wait(let until): await self.wait(self.sends, until: until)
            case .begin(let entries, let wakes):
                self.begin(entries)
                self.wake(wakes)
            }
        }
    }

    private func begin(_ entries: [WaitingCallback]) {
        var transfers: [CurlTransfer] = []
        var attempts: [(ClaimedCallback.Key, CallbackAttempt)] = []
        let end: @Sendable (CallbackSettlement) -> Void = { settlement in
            self.wake(self.machine.withLock { $0.ended(settlement) })
        }
        for entry in entries {
            let attempt = self.sender.start(entry, transfers: &transfers, onEnd: end)
            attempts.append((entry.callback.key, attempt))
        }
        self.machine.withLock { $0.began(attempts) }
        self.sender.client.submit(transfers)
    }

    /// Settles ended attempts, until nothing is under way and nothing more will be claimed.
    private func settle() async {
        let connection = self.connection()
        let known = CallbackEndpoints()
        var backoff = Backoff()
        loop: while true {
            switch self.machine.withLock({ $0.settleTurn(at: .now) }) {
            case .over: break loop
            case .wait(let until, let cancel):
                for attempt in cancel { self.sender.cancel(attempt) }
                await self.wait(self.settles, until: until)
            case .settle(let order, let cancel):
                for attempt in cancel { self.sender.cancel(attempt) }
                var batch = SettledBatch()
                do {
                    let store = try await self.store(connection, known)
                    batch = await store.settle(order.pending, held: order.held)
                } catch {
                    batch.failure = error
                    batch.unsettled = order.pending
                    batch.held = order.held
                }
                var delay: Duration?
                if batch.failure == nil {
                    backoff.reset()
                } else {
                    delay = backoff.next()
                    await connection.close()
                }
                self.report(batch)
                let effects = self.machine.withLock { $0.settled(batch, of: order, at: .now, retryAfter: delay) }
                self.follow(effects, batch.failure)
            }
        }
        await connection.close()
    }

    // MARK: - Effects

    /// Waits for a wake-up: until a time, or for a poll, ± 20 %.
    private func wait(_ wakeUp: WakeUp, until: ContinuousClock.Instant?) async {
        let poll = self.configuration.poll * Double.random(in: 0.8...1.2)
        await wakeUp.wait(timeout: max(.milliseconds(1), until.map { min($0 - .now, poll) } ?? poll))
    }

    private func wake(_ loops: DispatchMachine.Loops) {
        if loops.contains(.claim) { self.claims.notify() }
        if loops.contains(.send) { self.sends.notify() }
        if loops.contains(.settle) { self.settles.notify() }
    }

    /// The settlements are kept for the next try: it is unknown whether the database has them, and settling twice does no harm.
    private func follow(_ effects: DispatchMachine.Effects, _ error: (any Error)? = nil) {
        self.wake(effects.wakes)
        if effects.isUnavailable, let error { self.onEvent(.databaseUnavailable(reason: "\(error)")) }
        if effects.isRestored { self.onEvent(.databaseRestored) }
    }

    private func report(_ batch: SettledBatch) {
        for (settlement, reason) in batch.refused {
            self.onEvent(.settlementRefused(webhookID: settlement.callback.webhookID, reason: reason))
        }
        for settlement in batch.settled where settlement.outcome.isAttempt {
            let isSettled = !batch.record.lost.contains(settlement.callback.id)
            self.onEvent(.attempted(CallbackEvent.Attempt(settlement, isSettled: isSettled)))
        }
        for change in batch.record.changes {
            let isTest = batch.settled.contains {
                $0.callback.endpoint.id == change.endpoint && $0.callback.endpoint.isTest
            }
            self.onEvent(.endpointChanged(endpoint: change.endpoint, kind: change.kind, isTest: isTest))
        }
    }

    // MARK: - The database

    private func connection() -> ReconnectingConnection {
        var options = ConnectionOptions(name: "inspectd callbacks")
        options.preparesStatements = self.configuration.preparesStatements
        return ReconnectingConnection(self.configuration.databaseURL, options: options)
    }

    private func store(
        _ connection: ReconnectingConnection, _ known: CallbackEndpoints
    ) async throws -> CallbackStore {
        CallbackStore(
            connection: try await connection.open(), worker: self.configuration.worker, lease: self.configuration.lease,
            holder: self.holder, region: self.configuration.region, keys: self.keys, endpoints: known)
    }
}

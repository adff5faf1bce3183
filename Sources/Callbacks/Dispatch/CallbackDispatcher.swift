internal import Foundation
internal import Postgres
internal import Synchronization

/// Sends the outbox's callbacks until it is told to stop.
///
/// A claim is committed before anything is sent, and an attempt is recorded under that claim afterwards. Dying at any
/// point therefore loses nothing: the claim lapses, and another dispatcher sends the callback again with the same
/// `webhook-id`. One loop does all database work, so the answers that arrive during one round trip are recorded in the
/// next: batches grow with the load by themselves.
public final class CallbackDispatcher: Sendable {
    private let configuration: CallbackConfiguration
    private let sender: CallbackSender
    private let onEvent: @Sendable (CallbackEvent) -> Void
    private let inbox = Mutex(Inbox())
    private let signals: AsyncStream<Void>
    private let signal: AsyncStream<Void>.Continuation

    private struct Inbox {
        var finished: [CallbackSettlement] = []
        var isDraining = false
        /// Set once: when attempts under way are broken off.
        var graceEnd: ContinuousClock.Instant?
        /// When the loop last went round; `nil` before it runs.
        var moved: ContinuousClock.Instant?
        /// Whether the last exchange with the database succeeded.
        var isConnected = false
    }

    /// How the dispatcher is at this moment, for health checks: seconds since its loop last went round (`nil` before it
    /// runs; its waits are a second long), and whether its database answered last. Answers from any thread and at once.
    public var vitals: (loopAge: Double?, isConnected: Bool) {
        self.inbox.withLock { inbox in (inbox.moved.map { (.now - $0) / .seconds(1) }, inbox.isConnected) }
    }

    /// - Parameter onEvent: Called on any thread; must return at once.
    public convenience init(
        configuration: CallbackConfiguration, onEvent: @escaping @Sendable (CallbackEvent) -> Void = { _ in }
    ) {
        self.init(configuration: configuration, resolver: Resolver(), onEvent: onEvent)
    }

    init(
        configuration: CallbackConfiguration, resolver: Resolver, onEvent: @escaping @Sendable (CallbackEvent) -> Void
    ) {
        self.configuration = configuration
        let client = HTTPClient(certificateAuthorities: configuration.certificateAuthorities, resolver: resolver)
        let tokens = TokenStore(
            databaseURL: configuration.databaseURL, preparesStatements: configuration.preparesStatements)
        self.sender = CallbackSender(
            client: client, timeoutMilliseconds: Int(configuration.timeout / .milliseconds(1)),
            agent: configuration.agent,
            authorizer: Authorizer(store: tokens, client: client, providers: configuration.providers))
        self.onEvent = onEvent
        (self.signals, self.signal) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Dispatches until the task is cancelled, or until ``drain()`` has found nothing more to do. To be called once.
    ///
    /// Cancellation stops claiming at once and returns when the attempts under way have ended and are recorded, at the
    /// latest a few seconds after ``CallbackConfiguration/grace``. A database that cannot be reached is reported and tried
    /// again; it never ends the dispatcher.
    public func run() async {
        // Not a child task: what is under way must survive the cancellation of the caller for a while.
        let loop = Task { await self.dispatch() }
        await withTaskCancellationHandler {
            await loop.value
        } onCancel: {
            self.inbox.withLock { $0.graceEnd = $0.graceEnd ?? .now + self.configuration.grace }
            self.signal.yield()
        }
    }

    /// Looks for due callbacks at once.
    public func wake() { self.signal.yield() }

    /// Makes ``run()`` return as soon as no callback is due and none is under way. Callbacks that wait for a later attempt
    /// are left to the next dispatcher.
    public func drain() {
        self.inbox.withLock { $0.isDraining = true }
        self.signal.yield()
    }

    // MARK: - The loop

    private func dispatch() async {
        let ticker = Task { await self.tick() }
        let listener = Task { await self.listen() }
        defer {
            ticker.cancel()
            listener.cancel()
        }
        var state = LoopState()
        for await _ in self.signals {
            var isEnded = false
            repeat {
                await self.gather(state)
                isEnded = await self.step(&state)
            } while !isEnded && state.hasMore
            if isEnded { break }
        }
        await state.store?.connection.close()
    }

    private struct LoopState {
        var store: CallbackStore?
        var underWay: [ClaimedCallback.Key: CallbackAttempt] = [:]
        /// Those under way that were tried before.
        var retries: Set<ClaimedCallback.Key> = []
        var unsettled: [CallbackSettlement] = []
        /// Whether the last claim was full, so that another is worth while at once.
        var hasMore = false
        var failures = 0
        var nextConnect = ContinuousClock.now
        var floors = CallbackFloors()
        var nextSweep = ContinuousClock.now
        var lastExchange = ContinuousClock.now
    }

    /// Under load, waits a few milliseconds for answers to come together: a round trip costs the database about as much as
    /// some twenty callbacks in it.
    private func gather(_ state: LoopState) async {
        let deadline = state.lastExchange + .milliseconds(5)
        while state.underWay.count >= Self.gathered, ContinuousClock.now < deadline,
            self.inbox.withLock({ $0.finished.count < Self.gathered && $0.graceEnd == nil })
        {
            try? await Task.sleep(for: .milliseconds(1))
        }
    }

    /// Answers that are worth a round trip.
    private static let gathered = 128

    /// One round: takes what is finished, settles it, claims, and starts what was claimed.
    ///
    /// - Returns: Whether the dispatcher is done.
    private func step(_ state: inout LoopState) async -> Bool {
        let now = ContinuousClock.now
        let (finished, isDraining, graceEnd) = self.inbox.withLock { inbox in
            defer { inbox.finished = [] }
            inbox.moved = now
            return (inbox.finished, inbox.isDraining, inbox.graceEnd)
        }
        for settlement in finished {
            state.underWay[settlement.callback.key] = nil
            state.retries.remove(settlement.callback.key)
        }
        state.unsettled += finished
        state.hasMore = false
        if let graceEnd, now >= graceEnd { for attempt in state.underWay.values { self.sender.cancel(attempt) } }

        let free = self.configuration.maximumInFlight - state.underWay.count
        let limit = graceEnd == nil ? min(self.configuration.batch, free) : 0
        // Half of all places are kept for first attempts: what was tried before tends to hang.
        let retries = max(0, min(limit, self.configuration.maximumInFlight / 2 - state.retries.count))
        var isIdle = false
        do {
            guard let store = try await self.store(&state) else { return self.isOver(graceEnd, state) }
            let settlements = state.unsettled
            let isSweep = now >= state.nextSweep
            let exchange = try await store.exchange(
                settling: settlements, claiming: limit, retries: retries,
                above: isSweep ? CallbackFloors(claims: state.floors.claims) : state.floors)
            state.unsettled = []
            state.floors = exchange.floors
            state.lastExchange = .now
            // Lapsed claims lie below the floors: now and then everything is searched, for a twentieth of the time at most.
            if isSweep { state.nextSweep = .now + max(.seconds(5), (ContinuousClock.now - now) * 20) }
            self.restored(&state)
            for settlement in settlements {
                let isRecorded = exchange.settled.contains(settlement.callback.id)
                self.onEvent(.attempted(CallbackEvent.Attempt(settlement, isRecorded: isRecorded)))
            }
            for change in exchange.changes {
                self.onEvent(.endpointChanged(endpoint: change.endpoint, kind: change.kind))
            }
            let deadline = now + self.configuration.lease
            let claimed = ContinuousClock.now
            self.start(exchange.claimed, claimed, deadline, &state)
            state.hasMore = limit > 0 && exchange.claimed.count == limit
            isIdle = exchange.claimed.isEmpty && limit > 0
        } catch {
            await self.failed(error, &state)
        }
        let isDone = state.underWay.isEmpty && state.unsettled.isEmpty
        return isDone && (graceEnd != nil || isDraining && isIdle) || self.isOver(graceEnd, state)
    }

    private func start(
        _ callbacks: [ClaimedCallback], _ claimed: ContinuousClock.Instant, _ deadline: ContinuousClock.Instant,
        _ state: inout LoopState
    ) {
        var transfers: [CurlTransfer] = []
        for callback in callbacks {
            if callback.attempts > 0 { state.retries.insert(callback.key) }
            state.underWay[callback.key] = self.sender.start(
                callback, claimed: claimed, deadline: deadline, transfers: &transfers
            ) { settlement in
                let isFirst = self.inbox.withLock { inbox in
                    inbox.finished.append(settlement)
                    return inbox.finished.count == 1
                }
                if isFirst { self.signal.yield() }
            }
        }
        self.sender.client.submit(transfers)
    }

    /// Past the grace and a little more, the claims are left to lapse.
    private func isOver(_ graceEnd: ContinuousClock.Instant?, _ state: LoopState) -> Bool {
        graceEnd.map { ContinuousClock.now > $0 + .seconds(3) } ?? false
    }

    // MARK: - The database

    /// The store, after connecting if need be; `nil` while it is too early for another try.
    private func store(_ state: inout LoopState) async throws -> CallbackStore? {
        if let store = state.store, await !store.connection.isOpen { state.store = nil }
        if state.store == nil {
            guard ContinuousClock.now >= state.nextConnect else { return nil }
            var options = ConnectionOptions(name: "inspectd callbacks")
            options.preparesStatements = self.configuration.preparesStatements
            state.store = CallbackStore(
                connection: try await PostgresConnection.connect(self.configuration.databaseURL, options: options),
                worker: self.configuration.worker, lease: self.configuration.lease)
        }
        return state.store
    }

    /// Keeps the settlements for the next try: whether the database has them already is not known, and settling twice
    /// does no harm.
    private func failed(_ error: any Error, _ state: inout LoopState) async {
        await state.store?.connection.close()
        state.store = nil
        self.inbox.withLock { $0.isConnected = false }
        state.nextSweep = .now
        if state.failures == 0 { self.onEvent(.databaseUnavailable(reason: "\(error)")) }
        state.failures += 1
        let delay = min(5, 0.1 * Double(1 << min(state.failures, 6))) * Double.random(in: 0.8...1.2)
        state.nextConnect = .now + .seconds(delay)
        state.unsettled.removeAll { $0.deadline < .now }
        let signal = self.signal
        Task {
            try? await Task.sleep(for: .seconds(delay))
            signal.yield()
        }
    }

    private func restored(_ state: inout LoopState) {
        if state.failures > 0 { self.onEvent(.databaseRestored) }
        state.failures = 0
        self.inbox.withLock { $0.isConnected = true }
    }

    // MARK: - Hints

    private func tick() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: self.configuration.poll * Double.random(in: 0.8...1.2))
            self.signal.yield()
        }
    }

    /// LISTEN only wakes; polling finds what no hint told of.
    private func listen() async {
        guard let url = self.configuration.listenURL else { return }
        while !Task.isCancelled {
            if let connection = try? await PostgresConnection.connect(
                url, options: ConnectionOptions(name: "inspectd callbacks listen"))
            {
                if let notifications = try? await connection.listen("insp_callback") {
                    self.signal.yield()
                    for await _ in notifications {
                        self.signal.yield()
                        // One announcement stands for 50 ms (insp.callback_announce): look again behind it.
                        try? await Task.sleep(for: .milliseconds(60))
                        self.signal.yield()
                    }
                }
                await connection.close()
            }
            try? await Task.sleep(for: .seconds(2))
        }
    }
}

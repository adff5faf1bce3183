/// Decides what a dispatcher does, and when: events in, actions out. It has no clock, does no I/O and uses no random numbers.
/// The three loops of ``CallbackDispatcher`` ask it for their turns and report the outcomes.
///
/// A callback, from claim to outcome:
///
/// | state | event | next |
/// |---|---|---|
/// | – | ``claimed(_:of:at:)`` | waiting, in its endpoint's lane |
/// | waiting | ``sendTurn(at:)``, its endpoint has room and no failure to settle | running |
/// | waiting | its endpoint has no room, fails or is disabled; too late to send; the grace period is over | ended, released |
/// | running | ``ended(_:)`` | ended |
/// | running | the grace period is over | running, aborted |
/// | ended | ``settleTurn(at:)`` | pending |
/// | pending, held | ``settled(_:of:at:retryAfter:)``: settled or refused permanently | – |
/// | pending, held | the same: its row is held | held, tried again at most a twentieth of the time |
/// | pending, held | the same: the database fails | pending, tried again after the back-off |
/// | pending, held | its claim lapses | – |
///
/// The dispatcher:
///
/// | state | event | next |
/// |---|---|---|
/// | running | ``drain()`` | draining |
/// | running, draining | ``stop(at:)`` | stopping: nothing more is claimed |
/// | draining | a claim finds nothing and nothing is under way | finishing: like stopping, without a grace period |
/// | stopping | the grace period is over | aborting |
/// | stopping, aborting, finishing | nothing is under way and all is settled | over |
/// | aborting | three more seconds | over: remaining claims lapse |
///
/// An event costs a few comparisons: it wakes a loop only when it reaches the threshold for which the loop waits.
struct DispatchMachine {
    typealias Instant = ContinuousClock.Instant

    /// The loops that have something to do or no reason to wait.
    struct Loops: OptionSet, Sendable {
        let rawValue: Int
        static let claim = Loops(rawValue: 1)
        static let send = Loops(rawValue: 2)
        static let settle = Loops(rawValue: 4)
    }

    /// The consequences of an exchange with the database.
    struct Effects {
        var wakes: Loops = []
        /// Whether to report the database as unavailable, or as available again.
        var isUnavailable = false
        var isRestored = false
        /// Whether the loop asks for its next turn at once.
        var goesOn = false
    }

    struct ClaimOrder: Sendable {
        let begun: Instant
        let limit: Int
        /// How many of these may be retries.
        let retries: Int
        /// Whether to search everything, even below the floors.
        let isSweep: Bool
        /// Whether nothing was under way.
        let isIdle: Bool
    }

    enum ClaimAction {
        case claim(ClaimOrder)
        /// Wait for a wake-up, until the next poll or an earlier time.
        case wait(until: Instant?)
        case over
    }

    enum SendAction {
        case begin([WaitingCallback], wakes: Loops)
        case wait(until: Instant?)
        case over
    }

    struct SettleOrder: Sendable {
        let begun: Instant
        let pending: [CallbackSettlement]
        /// Those whose rows were held.
        let held: [CallbackSettlement]
    }

    enum SettleAction {
        /// Abort, then settle.
        case settle(SettleOrder, cancel: [CallbackAttempt])
        case wait(until: Instant?, cancel: [CallbackAttempt])
        case over
    }

    private let configuration: CallbackConfiguration
    private var lanes: CallbackLanes<WaitingCallback>
    /// The time from the claim until the settling loop takes the settlement; `nil` until the attempt begins.
    private var underWay: [ClaimedCallback.Key: CallbackAttempt?] = [:]
    /// How many of those under way are retries.
    private var retries = 0
    private var finished: [CallbackSettlement] = []
    private var pending: [CallbackSettlement] = []
    private var held: [CallbackSettlement] = []
    private var nextHeldTry: Instant?

    private var isDraining = false
    private var graceEnd: Instant?
    /// Whether claiming has ended.
    private(set) var isClaimOver = false
    private var isOver = false

    private var hasMore = false
    /// Settlements written since the last claim, each of which may have made room.
    private var freed = 0
    private var nextSweep: Instant?
    private var lastClaim, lastSettle: Instant?
    private var claimRetry, settleRetry: Instant?
    private var sendPatience: Instant?
    private var database = DatabaseHealth()
    /// When each loop last ran; `nil` before its first run.
    private var claimTurnAt, settleTurnAt: Instant?

    /// How many are claimed for each that is sent at once; must equal the factor in `insp.callback_claim`.
    static let claimedAhead = 3
    /// The answers, or the free room, that are worth a round trip: with 50 endpoints, a settling round trip costs about as
    /// much as 20 callbacks, a claiming one about as much as 100.
    static let gathered = 512
    /// The number of endpoints with a turn that is worth a round of the sending loop.
    static let worthSending = 32
    /// The requests under way that keep libcurl's thread busy for the time of a round trip.
    static let busy = 64
    /// How long each loop collects work while libcurl's thread is busy.
    static let claimPause: Duration = .milliseconds(20)
    static let settlePause: Duration = .milliseconds(25)
    static let sendPause: Duration = .milliseconds(5)
    /// How long after the grace period aborted attempts may take to be settled.
    static let lastSettling: Duration = .seconds(3)

    init(_ configuration: CallbackConfiguration) {
        self.configuration = configuration
        self.lanes = CallbackLanes(limit: configuration.maximumInFlight)
    }

    /// The settlements that are worth a round trip: half of what is under way, so that new callbacks are claimed in their place
    /// while the other half is sent.
    private var enough: Int { max(Self.gathered, self.underWay.count / 2) }

    /// Whether there is time to collect more before the next round trip.
    private var isBusy: Bool { self.lanes.running >= Self.busy && self.graceEnd == nil }

    private var unsettled: Int { self.pending.count + self.held.count }

    /// How many callbacks are claimed and not taken for settling, and how many of them are being sent.
    var load: (underWay: Int, running: Int) { (self.underWay.count, self.lanes.running) }

    /// For health checks; see ``CallbackDispatcher/vitals``.
    func vitals(at now: Instant) -> (loopAge: Duration?, isConnected: Bool) {
        let isConnected = self.database.isConnected
        guard let claimTurnAt, let settleTurnAt else { return (nil, isConnected) }
        let slower = self.isClaimOver ? settleTurnAt : min(claimTurnAt, settleTurnAt)
        return (now - slower, isConnected)
    }

    // MARK: - The owner

    /// Claims nothing more, and aborts attempts when the grace period is over.
    mutating func stop(at now: Instant) -> Loops {
        self.graceEnd = self.graceEnd ?? now + self.configuration.grace
        return [.claim, .send, .settle]
    }

    /// Ends when nothing is due and nothing under way.
    mutating func drain() -> Loops {
        self.isDraining = true
        return .claim
    }

    // MARK: - Claims

    mutating func claimTurn(at now: Instant) -> ClaimAction {
        if self.isClaimOver { return .over }
        guard self.graceEnd == nil else {
            self.isClaimOver = true
            return .over
        }
        if let retry = self.claimRetry, retry > now {
            self.claimTurnAt = now
            return .wait(until: retry)
        }
        if !self.hasMore, self.isBusy, self.freed < Self.gathered, let last = self.lastClaim,
            last + Self.claimPause > now
        {
            return .wait(until: last + Self.claimPause)
        }
        self.claimTurnAt = now
        self.freed = 0
        self.hasMore = false
        let room = Self.claimedAhead * self.configuration.maximumInFlight
        let limit = min(self.configuration.batch, room - self.underWay.count)
        guard limit > 0 else { return .wait(until: nil) }
        return .claim(
            ClaimOrder(
                begun: now, limit: limit,
                // Half of the room is kept for first attempts: retries tend to hang.
                retries: max(0, min(limit, self.configuration.maximumInFlight / 2 - self.retries)),
                isSweep: self.nextSweep.map { now >= $0 } ?? true,
                isIdle: self.underWay.isEmpty && self.unsettled == 0 && self.finished.isEmpty))
    }

    /// Takes a claim's callbacks, before the first of them can end.
    ///
    /// - Parameter now: When the claim's commit was known.
    mutating func claimed(_ claim: CallbackClaim, of order: ClaimOrder, at now: Instant) -> Effects {
        var effects = self.answered(.claim)
        self.claimRetry = nil
        self.lastClaim = now
        // Lapsed claims are below the floors: now and then everything is searched, for at most a twentieth of the time.
        if order.isSweep { self.nextSweep = now + max(.seconds(5), (now - order.begun) * 20) }
        self.hasMore = claim.callbacks.count == order.limit
        if self.isDraining, order.isIdle, claim.callbacks.isEmpty {
            self.isClaimOver = true
            effects.wakes.insert(.settle)
        }
        effects.goesOn = self.hasMore || self.isClaimOver
        guard !claim.permits.isEmpty else { return effects }
        for callback in claim.callbacks {
            self.underWay.updateValue(nil, forKey: callback.key)
            if callback.attempts > 0 { self.retries += 1 }
        }
        let deadline = order.begun + self.configuration.lease
        self.lanes.add(
            claim.callbacks.map { WaitingCallback(callback: $0, claimed: now, deadline: deadline) },
            permits: claim.permits
        ) { $0.callback.endpoint.id }
        effects.wakes.insert(.send)
        // If other dispatchers have all the room, they send what still waits here.
        for (endpoint, permits) in claim.permits where permits <= 0 {
            if self.release(self.lanes.abandon(endpoint)) { effects.wakes.insert(.settle) }
        }
        return effects
    }

    /// - Parameter retryAfter: The back-off; `nil`: another transaction changes a table or holds a row, and the next poll tries again.
    mutating func claimFailed(at now: Instant, retryAfter: Duration?) -> Effects {
        self.nextSweep = now
        guard let retryAfter else { return self.answered(.claim) }
        self.claimRetry = now + retryAfter
        return Effects(isUnavailable: self.database.failed(.claim), goesOn: true)
    }

    // MARK: - Attempts

    mutating func sendTurn(at now: Instant) -> SendAction {
        if self.isOver { return .over }
        if self.isBusy, self.lanes.readyCount < Self.worthSending {
            guard self.lanes.readyCount > 0 else {
                self.sendPatience = nil
                return .wait(until: nil)
            }
            let until = self.sendPatience ?? now + Self.sendPause
            if until > now {
                self.sendPatience = until
                return .wait(until: until)
            }
        }
        self.sendPatience = nil
        let entries = self.lanes.begin()
        if entries.isEmpty { return .wait(until: nil) }
        // A callback whose claim might lapse before the answer is released; its next claim has enough time.
        let latest = now + self.configuration.timeout
        guard entries.contains(where: { $0.deadline <= latest }) else { return .begin(entries, wakes: []) }
        let late = entries.filter { $0.deadline <= latest }
        for entry in late { self.lanes.end(entry.callback.endpoint.id, holds: false) }
        _ = self.release(late)
        return .begin(entries.filter { $0.deadline > latest }, wakes: .settle)
    }

    /// Stores attempts, so that they can be aborted. Some may have ended already.
    mutating func began(_ attempts: [(ClaimedCallback.Key, CallbackAttempt)]) {
        for (key, attempt) in attempts where self.underWay.index(forKey: key) != nil {
            self.underWay.updateValue(attempt, forKey: key)
        }
    }

    /// Takes the outcome of an attempt.
    ///
    /// - Returns: The loops to wake; the others wait until their pauses are over.
    mutating func ended(_ settlement: CallbackSettlement) -> Loops {
        let before = self.lanes.readyCount
        self.finished.append(settlement)
        self.lanes.end(settlement.callback.endpoint.id, holds: settlement.holdsOthers)
        let (ready, count) = (self.lanes.readyCount, self.finished.count)
        if self.lanes.running == Self.busy - 1 { return [.claim, .send, .settle] }
        var loops: Loops = []
        if before == 0 && ready > 0 || before < Self.worthSending && ready >= Self.worthSending { loops.insert(.send) }
        if count == 1 || count == self.enough { loops.insert(.settle) }
        return loops
    }

    // MARK: - Settlements

    mutating func settleTurn(at now: Instant) -> SettleAction {
        if self.isOver { return .over }
        if self.isBusy, self.finished.count < self.enough, let last = self.lastSettle, last + Self.settlePause > now {
            return .wait(until: last + Self.settlePause, cancel: [])
        }
        self.settleTurnAt = now
        var cancel: [CallbackAttempt] = []
        let isGraceOver = self.graceEnd.map { now >= $0 } ?? false
        if isGraceOver {
            _ = self.release(self.lanes.abandon())
            cancel = self.underWay.values.compactMap { $0 }
        }
        for settlement in self.finished {
            self.underWay.removeValue(forKey: settlement.callback.key)
            if settlement.callback.attempts > 0 { self.retries -= 1 }
        }
        if self.pending.isEmpty { self.pending = self.finished } else { self.pending += self.finished }
        self.finished = []
        let isDone = self.isClaimOver && self.underWay.isEmpty && self.unsettled == 0
        // Some time after the grace period, the remaining claims are left to lapse.
        if isDone || self.graceEnd.map({ now > $0 + Self.lastSettling }) ?? false {
            self.isOver = true
            return .over
        }
        let retry = self.settleRetry.flatMap { $0 > now ? $0 : nil }
        let again = !self.held.isEmpty && self.nextHeldTry.map { now >= $0 } ?? true ? self.held : []
        guard retry == nil, !self.pending.isEmpty || !again.isEmpty else {
            // Aborted attempts end soon and report it.
            let grace = isGraceOver ? nil : self.graceEnd
            return .wait(until: [retry, grace].compactMap { $0 }.min(), cancel: cancel)
        }
        return .settle(SettleOrder(begun: now, pending: self.pending, held: again), cancel: cancel)
    }

    /// - Parameter retryAfter: The back-off; `nil` if the database did not fail.
    mutating func settled(
        _ batch: SettledBatch, of order: SettleOrder, at now: Instant, retryAfter: Duration?
    ) -> Effects {
        var effects = Effects()
        let before = self.unsettled
        self.pending = batch.unsettled
        if order.held.isEmpty {
            self.held += batch.held
        } else {
            self.held = batch.held
            // A try waits for each row that is held (`insp.callback_settle`): for at most a twentieth of the time, so that it
            // hardly delays the others.
            self.nextHeldTry = now + max(.seconds(1), (now - order.begun) * 20)
        }
        var over = batch.settled.filter(\.holdsOthers) + batch.refused.map(\.settlement)
        if let retryAfter {
            self.settleRetry = now + retryAfter
            effects.isUnavailable = self.database.failed(.settle)
            over += self.pending.filter { $0.deadline < now }
            self.pending.removeAll { $0.deadline < now }
        } else {
            self.lastSettle = now
            self.settleRetry = nil
            effects = self.answered(.settle)
        }
        if self.held.contains(where: { $0.deadline < now }) {
            over += self.held.filter { $0.deadline < now }
            self.held.removeAll { $0.deadline < now }
        }
        effects.wakes.formUnion(self.resume(after: over, batch.record.changes))
        // There is room again, or the last one is settled.
        self.freed += before - self.unsettled
        if self.unsettled == 0 {
            effects.wakes.insert(.claim)
            // Lapsed claims are dropped, and so is the failure to settle them.
            if self.database.forget(.settle) { effects.isRestored = true }
        }
        return effects
    }

    /// Resumes endpoints whose failures are settled; claimed callbacks of those that may not resume are released.
    private mutating func resume(
        after settlements: [CallbackSettlement], _ changes: [(endpoint: Int64, kind: String)]
    ) -> Loops {
        var failed: [Int64: Int] = [:]
        for settlement in settlements where settlement.holdsOthers {
            failed[settlement.callback.endpoint.id, default: 0] += 1
        }
        guard !failed.isEmpty else { return [] }
        for change in changes where change.kind != "recovered" { _ = self.release(self.lanes.abandon(change.endpoint)) }
        for (endpoint, count) in failed { self.lanes.resume(endpoint, after: count) }
        return .send
    }

    /// - Returns: Whether there was anything.
    private mutating func release(_ entries: [WaitingCallback]) -> Bool {
        self.finished += entries.map(\.released)
        return !entries.isEmpty
    }

    private mutating func answered(_ loop: DatabaseHealth.Loop) -> Effects {
        Effects(isRestored: self.database.answered(loop))
    }
}

/// What a dispatcher's loops, libcurl's thread and the callers share.
struct DispatchState {
    var lanes: CallbackLanes
    var finished: [CallbackSettlement] = []
    /// From the claim to the moment at which the recording loop takes the settlement; `nil` until the attempt has begun.
    var underWay: [ClaimedCallback.Key: CallbackAttempt?] = [:]
    /// How many of those under way were tried before.
    var retries = 0
    /// Settlements that the recording loop has taken and not recorded yet.
    var unsettled = 0
    /// Settlements recorded since the last claim: so many places may be free again.
    var freed = 0
    var isDraining = false
    /// Whether nothing will be claimed any more.
    var hasClaimed = false
    /// Set once: when attempts under way are broken off.
    var graceEnd: ContinuousClock.Instant?
    /// When each loop last went round; `nil` before it runs.
    var claimed: ContinuousClock.Instant?
    var recorded: ContinuousClock.Instant?
    var database = DatabaseHealth()

    /// Answers, or free places, that are worth a round trip: with 50 endpoints one that records costs the database as much as
    /// some 20 callbacks in it, one that claims as much as some 100.
    private static let gathered = 512
    /// Endpoints whose turn it is that are worth a round of the sending loop.
    private static let sent = 32
    /// Requests under way that keep libcurl's thread busy for as long as a round trip takes.
    private static let busy = 64

    init(_ configuration: CallbackConfiguration) {
        self.lanes = CallbackLanes(limit: configuration.maximumInFlight)
    }

    /// Whether there is time for more to come together before the next round trip.
    var isBusy: Bool { self.lanes.running >= Self.busy && self.graceEnd == nil }

    /// Whether few places are free again.
    var isEarlyToClaim: Bool { self.freed < Self.gathered }

    /// Settlements that are worth a round trip: half of what is under way, so that the places that these free are claimed
    /// anew while the other half is sent.
    private var enough: Int { max(Self.gathered, self.underWay.count / 2) }

    var isEarlyToRecord: Bool { self.finished.count < self.enough }

    /// Whether few endpoints may send another one.
    var isEarlyToSend: Bool { self.lanes.readyCount < Self.sent }

    /// Takes what was claimed, before the first of it can end.
    ///
    /// - Parameters:
    ///   - claimed: When the claim's commit was known.
    ///   - deadline: When it lapses.
    /// - Returns: Whether something is to be given back.
    mutating func take(
        _ claim: CallbackClaim, at claimed: ContinuousClock.Instant, deadline: ContinuousClock.Instant
    ) -> Bool {
        for callback in claim.callbacks {
            self.underWay.updateValue(nil, forKey: callback.key)
            if callback.attempts > 0 { self.retries += 1 }
        }
        self.lanes.add(
            claim.callbacks.map { .init(callback: $0, claimed: claimed, deadline: deadline) }, places: claim.places)
        // Where others have all places, what still waits here is theirs to send.
        let others = claim.places.filter { $0.value <= 0 }.flatMap { self.lanes.abandon($0.key) }
        self.finished += others.map(\.released)
        return !others.isEmpty
    }

    /// Takes what an attempt came to.
    ///
    /// - Returns: Which loops have something to do, or no reason to wait any longer. One that is not named waits until its
    ///   ``Patience`` is over.
    mutating func end(_ settlement: CallbackSettlement) -> (sends: Bool, records: Bool, claims: Bool) {
        let before = self.lanes.readyCount
        self.finished.append(settlement)
        self.lanes.end(settlement.callback.endpoint.id, holds: settlement.holdsOthers)
        let (ready, count) = (self.lanes.readyCount, self.finished.count)
        let isIdle = self.lanes.running == Self.busy - 1
        return (
            isIdle || before == 0 && ready > 0 || before < Self.sent && ready >= Self.sent,
            isIdle || count == 1 || count == self.enough, isIdle
        )
    }
}

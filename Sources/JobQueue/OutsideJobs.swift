/// The jobs of a worker that wait for somebody else's server: they keep their lease and their deadline, but no slot.
///
/// Each takes one of a bounded number of permits, and room for the bytes that it holds. A partner gets a share of both, so
/// that one whose servers are slow leaves room for the others. Known by their fences, as a job may be claimed again while
/// an attempt that lost its lease still ends.
struct OutsideJobs: Sendable {
    private struct Permit: Sendable {
        var partner: Int
        /// False for a job that was only claimed: it may turn out to need no permit.
        var isOutside: Bool
        var bytes = 0
    }

    private struct Share: Sendable {
        var permits = 0
        var bytes = 0
    }

    private let limits: OutsideLimits
    private var permits: [Int64: Permit] = [:]
    private var shares: [Int: Share] = [:]
    private var bytes = 0
    /// When a job of a partner last wanted a permit.
    private var seen: [Int: ContinuousClock.Instant] = [:]
    /// Partners of whom a job was refused recently: claimed again at once, it would only be refused again.
    private var refused: [Int: ContinuousClock.Instant] = [:]
    /// Jobs that are done outside and wait for a slot, oldest first.
    private var returning: [Int64] = []
    /// Jobs without a slot.
    private(set) var count = 0
    /// Whether a permit became free of which claims had been told that there is none.
    private(set) var hasOpened = false

    /// How long a partner's next jobs are taken to want permits as well.
    private static let memory = Duration.seconds(60)
    /// How long none of a partner's jobs is claimed after one was refused.
    private static let pause = Duration.seconds(1)

    init(_ limits: OutsideLimits) { self.limits = limits }

    /// Jobs that wait for a slot.
    var returningCount: Int { self.returning.count }
    /// Whether no job is outside, nor expected to be.
    var isEmpty: Bool { self.permits.isEmpty }
    /// Whether any partner's jobs wanted permits recently.
    var isWanted: Bool { !self.seen.isEmpty }

    /// How many more jobs of a partner may get a permit.
    private func room(for partner: Int) -> Int {
        let share = self.shares[partner] ?? Share()
        // Half empty before more are let in: a job that finds no room for its bytes has fetched some of them in vain.
        if share.bytes > self.limits.bytesPerPartner / 2 || self.bytes > self.limits.bytes / 2 { return 0 }
        return max(0, min(self.limits.permits - self.permits.count, self.limits.permitsPerPartner - share.permits))
    }

    /// The most jobs to claim of the partners whose jobs wanted permits recently; others are not bounded.
    mutating func caps(at now: ContinuousClock.Instant) -> [Int: Int] {
        if self.seen.isEmpty { return [:] }
        self.seen = self.seen.filter { self.shares[$0.key] != nil || now - $0.value < Self.memory }
        self.refused = self.refused.filter { now - $0.value < Self.pause }
        return self.seen.reduce(into: [:]) { caps, partner in
            caps[partner.key] = self.refused[partner.key] == nil ? self.room(for: partner.key) : 0
        }
    }

    /// Keeps a permit for a claimed job whose partner's jobs wanted permits recently, until it is known whether it needs one.
    mutating func expect(_ fence: Int64, of partner: Int) {
        guard self.seen[partner] != nil, self.permits[fence] == nil, self.room(for: partner) > 0 else { return }
        self.add(fence, Permit(partner: partner, isOutside: false))
    }

    /// Keeps a permit for a job that will need one.
    mutating func expect(_ fence: Int64, of partner: Int, at now: ContinuousClock.Instant) {
        self.seen[partner] = now
        self.expect(fence, of: partner)
    }

    /// Takes a job out of its slot, with the bytes that it holds. Nothing happens if it has left already.
    ///
    /// - Returns: False if it must be released: its partner has its share, or all is taken.
    mutating func leave(_ fence: Int64, of partner: Int, holding bytes: Int, at now: ContinuousClock.Instant) -> Bool {
        self.seen[partner] = now
        if self.permits[fence] == nil {
            let share = self.shares[partner] ?? Share()
            guard self.permits.count < self.limits.permits, share.permits < self.limits.permitsPerPartner else {
                self.refused[partner] = now
                return false
            }
            self.add(fence, Permit(partner: partner, isOutside: false))
        }
        guard self.permits[fence]?.isOutside == false else { return true }
        self.permits[fence]?.isOutside = true
        self.count += 1
        return self.hold(bytes, fence, at: now)
    }

    /// Takes room for so many more bytes that a job outside is about to hold.
    mutating func hold(_ bytes: Int, _ fence: Int64, at now: ContinuousClock.Instant) -> Bool {
        guard let permit = self.permits[fence], var share = self.shares[permit.partner] else { return false }
        guard share.bytes + bytes <= self.limits.bytesPerPartner, self.bytes + bytes <= self.limits.bytes else {
            self.refused[permit.partner] = now
            return false
        }
        share.bytes += bytes
        self.shares[permit.partner] = share
        self.bytes += bytes
        self.permits[fence]?.bytes += bytes
        return true
    }

    /// Gives up what a job has: its permit, its room, and its turn for a slot.
    ///
    /// - Returns: Whether it waited for its turn, and is to be told.
    mutating func remove(_ fence: Int64) -> Bool {
        guard let permit = self.permits[fence], var share = self.shares[permit.partner] else { return false }
        // Of a full worker any partner's queues may have been left out.
        if self.room(for: permit.partner) == 0 || self.permits.count >= self.limits.permits { self.hasOpened = true }
        self.permits[fence] = nil
        if permit.isOutside { self.count -= 1 }
        self.bytes -= permit.bytes
        share.bytes -= permit.bytes
        share.permits -= 1
        self.shares[permit.partner] = share.permits > 0 ? share : nil
        guard let index = self.returning.firstIndex(of: fence) else { return false }
        self.returning.remove(at: index)
        return true
    }

    /// Whether queues are to be scanned that were left out; says so once.
    mutating func takeOpened() -> Bool {
        defer { self.hasOpened = false }
        return self.hasOpened
    }

    /// Has a job wait for a slot.
    ///
    /// - Returns: False if it has no permit any more.
    mutating func queue(_ fence: Int64) -> Bool {
        guard self.permits[fence]?.isOutside == true else { return false }
        self.returning.append(fence)
        return true
    }

    /// Gives a slot to the job that has waited longest for one.
    mutating func readmit() -> Int64? {
        guard let first = self.returning.first else { return nil }
        _ = self.remove(first)
        return first
    }

    private mutating func add(_ fence: Int64, _ permit: Permit) {
        self.permits[fence] = permit
        self.shares[permit.partner, default: Share()].permits += 1
    }
}

/// How many jobs of a worker may wait for somebody else's server beside those in slots, and how much they may hold.
package struct OutsideLimits: Sendable {
    package var permits: Int
    /// A quarter: four partners whose servers do not answer are needed to take all permits.
    package var permitsPerPartner: Int { max(1, self.permits / 4) }
    /// Bytes that all of them may hold together.
    package var bytes: Int
    /// At least what one job may have, so that one job of a partner is always let through.
    package var bytesPerPartner: Int { max(JobPart.limit, self.bytes / 4) }

    /// - Parameter bytes: At least ``JobPart/limit``.
    package init(permits: Int, bytes: Int = 4 * JobPart.limit) {
        precondition(permits > 0 && bytes >= JobPart.limit, "no job could ever wait outside")
        self.permits = permits
        self.bytes = bytes
    }
}

/// A worker's jobs that wait for another server: they keep their lease and their deadline, but no slot.
///
/// Each takes one of a limited number of permits, and room for the bytes that it holds. A partner gets a share of both, so that
/// one with slow servers leaves room for the others. Jobs are identified by their fences, since a job may be claimed again while
/// an attempt that lost its lease is still ending.
struct OutsideJobs: Sendable {
    private struct Permit: Sendable {
        var partner: Int
        /// False for a job that was only claimed: it may need no permit.
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
    /// When a job of a partner last requested a permit.
    private var seen: [Int: ContinuousClock.Instant] = [:]
    /// Partners with a recently refused job: claimed again at once, it would only be refused again.
    private var refused: [Int: ContinuousClock.Instant] = [:]
    /// Jobs that are done outside and wait for a slot, oldest first.
    private var returning: [Int64] = []
    /// Jobs without a slot.
    private(set) var count = 0
    /// Whether a permit became free after claims left out queues for lack of one.
    private(set) var hasOpened = false

    /// How long a partner's next jobs are assumed to need permits as well.
    private static let memory = Duration.seconds(60)
    /// How long none of a partner's jobs is claimed after one was refused.
    private static let pause = Duration.seconds(1)

    init(_ limits: OutsideLimits) { self.limits = limits }

    /// Jobs that wait for a slot.
    var returningCount: Int { self.returning.count }
    /// Whether no job is outside or expected to be.
    var isEmpty: Bool { self.permits.isEmpty }
    /// Whether any partner's jobs requested permits recently.
    var isWanted: Bool { !self.seen.isEmpty }

    /// How many more jobs of a partner may get a permit.
    private func room(for partner: Int) -> Int {
        let share = self.shares[partner] ?? Share()
        // Only while half of the room is free: a job that finds no room for its bytes has fetched some of them in vain.
        if share.bytes > self.limits.bytesPerPartner / 2 || self.bytes > self.limits.bytes / 2 { return 0 }
        return max(0, min(self.limits.permits - self.permits.count, self.limits.permitsPerPartner - share.permits))
    }

    /// The most jobs to claim of partners whose jobs requested permits recently; others are not limited.
    mutating func room(at now: ContinuousClock.Instant) -> [Int: Int] {
        if self.seen.isEmpty { return [:] }
        self.seen = self.seen.filter { self.shares[$0.key] != nil || now - $0.value < Self.memory }
        self.refused = self.refused.filter { now - $0.value < Self.pause }
        return self.seen.reduce(into: [:]) { room, partner in
            room[partner.key] = self.refused[partner.key] == nil ? self.room(for: partner.key) : 0
        }
    }

    /// Reserves a permit for a claimed job whose partner's jobs requested permits recently, until it is known whether it needs one.
    mutating func expect(_ fence: Int64, of partner: Int) {
        guard self.seen[partner] != nil, self.permits[fence] == nil, self.room(for: partner) > 0 else { return }
        self.add(fence, Permit(partner: partner, isOutside: false))
    }

    /// Reserves a permit for a job that will need one.
    mutating func expect(_ fence: Int64, of partner: Int, at now: ContinuousClock.Instant) {
        self.seen[partner] = now
        self.expect(fence, of: partner)
    }

    /// Takes a job with its bytes out of its slot. Does nothing if it has left already.
    ///
    /// - Returns: False if it must be released: its partner's share, or everything, is used up.
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

    /// Reserves room for more bytes that a job outside will hold.
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

    /// Frees a job's permit, its room, and its place in the wait for a slot.
    ///
    /// - Returns: Whether it waited for a slot and must be woken.
    mutating func remove(_ fence: Int64) -> Bool {
        guard let permit = self.permits[fence], var share = self.shares[permit.partner] else { return false }
        // While the worker was full, any partner's queues may have been left out.
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

    /// Whether to scan queues that were left out; true once.
    mutating func takeOpened() -> Bool {
        defer { self.hasOpened = false }
        return self.hasOpened
    }

    /// Has a job wait for a slot.
    ///
    /// - Returns: False if it no longer has a permit.
    mutating func queue(_ fence: Int64) -> Bool {
        guard self.permits[fence]?.isOutside == true else { return false }
        self.returning.append(fence)
        return true
    }

    /// Gives a slot to the job that has waited longest.
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

/// How many jobs of a worker may wait for other servers in addition to those in slots, and how many bytes they may hold.
package struct OutsideLimits: Sendable {
    /// Most jobs outside their slot at once.
    package var permits: Int
    /// A quarter: it takes four partners whose servers do not answer to use up all permits.
    var permitsPerPartner: Int { max(1, self.permits / 4) }
    /// The bytes that all of them may hold together.
    package var bytes: Int
    /// At least one job's limit, so that one job of each partner always passes.
    var bytesPerPartner: Int { max(JobPart.limit, self.bytes / 4) }

    /// - Parameter bytes: At least ``JobPart/limit``.
    package init(permits: Int, bytes: Int = 4 * JobPart.limit) {
        precondition(permits > 0 && bytes >= JobPart.limit, "no job could ever wait outside")
        self.permits = permits
        self.bytes = bytes
    }
}

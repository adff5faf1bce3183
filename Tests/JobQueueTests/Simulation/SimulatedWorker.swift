import Foundation
import InspectCore

@testable import JobQueue

/// A worker's process: the product's own machine and, as `JobWorker` has them around it, tasks, connections and answers that
/// are on their way.
struct SimulatedWorker {
    /// What lies around the machine, broken on purpose.
    enum Fault: String, Sendable {
        case hidesEpochs = "another epoch in its answers"
        case startsTwice = "one start for each attempt"
        case startsNothing = "a start for each attempt"
        case keepsLostLeases = "leases that are lost"
        case forgetsFailedWrites = "writes that failed"
        case forgetsFailedClaims = "claims that failed"
        case forgetsWaiters = "slots for those who wait for one"
        case comparesLate = "what ran when a heartbeat was sent"
    }

    /// A handler's task.
    struct Handler {
        let job: ClaimedJob
        var stored: [JobStatus] = []
        var isCancelled = false
        /// The machine no longer counts on it.
        var isForgotten = false
        var isOutside = false
        /// Outside, and waits for a slot.
        var isWaiting = false
    }

    struct RoundTrip {
        var batch: [QueueWrite]
        var claiming: WorkerMachine.Claiming?
        var asksForLocks: Bool
    }

    struct Answer {
        var claims: QueueStatements.Claims?
        var settled: [(writes: [QueueWrite], held: Set<Int64>)]
    }

    struct Pump {
        enum State {
            case idle
            case sending(RoundTrip)
            /// Done, perhaps not committed yet, and not heard of.
            case answered(RoundTrip, Answer)
            /// No answer will come, and whether it was done is not known.
            case broken(RoundTrip)
            /// Each job by itself, until so many are held.
            case alone([[QueueWrite]], most: Int)
            case done

            /// Writes that are under way.
            var writes: [QueueWrite] {
                switch self {
                case .sending(let trip), .answered(let trip, _), .broken(let trip): trip.batch
                case .alone(let groups, _): groups.flatMap { $0 }
                case .idle, .done: []
                }
            }

            /// Slots that are kept for the jobs of a claim under way.
            var reserved: Int {
                switch self {
                case .sending(let trip), .answered(let trip, _), .broken(let trip): trip.claiming?.limit ?? 0
                case .alone, .idle, .done: 0
                }
            }
        }

        var state = State.idle
        var session = SimulatedSession(mayBeRefused: true)
        var sleepsUntil: ContinuousClock.Instant
    }

    var machine: WorkerMachine
    var handlers: [Handler] = []
    var pumps: [Pump]
    var heartbeat = SimulatedSession()
    /// A heartbeat whose answer is on its way.
    var beat: (sent: WorkerMachine.Heartbeat, answer: WorkerMachine.HeartbeatAnswer?)?
    /// Writes the jobs that are parked.
    var duties = SimulatedSession(mayBeRefused: true)
    var retriesSleepUntil: ContinuousClock.Instant
    /// The next heartbeat is due at once.
    var beatsAtOnce = false
    /// Stopped by a signal, as if for ever; its connections stay.
    var isFrozen = false
    /// An operator has asked it to drain.
    var isDraining = false

    init(slots: Int, drains: Bool, at now: ContinuousClock.Instant) {
        var configuration = JobWorkerConfiguration(databaseURL: "", host: "simulated", version: "0", slots: slots)
        configuration.pumps = 2
        configuration.drains = drains
        configuration.outside = OutsideLimits(permits: 4)
        self.machine = WorkerMachine(configuration, at: now)
        self.pumps = (0..<configuration.pumps).map { _ in Pump(sleepsUntil: now) }
        self.retriesSleepUntil = now
    }

    /// Nothing is worked on, written, claimed or kept.
    var isIdle: Bool {
        self.handlers.isEmpty && self.machine.running.isEmpty && self.machine.pendingCount == 0
            && self.machine.parked.isEmpty && self.machine.reserved == 0 && self.machine.ending.isEmpty
            && self.machine.outside.isEmpty
    }

    /// What is wrong with what it does at this moment.
    var violations: [String] {
        let inSlots = self.handlers.count { !$0.isOutside && !$0.isCancelled && !$0.isForgotten }
        let slots = self.machine.configuration.slots
        var violations: [String] = []
        if inSlots + self.machine.reserved > slots { violations.append("more jobs than its \(slots) slots") }
        let begun = Set(self.handlers.map(\.job.fence))
        if !begun.isSuperset(of: self.machine.running.keys) { violations.append("an attempt that nobody works on") }
        let writes =
            self.machine.outboxes.flatMap(\.writes) + self.machine.parked.values.flatMap(\.writes)
            + self.pumps.flatMap(\.state.writes)
        let lost = self.machine.ending.subtracting(writes.map(\.job.fence))
        if !lost.isEmpty { violations.append("ends of \(lost.sorted()) that nobody writes") }
        let reserved = self.pumps.reduce(0) { $0 + $1.state.reserved }
        if self.machine.reserved != reserved {
            violations.append("\(self.machine.reserved) slots kept for claims of \(reserved) jobs")
        }
        let waiting = self.handlers.count { $0.isWaiting }
        if waiting != self.machine.outside.returningCount {
            violations.append(
                "\(waiting) jobs that wait for a slot, and knows of \(self.machine.outside.returningCount)")
        }
        return violations
    }

    /// The process ends.
    mutating func drop(_ world: SimulatedDatabase) async {
        for number in self.pumps.indices { await self.pumps[number].session.drop(world) }
        await self.heartbeat.drop(world)
        await self.duties.drop(world)
    }
}

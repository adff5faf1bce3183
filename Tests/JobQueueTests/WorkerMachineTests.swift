import Foundation
import InspectCore
import Testing

@testable import JobQueue

/// The rows of ``WorkerMachine``'s tables, without a clock and without a database.
@Suite struct WorkerMachineTests {
    private static let start = ContinuousClock.now
    private static let identity = WorkerIdentity(id: 7, incarnation: "i", region: 0)
    private static let stored = StorableResult(summary: "{}", body: Data("{}".utf8))

    private struct Failure: Error {}

    private static func after(_ seconds: Double) -> ContinuousClock.Instant { self.start + .seconds(seconds) }

    private static func job(_ id: Int64, fence: Int64) -> ClaimedJob {
        ClaimedJob(
            id: id, publicID: "job \(id)", fence: fence, attempt: 1, crashes: 0, status: .started, payload: Data(),
            steps: [:], traceparent: nil, queue: 1)
    }

    private static func machine(slots: Int = 4) -> WorkerMachine {
        let configuration = JobWorkerConfiguration(databaseURL: "", host: "test", version: "0", slots: slots)
        var machine = WorkerMachine(configuration, at: self.start)
        var actions = WorkerActions()
        machine.registered(self.identity, floors: [], epoch: 1, at: self.start, &actions)
        return machine
    }

    private static func answer(
        _ jobs: [ClaimedJob], epoch: Int64 = 1, isOpen: Bool = true, isExpired: Bool = false
    ) -> QueueStatements.Claims {
        QueueStatements.Claims(
            epoch: epoch, high: 0, horizon: nil, limits: nil, queues: [],
            jobs: jobs.map { .init(job: $0, queue: 1, seq: 1, isOpen: isOpen, isExpired: isExpired) })
    }

    /// What the pump would send now.
    private static func sent(
        _ machine: inout WorkerMachine, at seconds: Double = 1
    ) -> (writes: [QueueWrite], claiming: WorkerMachine.Claiming?) {
        guard case .send(let writes, let claiming, _) = machine.nextStep(of: 0, at: self.after(seconds)) else {
            return ([], nil)
        }
        return (writes, claiming)
    }

    /// Has the machine claim these jobs.
    private static func claim(_ machine: inout WorkerMachine, _ jobs: [ClaimedJob]) throws -> WorkerActions {
        let claiming = try #require(self.sent(&machine, at: 0).claiming)
        var actions = WorkerActions()
        machine.claimed(self.answer(jobs), of: claiming, at: self.start, random: 1, &actions)
        return actions
    }

    private static func lease(_ jobs: ClaimedJob...) -> WorkerMachine.HeartbeatAnswer {
        WorkerMachine.HeartbeatAnswer(
            leases: Dictionary(jobs.map { ($0.id, $0.fence) }, uniquingKeysWith: { $1 }), fence: 100,
            weights: [1, 1, 1], epoch: 1, isDraining: false)
    }

    /// One heartbeat at this time, with its answer.
    private static func beat(
        _ machine: inout WorkerMachine, at seconds: Double, _ answer: WorkerMachine.HeartbeatAnswer?
    ) -> WorkerActions {
        var actions = WorkerActions()
        if case .beat(let beat) = machine.heartbeat(at: self.after(seconds)) {
            machine.beaten(beat, answer, at: self.after(seconds), &actions)
        }
        return actions
    }

    @Test func `A claim starts open jobs, and ends the leases of others`() throws {
        var machine = Self.machine()
        #expect(try Self.claim(&machine, [Self.job(1, fence: 10)]).started.map(\.fence) == [10])
        #expect(machine.inSlots == 1 && machine.reserved == 0)
        for (isOpen, isExpired) in [(false, false), (true, true)] {
            var machine = Self.machine()
            let claiming = try #require(Self.sent(&machine, at: 0).claiming)
            var actions = WorkerActions()
            let answer = Self.answer([Self.job(1, fence: 10)], isOpen: isOpen, isExpired: isExpired)
            machine.claimed(answer, of: claiming, at: Self.start, random: 1, &actions)
            #expect(actions.started.isEmpty && machine.running.isEmpty && actions.wakes(0))
            switch try #require(Self.sent(&machine).writes.first).kind {
            case .deadLetter(let error): #expect(isExpired && error.code == .expired)
            case .release: #expect(!isExpired)
            default: Issue.record("neither released nor dead-lettered")
            }
        }
    }

    @Test func `A refused claim claims no more until a heartbeat has told why`() throws {
        var machine = Self.machine()
        let claiming = try #require(Self.sent(&machine, at: 0).claiming)
        var actions = WorkerActions()
        machine.hint(&actions)
        _ = Self.sent(&machine, at: 0)
        machine.claimed(nil, of: claiming, at: Self.start, random: 1, &actions)
        #expect(actions.beats && machine.scan.isUnknown && machine.drainCheck == nil)
        let dead = Self.beat(&machine, at: 1, nil)
        #expect(machine.mustRegister && !dead.reports.isEmpty)
        #expect(Self.sent(&machine, at: 100).claiming == nil)
    }

    @Test func `A job that is claimed again while its first attempt still ends keeps its slot and its outcome`() throws
    {
        var machine = Self.machine()
        let (first, second) = (Self.job(1, fence: 10), Self.job(1, fence: 11))
        _ = try Self.claim(&machine, [first])
        _ = try Self.claim(&machine, [second])
        #expect(machine.inSlots == 2)
        let lost = Self.beat(&machine, at: 1, Self.lease(second))
        #expect(lost.cancelled == [10])
        var actions = WorkerActions()
        machine.ended(first, .success(Self.stored, waitsForReview: false), at: Self.after(1), &actions)
        #expect(machine.inSlots == 1 && machine.pendingCount == 0)
        machine.ended(second, .success(Self.stored, waitsForReview: false), at: Self.after(1), &actions)
        #expect(machine.inSlots == 0 && Self.sent(&machine, at: 2).writes.map(\.job.fence) == [11])
    }

    @Test func `A permit of an attempt that lost its lease is free once the attempt ends`() throws {
        var machine = Self.machine(slots: 1)
        let (first, second) = (Self.job(1, fence: 10), Self.job(1, fence: 11))
        var actions = try Self.claim(&machine, [first])
        let isOutside = machine.leaveSlot(first, holding: 5, at: Self.start, &actions)
        #expect(isOutside == true)
        #expect(machine.inSlots == 0)
        _ = try Self.claim(&machine, [second])
        #expect(machine.inSlots == 1)
        machine.ended(first, .failure(Failure(), random: 0), at: Self.after(1), &actions)
        #expect(machine.inSlots == 1 && machine.outside.count == 0)
    }

    @Test func `A job outside its slot returns before a new claim`() throws {
        var machine = Self.machine(slots: 1)
        let job = Self.job(1, fence: 10)
        var actions = try Self.claim(&machine, [job])
        let isOutside = machine.leaveSlot(job, holding: 5, at: Self.start, &actions)
        #expect(isOutside == true)
        let isQueued = machine.queueForSlot(job, &actions)
        #expect(isQueued && actions.answered.map(\.isBack) == [true] && machine.inSlots == 1)
        #expect(Self.sent(&machine, at: 5).claiming == nil)
    }

    @Test func `Outcomes become the writes that the policy prescribes`() throws {
        let cases: [(WorkerMachine.Outcome, String)] = [
            (.success(Self.stored, waitsForReview: false), "finish"),
            (.success(Self.stored, waitsForReview: true), "review"),
            (.success(nil, waitsForReview: false), "dead-letter"), (.failure(NoPermit(), random: 0), "release"),
            (.failure(InspectError(.partUnreachable), random: 0), "retry"),
            (.failure(InspectError(.corruptImage), random: 0), "dead-letter"),
            (.failure(InspectError(.leaseLost), random: 0), "nothing"),
        ]
        for (outcome, expected) in cases {
            var machine = Self.machine()
            var actions = try Self.claim(&machine, [Self.job(1, fence: 10)])
            machine.ended(Self.job(1, fence: 10), outcome, at: Self.start, &actions)
            let kind =
                switch Self.sent(&machine).writes.first?.kind {
                case .finish: "finish"
                case .holdForReview: "review"
                case .deadLetter: "dead-letter"
                case .retry: "retry"
                case .release: "release"
                case .step: "step"
                case nil: "nothing"
                }
            #expect(kind == expected && machine.running.isEmpty)
        }
    }

    @Test func `An overdue job is told to stop, and ended by force if it does not`() throws {
        var machine = Self.machine()
        _ = try Self.claim(&machine, [Self.job(1, fence: 10)])
        machine.lastHeartbeat = Self.after(400)
        var actions = WorkerActions()
        machine.tick(at: Self.after(301), random: 0, &actions)
        #expect(actions.cancelled == [10] && machine.inSlots == 1)
        machine.tick(at: Self.after(307), random: 0, &actions)
        #expect(actions.forgotten == [10] && machine.inSlots == 0)
        guard case .retry(let error, _) = try #require(Self.sent(&machine, at: 308).writes.first).kind else {
            Issue.record("not retried")
            return
        }
        #expect(error.code == .analyzerTimeout)
    }

    @Test func `Silence loses all work, and a heartbeat resumes`() throws {
        var machine = Self.machine()
        _ = try Self.claim(&machine, [Self.job(1, fence: 10)])
        var actions = WorkerActions()
        machine.tick(at: Self.after(11), random: 0, &actions)
        #expect(machine.isSuspended && actions.cancelled == [10] && Self.sent(&machine, at: 11).claiming == nil)
        _ = Self.beat(&machine, at: 12, Self.lease())
        #expect(!machine.isSuspended && Self.sent(&machine, at: 13).claiming != nil)
    }

    @Test func `Another epoch forgets floors, fences and unknown leases`() throws {
        var machine = Self.machine()
        machine.fenceFloor = 5
        machine.unknownLeases = [1: 2]
        let claiming = try #require(Self.sent(&machine, at: 0).claiming)
        var actions = WorkerActions()
        machine.claimed(
            Self.answer([Self.job(1, fence: 10)], epoch: 2), of: claiming, at: Self.start, random: 1, &actions)
        #expect(machine.seen.epoch == 2 && machine.fenceFloor == 0 && machine.unknownLeases.isEmpty)
        #expect(machine.isHinted && actions.started.count == 1)
    }

    @Test func `A lease that nobody works on is released at its second regular heartbeat`() {
        var machine = Self.machine()
        let lost = Self.job(1, fence: 10)
        _ = Self.beat(&machine, at: 0, Self.lease(lost))
        #expect(machine.pendingCount == 0)
        _ = Self.beat(&machine, at: 1, Self.lease(lost))
        #expect(machine.pendingCount == 0)
        _ = Self.beat(&machine, at: 5, Self.lease(lost))
        #expect(Self.sent(&machine, at: 6).writes.map(\.job.fence) == [10])
    }

    @Test func `A job that the database cannot write at all is left to the rescue`() throws {
        var machine = Self.machine()
        let job = Self.job(1, fence: 10)
        var actions = try Self.claim(&machine, [job])
        machine.ended(job, .success(Self.stored, waitsForReview: false), at: Self.start, &actions)
        let batch = Self.sent(&machine).writes
        #expect(WorkerMachine.recovery(of: batch, from: .refused("22021")) == .eachAlone)
        guard
            case .instead(let write) = machine.failedAlone(
                batch, .refused("22021"), at: Self.after(1), random: 1, &actions)
        else {
            Issue.record("nothing is written in its place")
            return
        }
        guard
            case .abandoned = machine.failedAlone(
                batch, .refused("22021"), substitute: write, at: Self.after(1), random: 1, &actions)
        else {
            Issue.record("not abandoned")
            return
        }
        // It was taken for an unavailable database before.
        guard case .abandoned(let reference, "22021") = actions.reports.last else {
            Issue.record("not reported as abandoned")
            return
        }
        #expect(reference.id == job.publicID)
        // It was released before, every second heartbeat for ever.
        var answer = Self.lease(job)
        answer.fence = job.fence
        for turn in 1...2 { _ = Self.beat(&machine, at: Double(5 * turn), answer) }
        // Above the last fence the database would begin an epoch.
        #expect(machine.pendingCount == 0 && machine.fenceFloor == job.fence)
        answer.fence += 1
        for turn in 3...4 { _ = Self.beat(&machine, at: Double(5 * turn), answer) }
        #expect(machine.pendingCount == 0 && machine.fenceFloor > job.fence)
        _ = Self.beat(&machine, at: 30, Self.lease())
        #expect(machine.abandoned.isEmpty)
    }

    @Test func `Writes of a held row wait apart, and later ones behind them`() throws {
        var machine = Self.machine()
        let job = Self.job(1, fence: 10)
        var actions = try Self.claim(&machine, [job])
        let isHeld = machine.completed(.acquired, Data(), of: job, at: Self.start, &actions)
        #expect(isHeld)
        let batch = Self.sent(&machine).writes
        #expect(WorkerMachine.recovery(of: batch, from: .held) == .findHeld)
        let others = machine.withoutLocked(batch, locked: [1], at: Self.after(1), random: 1, &actions)
        #expect(others.isEmpty && actions.retriesParked)
        machine.ended(job, .success(Self.stored, waitsForReview: false), at: Self.after(1), &actions)
        #expect(machine.pendingCount == 0)
        guard case .ask(let groups) = machine.nextRetry(at: Self.after(2)) else {
            Issue.record("not due")
            return
        }
        let held = machine.retry(groups, locked: [1], at: Self.after(2), random: 1, &actions)
        #expect(held.isEmpty)
        let free = machine.retry(groups, locked: [], at: Self.after(3), random: 1, &actions)
        #expect(free.first?.count == 2)
        machine.retried(free[0], at: Self.after(3), &actions)
        #expect(machine.parked.isEmpty)
    }

    @Test func `A stopping worker ends when all is written, or ten seconds past its deadline`() throws {
        var machine = Self.machine()
        let job = Self.job(1, fence: 10)
        var actions = try Self.claim(&machine, [job])
        machine.stop(at: Self.start, &actions)
        #expect(actions.wakesAll && !machine.isOver(at: Self.after(29)) && machine.isOver(at: Self.after(31)))
        machine.lastHeartbeat = Self.after(21)
        machine.tick(at: Self.after(21), random: 0, &actions)
        #expect(actions.cancelled == [10])
        machine.ended(job, .failure(CancellationError(), random: 0), at: Self.after(21), &actions)
        let batch = Self.sent(&machine, at: 22).writes
        guard case .release = batch.first?.kind else {
            Issue.record("not released")
            return
        }
        machine.settled([(batch, [1])], of: batch, at: Self.after(22), &actions)
        #expect(machine.isOver(at: Self.after(22)) && machine.ending.isEmpty)
    }
}

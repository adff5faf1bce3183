import Foundation
import InspectCore
import Synchronization
import TestSupport
import Testing

@testable import JobQueue

/// Jobs that wait for somebody else's server outside their slot, on a real worker and database.
@Suite struct OutsideTests {
    /// Jobs outside at once, and the most there ever were.
    private final class Crowd: Sendable {
        private let counts = Mutex<(now: Int, most: Int, entered: Int)>((0, 0, 0))
        var most: Int { self.counts.withLock { $0.most } }
        var now: Int { self.counts.withLock { $0.now } }
        var entered: Int { self.counts.withLock { $0.entered } }

        func enter() {
            self.counts.withLock { counts in
                counts.now += 1
                counts.entered += 1
                counts.most = max(counts.most, counts.now)
            }
        }
        func leave() { self.counts.withLock { $0.now -= 1 } }
    }

    /// Jobs of a partner `slow` leave their slot, wait as long as the test says, and return; others end at once.
    private static func handler(
        _ crowd: Crowd, holding bytes: Int = 0, _ wait: @escaping @Sendable () async throws -> Void
    ) -> ClosureHandler {
        ClosureHandler { job, context in
            guard String(decoding: job.payload, as: UTF8.self).contains("slow") else { return ClosureHandler.passed }
            try context.leaveSlot(holding: 0)
            crowd.enter()
            defer { crowd.leave() }
            try await wait()
            guard context.hold(bytes) else { throw NoPermit() }
            try await context.returnToSlot()
            return ClosureHandler.passed
        }
    }

    private func fixture(slow: Int, fast: Int = 0) async throws -> QueueFixture {
        let fixture = try await QueueFixture()
        _ = try await fixture.admin.query("SELECT insp.create_partner('slow', 'https://hooks.example.com/y')")
        let request = QueueFixture.byURL.replacing("acme", with: "slow")
        _ = try await fixture.enqueue(many: Array(repeating: Data(request.utf8), count: slow))
        if fast > 0 { _ = try await fixture.enqueue(fast) }
        return fixture
    }

    private static let finished =
        "count(*) = 0 FROM insp.job j JOIN insp.partner p ON p.id = j.partner_id WHERE status < 128"

    @Test(.timeLimit(.minutes(5)))
    func `Jobs outside hold up nobody, are bounded for each partner, and use up no attempt`() async throws {
        let fixture = try await self.fixture(slow: 12, fast: 40)
        let crowd = Crowd()
        let gate = Mutex(false)
        var configuration = fixture.configuration(slots: 2)
        configuration.outside.permits = 12
        let handler = Self.handler(crowd) {
            try await waitUntil("the test lets it end", within: .seconds(300)) { gate.withLock { $0 } }
        }
        try await withWorker(configuration, handler) { worker in
            // More of them than slots, and none of them ends before the others have.
            try await fixture.wait(for: Self.finished + " AND p.name = 'acme'")
            try await fixture.wait { crowd.now == 3 && worker.vitals.running <= 2 }
            #expect(worker.vitals.outside == 3)
            gate.withLock { $0 = true }
            try await fixture.wait(for: Self.finished)
            #expect(crowd.most == 3)
            #expect(worker.vitals.outside == 0)
        }
        #expect(try await fixture.violations().isEmpty)
        // Released for want of a permit now and then, but never counted against the job.
        #expect(try await fixture.count("insp.event WHERE kind IN ('retry', 'rescued')") == 0)
        #expect(crowd.entered == 12)
    }

    @Test(.timed, .timeLimit(.minutes(5)))
    func `A job that returns gets the next free slot, before all that are still to be claimed`() async throws {
        let fixture = try await self.fixture(slow: 1)
        let crowd = Crowd()
        let done = Mutex(0)
        let order = Mutex<Int?>(nil)
        let handler = ClosureHandler { job, context in
            if String(decoding: job.payload, as: UTF8.self).contains("slow") {
                try context.leaveSlot(holding: 0)
                crowd.enter()
                try await waitUntil("five jobs have ended", every: .milliseconds(1)) { done.withLock { $0 } >= 5 }
                try await context.returnToSlot()
                order.withLock { $0 = done.withLock { $0 } }
            } else {
                try await Task.sleep(for: .milliseconds(10))
                done.withLock { $0 += 1 }
            }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(slots: 1), handler) { _ in
            try await waitUntil("the job has left its slot") { crowd.entered > 0 }
            _ = try await fixture.enqueue(100)
            try await fixture.wait(for: Self.finished)
        }
        let finished = try #require(order.withLock { $0 })
        // One or two may have gone by while it asked.
        #expect((5...9).contains(finished), "\(finished)")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A job outside is released when the worker stops, and dropped when it is cancelled`() async throws {
        let fixture = try await self.fixture(slow: 2)
        let crowd = Crowd()
        let log = EventLog()
        var configuration = fixture.configuration(slots: 1)
        configuration.shutdownDeadline = .seconds(0.5)
        let handler = Self.handler(crowd) { try await Task.sleep(for: .seconds(600)) }
        try await withWorker(configuration, handler, log: log) { worker in
            try await waitUntil("both jobs are outside") { crowd.now == 2 }
            _ = try await fixture.admin.query("SELECT insp.cancel(public_id) FROM insp.job ORDER BY id LIMIT 1")
            try await waitUntil("the cancelled job is dropped") { crowd.now <= 1 }
            #expect(worker.vitals.outside <= 1)
        }
        #expect(crowd.now == 0)
        #expect(log.count { if case .released = $0 { true } else { false } } == 1)
        #expect(try await fixture.count("insp.ready WHERE attempt = 0") == 1)
        #expect(try await fixture.count("insp.lease") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A job outside for longer than its deadline is ended like any other`() async throws {
        let fixture = try await self.fixture(slow: 1)
        let crowd = Crowd()
        var configuration = fixture.configuration(slots: 1)
        configuration.jobDeadline = .seconds(0.3)
        configuration.retryPolicy.maxCrashes = 2
        let handler = Self.handler(crowd) { try await Task.sleep(for: .seconds(600)) }
        try await withWorker(configuration, handler) { _ in try await fixture.wait(for: Self.finished) }
        #expect(crowd.now == 0)
        #expect(try await fixture.count("insp.step WHERE summary ->> 'error' LIKE '%ANALYZER_TIMEOUT%'") == 1)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Bytes that jobs hold are bounded, and each job gets through`() async throws {
        let fixture = try await self.fixture(slow: 12)
        let crowd = Crowd()
        let configuration = fixture.configuration(slots: 4)
        // Of 64 MiB for a partner only one of these has room at a time.
        let handler = Self.handler(crowd, holding: 40 << 20) { try await Task.sleep(for: .milliseconds(20)) }
        try await withWorker(configuration, handler) { worker in
            try await fixture.wait(for: Self.finished, within: 90)
            #expect(worker.vitals.outside == 0)
        }
        #expect(try await fixture.violations().isEmpty)
        #expect(try await fixture.count("insp.event WHERE kind IN ('retry', 'rescued')") == 0)
    }

    @Test(.timeLimit(.minutes(5)))
    func `Parts that are too large together are refused before a byte of them is read`() async throws {
        let fixture = try await QueueFixture()
        let frame = Data(repeating: 7, count: 17_000_000)
        let id = try await fixture.client.enqueue(
            payload: Data(#"{"partner":"acme","workflow":"liveness"}"#.utf8),
            parts: [.frames: [frame, frame, frame, frame]])
        let handler = ClosureHandler { _, context in
            _ = try await context.parts()
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: Self.finished)
        }
        #expect(try await fixture.errorCode(of: id) == "PARTS_TOO_LARGE")
    }

    @Test func `Parts by URL come with the networks that the endpoint allows`() async throws {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            SELECT insp.set_endpoint(id, '{"allowPrivate":true,"allowedNetworks":["10.1.0.0/16","fd00::/8"]}')
            FROM insp.endpoint
            """)
        _ = try await fixture.enqueue(1)
        try await fixture.admin.execute("UPDATE insp.job SET endpoint_id = NULL")
        let seen = Mutex<[JobPart.Remote]>([])
        let handler = ClosureHandler { _, context in
            for part in try await context.parts() {
                if case .url(let remote) = part.source { seen.withLock { $0.append(remote) } }
            }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: Self.finished)
            _ = try await fixture.enqueue(1)
            try await fixture.wait(for: Self.finished)
        }
        let (first, second) = seen.withLock { ($0.first, $0.last) }
        // A job without an endpoint: strict.
        #expect(first?.networks == nil && first?.allowPrivate == false)
        #expect(second?.networks == ["10.1.0.0/16", "fd00::/8"] && second?.allowPrivate == true)
    }

    @Test func `Without listed networks parts by URL lead to private addresses at the endpoint's own origins alone`()
        async throws
    {
        let fixture = try await QueueFixture()
        try await fixture.admin.execute(
            """
            SELECT insp.set_endpoint(id, '{"allowPrivate":true,"origins":["https://files.example.com"]}') FROM insp.endpoint
            """)
        let urls = [
            "https://hooks.example.com/a", "https://files.example.com/a", "https://internal.example.com/a",
            "https://hooks.example.com.internal.example.com/a",
        ]
        for url in urls {
            let request = QueueFixture.byURL.replacing("https://img.example.com/a", with: url)
            _ = try await fixture.client.enqueue(payload: Data(request.utf8))
        }
        let seen = Mutex<[String: Bool]>([:])
        let handler = ClosureHandler { _, context in
            for part in try await context.parts() {
                if case .url(let remote) = part.source { seen.withLock { $0[remote.url] = remote.allowPrivate } }
            }
            return ClosureHandler.passed
        }
        try await withWorker(fixture.configuration(), handler) { _ in
            try await fixture.wait(for: Self.finished)
        }
        #expect(seen.withLock { $0 } == [urls[0]: true, urls[1]: true, urls[2]: false, urls[3]: false])
    }

    @Test(.timeLimit(.minutes(5)))
    func `Free slots are not reported as busy`() async throws {
        let fixture = try await self.fixture(slow: 2)
        let gates = Mutex((outside: false, inside: false))
        var configuration = fixture.configuration(slots: 1)
        // One for each partner.
        configuration.outside.permits = 4
        let handler = ClosureHandler { job, context in
            let isSlow = String(decoding: job.payload, as: UTF8.self).contains("slow")
            if isSlow { try context.leaveSlot(holding: 0) }
            try await waitUntil("the test lets it end", within: .seconds(300)) {
                gates.withLock { isSlow ? $0.outside : $0.inside }
            }
            if isSlow { try await context.returnToSlot() }
            return ClosureHandler.passed
        }
        let why = "SELECT why FROM insp.v_waiting WHERE partner = "
        try await withWorker(configuration, handler) { worker in
            try await waitUntil("a job is outside") { worker.vitals.outside > 0 }
            try await fixture.wait(
                for:
                    "coalesce((\(why) 'slow') LIKE '%share of the jobs that wait for other servers (1); busy slots: 0 of 1%', false)"
            )
            _ = try await fixture.enqueue(2)
            try await fixture.wait(
                for: "coalesce((\(why) 'acme') = 'all slots are busy: 1 slot of 1 worker', false)")
            gates.withLock { $0 = (true, true) }
            try await fixture.wait(for: Self.finished)
        }
    }

    @Test func `A plan leaves out the queues of partners that have their share, and learns nothing of them`() {
        var floors = QueueFloors(regions: [0], lanes: [1], floors: [])
        _ = floors.add([
            .init(id: 1, region: 0, lane: 1, partner: 1), .init(id: 2, region: 0, lane: 1, partner: 2),
        ])
        let first = floors.plan(limit: 8, onlyActive: false, most: [1: 3])
        #expect(first.scans.map(\.queue) == [1, 2] && first.scans[0].most == 3)
        floors.learn(first, limit: 8, claimed: [(1, 10), (2, 11)], high: 100_000, at: .now)
        let before = floors.reported
        let second = floors.plan(limit: 8, onlyActive: false, most: [1: 0])
        #expect(second.scans.map(\.queue) == [2] && second.scans[0].most == 8)
        floors.learn(second, limit: 8, claimed: [], high: 1_000_000, at: .now)
        let after = Dictionary(uniqueKeysWithValues: zip(floors.reported.queues, floors.reported.seqs))
        #expect(after[1] == Dictionary(uniqueKeysWithValues: zip(before.queues, before.seqs))[1])
        #expect(after[2] ?? 0 > 900_000)
        // It is still one that gave jobs.
        #expect(floors.hasActive)
        #expect(floors.plan(limit: 8, onlyActive: true, most: [1: 0]).scans.isEmpty)
        #expect(floors.plan(limit: 8, onlyActive: true).scans.map(\.queue) == [1])
    }
}

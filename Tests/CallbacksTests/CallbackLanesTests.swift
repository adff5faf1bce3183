import Foundation
import Testing

@testable import Callbacks

/// What a dispatcher holds beyond what it sends at once.
@Suite struct CallbackLanesTests {
    private let outbox: Outbox

    init() async throws { self.outbox = try await Outbox() }

    private func endpoint(inFlight: Int) async throws -> Int64 {
        try await self.outbox.endpoint(secret: WebhookSecret.generate().text, inFlight: inFlight)
    }

    private func store(_ holder: Int64?) -> CallbackStore {
        CallbackStore(connection: self.outbox.connection, worker: "test", lease: .seconds(60), holder: holder)
    }

    private func entries(_ claim: CallbackClaim) -> [WaitingCallback] {
        claim.callbacks.map { WaitingCallback(callback: $0, claimed: .now, deadline: .now + .seconds(60)) }
    }

    /// Together the dispatchers never send more at once than the endpoint allows, whichever of them claims, in any order.
    @Test func `Dispatchers share an endpoint's limit`() async throws {
        let endpoint = try await self.endpoint(inFlight: 8)
        try await self.outbox.add(100, endpoint: endpoint, url: "https://partner.example/")
        let (first, second) = (self.store(1), self.store(2))
        let claim = try await first.claim(64)
        #expect(claim.callbacks.count == 24 && claim.permits == [endpoint: 8])
        // Another one gets nothing while as many are held as may be sent.
        let none = try await second.claim(64)
        #expect(none.callbacks.isEmpty && (none.permits[endpoint] ?? 0) <= 0)
        _ = try await first.settle(self.entries(claim).prefix(21).map(\.delivered))
        let rest = try await second.claim(64)
        #expect(rest.callbacks.count == 15 && rest.permits == [endpoint: 5])
        // One without a number sends all that it gets at once, so that it gets none of them.
        #expect(try await self.store(nil).claim(64).callbacks.isEmpty)
        // Nothing is given to the first beyond what the second leaves it.
        #expect(try await first.claim(64).callbacks.isEmpty)
    }

    @Test func `A callback that was claimed but not sent is released unchanged`() async throws {
        let endpoint = try await self.endpoint(inFlight: 2)
        let ids = try await self.outbox.add(3, endpoint: endpoint, url: "https://partner.example/")
        let store = self.store(1)
        let claim = try await store.claim(64)
        #expect(try await store.settle(self.entries(claim).map(\.released)).lost.isEmpty)
        for id in ids {
            let row = try await self.outbox.row(id)
            #expect(row.state == "pending" && row.attempts == 0 && row.released == 0 && !row.isClaimed)
            #expect(try await self.outbox.attempts(id).isEmpty)
        }
        #expect(try await store.claim(64, above: claim.floors).callbacks.count == 3)
    }

    @Test func `Endpoints take turns, each within its limit`() async throws {
        let (narrow, wide) = (try await self.endpoint(inFlight: 1), try await self.endpoint(inFlight: 3))
        try await self.outbox.add(9, endpoint: narrow, url: "https://partner.example/")
        try await self.outbox.add(9, endpoint: wide, url: "https://partner.example/")
        let claim = try await self.store(1).claim(64)
        #expect(claim.callbacks.count == 12)
        var lanes = CallbackLanes<WaitingCallback>(limit: 3)
        lanes.add(self.entries(claim), permits: claim.permits, endpoint: \.callback.endpoint.id)
        func begin() -> [Int64] { lanes.begin().map(\.callback.endpoint.id) }
        // Three at once over all: each endpoint's first, then another of the one that may.
        let begun = begin()
        #expect(Set(begun.prefix(2)) == [narrow, wide] && begun.last == wide && begun.count == 3)
        #expect(lanes.readyCount == 0 && begin().isEmpty)
        lanes.end(narrow, holds: false)
        #expect(lanes.readyCount > 0 && begin().count == 1)
        // After failures nothing more, until all of them are recorded.
        for _ in 0..<3 { lanes.end(lanes.running == 1 ? narrow : wide, holds: true) }
        _ = lanes.abandon(narrow)
        #expect(begin().isEmpty)
        lanes.resume(wide, after: 1)
        #expect(begin().isEmpty)
        lanes.resume(wide, after: 1)
        #expect(begin().allSatisfy { $0 == wide })
        _ = lanes.abandon()
        while lanes.running > 0 { lanes.end(wide, holds: false) }
        #expect(begin().isEmpty && lanes.readyCount == 0)
    }

    /// A lane that had no permit is not kept when its callbacks are gone.
    @Test func `An abandoned endpoint leaves no empty lane`() async throws {
        let endpoint = try await self.endpoint(inFlight: 2)
        try await self.outbox.add(4, endpoint: endpoint, url: "https://partner.example/")
        let claim = try await self.store(1).claim(64)
        var lanes = CallbackLanes<WaitingCallback>(limit: 8)
        lanes.add(self.entries(claim), permits: [endpoint: 0], endpoint: \.callback.endpoint.id)
        #expect(lanes.count == 1)
        #expect(lanes.abandon(endpoint).count == 4)
        #expect(lanes.count == 0)
    }

    /// A callback that was released and is claimed again has one turn among the others, not two.
    @Test func `A callback that is released and claimed again has one turn`() async throws {
        let endpoint = try await self.endpoint(inFlight: 3)
        try await self.outbox.add(6, endpoint: endpoint, url: "https://partner.example/")
        let claim = try await self.store(1).claim(64)
        var lanes = CallbackLanes<WaitingCallback>(limit: 1)
        lanes.add(self.entries(claim), permits: claim.permits, endpoint: \.callback.endpoint.id)
        #expect(lanes.begin().count == 1)
        #expect(lanes.abandon(endpoint).count == 5)
        lanes.end(endpoint, holds: false)
        lanes.add(self.entries(claim), permits: claim.permits, endpoint: \.callback.endpoint.id)
        #expect(lanes.readyCount == 1)
        #expect(lanes.begin().count == 1 && lanes.abandon(endpoint).count == 5)
        lanes.end(endpoint, holds: false)
        #expect(lanes.begin().isEmpty && lanes.readyCount == 0)
    }
}

extension WaitingCallback {
    fileprivate var delivered: CallbackSettlement {
        CallbackSettlement(
            callback: self.callback, outcome: .delivered, started: Date(), milliseconds: 1, status: 200, code: nil,
            error: nil, trace: nil, deadline: self.deadline, sent: nil, claimed: self.claimed)
    }
}

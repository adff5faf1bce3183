import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// Blobs that come twice, come for another user, or go on to a document.
@Suite struct SessionRepeatTests {
    private static let scopes = "{session,create,read}"

    /// A gateway, a vendor's server and the worker between them.
    private struct Site {
        let gateway: Gateway
        let vendor: StubVendor
        let worker: Program

        init(isSealed: Bool = false) async throws {
            let environment: [String: String]
            if isSealed {
                let service = try await SealedService(try await KeySetting())
                environment = service.setting.environment
                self.gateway = try await Gateway.start(
                    service.connection, environment: environment, scopes: SessionRepeatTests.scopes)
            } else {
                self.gateway = try await Gateway.start(scopes: SessionRepeatTests.scopes)
                environment = self.gateway.service.environment
            }
            let vendor = try StubVendor()
            self.vendor = vendor
            self.worker = try Program(
                ["worker", "--slots", "1"], environment: environment.merging(vendor.environment) { $1 })
        }

        func post(_ body: [String: Any], key: String? = nil) async throws -> Gateway.Answer {
            try await self.gateway.call(
                "POST", "/facetec/session", body, headers: key.map { ["Idempotency-Key": $0] } ?? [:])
        }

        /// The answer to a blob, however long it takes.
        func send(_ body: [String: Any], key: String? = nil) async throws -> Gateway.Answer {
            var answer = try await self.post(body, key: key)
            let deadline = ContinuousClock.now + .seconds(120)
            while answer.status == 202, let place = answer.headers["Location"], ContinuousClock.now < deadline {
                answer = try await self.gateway.call("GET", place + "?wait=30")
            }
            return answer
        }

        func stop() async throws {
            self.worker.send(SIGTERM)
            #expect(try await self.worker.wait() == 0)
            #expect(try await self.gateway.stop() == 0)
        }
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `A blob that is sent again under its idempotency key reaches the vendor once`(isSealed: Bool) async throws {
        let site = try await Site(isSealed: isSealed)
        defer { site.worker.send(SIGKILL) }
        let start: [String: Any] = ["sessionRequestBlob": "start.1", "userId": "anna", "flow": "card"]
        let first = try await site.send(start, key: "first")
        let id = try #require(first.document["sessionId"] as? String, "\(first.document)")
        #expect(first.document["isRepeated"] == nil)
        // Not the next blob of the session that waits for one.
        let again = try await site.send(start, key: "first")
        #expect(again.document["sessionId"] as? String == id && again.document["isRepeated"] as? Bool == true)
        #expect(again.document["sessionResponseBlob"] as? String == "answer-to-start.1")

        let next: [String: Any] = ["sessionRequestBlob": "spoof.1", "sessionId": id]
        #expect(try await site.send(next, key: "second").document["isRepeated"] == nil)
        let repeated = try await site.send(next, key: "second")
        #expect(repeated.document["sessionId"] as? String == id && repeated.document["isRepeated"] as? Bool == true)
        #expect(repeated.document["sessionResponseBlob"] as? String == "answer-to-spoof.1")
        // Without the session's id, found by its user.
        let found = start.merging(["sessionRequestBlob": "live.1"]) { $1 }
        #expect(try await site.send(found, key: "third").document["livenessPassed"] as? Bool == true)
        let last = try await site.send(found, key: "third")
        #expect(last.status == 200 && last.document["isFinished"] as? Bool == true)
        #expect(last.document["isRepeated"] as? Bool == true && last.document["sessionId"] as? String == id)

        let blob = ["sessionRequestBlob": "live.2"]
        for (key, more) in [
            ("first", ["userId": "anna", "flow": "card"]), ("first", [:]), ("first", ["sessionId": id]),
            ("second", ["sessionId": id]), ("second", [:]), ("third", ["userId": "anna", "flow": "card"]),
            ("third", ["sessionId": id]),
        ] {
            let other = try await site.post(blob.merging(more) { $1 }, key: key)
            #expect(other.status == 409 && other.code == "IDEMPOTENCY_CONFLICT", "\(key) \(more): \(other.document)")
        }
        let scan = try await site.post(start.merging(["documentScan": true]) { $1 }, key: "first")
        #expect(scan.status == 409 && scan.code == "IDEMPOTENCY_CONFLICT", "\(scan.document)")
        #expect(try await site.post(blob, key: "a b").code == "PARAMETER_INVALID")
        #expect(site.vendor.received == ["start.1", "spoof.1", "live.1"])
        #expect(try await site.gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 1)
        try await site.stop()
    }

    @Test(.timeLimit(.minutes(5)), arguments: [false, true])
    func `A blob for a session of another user is refused, and the session goes on`(isSealed: Bool) async throws {
        let site = try await Site(isSealed: isSealed)
        defer { site.worker.send(SIGKILL) }
        let anna = try await site.send(["sessionRequestBlob": "start.1", "userId": "anna"])
        let nobody = try await site.send(["sessionRequestBlob": "start.2"])
        for (answer, blob) in [(anna, "live.1"), (nobody, "live.2")] {
            let id = try #require(answer.document["sessionId"] as? String, "\(answer.document)")
            let refused = try await site.post(["sessionRequestBlob": blob, "sessionId": id, "userId": "zqmark"])
            #expect(refused.status == 400 && refused.code == "PAYLOAD_INVALID", "\(refused.document)")
            #expect(refused.document["field"] as? String == "userId" && refused.document["hint"] != nil)
            #expect(!String(decoding: refused.body, as: UTF8.self).contains("zqmark"))
        }
        let id = try #require(anna.document["sessionId"] as? String)
        let live = try await site.send(["sessionRequestBlob": "live.1", "sessionId": id, "userId": "anna"])
        #expect(live.document["livenessPassed"] as? Bool == true, "\(live.document)")
        #expect(site.vendor.received == ["start.1", "start.2", "live.1"])
        try await site.stop()
    }

    @Test(.timeLimit(.minutes(5)))
    func `A session that scans a document goes on once liveness is proven, and passes with the scan`() async throws {
        let site = try await Site()
        defer { site.worker.send(SIGKILL) }
        let live = try await site.send(["sessionRequestBlob": "live.1", "documentScan": true])
        let id = try #require(live.document["sessionId"] as? String, "\(live.document)")
        #expect(live.document["isFinished"] as? Bool == false && live.document["livenessPassed"] as? Bool == false)
        #expect(live.document["success"] as? Bool == true && live.document["reason"] as? String == "CONTINUE")
        let front = try await site.send(["sessionRequestBlob": "front.1", "sessionId": id])
        #expect(front.document["isFinished"] as? Bool == false, "\(front.document)")
        let scan = try await site.send(["sessionRequestBlob": "scan7.1", "sessionId": id])
        #expect(scan.document["isFinished"] as? Bool == true && scan.document["livenessPassed"] as? Bool == true)
        let result = try await site.gateway.finished(id)
        #expect(result.at("decision.type") as? String == "PASSED", "\(result)")
        #expect(result.at("capabilities.liveness.0.data.scores.matchLevel") as? Double == 7)
        #expect(try await site.gateway.connection.query("SELECT count(*) FROM insp.job")[0].int(0) == 1)

        // Of another face than the document's; and where the client does not say so, proven liveness is the end.
        let other = try await site.send(["sessionRequestBlob": "live.2", "documentScan": true])
        let otherID = try #require(other.document["sessionId"] as? String)
        let refused = try await site.send(["sessionRequestBlob": "scan0.2", "sessionId": otherID])
        #expect(refused.document["isFinished"] as? Bool == true && refused.document["livenessPassed"] as? Bool == false)
        let alone = try await site.send(["sessionRequestBlob": "live.3", "documentScan": false])
        #expect(alone.document["isFinished"] as? Bool == true && alone.document["livenessPassed"] as? Bool == true)
        try await site.stop()
    }
}

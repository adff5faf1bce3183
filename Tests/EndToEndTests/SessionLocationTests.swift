import Foundation
import Postgres
import TestSupport
import Testing

/// A session that takes longer than its request.
@Suite struct SessionLocationTests {
    @Test(.timeLimit(.minutes(5)))
    func `The credential that got a location can follow it to the answer`() async throws {
        // Nobody works on it.
        let gateway = try await Gateway.start(["--longest-wait", "1"], scopes: "{session}")
        let late = try await gateway.call("POST", "/facetec/session", ["sessionRequestBlob": "live.1", "userId": "u"])
        let id = try #require(late.id)
        let place = try #require(late.headers["Location"])
        #expect(late.status == 202 && place == "/facetec/session/\(id)")
        let waiting = try await gateway.call("GET", place + "?wait=1")
        #expect(waiting.status == 202 && waiting.id == id && waiting.headers["Location"] == place)
        #expect(waiting.document["status"] as? Int == 1 && waiting.document["test"] == nil)
        _ = try await gateway.connection.query("UPDATE insp.job SET status = 4 WHERE public_id = $1", [.text(id)])
        let further = try await gateway.call("GET", place)
        #expect(further.status == 202 && further.document["status"] as? Int == 4, "\(further.document)")
        let stranger = try await gateway.stranger("{session}")
        #expect(try await gateway.call("GET", place, bearer: stranger).code == "JOB_UNKNOWN")
        let reader = try await Gateway.credential(gateway.connection, "bank", "{create,read}")
        #expect(try await gateway.call("GET", place, bearer: reader).code == "SCOPE_MISSING")
        // A session's scope shows sessions alone, and no other job whose workflow is liveness.
        for job in [
            ["workflow": "similarity", "encodedFrontImage": "eA==", "encodedFaceImage": "eA=="],
            ["workflow": "liveness", "encodedFaceImage": "eA=="],
        ] {
            let other = try await gateway.call("POST", "/inspectionjob/create", job, bearer: reader)
            #expect(try await gateway.call("GET", "/facetec/session/\(try #require(other.id))").code == "JOB_UNKNOWN")
        }
        _ = try await gateway.connection.query("SELECT insp.cancel($1)", [.text(id)])
        let ended = try await gateway.call("GET", place)
        #expect(ended.status == 200 && ended.document["success"] as? Bool == false, "\(ended.document)")
        #expect(
            ended.document["livenessPassed"] as? Bool == false && ended.document["reason"] as? String == "CANCELLED")
        #expect(try await gateway.stop() == 0)
    }
}

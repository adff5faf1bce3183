import Foundation
import TestSupport
import Testing

/// Parts that only the worker can decrypt.
@Suite struct EncryptedPartTests {
    @Test func `An encrypted part is inspected like a plain one, and a damaged one ends the job`() async throws {
        let service = try await Service.start()
        let image = PNG.noise(width: 64, height: 64)
        let client = try EncryptedParts([image], keyID: "2026-11")
        let worker = try service.worker(["--slots", "1", "--decryption-key", client.key.path])
        let plain = try await service.enqueue(["workflow": "liveness"], face: image)
        let encrypted = try await service.enqueue(["workflow": "liveness"], face: client.parts[0])
        var part = client.parts[0]
        part[part.count - 5] ^= 1
        let damaged = try await service.enqueue(["workflow": "liveness"], face: part)

        let expected = try await service.result(of: plain)
        let result = try await service.result(of: encrypted)
        #expect(result["status"] as? Int == 128 && result.at("error.code") == nil)
        #expect(result.at("decision.type") as? String == expected.at("decision.type") as? String)
        #expect(
            result.at("capabilities.liveness.0.decision.details.label") as? String
                == expected.at("capabilities.liveness.0.decision.details.label") as? String)
        #expect(try await service.result(of: damaged).at("error.code") as? String == "DECRYPTION_FAILED")
        // The database still has the bytes that the client sent.
        let stored = try await service.connection.query(
            "SELECT c.bytes FROM insp.content c JOIN insp.job j ON j.id = c.id WHERE j.public_id = $1",
            [.text(encrypted)])
        #expect(try stored[0].data(0) == client.parts[0])
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
    }
}

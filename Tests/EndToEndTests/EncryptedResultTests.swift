import Foundation
import Postgres
import TestSupport
import Testing

/// Results and callbacks that the partner alone can read, and the keys with which it encrypts parts.
@Suite struct EncryptedResultTests {
    private static let scopes = "{create,read,images,persons,callbacks,keys}"
    private static let image = PNG.noise(width: 64, height: 64)
    private static var job: [String: Any] {
        [
            "workflow": "liveness", "encodedFaceImage": Self.image.base64EncodedString(), "userReference": "Jane Dö",
        ]
    }

    private static func object(_ data: Data) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    @Test(.timeLimit(.minutes(5)), arguments: [["kty": "RSA", "size": "2048"], ["kty": "EC", "crv": "P-256"]])
    func `Where a partner has registered a key, all that holds a result is encrypted for it`(
        kind: [String: String]
    ) async throws {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let pair = try PartnerKeyPair(kind)
        #expect(try await gateway.call("GET", "/encryption-key").code == "PARTNER_KEY_MISSING")
        let set = try await gateway.call("POST", "/encryption-key", try Self.object(pair.publicKey))
        #expect(set.status == 200 && set.document["use"] as? String == "enc", "\(set.document)")
        let kid = try #require(set.document["kid"] as? String)
        #expect(try await gateway.call("GET", "/encryption-key").document["kid"] as? String == kid)

        let worker = try gateway.service.worker(["--slots", "1"])
        let created = try await gateway.call("POST", "/inspectionjob/create", Self.job)
        let id = try #require(created.id)
        let path = "/inspectionjob/\(id)"
        var answer = try await gateway.call("GET", path + "?wait=60")
        var opened = try pair.open(answer.body)
        for _ in 0..<3 where try Self.object(opened.content)["status"] as? Int != 128 {
            answer = try await gateway.call("GET", path + "?wait=60")
            opened = try pair.open(answer.body)
        }
        #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/jose")
        #expect(opened.header["kid"] == kid && opened.header["cty"] == "json")
        let result = try Self.object(opened.content)
        #expect(result["id"] as? String == id && result["status"] as? Int == 128)
        #expect(result["userReference"] as? String == "Jane Dö")
        let again = try await gateway.call("GET", path)
        #expect(again.body != answer.body && again.headers["ETag"] == answer.headers["ETag"])
        let tag = try #require(answer.headers["ETag"])
        #expect(tag.hasPrefix("W/"))
        #expect(try await gateway.call("GET", path, headers: ["If-None-Match": tag]).status == 304)

        // Signed as it is sent, and encrypted.
        let callback = try #require(try await gateway.service.receiver.received(within: 60) { !$0.isEmpty }.first)
        #expect(callback.verified)
        let body = try pair.open(Data(callback.body.utf8))
        let event = try Self.object(body.content)
        #expect(event["type"] as? String == "job.finished" && event.at("data.id") as? String == id)
        #expect(event["userReference"] as? String == "Jane Dö")

        for (call, member) in [("/persons/Jane%20D%C3%B6/export", "jobs"), (path + "/parts/FACE", nil)] {
            let sealed = try await gateway.call("GET", call)
            #expect(sealed.status == 200 && sealed.headers["Content-Type"] == "application/jose", "\(call)")
            let content = try pair.open(sealed.body).content
            if let member { #expect(try Self.object(content)[member] != nil) } else { #expect(content == Self.image) }
        }
        let waited = try await gateway.call("POST", "/inspectionjob/create?wait=60", Self.job)
        #expect(waited.status == 201 && waited.headers["Content-Type"] == "application/jose")
        #expect(try Self.object(try pair.open(waited.body).content)["status"] as? Int == 128)
        // Refusals have nothing to hide.
        #expect(try await gateway.call("GET", "/inspectionjob/\(UUID().uuidString)").code == "JOB_UNKNOWN")

        // Without it, plain; the tag is another one.
        #expect(try await gateway.call("DELETE", "/encryption-key").status == 200)
        let plain = try await gateway.call("GET", path, headers: ["If-None-Match": tag])
        #expect(plain.status == 200 && plain.document["status"] as? Int == 128)
        #expect(plain.headers["ETag"]?.hasPrefix("W/") == false)
        let name = callback.webhookId
        #expect(try await gateway.call("POST", "/callbacks/\(name)/replay").status == 202)
        let sent = try await gateway.service.receiver.received(within: 60) { $0.contains { $0.body.hasPrefix("{") } }
        let replayed = try #require(sent.first { $0.body.hasPrefix("{") && $0.webhookId == name })
        #expect(replayed.verified && Data(replayed.body.utf8) == body.content)
        #expect(try await gateway.accesses(nil).filter { $0.hasPrefix("key_") } == ["key_set", "key_remove"])
        worker.send(SIGTERM)
        #expect(try await worker.wait() == 0)
        #expect(try await gateway.stop() == 0)
        for text in [gateway.program.standardError, worker.standardError] { #expect(!text.contains("Jane")) }
    }

    @Test func `A key is registered by its partner and by operators alone, and a bad one changes nothing`() async throws
    {
        let gateway = try await Gateway.start(scopes: Self.scopes)
        let pair = try PartnerKeyPair(["kty": "EC", "crv": "P-384"])
        let key = try Self.object(pair.publicKey)
        let reader = try await Gateway.credential(gateway.connection, "bank", "{create,read}")
        for method in ["GET", "DELETE"] {
            #expect(try await gateway.call(method, "/encryption-key", bearer: reader).code == "SCOPE_MISSING")
        }
        #expect(try await gateway.call("POST", "/encryption-key", key, bearer: reader).code == "SCOPE_MISSING")
        #expect(try await gateway.call("POST", "/encryption-key", key, bearer: "").status == 401)
        let stranger = try await gateway.stranger("{keys}")
        #expect(try await gateway.call("POST", "/encryption-key", key, bearer: stranger).status == 200)
        #expect(try await gateway.call("GET", "/encryption-key").code == "PARTNER_KEY_MISSING")

        #expect(try await gateway.call("POST", "/encryption-key", key).status == 200)
        let secret = try await gateway.call("POST", "/encryption-key", try Self.object(pair.privateKey))
        #expect(secret.status == 400 && secret.code == "PARTNER_KEY_INVALID")
        for bad: [String: Any] in [[:], ["kty": "RSA"], ["kty": 5], key.merging(["y": key["x"] ?? ""]) { $1 }] {
            let refused = try await gateway.call("POST", "/encryption-key", bad)
            #expect(refused.status == 400 && refused.code == "PARTNER_KEY_INVALID", "\(refused.document)")
        }
        #expect(
            try await gateway.send(
                "POST", "/encryption-key", Data("[]".utf8),
                headers: ["Content-Type": "application/json"]
            ).code == "PAYLOAD_INVALID")
        #expect(try await gateway.call("GET", "/encryption-key").document["x"] as? String == key["x"] as? String)

        // The operator's way.
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).jwk")
        try PartnerKeyPair(["kty": "RSA", "size": "2048"]).publicKey.write(to: file)
        let environment = gateway.service.environment
        let set = try await Program.run(
            ["partner", "key", "--partner", "bank", "--jwk", file.path], environment: environment)
        #expect(set.status == 0, "\(set.errors)")
        #expect(try await gateway.call("GET", "/encryption-key").document["kty"] as? String == "RSA")
        try pair.privateKey.write(to: file)
        let refused = try await Program.run(
            ["partner", "key", "--partner", "bank", "--jwk", file.path], environment: environment)
        #expect(refused.status == 1 && refused.errors.contains("PARTNER_KEY_INVALID"))
        let removed = try await Program.run(
            ["partner", "key", "--partner", "bank", "--remove"], environment: environment)
        #expect(removed.status == 0, "\(removed.errors)")
        #expect(try await gateway.call("GET", "/encryption-key").code == "PARTNER_KEY_MISSING")
        #expect(try await gateway.stop() == 0)
    }

    @Test(.timeLimit(.minutes(3)))
    func `A key for parts is listed once every worker has it`() async throws {
        let gateway = try await Gateway.start(scopes: "{create,read}")
        func listed() async throws -> [String] {
            let answer = try await gateway.call("GET", "/.well-known/jwks.json", bearer: "")
            #expect(answer.status == 200 && answer.headers["Content-Type"] == "application/jwk-set+json")
            let keys = answer.document["keys"] as? [[String: Any]] ?? []
            for key in keys {
                #expect(Set(key.keys) == ["alg", "e", "kid", "kty", "n", "use"], "\(key.keys)")
            }
            return keys.compactMap { $0["kid"] as? String }
        }
        #expect(try await listed() == [])
        let old = try EncryptedParts([], keyID: "2026-10")
        let new = try EncryptedParts([Self.image], keyID: "2026-11")
        let first = try gateway.service.worker(
            ["--slots", "1", "--decryption-key", old.key.path, "--decryption-key", new.key.path])
        try await waitUntil("both are listed") { try await listed() == ["2026-10", "2026-11"] }
        let second = try gateway.service.worker(["--slots", "1", "--decryption-key", new.key.path])
        try await waitUntil("the one that both workers have is listed") { try await listed() == ["2026-11"] }
        // Encrypted for it, by whichever worker.
        let created = try await gateway.call(
            "POST", "/inspectionjob/create",
            ["workflow": "liveness", "parts": ["FACE": new.parts[0].base64EncodedString()]])
        let result = try await gateway.finished(try #require(created.id))
        #expect(result["error"] == nil, "\(result)")
        // Another key under the same name opens nothing that is encrypted for the first.
        let other = try EncryptedParts([], keyID: "2026-11")
        let third = try gateway.service.worker(["--slots", "1", "--decryption-key", other.key.path])
        try await waitUntil("none is listed") { try await listed() == [] }
        third.send(SIGTERM)
        #expect(try await third.wait() == 0)
        try await waitUntil("it is listed again") { try await listed() == ["2026-11"] }
        for worker in [first, second] {
            worker.send(SIGTERM)
            #expect(try await worker.wait() == 0)
        }
        // Those of the last ones, while none is live: clients go on sending.
        try await waitUntil("the last worker's rows are gone") {
            try await gateway.connection.query("SELECT count(*) FROM insp.worker")[0].int(0) == 0
        }
        #expect(try await gateway.connection.query("SELECT kid FROM insp.v_decryption_key WHERE is_listed").count >= 1)
        #expect(try await gateway.stop() == 0)
    }
}

import Foundation
import Postgres
import TestSupport
import Testing

/// A gateway that runs on while a partner's key is replaced (`keys abandon --partner`).
@Suite struct ReplacedKeyTests {
    @Test(.timeLimit(.minutes(5)))
    func `A gateway that knew the partner's former key finds and erases persons under the new one`() async throws {
        let site = try await SealedSite()
        let gateway = try await Gateway.start(
            site.connection, environment: site.environment, scopes: "{create,read,persons}")
        func create(_ person: String) async throws -> String {
            let made = try await gateway.form([
                ("workflow", Data("liveness".utf8)), ("FACE", PNG.noise(width: 64, height: 64)),
                ("userReference", Data(person.utf8)),
            ])
            return try #require(made.id, "\(made.document)")
        }
        func erased(_ person: String) async throws -> Int? {
            let answer = try await gateway.call("DELETE", "/persons/\(person)")
            return answer.document["jobs"] as? Int
        }
        // From here on, the gateway has the partner's key in memory.
        let early = try await create("early")
        let former = try await site.store.query("SELECT id::text FROM insp.key WHERE kind = 'partner'")[0].string(0)
        _ = try await site.connection.query("SELECT insp.cancel($1)", [.text(early)])
        _ = try await site.run(
            "keys", "abandon", "--partner", "bank", "--confirm", "bank", "--reason", "the key was stolen")
        // Another process makes the new key.
        let photo = site.file("face.png")
        try PNG.noise(width: 64, height: 64).write(to: URL(fileURLWithPath: photo))
        let jane = try await site.enqueue(
            "--workflow", "liveness", "--face", photo, "--user-reference", "jane", "--idempotency-key", "once")
        let present = try await site.store.query("SELECT id::text FROM insp.key WHERE kind = 'partner'")[0].string(0)
        #expect(present != former)

        // What the gateway seals has the new key's pseudonyms: the command line finds it.
        let bob = try await create("bob")
        for job in [jane, bob] { _ = try await site.connection.query("SELECT insp.cancel($1)", [.text(job)]) }
        let found = try members(try await site.run("person", "erase", "--partner", "bank", "--reference", "bob"))
        #expect(found["jobs"] as? Int == 1 && found["keyDestroyed"] as? Bool == true, "\(found)")

        // And what others have sealed, the gateway finds.
        let listed = try await gateway.call("GET", "/inspectionjob?userReference=jane")
        #expect((listed.document["jobs"] as? [[String: Any]])?.count == 1, "\(listed.document)")
        let export = try await gateway.call("GET", "/persons/jane/export")
        #expect((export.document["jobs"] as? [Any])?.count == 1, "\(export.document)")
        #expect(try await erased("jane") == 1)
        #expect(try await erased("jane") == 0)
        // Nobody finds what the former key named; nobody opens it, either.
        #expect(try await erased("early") == 0)
        #expect(try await gateway.stop() == 0)
    }
}

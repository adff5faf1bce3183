import Custody
import Foundation
import InspectCore
import TestSupport
import Testing

/// The key of a person whom the main database has erased: the index by which that knows the person is all that a worker has of it.
@Suite struct ErasedPersonTests {
    private func index(_ store: KeyStore, _ reference: String) async throws -> Data {
        BlindIndex.ofStored(BlindIndex(try await store.partnerKey(7)).pseudonym(reference, use: "user"))
    }

    @Test func `A worker's login destroys one erased person, and what is below is known as destroyed`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let jobs = try await store.jobKeys([
            KeyOwner(partner: 7, .user("ann")), KeyOwner(partner: 7, .user("bob")), KeyOwner(partner: 8, .user("ann")),
        ])
        let ann = try await self.index(store, "ann")
        try await fixture.admin.execute("SET ROLE keys_eraser")
        for (partner, found) in [("9", "f"), ("8", "f"), ("7", "t"), ("7", "f")] {
            let destroyed = try await fixture.admin.query(
                "SELECT insp.destroy_erased_person($1, $2, '0 s')::text", [.text(partner), .bytes(ann)])[0].string(0)
            #expect(destroyed.hasPrefix(found), "\(partner)")
        }
        try await fixture.admin.execute("RESET ROLE")
        let fresh = try fixture.store()
        #expect(try await fixture.count("person") == 2)
        while try await fresh.sweep() > 0 {}
        for (place, job) in jobs.enumerated() {
            let error = await self.error(fresh, job.id)
            #expect(error == (place == 0 ? .keyDestroyed : nil))
        }
    }

    @Test func `A person who came back after the erasure keeps what was sealed since`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let early = try await store.jobKeys([KeyOwner(partner: 7, .user("ann"))])[0]
        try await fixture.admin.execute("UPDATE insp.key SET created_at = now() - interval '1 hour'")
        let late = try await store.jobKeys([KeyOwner(partner: 7, .user("ann"))])[0]
        #expect(early.parent == late.parent)
        let ann = try await self.index(store, "ann")
        #expect(try await !store.destroyErasedPerson(ann, of: 7, since: 600_000_000))
        let fresh = try fixture.store()
        #expect(await self.error(fresh, early.id) == .keyDestroyed)
        #expect(await self.error(fresh, late.id) == nil)
        // Erased once more.
        #expect(try await store.destroyErasedPerson(ann, of: 7, since: 0))
        #expect(try await fixture.count("person") == 0)
    }

    @Test func `A worker's login destroys a deleted face's key once no key is below it, and no earlier`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let job = try await store.jobKeys([KeyOwner(partner: 7, .face("f"))])[0]
        let face = BlindIndex.ofStored(BlindIndex(try await store.partnerKey(7)).pseudonym("f", use: "face"))
        #expect(try await store.destroyDeletedFace(face, of: 8) == false)
        #expect(try await store.destroyDeletedFace(face, of: 7) == nil)
        #expect(await self.error(try fixture.store(), job.id) == nil)
        _ = try await store.destroyJobs([job.id], of: [7])
        #expect(try await fixture.count("person") == 1)
        #expect(try await store.destroyDeletedFace(face, of: 7) == true)
        #expect(try await fixture.count("person") == 0)
        // A worker that was killed before it said so asks again.
        #expect(try await store.destroyDeletedFace(face, of: 7) == false)
    }

    private func error(_ store: KeyStore, _ id: KeyID) async -> ErrorCode? {
        do {
            _ = try await store.key(id)
            return nil
        } catch { return error.code }
    }
}

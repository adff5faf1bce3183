import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Custody

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
        try await repeatWhile("keys are left to sweep") { try await fresh.sweep() > 0 }
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

    @Test func `Persons are destroyed while autovacuum works on the key store, and requests do not wait`() async throws
    {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let owners = [KeySubject.user("ann"), .face("f"), .face("g")].map { KeyOwner(partner: 7, $0) }
        let jobs = try await store.jobKeys(owners)
        let ann = try await self.index(store, "ann")
        let face = BlindIndex.ofStored(BlindIndex(try await store.partnerKey(7)).pseudonym("f", use: "face"))
        try await store.destroyJobs([jobs[1].id, jobs[2].id], of: [7, 7])
        let vacuum = try await fixture.database.connect()
        try await vacuum.execute("BEGIN; LOCK TABLE insp.key IN SHARE UPDATE EXCLUSIVE MODE")
        #expect(try await store.destroyErasedPerson(ann, of: 7, since: 0))
        #expect(try await store.destroyDeletedFace(face, of: 7) == true)
        #expect(try await store.dropIdlePersons([try #require(jobs[2].parent)]) == 1)
        _ = try await store.jobKeys(owners)
        try await vacuum.execute("COMMIT")
        #expect(try await fixture.count("person") == 3)
    }

    @Test func `A key that is being added keeps its person, and a person who is held is reported as held`() async throws
    {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let first = try await store.jobKeys([KeyOwner(partner: 7, .user("ann"))])[0]
        let ann = try await self.index(store, "ann")
        let parent = try #require(first.parent)
        try await store.destroyJobs([first.id], of: [7])
        // As of a call that is not committed yet.
        let (added, wrapped) = (try await store.key(parent)).child(.job)
        let adding = try await fixture.database.connect()
        try await adding.execute("BEGIN")
        _ = try await adding.query(
            "SELECT insp.add_job_keys($1::uuid[], $2::uuid[], $3)",
            [.textArray([added.id.text]), .textArray([parent.text]), .byteas([Data(wrapped)])])
        #expect(await errorCode { _ = try await store.destroyErasedPerson(ann, of: 7, since: 0) } == .rowLocked)
        await #expect(throws: InspectError.self) { try await store.dropIdlePersons([parent]) }
        try await adding.execute("COMMIT")
        #expect(try await store.dropIdlePersons([parent]) == 0)
        #expect(await self.error(try fixture.store(), added.id) == nil)
        // Others' persons are not held meanwhile, and neither is their partner.
        try await adding.execute("BEGIN")
        _ = try await adding.query("SELECT insp.drop_idle_persons($1::uuid[])", [.textArray([parent.text])])
        _ = try await store.jobKeys([KeyOwner(partner: 7, .user("bob")), KeyOwner(partner: 7)])
        try await adding.execute("COMMIT")
    }

    private func error(_ store: KeyStore, _ id: KeyID) async -> ErrorCode? {
        do {
            _ = try await store.key(id)
            return nil
        } catch { return error.code }
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Custody

@Suite struct RotationTests {
    private static func under(_ key: String, _ fixture: KeyStoreFixture) async throws -> Int {
        Int(
            try await fixture.admin.query("SELECT count(*) FROM insp.key WHERE wrapping_key = $1", [.text(key)])[0].int(
                0))
    }

    @Test func `A rotation moves every partner's key while others work, and changes none of them`() async throws {
        let fixture = try await KeyStoreFixture()
        let old = try fixture.store(), store = try fixture.store()
        let owners = (Int64(1)...120).map { KeyOwner(partner: $0, $0 % 2 == 0 ? .user("x") : nil) }
        let jobs = try await store.jobKeys(owners)
        let bytes = try await store.keys(jobs.map(\.id)).mapValues { try $0.get().secret.withBytes { Data($0) } }
        #expect(try await store.beginRotation(to: "second").formerKey == "first")
        // While it is under way: new keys under the new one, old ones open.
        let late = try await old.jobKeys([KeyOwner(partner: 500)])[0]
        #expect(try await Self.under("second", fixture) == 1)
        _ = try await (try fixture.store()).keys(jobs.map(\.id)).mapValues { try $0.get() }
        let outcome = try await store.rewrap()
        #expect(outcome.rewrapped == 120 && outcome.unreadable == 0 && outcome.isDone)
        #expect(try await Self.under("first", fixture) == 0)
        #expect(try await store.state()?.formerKey == nil)
        // A process with the new key alone.
        let new = try fixture.store([fixture.keys[1]])
        try await new.checkWrappingKeys()
        let found = try await new.keys(jobs.map(\.id) + [late.id]).mapValues {
            try $0.get().secret.withBytes { Data($0) }
        }
        for job in jobs { #expect(found[job.id] == bytes[job.id]) }
        #expect(try await new.verify().unreadable == 0)
        // Once more changes nothing.
        #expect(try await store.beginRotation(to: "second").formerKey == nil)
        #expect(try await store.rewrap().rewrapped == 0)
        #expect(try await store.rewrap(all: true).rewrapped == 121)
        #expect(try await new.verify().unreadable == 0)
    }

    @Test func `Two rotators at once and a rotation to a third key lose nothing`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let jobs = try await store.jobKeys((Int64(1)...200).map { KeyOwner(partner: $0) })
        _ = try await store.beginRotation(to: "second")
        let third = FileWrappingKey(id: "third", secret: .random())
        let other = try fixture.store(fixture.keys + [third])
        #expect(await errorCode { _ = try await other.beginRotation(to: "third") } == .keyMismatch)
        async let one = try fixture.store().rewrap()
        async let two = try fixture.store().rewrap()
        let both = try await [one, two]
        #expect(both.reduce(0) { $0 + $1.rewrapped } == 200)
        _ = try await other.beginRotation(to: "third")
        #expect(try await other.rewrap().rewrapped == 200)
        let new = try fixture.store([third])
        for result in try await new.keys(jobs.map(\.id)).values { _ = try result.get() }
    }

    @Test func `A process that lacks the new key opens what it can, and starts no more`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store(), old = try fixture.store([fixture.keys[0]])
        let jobs = try await store.jobKeys([KeyOwner(partner: 1), KeyOwner(partner: 2)])
        _ = try await old.key(jobs[0].id)
        _ = try await store.beginRotation(to: "second")
        #expect(await errorCode { _ = try await old.checkWrappingKeys() } == .keyMismatch)
        #expect(await errorCode { _ = try await old.partnerKey(3) } == .keyMismatch)
        _ = try await store.rewrap()
        _ = try await old.key(jobs[0].id)
        #expect(await errorCode { _ = try await old.key(jobs[1].id) } == .keyMismatch)
        #expect(ErrorCode.keyMismatch.isRetryable, "jobs wait until the host has the key")
        // A former key that is still needed must be there, too.
        let fresh = try await KeyStoreFixture()
        _ = try await (try fresh.store()).jobKeys([KeyOwner(partner: 1)])
        _ = try await (try fresh.store()).beginRotation(to: "second")
        #expect(
            await errorCode { _ = try await (try fresh.store([fresh.keys[1]])).checkWrappingKeys() } == .keyMismatch)
        try await (try fresh.store()).checkWrappingKeys()
    }

    @Test func `Another wrapping key of the new one's name, or a damaged key, makes jobs wait and ends none`()
        async throws
    {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let jobs = try await store.jobKeys([KeyOwner(partner: 1), KeyOwner(partner: 2)])
        let wrong = [fixture.keys[0], FileWrappingKey(id: "second", secret: .random())]
        let host = try fixture.store(wrong)
        try await host.checkWrappingKeys()
        _ = try await store.beginRotation(to: "second")
        _ = try await store.rewrap()
        #expect(await errorCode { _ = try await host.key(jobs[0].id) } == .keyMismatch)
        #expect(await errorCode { _ = try await host.jobKeys([KeyOwner(partner: 2)]) } == .keyMismatch)
        #expect(await errorCode { _ = try await (try fixture.store(wrong)).checkWrappingKeys() } == .keyMismatch)
        #expect(try await host.verify().unreadable == 4)
        // One bit of a partner's row, and one of a job's.
        let flip = "UPDATE insp.key SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1) WHERE "
        try await fixture.admin.execute(flip + "kind = 'partner' AND partner_id = 1")
        try await fixture.admin.execute(flip + "id = '\(jobs[1].id.text)'")
        let fresh = try fixture.store()
        #expect(await errorCode { _ = try await fresh.key(jobs[0].id) } == .keyMismatch)
        #expect(await errorCode { _ = try await fresh.key(jobs[1].id) } == .keyUnknown)
        for code in [ErrorCode.keyMismatch, .keyUnknown] {
            let verdict = RetryPolicy().verdict(after: InspectError(code), attempt: 100, crashes: 0, random: 0)
            guard case .retry = verdict else {
                Issue.record("\(code) ends a job")
                continue
            }
        }
        #expect(try await fresh.verify().unreadable == 3)
    }

    @Test func `A key that the former wrapping key does not open keeps the rotation open, and is counted`() async throws
    {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        _ = try await store.jobKeys((Int64(1)...60).map { KeyOwner(partner: $0) })
        let kept = try await fixture.admin.query(
            "SELECT wrapped FROM insp.key WHERE kind = 'partner' AND partner_id = 30")[0].data(0)
        try await fixture.admin.execute(
            "UPDATE insp.key SET wrapped = set_byte(wrapped, 20, get_byte(wrapped, 20) # 1) WHERE kind = 'partner' AND partner_id = 30"
        )
        let damaged = try fixture.store()
        _ = try await damaged.beginRotation(to: "second")
        let outcome = try await damaged.rewrap()
        #expect(outcome.rewrapped == 59 && outcome.unreadable == 1 && !outcome.isDone)
        _ = try await fixture.admin.query(
            "UPDATE insp.key SET wrapped = $1 WHERE kind = 'partner' AND partner_id = 30", [.bytes(kept)])
        let mended = try await damaged.rewrap()
        #expect(mended.rewrapped == 1 && mended.unreadable == 0 && mended.isDone)
    }

    @Test func `The main database and the key store must belong together`() async throws {
        let main = try await (try await ScratchDatabase.migrated()).connect()
        let fixture = try await KeyStoreFixture(main: main)
        let store = try fixture.store()
        #expect(try await CustodyState.noted(on: main) == nil)
        #expect(await errorCode { _ = try await store.check(nil) } == .keyMissing)
        let state = try await store.checkWrappingKeys()
        try await state.note(on: main)
        try await state.note(on: main)
        let noted = try #require(try await CustodyState.noted(on: main))
        #expect(noted.keyStore == state.keyStore && noted.wrappingKey == "first" && noted.formerKey == nil)
        try await store.check(noted)
        let strange = try await KeyStoreFixture(main: main)
        let other = try await (try strange.store()).checkWrappingKeys()
        #expect(await errorCode { try await other.note(on: main) } == .keyMismatch)
        #expect(await errorCode { _ = try await (try strange.store()).check(noted) } == .keyMismatch)
        // Another key of the same name, and none.
        let namesake = try fixture.store([FileWrappingKey(id: "first", secret: .random())])
        #expect(await errorCode { _ = try await namesake.check(noted) } == .keyMismatch)
        #expect(await errorCode { _ = try await (try fixture.store([])).check(noted) } == .keyMissing)
        let empty = try await KeyStoreFixture(begins: false)
        #expect(await errorCode { _ = try await (try empty.store()).check(noted) } == .keyMismatch)
        #expect(await errorCode { _ = try await (try empty.store()).checkWrappingKeys() } == .keyMissing)
        #expect(await errorCode { _ = try await (try empty.store()).partnerKey(7) } == .keyMissing)
        // The record says what changed, and who did it.
        _ = try await store.beginRotation(to: "second")
        try await store.check(noted)
        try await (try await store.rewrap()).state.note(on: main)
        let rows = try await main.query(
            "SELECT detail ->> 'wrapping_key' FROM insp.record WHERE action = 'set_custody' ORDER BY id")
        #expect(try rows.map { try $0.string(0) } == ["first", "second"])
    }

    @Test func `A key store serves one main database, which another one may replace by name`() async throws {
        let main = try await (try await ScratchDatabase.migrated()).connect()
        let copy = try await ScratchDatabase.migrated()
        try await copy.becomeAnother()
        let second = try await copy.connect()
        let fixture = try await KeyStoreFixture(main: main)
        let store = try fixture.store()
        try await (try await store.checkWrappingKeys()).note(on: main)
        let id = try await CustodyState.database(of: second)
        #expect(await errorCode { _ = try await store.begin("first", for: id) } == .keyMismatch)
        #expect(await errorCode { _ = try await store.begin("first", for: id, inPlaceOf: id) } == .keyMismatch)
        let state = try await store.checkWrappingKeys()
        #expect(state.database == fixture.main)
        #expect(await errorCode { try await state.note(on: second) } == .keyMismatch)
        #expect(try await CustodyState.noted(on: second) == nil)

        let moved = try await store.begin("first", for: id, inPlaceOf: fixture.main)
        try await moved.note(on: second)
        try await store.check(try await CustodyState.noted(on: second))
        #expect(await errorCode { _ = try await store.check(try await CustodyState.noted(on: main)) } == .keyMismatch)
    }

    @Test func `A key store that is older than the database's rotation is refused, and its lost keys pass`()
        async throws
    {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let before = try await store.jobKeys([KeyOwner(partner: 7)])[0]
        let name = try await fixture.admin.query("SELECT current_database()")[0].string(0)
        await store.close()
        await fixture.admin.close()
        // A backup of this moment.
        let server = try await ScratchDatabase.empty()
        let admin = try await server.connect()
        let copy = name + "_old"
        try await admin.execute("CREATE DATABASE \(copy) TEMPLATE \(name)", timeout: .seconds(60))
        let after = try await store.jobKeys([KeyOwner(partner: 7)])[0]
        _ = try await store.beginRotation(to: "second")
        let state = try await store.rewrap().state
        var parts = try #require(URLComponents(string: fixture.database.url))
        parts.path = "/" + copy
        let old = KeyStore(try #require(parts.string), wrappingKeys: try WrappingKeys(fixture.keys))
        #expect(await errorCode { _ = try await old.check(state) } == .keyMismatch)
        _ = try await old.key(before.id)
        #expect(await errorCode { _ = try await old.key(after.id) } == .keyUnknown)
        #expect(ErrorCode.keyUnknown.isRetryable)
    }

    @Test func `What an escrow has opens with its private key alone, and replaces a lost wrapping key`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("escrow-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func pem(_ name: String, _ bits: Int) throws -> (public: Data, private: Data) {
            let (secret, open) = (folder.appendingPathComponent(name), folder.appendingPathComponent(name + ".pub"))
            try runQuietly(
                "/usr/bin/openssl",
                ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:\(bits)", "-out", secret.path])
            try runQuietly("/usr/bin/openssl", ["pkey", "-in", secret.path, "-pubout", "-out", open.path])
            return (try Data(contentsOf: open), try Data(contentsOf: secret))
        }
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let jobs = try await store.jobKeys((Int64(1)...60).map { KeyOwner(partner: $0, .user("x")) })
        let safe = try pem("safe", 3_072)
        var entries: [KeyEscrow.Entry] = []
        #expect(try await store.escrow(to: try .init(pem: safe.public)) { entries.append($0) } == 60)
        #expect(await errorCode { _ = try KeyEscrow.Recipient(pem: try pem("small", 2_048).public) } == .keyFileInvalid)
        #expect(await errorCode { _ = try KeyEscrow.Recipient(pem: Data("x".utf8)) } == .keyFileInvalid)
        // The first wrapping key is lost.
        let lost = try fixture.store([fixture.keys[1]])
        #expect(await errorCode { _ = try await lost.key(jobs[0].id) } == .keyMismatch)
        let wrong = try KeyEscrow.Opener(pem: try pem("wrong", 3_072).private)
        #expect(await errorCode { _ = try wrong.key(entries[0]) } == .sealBroken)
        let opener = try KeyEscrow.Opener(pem: safe.private)
        // An entry says whose it is.
        var moved = entries[0]
        moved.partner += 1
        #expect(await errorCode { _ = try opener.key(moved) } == .sealBroken)
        moved = entries[0]
        moved.id = entries[1].id
        #expect(await errorCode { _ = try opener.key(moved) } == .sealBroken)
        let part = try await lost.restore(Array(entries.dropLast(10)), with: opener, to: "second")
        #expect(part.rewrapped == 50 && part.unreadable == 10 && !part.isDone)
        let whole = try await lost.restore(entries, with: opener, to: "second")
        #expect(whole.rewrapped == 10 && whole.unreadable == 0 && whole.isDone)
        for result in try await lost.keys(jobs.map(\.id)).values { _ = try result.get() }
        #expect(try await lost.verify().unreadable == 0)
    }
}

import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

@testable import Custody

@Suite struct KeyStoreTests {
    private static let text = Data("Erika Mustermann".utf8)

    private static func seal(_ key: CustodyKey) -> Data {
        Seal.seal(Self.text, under: key, for: SealContext(partner: key.partner, .personal))
    }

    private static func open(_ sealed: Data, _ store: KeyStore, _ partner: Int64 = 7) async throws -> Data {
        let key = try await store.key(try Seal.keyID(of: sealed))
        return try Seal.open(sealed, under: key, for: SealContext(partner: partner, .personal))
    }

    @Test func `Keys of jobs with and without a person open in another process`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let owners = [
            KeyOwner(partner: 7, .user("1234")), KeyOwner(partner: 7), KeyOwner(partner: 7, .user("1234")),
            KeyOwner(partner: 7, .face("1234")), KeyOwner(partner: 8, .user("1234")),
        ]
        let keys = try await store.jobKeys(owners)
        #expect(keys.map(\.partner) == owners.map(\.partner) && keys.allSatisfy { $0.kind == .job })
        #expect(Set(keys.map(\.id)).count == 5)
        #expect(try await fixture.count("partner") == 2)
        #expect(try await fixture.count("person") == 3, "a face is not the person of the same name")
        #expect(keys[0].parent == keys[2].parent)
        let other = try fixture.store()
        let found = try await other.keys(keys.map(\.id))
        for key in keys {
            let sealed = Self.seal(key)
            let again = try #require(try found[key.id]?.get())
            #expect(try Seal.open(sealed, under: again, for: SealContext(partner: key.partner, .personal)) == Self.text)
            #expect(again.kind == .job && again.parent == key.parent)
        }
        #expect(try await other.jobKeys([]).isEmpty)
        #expect(try await other.keys([]).isEmpty)
        // Nothing in the database is a key.
        let rows = try await fixture.admin.query("SELECT k::text AS row FROM insp.key k")
        for key in keys {
            let digits = key.secret.withBytes { hex($0) }
            for row in rows { #expect(try !row.string("row").contains(digits)) }
        }
    }

    @Test func `A person's key is one, whoever asks first, and asking again changes nothing`() async throws {
        let fixture = try await KeyStoreFixture()
        let owners = (0..<20).map { KeyOwner(partner: 7, .user("\($0)")) }
        let all = try await withThrowingTaskGroup(of: [KeyOwner: CustodyKey].self) { group in
            for round in 0..<8 {
                let store = try fixture.store()
                let list = round % 2 == 0 ? owners : owners.reversed()
                group.addTask { try await store.keys(of: list).persons }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for owner in owners { #expect(Set(all.map { $0[owner]?.id }).count == 1) }
        #expect(all.allSatisfy { $0.count == 20 })
        #expect(try await fixture.count("person") == 20)
        #expect(try await fixture.count("partner") == 1)
    }

    @Test func `Processes that create the same partner's key at once get the same one`() async throws {
        let fixture = try await KeyStoreFixture()
        for partner in Int64(1)...10 {
            let keys = try await withThrowingTaskGroup(of: CustodyKey.self) { group in
                for _ in 0..<8 {
                    let store = try fixture.store()
                    group.addTask { try await store.partnerKey(partner) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(keys.map(\.id)).count == 1)
            #expect(Set(keys.map { $0.secret.withBytes { Data($0) } }).count == 1)
        }
        #expect(try await fixture.count("partner") == 10)
    }

    @Test func `What holds the wrapping key is asked once for a partner, however many ask`() async throws {
        let fixture = try await KeyStoreFixture()
        let maker = try fixture.store()
        let jobs = try await maker.jobKeys((0..<50).map { KeyOwner(partner: 7, .user("\($0)")) })
        let slow = CountingKey(fixture.keys[0], delay: .milliseconds(200))
        let store = try fixture.store([slow])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for job in jobs { group.addTask { _ = try await store.key(job.id) } }
            try await group.waitForAll()
        }
        _ = try await store.jobKeys([KeyOwner(partner: 7)])
        #expect(slow.unwraps == 1 && slow.wraps == 0)
    }

    @Test func `A cache of one partner's key serves many partners`() async throws {
        let fixture = try await KeyStoreFixture()
        let counting = CountingKey(fixture.keys[0])
        let store = try fixture.store([counting], cached: 1)
        var jobs: [CustodyKey] = []
        for partner in Int64(1)...5 { jobs += try await store.jobKeys([KeyOwner(partner: partner)]) }
        let found = try await store.keys(jobs.map(\.id))
        for job in jobs { #expect(try found[job.id]?.get().partner == job.partner) }
        #expect(counting.unwraps >= 4)
        #expect(try await store.key(jobs[4].id).partner == 5)
    }

    // MARK: Destruction

    @Test func `What a destroyed job, person or partner has sealed opens nowhere, and all else does`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store(), other = try fixture.store()
        let owners = [
            KeyOwner(partner: 7, .user("a")), KeyOwner(partner: 7, .user("a")), KeyOwner(partner: 7, .user("b")),
            KeyOwner(partner: 7), KeyOwner(partner: 8, .user("a")),
        ]
        let sealed = try await store.jobKeys(owners).map { Self.seal($0) }
        // Both know the partners' keys.
        func open() async throws -> [ErrorCode?] {
            var codes: [ErrorCode?] = []
            for (index, bytes) in sealed.enumerated() {
                var seen: Set<ErrorCode?> = []
                for store in [store, other, try fixture.store()] {
                    seen.insert(await errorCode { _ = try await Self.open(bytes, store, owners[index].partner) })
                }
                #expect(seen.count == 1)
                codes.append(seen.first!)
            }
            return codes
        }
        #expect(try await open() == [nil, nil, nil, nil, nil])
        #expect(try await store.destroy([try Seal.keyID(of: sealed[0])]) == 1)
        #expect(try await store.destroy([try Seal.keyID(of: sealed[0])]) == 0)
        #expect(try await open() == [.keyUnknown, nil, nil, nil, nil])
        #expect(try await other.destroyPerson(.user("a"), of: 7))
        #expect(try await !other.destroyPerson(.user("a"), of: 7))
        #expect(try await !other.destroyPerson(.user("a"), of: 99))
        #expect(try await open() == [.keyUnknown, .keyDestroyed, nil, nil, nil])
        #expect(try await store.destroyPartner(7))
        #expect(try await !store.destroyPartner(7))
        #expect(try await open() == [.keyUnknown, .keyDestroyed, .keyUnknown, .keyUnknown, nil])
        // A person who comes back has a new key, and so has the partner; the other process has the old one in memory.
        let again = try await other.jobKeys([owners[0]])[0]
        #expect(try await Self.open(Self.seal(again), store) == Self.text)
        #expect(try await open() == [.keyUnknown, .keyDestroyed, .keyUnknown, .keyUnknown, nil])
    }

    @Test func `What was destroyed with its person is told from what the key store never had`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let job = try await store.jobKeys([KeyOwner(partner: 7, .user("a"))])[0]
        let person = try #require(job.parent)
        try await store.destroyPerson(.user("a"), of: 7)
        // Before the row is swept, after it, and where a request that was under way stored one more.
        let late = KeyID.new()
        try await fixture.admin.execute(
            "INSERT INTO insp.key (id, kind, partner_id, parent, wrapped) VALUES ('\(late.text)', 'job', 7, '\(person.text)', 'x')"
        )
        for id in [job.id, late] { #expect(await errorCode { _ = try await store.key(id) } == .keyDestroyed) }
        #expect(try await store.sweep() == 2)
        for id in [job.id, late] { #expect(await errorCode { _ = try await store.key(id) } == .keyDestroyed) }
        #expect(await errorCode { _ = try await store.key(.new()) } == .keyUnknown)
        // It is forgotten after longer than a job can wait.
        try await fixture.admin.execute("UPDATE insp.destroyed SET destroyed_at = now() - interval '31 d'")
        _ = try await store.sweep()
        #expect(try await fixture.admin.query("SELECT count(*) FROM insp.destroyed")[0].int(0) == 0)
    }

    @Test func `The rows below a destroyed key are swept, in portions, also those that came late`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let jobs = try await store.jobKeys((0..<60).map { KeyOwner(partner: 7, $0 < 30 ? .user("\($0 % 3)") : nil) })
        let kept = try await store.jobKeys([KeyOwner(partner: 8)])[0]
        try await store.destroyPartner(7)
        var found = try await store.verify()
        #expect(found.destroyed == 63 && found.opened == 2 && found.unreadable == 0)
        var sweeps = 0
        try await repeatWhile("keys are left to sweep") {
            sweeps += 1
            return try await store.sweep(limit: 10) > 0
        }
        #expect(sweeps > 7, "with the last, which finds none")
        found = try await store.verify()
        #expect(found.destroyed == 0 && found.opened == 2)
        _ = try await store.key(kept.id)
        // A call that found the parent before may store its key now.
        try await fixture.admin.execute(
            "INSERT INTO insp.key (id, kind, partner_id, parent, wrapped) VALUES (gen_random_uuid(), 'job', 7, '\(jobs[0].parent!.text)', 'x')"
        )
        #expect(try await store.sweep() == 1)
        try await fixture.admin.execute("UPDATE insp.fallen SET fallen_at = now() - interval '61 min'")
        #expect(try await store.sweep() == 0)
        #expect(try await fixture.admin.query("SELECT count(*) FROM insp.fallen")[0].int(0) == 0)
    }

    // MARK: What goes wrong

    @Test func `A wrapped key in another's place does not open`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let keys = try await store.jobKeys([KeyOwner(partner: 7), KeyOwner(partner: 7), KeyOwner(partner: 8)])
        // An attacker who can write the key store gives one job the key of another, or one partner the key of another.
        try await fixture.admin.execute(
            "UPDATE insp.key SET wrapped = (SELECT wrapped FROM insp.key WHERE id = '\(keys[0].id.text)') WHERE id = '\(keys[1].id.text)'"
        )
        let found = try await (try fixture.store()).keys(keys.map(\.id))
        #expect(await errorCode { _ = try found[keys[1].id]?.get() } == .keyUnknown)
        #expect(await errorCode { _ = try found[keys[0].id]?.get() } == nil)
        try await fixture.admin.execute(
            """
            UPDATE insp.key k SET wrapped = o.wrapped FROM insp.key o
            WHERE k.kind = 'partner' AND o.kind = 'partner' AND k.partner_id = 7 AND o.partner_id = 8
            """)
        let swapped = try fixture.store()
        #expect(await errorCode { _ = try await swapped.key(keys[0].id) } == .keyMismatch)
        #expect(await errorCode { _ = try await swapped.key(keys[2].id) } == nil)
        let verified = try await swapped.verify()
        #expect(verified.unreadable == 3 && verified.opened == 2 && verified.examples.count == 3)
    }

    @Test func `An unavailable key store is a temporary fault, and calls work once it is back`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let key = try await store.jobKeys([KeyOwner(partner: 7)])[0]
        let name = try await fixture.admin.query("SELECT current_database()")[0].string(0)
        let server = try await ScratchDatabase.empty()
        let other = try await server.connect()
        try await other.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        _ = try await other.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()",
            [.text(name)])
        #expect(await errorCode { _ = try await store.key(key.id) } == .keysUnavailable)
        #expect(await errorCode { _ = try await store.jobKeys([KeyOwner(partner: 7)]) } == .keysUnavailable)
        #expect(await errorCode { _ = try await store.destroy([key.id]) } == .keysUnavailable)
        #expect(await errorCode { _ = try await store.checkWrappingKeys() } == .keysUnavailable)
        #expect(ErrorCode.keysUnavailable.isRetryable)
        let nowhere = KeyStore("postgresql://127.0.0.1:1/keys", wrappingKeys: try WrappingKeys(fixture.keys))
        #expect(await errorCode { _ = try await nowhere.partnerKey(7) } == .keysUnavailable)
        try await other.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
        try await waitUntil("the key store answers") { await errorCode { _ = try await store.key(key.id) } == nil }
        let admin = try await fixture.database.connect()
        #expect(try await admin.query("SELECT count(*) FROM insp.key WHERE kind = 'job'")[0].int(0) == 1)
    }

    @Test func `An unavailable wrapping key delays only new partners`() async throws {
        let fixture = try await KeyStoreFixture()
        let counting = CountingKey(fixture.keys[0])
        let store = try fixture.store([counting])
        let key = try await store.jobKeys([KeyOwner(partner: 7)])[0]
        let strange = try await (try fixture.store()).jobKeys([KeyOwner(partner: 8)])[0]
        counting.isAway = true
        _ = try await store.jobKeys([KeyOwner(partner: 7, .user("x"))])
        let found = try await store.keys([key.id, strange.id])
        #expect(await errorCode { _ = try found[key.id]?.get() } == nil)
        #expect(await errorCode { _ = try found[strange.id]?.get() } == .keysUnavailable)
        #expect(await errorCode { _ = try await store.jobKeys([KeyOwner(partner: 9)]) } == .keysUnavailable)
        counting.isAway = false
        _ = try await store.key(strange.id)
    }

    @Test func `A call whose answer was lost is repeated without harm`() async throws {
        let fixture = try await KeyStoreFixture()
        let parent = try await (try fixture.store()).partnerKey(7)
        let (key, wrapped) = parent.child(.job)
        let parameters: [PostgresValue] = [
            .textArray([key.id.text]), .textArray([parent.id.text]), .byteas([Data(wrapped)]),
        ]
        let sql = "SELECT count(*) FROM insp.add_job_keys($1::uuid[], $2::uuid[], $3)"
        for _ in 0..<2 { #expect(try await fixture.admin.query(sql, parameters)[0].int(0) == 1) }
        // Another key of the same id is refused.
        let strange = Data(parent.child(.job, id: key.id).wrapped)
        #expect(try await fixture.admin.query(sql, [parameters[0], parameters[1], .byteas([strange])])[0].int(0) == 0)
        _ = try await (try fixture.store()).key(key.id)
    }

    @Test(.timeLimit(.minutes(5)))
    func `A person's key without any below is dropped, and not while one is added`() async throws {
        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let users = (0..<3).map { KeyOwner(partner: 7, .user("\($0)")) }
        let jobs = try await store.jobKeys(users)
        #expect(try await store.personKeys(after: nil, limit: 10).isEmpty)
        try await fixture.admin.execute("UPDATE insp.key SET created_at = now() - interval '1 day'")
        try await store.destroyJobs([jobs[0].id, jobs[1].id], of: [7, 7])
        var found = try await store.personKeys(after: nil, limit: 2)
        found += try await store.personKeys(after: found.last?.id, limit: 2)
        #expect(found.count == 3)
        let idle = found.filter(\.isIdle).map(\.id)
        #expect(Set(idle) == Set([jobs[0].parent, jobs[1].parent]))
        // Somebody adds a job in the meantime, and somebody is about to.
        let late = try await store.jobKeys([users[0]])[0]
        let holder = try await fixture.database.connect()
        try await holder.execute("BEGIN")
        _ = try await holder.query(
            "SELECT insp.drop_idle_persons($1::uuid[])", [.textArray((idle + [jobs[2].parent!]).map(\.text))])
        let adding = Task { try await store.jobKeys([users[1]])[0] }
        try await waitUntil("it waits") {
            try await fixture.admin.query("SELECT count(*) FROM pg_locks WHERE NOT granted")[0].int(0) > 0
        }
        try await holder.execute("COMMIT")
        let added = try await adding.value(within: .seconds(120))
        let fresh = try fixture.store()
        for key in [late, added, jobs[2]] { _ = try await fresh.key(key.id) }
        #expect(late.parent == jobs[0].parent && added.parent != jobs[1].parent)
        #expect(try await fixture.count("person") == 3)
    }

    @Test func `What a KMS does not know is unreadable, not destroyed, and keeps no other key from being rotated`()
        async throws
    {
        let fixture = try await KeyStoreFixture()
        let old = try await (try fixture.store()).jobKeys([KeyOwner(partner: 7)])[0]
        _ = try await (try fixture.store()).beginRotation(to: "second")
        let new = try await (try fixture.store()).jobKeys([KeyOwner(partner: 8)])[0]
        let store = try fixture.store([OlderKey("first"), fixture.keys[1]])
        #expect(await errorCode { _ = try await store.key(old.id) } == .keyUnknown)
        _ = try await store.key(new.id)
        let found = try await store.verify()
        #expect(found.opened == 2 && found.unreadable == 2 && found.destroyed == 0)
        let outcome = try await store.rewrap()
        #expect(outcome.unreadable == 1 && !outcome.isDone)
        #expect(try await (try fixture.store()).rewrap().isDone)
    }

    // MARK: Rights

    @Test func `A role does with keys what it is for`() async throws {
        let fixture = try await KeyStoreFixture()
        _ = try await (try fixture.store()).jobKeys([KeyOwner(partner: 7, .user("x"))])
        let calls = [
            "keys_custodian": [
                "fetch_keys", "destroyed_keys", "partner_keys", "add_partner_key", "add_person_keys", "add_job_keys",
                "custody", "wrapped_partners",
            ],
            "keys_eraser": [
                "destroy_job_keys", "destroy_erased_person", "destroy_deleted_face", "sweep_keys", "custody",
                "main_mark", "follow_main",
            ],
            "keys_sweeper": [
                "destroy_keys", "destroy_person_key", "destroy_partner_key", "sweep_keys", "old_job_keys",
                "idle_person_keys", "drop_idle_persons", "count_below", "abandon_keys", "custody",
                "partners_with_keys", "key_file", "main_mark", "note_main",
            ],
            "keys_locksmith": [
                "fetch_keys", "destroyed_keys", "partner_keys", "custody", "begin_custody", "begin_rotation",
                "end_rotation", "rewrap_keys", "all_partner_keys", "all_keys", "count_keys", "sweep_keys",
                "partner_key_uses", "main_mark",
                "note_main", "key_below", "wrapped_partners",
            ],
        ]
        let guide = try String(contentsOfFile: "\(ScratchDatabase.root)/deploy/SEALING.md", encoding: .utf8)
        for (role, functions) in calls {
            let rows = try await fixture.admin.query(
                """
                SELECT p.proname::text FROM pg_proc p
                WHERE p.pronamespace = 'insp'::regnamespace AND has_function_privilege($1, p.oid, 'EXECUTE')
                """, [.text(role)])
            #expect(Set(try rows.map { try $0.string(0) }) == Set(functions), "\(role)")
            let tables = try await fixture.admin.query(
                """
                SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = 'insp'::regnamespace AND c.relkind = 'r'
                    AND has_table_privilege($1, c.oid, 'SELECT, INSERT, UPDATE, DELETE')
                """, [.text(role)])
            #expect(tables.isEmpty, "\(role) reaches a table")
            #expect(guide.contains("`\(role)`"), "\(role)")
        }
        let all = try await fixture.admin.query(
            "SELECT count(*) FROM pg_proc WHERE pronamespace = 'insp'::regnamespace")[0].int(0)
        #expect(Int(all) == Set(calls.values.flatMap { $0 }).count)
        #expect(
            try await fixture.admin.query(
                "SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'insp'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')"
            )[0].int(0) == 0)
        // As the roles themselves. A worker destroys the keys of jobs that it can name, and no others.
        let key = try await (try fixture.store()).jobKeys([KeyOwner(partner: 7, .user("y"))])[0]
        for (role, call, fine) in [
            ("keys_custodian", "partner_keys(ARRAY[7])", true), ("keys_eraser", "partner_keys(ARRAY[7])", false),
            ("keys_eraser", "destroy_keys(ARRAY['\(key.id.text)']::uuid[])", false),
            ("keys_eraser", "destroy_partner_key(7)", false), ("keys_eraser", "destroy_person_key(7, '\\x00')", false),
            ("keys_eraser", "old_job_keys(NULL, '0', 9)", false), ("keys_eraser", "note_main('x', 0)", false),
            ("keys_eraser", "idle_person_keys(NULL, '0', 9)", false),
            ("keys_eraser", "drop_idle_persons(ARRAY['\(key.id.text)']::uuid[])", false),
            ("keys_eraser", "abandon_keys('first', 'second', '\\x00')", false),
            ("keys_eraser", "destroy_job_keys(ARRAY['\(key.id.text)']::uuid[], ARRAY[8])", true),
            ("keys_eraser", "partner_key_uses(NULL, 9)", false), ("keys_locksmith", "partner_key_uses(NULL, 9)", true),
            ("keys_sweeper", "fetch_keys(ARRAY['\(key.id.text)']::uuid[])", false),
            ("keys_sweeper", "old_job_keys(NULL, '0', 9)", true),
        ] {
            try await fixture.admin.execute("SET ROLE \(role)")
            let worked = (try? await fixture.admin.query("SELECT * FROM insp.\(call)")) != nil
            #expect(worked == fine, "\(role) \(call)")
            try await fixture.admin.execute("RESET ROLE")
        }
        #expect(try await fixture.count("job") == 2)
        #expect(try await fixture.count("partner") == 1)
    }
}

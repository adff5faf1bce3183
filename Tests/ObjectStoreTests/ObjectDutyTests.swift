import Foundation
import InspectCore
import JobQueue
import Postgres
import TestSupport
import Testing

@testable import Custody
@testable import ObjectStore

/// Deletion of objects: of what was erased, and of what no part has.
@Suite struct ObjectDutyTests {
    @Test func `An erased job's object is deleted, another one's is not`() async throws {
        let site = try await ObjectSite()
        let (first, second) = (try await site.enqueue(), try await site.enqueue())
        #expect(try await site.objects().count == 2)
        let kept = try await site.texts(
            "SELECT DISTINCT split_part(location, '#', 1) FROM insp.part p JOIN insp.job j ON j.id = p.job_id WHERE j.public_id = '\(second)'"
        )
        try await site.finish(first)
        _ = try await site.admin.query("SELECT insp.erase($1)", [.text(first)])
        #expect(try await site.texts("SELECT location FROM insp.object_gone").count == 1)
        try await site.maintain(until: "the object is gone") { try await site.objects() == kept }
        #expect(try await site.texts("SELECT location FROM insp.object_gone").isEmpty)
    }

    @Test func `Retention and the erasure of a person delete objects`() async throws {
        let site = try await ObjectSite()
        let old = try await site.enqueue()
        try await site.finish(old)
        _ = try await site.admin.query(
            "UPDATE insp.job SET completed_at = now() - interval '40 days', created_at = now() - interval '40 days'")
        let person = try await site.enqueue(["userReference": "u"])
        try await site.finish(person)
        #expect(try await site.objects().count == 2)
        // As workers do once a minute.
        try await waitUntil("retention has removed its parts") {
            _ = try await site.admin.query("SELECT insp.purge()")
            return try await site.texts("SELECT location FROM insp.object_gone").count == 1
        }
        try await site.maintain(until: "retention has deleted one") { try await site.objects().count == 1 }
        let index = BlindIndex(try await site.keys.partnerKey(site.partner)).pseudonym("u", use: "user")
        #expect(try await site.client.erasePerson(BlindIndex.ofStored(index), of: "acme") == 1)
        try await site.maintain(until: "nothing is left") { try await site.objects().isEmpty }
    }

    @Test func `A rerun's object stays until the last job of the chain has lost it`() async throws {
        let site = try await ObjectSite()
        let first = try await site.enqueue()
        try await site.finish(first)
        let second = try await site.texts("SELECT insp.rerun('\(first)')::text")[0]
        // Retention removes the first one's parts while the second needs them.
        let job = { (id: String) in "(SELECT id FROM insp.job WHERE public_id = '\(id)')" }
        _ = try await site.admin.query("SELECT insp.remove_parts(ARRAY[\(job(first))])")
        #expect(try await site.texts("SELECT location FROM insp.object_gone").count == 1)
        #expect(try await site.texts("SELECT insp.objects_gone('s3:parts/inspectd/', 10)").isEmpty)
        #expect(try await site.texts("SELECT location FROM insp.object_gone").isEmpty)
        try await site.finish(second)
        _ = try await site.admin.query("SELECT insp.remove_parts(ARRAY[\(job(second))])")
        #expect(try await site.texts("SELECT insp.objects_gone('s3:parts/inspectd/', 10)") == site.objects())
    }

    /// Two jobs of a chain lose their parts at once, each while the other's removal is not committed: none may take the object for
    /// the other's.
    @Test func `Two jobs that lose an object at once leave it on the list`() async throws {
        let site = try await ObjectSite()
        let first = try await site.enqueue()
        try await site.finish(first)
        let second = try await site.texts("SELECT insp.rerun('\(first)')::text")[0]
        let (one, two) = (try await site.main.connect(), try await site.main.connect())
        let remove = "SELECT insp.remove_parts(ARRAY(SELECT id FROM insp.job WHERE public_id = $1))"
        _ = try await one.query("BEGIN")
        _ = try await one.query(remove, [.text(first)])
        _ = try await two.query("BEGIN")
        let other = Task { _ = try await two.query(remove, [.text(second)]) }
        try await waitUntil("the second one waits") {
            try await site.admin.query("SELECT count(*) FROM pg_locks WHERE NOT granted")[0].int(0) > 0
        }
        _ = try await one.query("COMMIT")
        _ = try await other.value(within: .seconds(120))
        // A worker that looks now finds the row held.
        #expect(try await site.texts("SELECT insp.objects_gone('s3:parts/inspectd/', 10)").isEmpty)
        _ = try await two.query("COMMIT")
        #expect(try await site.texts("SELECT insp.objects_gone('s3:parts/inspectd/', 10)").count == 1)
    }

    @Test func `While the store is unavailable objects wait, and the duty says so`() async throws {
        let site = try await ObjectSite()
        let id = try await site.enqueue()
        try await site.finish(id)
        _ = try await site.admin.query("SELECT insp.erase($1)", [.text(id)])
        for (mode, word) in [("deaf", "AccessDenied"), ("down", "SlowDown")] {
            try site.stub.behave(mode)
            try await site.maintain(until: "the duty fails") {
                try await site.texts(
                    "SELECT error FROM insp.v_maintenance WHERE duty = 'objects' AND state = 'fails' AND error LIKE '%\(word)%'"
                ).count == 1
            }
        }
        let depth = try await site.admin.query("SELECT value FROM insp.depth() WHERE measure = 'objects_gone'")
        #expect(try depth[0].double(0) == 1)
        try site.stub.behave("ok")
        try await site.maintain(until: "nothing is left") { try await site.objects().isEmpty }
        try await site.maintain(until: "the duty is well") {
            try await site.texts("SELECT state FROM insp.v_maintenance WHERE duty = 'objects'") == ["well"]
        }
    }

    @Test func `Objects that a producer names elsewhere stay listed, and keep no others from being deleted`()
        async throws
    {
        let site = try await ObjectSite()
        let id = try await site.enqueue()
        try await site.finish(id)
        // Before and behind this store's, by their names.
        for (bucket, count) in [("a", 2_100), ("zz", 20)] {
            _ = try await site.admin.query(
                "INSERT INTO insp.object_gone (location) SELECT 's3:' || $1 || '/2026-01-01/' || gen_random_uuid() || '/' || gen_random_uuid() FROM generate_series(1, $2::integer)",
                [.text(bucket), .int(Int64(count))])
        }
        _ = try await site.admin.query("SELECT insp.erase($1)", [.text(id)])
        try await site.maintain(until: "the object is deleted") { try await site.objects().isEmpty }
        #expect(try await site.texts("SELECT location FROM insp.object_gone").count == 2_120)
        #expect(try await site.texts("SELECT state FROM insp.v_maintenance WHERE duty = 'objects'") == ["well"])
    }

    // MARK: The sweep

    private func old(_ site: ObjectSite, days: Double, key: String) -> String {
        site.store.address.newObject(key: key, at: Date(timeIntervalSinceNow: -days * 86_400))
    }

    private func swept(_ site: ObjectSite) async throws -> Bool {
        try await site.admin.query("SELECT count(*) FROM insp.object_sweep()")[0].int(0) == 0
    }

    @Test func `Old objects that no part has are swept, others stay`() async throws {
        let site = try await ObjectSite()
        let id = try await site.enqueue()
        let key = try await site.texts("SELECT key_id::text FROM insp.job WHERE public_id = '\(id)'")[0]
        let needed = self.old(site, days: 9, key: key)
        _ = try await site.admin.query(
            "UPDATE insp.part SET location = $1 || substr(location, length(split_part(location, '#', 1)) + 1)",
            [.text(needed)])
        var kept = [needed, self.old(site, days: 1, key: key)] + (try await site.objects())
        // Somebody else's, and one of a job that has others.
        kept += [site.store.address.object("0/readme.txt"), site.store.address.object("zz")]
        let unused = [
            self.old(site, days: 9, key: key), self.old(site, days: 3, key: KeyID.new().text),
            self.old(site, days: 400, key: KeyID.new().text),
        ]
        for object in kept + unused { try await site.store.put([1], at: object) }
        try await site.maintain(until: "all days are seen") { try await self.swept(site) }
        #expect(try await Set(site.objects()) == Set(kept))
        // Each object once.
        let lists = site.stub.requests.filter { $0.contains("list-type") }.count
        try await site.maintain(until: "the duty ran again") {
            try await site.texts(
                "SELECT 1::text FROM insp.v_maintenance WHERE duty = 'objects' AND age < '1 s' AND state = 'well'"
            ).count == 1
        }
        #expect(site.stub.requests.filter { $0.contains("list-type") }.count == lists)
    }

    @Test func `A sweep of many pages goes on where it was, whatever the server sends between`() async throws {
        let site = try await ObjectSite()
        let count = 2_300
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    for _ in 0..<count / 16 {
                        try await site.store.put([1], at: self.old(site, days: 5, key: KeyID.new().text))
                    }
                }
            }
            try await group.waitForAll()
        }
        for mode in ["bomb", "disorder"] {
            try site.stub.behave(mode)
            try await site.maintain(until: "the duty fails") {
                try await site.texts(
                    "SELECT error FROM insp.v_maintenance WHERE duty = 'objects' AND error LIKE '%listing%'"
                ).count == 1
            }
        }
        #expect(try await !self.swept(site))
        try site.stub.behave("ok")
        try await site.maintain(until: "all days are seen") { try await self.swept(site) }
        #expect(try await site.objects().isEmpty)
    }

    @Test func `After the database was set back, the days before are left alone`() async throws {
        let site = try await ObjectSite()
        // Of a job that the older backup lacks.
        let lost = self.old(site, days: 5, key: KeyID.new().text)
        try await site.store.put([1], at: lost)
        _ = try await site.admin.query("UPDATE insp.epoch SET timeline = '000000FF'")
        try await site.maintain(until: "all days are seen") { try await self.swept(site) }
        #expect(try await site.objects() == [lost])
        #expect(
            try await site.texts("SELECT reason FROM insp.epoch") == ["another timeline"])
        // A restart of the server sets nothing back.
        let other = try await ObjectSite()
        let unused = self.old(other, days: 5, key: KeyID.new().text)
        try await other.store.put([1], at: unused)
        _ = try await other.admin.query("UPDATE insp.epoch SET started_at = started_at - interval '1 h'")
        try await other.maintain(until: "all days are seen") { try await self.swept(other) }
        #expect(try await other.objects().isEmpty)
    }
}

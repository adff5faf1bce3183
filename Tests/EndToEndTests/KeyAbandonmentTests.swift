import Custody
import Foundation
import InspectCore
import Postgres
import TestSupport
import Testing

/// `inspectd keys abandon`, after a wrapping key was lost.
@Suite struct KeyAbandonmentTests {
    @Test func `What a lost wrapping key has wrapped is given up for a reason, and the key store is of use again`()
        async throws
    {
        let setting = try await KeySetting()
        let main = try await setting.main.connect()
        _ = try await main.query("SELECT insp.create_partner('bank')")
        let bank = try await main.query("SELECT insp.custody_partner('bank')")[0].int(0)
        let jobs = try await (try setting.client()).jobKeys([
            KeyOwner(partner: bank, .user("x")), KeyOwner(partner: bank), KeyOwner(partner: bank + 1),
        ])
        // Its disk is gone.
        let lines = try String(contentsOfFile: setting.file("keys"), encoding: .utf8).split(separator: "\n")
        func keep(_ line: Substring) throws {
            try Data((line + "\n").utf8).write(to: URL(fileURLWithPath: setting.file("keys")))
        }
        #expect(try await setting.run("abandon", "--lost", "one").errors.contains("is configured"))
        try keep(lines[1])
        #expect(try await setting.run("verify").status == 1)
        let preview = try await setting.run("abandon", "--lost", "one")
        let shown = try members(preview.output)
        #expect(preview.status == 0 && shown["isAbandoned"] as? Bool == false, "\(preview.errors)")
        let partners = try #require(shown["partners"] as? [[String: Any]])
        #expect(partners.map { $0["partner"] as? String } == ["bank", nil])
        #expect(partners.map { $0["jobs"] as? Int } == [2, 1] && partners.map { $0["persons"] as? Int } == [1, 0])
        #expect(try await setting.count(under: "one") == 2)
        #expect(try await setting.run("abandon", "--lost", "nobody").status == 2)
        let done = try await setting.run(
            "abandon", "--lost", "one", "--confirm", "one", "--reason", "the disk failed, and there is no escrow")
        #expect(done.status == 0, "\(done.errors)")
        #expect(try members(done.output)["isAbandoned"] as? Bool == true)
        let verified = try await setting.run("verify")
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(try members(verified.output)["opened"] as? Int == 0)
        #expect(try await setting.count(under: "one") == 0)
        #expect(try await setting.admin.query("SELECT count(*) FROM insp.key")[0].int(0) == 0)
        let client = try setting.client()
        for result in try await client.keys(jobs.map(\.id)).values {
            #expect(throws: InspectError.self) { _ = try result.get() }
        }
        let fresh = try await client.jobKeys([KeyOwner(partner: bank, .user("x"))])[0]
        #expect(try await setting.count(under: "two") == 1)
        // One partner alone; a process that has its former key in memory makes another one.
        _ = try await client.jobKeys([KeyOwner(partner: bank + 1)])
        #expect(
            try await setting.run("abandon", "--partner", "bank", "--confirm", "bank", "--reason", "damaged").status
                == 0)
        #expect(try await setting.count(under: "two") == 1)
        let gone = try #require(try await client.keys([fresh.id])[fresh.id])
        #expect(throws: InspectError.self) { _ = try gone.get() }
        _ = try await client.jobKeys([KeyOwner(partner: bank, .user("x"))])
        #expect(try await setting.count(under: "two") == 2)
        let events = try await main.query(
            "SELECT r.subject, r.words ->> 'reason' FROM insp.record r WHERE r.action = 'keys_abandon' ORDER BY r.id")
        #expect(try events.map { try $0.string(0) } == ["keys", "partner bank"])
        #expect(try events.last?.string(1) == "damaged")
    }

    @Test func `A former wrapping key that is lost ends its rotation`() async throws {
        let setting = try await KeySetting()
        let client = try setting.client()
        _ = try await client.jobKeys([KeyOwner(partner: 1)])
        // A rotator that died at once.
        _ = try await client.beginRotation(to: "two")
        let kept = try await client.jobKeys([KeyOwner(partner: 2)])[0]
        let lines = try String(contentsOfFile: setting.file("keys"), encoding: .utf8).split(separator: "\n")
        try Data((lines[1] + "\n").utf8).write(to: URL(fileURLWithPath: setting.file("keys")))
        #expect(try await setting.run("rewrap").status == 1)
        let done = try await setting.run("abandon", "--lost", "one", "--confirm", "one", "--reason", "lost")
        #expect(done.status == 0, "\(done.errors)")
        let list = try members(try await setting.run("list").output)
        #expect(list["wrappingKey"] as? String == "two" && list["formerKey"] == nil)
        #expect(try await setting.run("verify").status == 0)
        _ = try await (try setting.client()).key(kept.id)
    }
}

import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Custody

/// An escrow that was changed by somebody who has its public key, or damaged.
@Suite struct ForgedEscrowTests {
    @Test func `A key of an escrow replaces a partner's key only if it opens what is below`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("escrow-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (secret, open) = (folder.appendingPathComponent("safe"), folder.appendingPathComponent("safe.pub"))
        try runQuietly(
            "/usr/bin/openssl",
            ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072", "-out", secret.path])
        try runQuietly("/usr/bin/openssl", ["pkey", "-in", secret.path, "-pubout", "-out", open.path])
        let recipient = try KeyEscrow.Recipient(pem: try Data(contentsOf: open))
        let opener = try KeyEscrow.Opener(pem: try Data(contentsOf: secret))

        let fixture = try await KeyStoreFixture()
        let store = try fixture.store()
        let jobs = try await store.jobKeys((Int64(7)...9).map { KeyOwner(partner: $0, .user("x")) })
        var entries: [KeyEscrow.Entry] = []
        _ = try await store.escrow(to: recipient) { entries.append($0) }
        func forged(_ partner: Int64) async throws -> KeyEscrow.Entry {
            let id = try await store.partnerKey(partner).id
            return try recipient.entry(
                CustodyKey(id: id, kind: .partner, partner: partner, parent: nil, secret: .random()))
        }
        // Partner 7 has its own line and a forged one behind it, partner 8 a forged one alone, partner 9 a damaged one.
        var changed = entries.filter { $0.partner == 7 } + [try await forged(7), try await forged(8)]
        var damaged = try #require(entries.first { $0.partner == 9 })
        damaged.key = String(damaged.key.dropLast(8))
        changed.append(damaged)
        let outcome = try await store.restore(changed, with: opener, to: "second")
        #expect(outcome.rewrapped == 1 && outcome.unreadable == 2 && !outcome.isDone)
        #expect(outcome.state.wrappingKey == "second" && outcome.state.formerKey == "first")
        for job in jobs { _ = try await (try fixture.store()).key(job.id) }
        let whole = try await store.restore(entries, with: opener, to: "second")
        #expect(whole.rewrapped == 2 && whole.unreadable == 0 && whole.isDone)
        let last = try fixture.store([fixture.keys[1]])
        for job in jobs { _ = try await last.key(job.id) }
    }
}

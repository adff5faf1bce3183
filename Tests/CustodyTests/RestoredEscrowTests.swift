import Foundation
import InspectCore
import TestSupport
import Testing

@testable import Custody

/// An escrow for keys whose wrapping key was lost in the middle of a rotation.
@Suite struct RestoredEscrowTests {
    /// A key store whose rotation was killed before it rewrapped anything: old keys need the first wrapping key, new ones the second.
    private struct Interrupted {
        let fixture: KeyStoreFixture
        let jobs: [CustodyKey]
        var entries: [KeyEscrow.Entry] = []
        let opener: KeyEscrow.Opener

        init() async throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("escrow-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let (secret, open) = (folder.appendingPathComponent("safe"), folder.appendingPathComponent("safe.pub"))
            try runQuietly(
                "/usr/bin/openssl",
                ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072", "-out", secret.path])
            try runQuietly("/usr/bin/openssl", ["pkey", "-in", secret.path, "-pubout", "-out", open.path])
            self.opener = try KeyEscrow.Opener(pem: try Data(contentsOf: secret))
            self.fixture = try await KeyStoreFixture()
            let store = try self.fixture.store()
            let old = try await store.jobKeys((Int64(7)...9).map { KeyOwner(partner: $0, .user("x")) })
            _ = try await store.beginRotation(to: "second")
            let new = try await (try self.fixture.store()).jobKeys([KeyOwner(partner: 10, .user("x"))])
            self.jobs = old + new
            var entries: [KeyEscrow.Entry] = []
            _ = try await store.escrow(to: try .init(pem: try Data(contentsOf: open))) { entries.append($0) }
            self.entries = entries
        }
    }

    @Test func `An escrow replaces both wrapping keys of a rotation that was interrupted`() async throws {
        let interrupted = try await Interrupted()
        #expect(interrupted.entries.count == 4)
        let store = try interrupted.fixture.store([FileWrappingKey(id: "third", secret: .random())])
        let some = interrupted.entries.filter { $0.partner != 7 }
        let part = try await store.restore(some, with: interrupted.opener, to: "third")
        #expect(part.rewrapped == 3 && part.unreadable == 1 && !part.isDone)
        #expect(part.state.wrappingKey == "third" && part.state.formerKey == "second")
        let whole = try await store.restore(interrupted.entries, with: interrupted.opener, to: "third")
        #expect(whole.rewrapped == 1 && whole.unreadable == 0 && whole.isDone)
        try await store.checkWrappingKeys()
        for job in interrupted.jobs { _ = try await store.key(job.id) }
        #expect(try await store.verify().unreadable == 0)
    }

    @Test func `A rotation whose new wrapping key is lost goes back to the former one by an escrow`() async throws {
        let interrupted = try await Interrupted()
        let store = try interrupted.fixture.store([interrupted.fixture.keys[0]])
        let outcome = try await store.restore(interrupted.entries, with: interrupted.opener, to: "first")
        #expect(outcome.rewrapped == 1 && outcome.unreadable == 0 && outcome.isDone)
        try await store.checkWrappingKeys()
        for job in interrupted.jobs { _ = try await store.key(job.id) }
    }
}

package import Custody
internal import Foundation
internal import Glibc

/// Signs checkpoints of the record, each only if the rows since the previous one extend what was signed.
///
/// The key stays in this process. It remembers the last checkpoint that it saw, so that a record that is cut or rewritten while
/// it runs is not signed.
package final class RecordSigner {
    /// Why nothing is signed any more.
    package struct Refusal: Error, CustomStringConvertible {
        package var description: String
    }

    private let store: RecordStore
    private let key: Ed25519PrivateKey
    /// Those whose checkpoints may be continued.
    private let trusted: [Ed25519PublicKey]
    private var last: RecordCheckpoint?
    /// The first checkpoint that this process knew, or one of the last year: retention cannot have removed what came after it.
    private var witness: RecordCheckpoint?
    /// Number of the newest checkpoint, if no known key signed it: somebody else may add some.
    package private(set) var stranger: Int64?

    /// Without new rows a checkpoint is signed this often, to prove that there were none; in microseconds.
    private static let longestSilenceMicroseconds: Int64 = 600_000_000
    /// The guards of the record allow no row of the last year to be removed. A day less, for a row that was committed long after it was
    /// written; in microseconds.
    private static let shortestRetentionMicroseconds: Int64 = 364 * 86_400_000_000

    /// - Parameters:
    ///   - former: Keys that signed before this one.
    ///   - last: The last checkpoint that is known from elsewhere.
    package init(
        _ store: RecordStore, key: Ed25519PrivateKey, former: [Ed25519PublicKey], last: RecordCheckpoint?
    ) {
        self.store = store
        self.key = key
        self.trusted = former + [key.publicKey]
        self.last = last
        self.witness = last
    }

    /// Signs one checkpoint.
    ///
    /// - Returns: The checkpoint; `nil` if there is nothing new, or another signer was first.
    /// - Throws: ``Refusal`` if the record is not what it was at the last checkpoint; errors of the database.
    package func sign() async throws -> RecordCheckpoint? {
        // Read before the ends of the chains, so that it is not ahead of them.
        let (newest, number) = try await self.newest()
        let (heads, text) = try await self.store.heads()
        let now = Self.now()
        let isNews =
            newest.map { heads != $0.heads || now - $0.atMicroseconds >= Self.longestSilenceMicroseconds } ?? true
        guard isNews || newest?.number != self.last?.number else { return nil }
        try await self.verify(heads, newest)
        self.last = newest
        guard isNews else { return nil }
        guard
            let checkpoint = RecordCheckpoint(
                number: number + 1, atMicroseconds: max(now, newest?.atMicroseconds ?? 0), headsText: text,
                key: self.key)
        else { throw Refusal(description: "insp.record_heads returned an unexpected value") }
        guard try await self.store.add(checkpoint) else { return nil }
        self.last = checkpoint
        return checkpoint
    }

    /// The newest checkpoint of the database that a known key signed, and the number of the newest of all.
    private func newest() async throws -> (checkpoint: RecordCheckpoint?, number: Int64) {
        let number = try await self.store.lastCheckpoint()
        // Those of unknown keys are skipped: a login that adds one must not stop the proof.
        let newest = try await self.newest(from: number)
        if let last, newest?.number ?? 0 < last.number {
            throw Refusal(
                description: "checkpoint \(last.number) is not in the database any more: the last one is "
                    + "\(newest?.number ?? 0)")
        }
        guard newest != nil || number == 0 else {
            throw Refusal(
                description: "checkpoint \(number) is not signed by a known key: give former keys with --public-key")
        }
        self.stranger = newest?.number ?? 0 == number ? nil : number
        return (newest, number)
    }

    private func newest(from number: Int64) async throws -> RecordCheckpoint? {
        var end = number
        while end > 0 {
            // One suffices, as a rule.
            let start = end == number ? end - 1 : max(0, end - Int64(RecordStore.page))
            for line in try await self.store.checkpoints(after: start).reversed() where line.number <= end {
                guard let checkpoint = line.text.withUnsafeBytes({ RecordCheckpoint(line: $0) }),
                    self.trusted.contains(where: { checkpoint.isSigned(by: $0) })
                else { continue }
                return checkpoint
            }
            end = start
        }
        return nil
    }

    /// Verifies all rows since the last known checkpoint; without one, the whole record.
    private func verify(_ heads: RecordHeads, _ newest: RecordCheckpoint?) async throws {
        let known = self.last ?? newest
        for checkpoint in [known, newest].compactMap({ $0 }) { try self.verifyEnds(heads, checkpoint) }
        try self.verifyStarts(heads, known)
        var verifier = RecordVerifier(keys: self.trusted, needsCheckpoint: false)
        var starts: [String: RecordPlace] = [:]
        for (name, ends) in heads.chains {
            // Retention may have passed a checkpoint older than a year.
            let head = known?.heads.chains[name]?.head ?? ends.anchor
            starts[name] = head.seq < ends.anchor.seq ? ends.anchor : head
        }
        verifier.begin(starts, isPartial: true)
        if let known { verifier.expect(known) }
        if let newest { Data(newest.line.utf8).withUnsafeBytes { verifier.take($0) } }
        for (name, start) in starts.sorted(by: { $0.key < $1.key }) {
            guard let end = heads.chains[name]?.head else { continue }
            var place = start.seq
            while place < end.seq {
                let lines = try await self.store.rows(of: name, after: place)
                guard let last = lines.last else { break }
                for line in lines where line.number <= end.seq {
                    line.text.withUnsafeBytes { verifier.take($0) }
                }
                place = last.number
            }
            verifier.end(name, at: end)
        }
        verifier.end()
        if let fault = verifier.finish().faults.first {
            throw Refusal(description: "the record differs from what was signed: \(fault.message)")
        }
    }

    /// Neither end of a chain ever moves back. Otherwise the owner could have a shorter chain signed, let other rows follow, and
    /// remove the checkpoints that show the difference. A missing chain is for the verifier to find.
    private func verifyEnds(_ heads: RecordHeads, _ checkpoint: RecordCheckpoint) throws {
        for (name, before) in checkpoint.heads.chains.sorted(by: { $0.key < $1.key }) {
            guard let ends = heads.chains[name] else { continue }
            guard ends.head.seq >= before.head.seq else {
                throw Refusal(
                    description: "rows \(ends.head.seq + 1) to \(before.head.seq) of chain \(name) were removed at the "
                        + "end: checkpoint \(checkpoint.number) has them")
            }
            guard ends.anchor.seq >= before.anchor.seq else {
                throw Refusal(
                    description: "chain \(name) begins behind row \(ends.anchor.seq), and checkpoint "
                        + "\(checkpoint.number) says that retention removed all up to row \(before.anchor.seq)")
            }
        }
    }

    /// The owner may move the start of a chain past rows that retention keeps, and the next checkpoint would vouch for it.
    private func verifyStarts(_ heads: RecordHeads, _ known: RecordCheckpoint?) throws {
        let now = Self.now()
        if let witness, now - witness.atMicroseconds >= Self.shortestRetentionMicroseconds { self.witness = nil }
        if self.witness == nil { self.witness = known }
        guard let witness, now - witness.atMicroseconds < Self.shortestRetentionMicroseconds else { return }
        for (name, ends) in heads.chains.sorted(by: { $0.key < $1.key }) where name != "endpoint" {
            guard let head = witness.heads.chains[name]?.head, ends.anchor.seq > head.seq else { continue }
            throw Refusal(
                description: "rows \(head.seq + 1) to \(ends.anchor.seq) of chain \(name) were removed at the start: "
                    + "they came after checkpoint \(witness.number), and retention removes none of the last year")
        }
    }

    private static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}

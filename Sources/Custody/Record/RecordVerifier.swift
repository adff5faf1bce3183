internal import Foundation

/// Verifies a record line by line: rows of each chain in order, checkpoints anywhere among them.
///
/// Offline it needs nothing but the lines of `inspectd audit export` and the signer's public key. It holds 32 bytes for each row.
package struct RecordVerifier {
    private let keys: [String: Ed25519PublicKey]
    private let reader = RecordRowReader()
    private var chains: [String: RecordChainVerifier] = [:]
    private var checkpoints: [RecordCheckpoint] = []
    /// Those that somebody kept elsewhere: what they cover must be there.
    private var kept: [RecordCheckpoint] = []
    private var keptHeads: [(chain: String, place: RecordPlace)] = []
    private var faults: [RecordFault] = []
    private var signed = 0
    private var line = 0
    private var hasHeader = false
    private var hasEnd = false
    private var isPartial = false

    private let needsCheckpoint: Bool

    /// - Parameters:
    ///   - keys: Those that checkpoints may be signed with; none: signatures are not verified, hashes are.
    ///   - needsCheckpoint: Whether rows without any checkpoint are a fault, if keys are given.
    package init(keys: [Ed25519PublicKey], needsCheckpoint: Bool = true) {
        self.needsCheckpoint = needsCheckpoint
        self.keys = Dictionary(keys.map { ($0.id, $0) }) { first, _ in first }
    }

    // MARK: What comes

    /// The ends from which rows follow, in place of an export's first line.
    package mutating func begin(_ starts: [String: RecordPlace], isPartial: Bool) {
        self.hasHeader = true
        self.isPartial = isPartial
        self.chains = starts.mapValues { RecordChainVerifier(start: $0) }
    }

    /// A checkpoint that was kept elsewhere.
    package mutating func expect(_ checkpoint: RecordCheckpoint) {
        self.verify(checkpoint, "the kept checkpoint")
        self.kept.append(checkpoint)
    }

    /// A row that was noted elsewhere.
    package mutating func expect(_ place: RecordPlace, in chain: String) {
        self.keptHeads.append((chain, place))
    }

    /// Takes the next line, without its line feed.
    package mutating func take(_ bytes: UnsafeRawBufferPointer) {
        self.line += 1
        guard !self.hasEnd else { return self.malformed("follows the last line of the export") }
        if let row = self.reader.read(bytes) {
            guard let place = self.chains.index(forKey: row.chain) else {
                return self.malformed(
                    self.hasHeader
                        ? "is a row of a chain that the first line does not name"
                        : "precedes the first line of an export")
            }
            self.chains.values[place].take(row, self.reader)
        } else if let checkpoint = RecordCheckpoint(line: bytes) {
            self.take(checkpoint)
        } else {
            self.takeFrame(bytes)
        }
    }

    /// Nothing more comes, and nothing was to: the rows came from a database.
    package mutating func end() { self.hasEnd = true }

    private mutating func take(_ checkpoint: RecordCheckpoint) {
        self.verify(checkpoint, "checkpoint \(checkpoint.number)")
        if let last = self.checkpoints.last {
            let isLater =
                checkpoint.number > last.number && checkpoint.at >= last.at
                && last.heads.chains.allSatisfy { name, ends in
                    guard let next = checkpoint.heads.chains[name] else { return false }
                    return next.head.seq >= ends.head.seq && next.anchor.seq >= ends.anchor.seq
                }
            if !isLater {
                self.faults.append(
                    RecordFault(
                        kind: .checkpoint, chain: nil, seq: checkpoint.number,
                        message: "checkpoint \(checkpoint.number) does not come after checkpoint \(last.number)"))
            }
        }
        self.checkpoints.append(checkpoint)
    }

    private mutating func verify(_ checkpoint: RecordCheckpoint, _ name: String) {
        guard !self.keys.isEmpty else { return }
        guard let key = self.keys[checkpoint.keyID] else {
            return self.faults.append(
                RecordFault(
                    kind: .signature, chain: nil, seq: checkpoint.number,
                    message: "\(name) is signed with a key that was not given: \(Self.harmless(checkpoint.keyID))"))
        }
        guard checkpoint.isSigned(by: key) else {
            return self.faults.append(
                RecordFault(
                    kind: .signature, chain: nil, seq: checkpoint.number,
                    message: "\(name) has a signature that is not by key \(key.id): it was changed or forged"))
        }
        self.signed += 1
    }

    /// The first and the last line of an export.
    private mutating func takeFrame(_ bytes: UnsafeRawBufferPointer) {
        let object = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
        if let object, object["record"] as? String == "inspectd", let chains = object["chains"] as? [String: [Any]] {
            guard !self.hasHeader, object["version"] as? Int == 1 else {
                return self.malformed("is a second first line, or one of another version")
            }
            var starts: [String: RecordPlace] = [:]
            for (name, start) in chains {
                guard start.count == 2, let seq = start[0] as? Int64, let hash = start[1] as? String,
                    let place = RecordPlace(seq: seq, hash: hash)
                else { return self.malformed("is not the first line of an export") }
                starts[name] = place
            }
            return self.begin(starts, isPartial: object["partial"] as? Bool ?? true)
        }
        guard let object, let ends = object["end"] as? [String: [Any]], self.hasHeader else {
            return self.malformed("is not a line of an export")
        }
        self.hasEnd = true
        for (name, end) in ends {
            guard end.count == 2, let seq = end[0] as? Int64, let hash = end[1] as? String,
                let place = RecordPlace(seq: seq, hash: hash), self.chains[name] != nil
            else { return self.malformed("is not the last line of an export") }
            self.expect(place, in: name)
        }
    }

    private mutating func malformed(_ what: String) {
        // One of a kind is enough: the rest of a damaged file says nothing more.
        guard !self.faults.contains(where: { $0.kind == .format }) else { return }
        self.faults.append(
            RecordFault(kind: .format, chain: nil, seq: nil, message: "line \(self.line) \(what)"))
    }

    /// A text from a file that may be forged.
    private static func harmless(_ text: String) -> String {
        String(
            text.unicodeScalars.prefix(32).map { $0.isASCII && $0.value > 32 && $0.value < 127 ? Character($0) : "?" })
    }

    // MARK: The verdict

    package mutating func finish() -> RecordVerdict {
        if !self.hasHeader {
            if self.faults.isEmpty {
                self.faults.append(
                    RecordFault(kind: .cut, chain: nil, seq: nil, message: "the export has no first line"))
            }
        } else if !self.hasEnd {
            self.faults.append(
                RecordFault(
                    kind: .cut, chain: nil, seq: nil,
                    message: "the export ends at line \(self.line), without its last line: the rest was cut off"))
        }
        let last = self.checkpoints.last
        // An attacker who makes all rows anew leaves the checkpoints out.
        if self.needsCheckpoint, !self.keys.isEmpty, last == nil, self.chains.values.contains(where: { !$0.isEmpty }) {
            self.faults.append(
                RecordFault(kind: .checkpoint, chain: nil, seq: nil, message: "there are rows and no checkpoint"))
        }
        for checkpoint in self.kept where checkpoint.number > last?.number ?? 0 {
            self.faults.append(
                RecordFault(
                    kind: .checkpoint, chain: nil, seq: checkpoint.number,
                    message: "checkpoint \(checkpoint.number), which was kept, is not there: "
                        + "the last one is \(last.map { "\($0.number)" } ?? "none")"))
        }
        let names = self.chains.keys.sorted()
        var verdict = RecordVerdict(
            faults: [], chains: [:], signed: self.signed, checkpoints: self.checkpoints.count,
            lastCheckpoint: last.map { ($0.number, $0.at) }, isPartial: self.isPartial)
        let all = (self.checkpoints + self.kept).sorted { $0.number < $1.number }
        for name in names {
            guard var chain = self.chains[name] else { continue }
            chain.finish(name)
            for checkpoint in all {
                guard let ends = checkpoint.heads.chains[name] else { continue }
                chain.compare(ends.head, name, "checkpoint \(checkpoint.number)")
                // Where retention began is not known of an export that begins later.
                if !self.isPartial, let end = all.last?.at {
                    chain.checkStart(ends.head, name, checkpoint, now: end)
                }
            }
            for noted in self.keptHeads where noted.chain == name {
                chain.compare(noted.place, name, "the row that was noted")
            }
            if let fault = chain.fault { verdict.faults.append(fault) }
            verdict.chains[name] = chain.summary(signed: last?.heads.chains[name]?.head.seq ?? 0)
        }
        for noted in self.keptHeads where self.chains[noted.chain] == nil && self.hasHeader {
            self.faults.append(
                RecordFault(
                    kind: .truncated, chain: noted.chain, seq: nil, message: "the chain of a noted row is not there"))
        }
        verdict.faults += self.faults
        return verdict
    }
}

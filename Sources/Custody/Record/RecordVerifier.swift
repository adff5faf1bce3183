internal import Foundation

/// Verifies a record line by line: rows of each chain in order, checkpoints anywhere among them.
///
/// Offline, it needs only the lines of `inspectd audit export` and the signer's public key. It holds 40 bytes for each row.
package struct RecordVerifier {
    private let keys: [String: Ed25519PublicKey]
    private let reader = RecordRowReader()
    private var chains: [String: RecordChainVerifier] = [:]
    /// Those whose signature was verified; without keys, all.
    private var checkpoints: [RecordCheckpoint] = []
    /// Those that somebody kept elsewhere: the rows that they cover must exist.
    private var kept: [RecordCheckpoint] = []
    private var noted: [(chain: String, place: RecordPlace)] = []
    private var ends: [(chain: String, place: RecordPlace)] = []
    private var erased: [(chain: String, seq: Int64, digest: String)] = []
    private var forgotten: Set<String> = []
    private var faults: [RecordFault] = []
    private var signed = 0
    private var count = 0
    private var line = 0
    private var hasHeader = false
    private var hasEnd = false
    private var isPartial = false

    private let needsCheckpoint: Bool
    /// Those that each database has (`insp.record_chain`).
    private static let names = ["access", "endpoint", "operator", "session"]

    /// - Parameters:
    ///   - keys: Those that checkpoints may be signed with; none: signatures are not verified, hashes are.
    ///   - needsCheckpoint: Whether rows without any checkpoint are a fault, if keys are given.
    package init(keys: [Ed25519PublicKey], needsCheckpoint: Bool = true) {
        self.needsCheckpoint = needsCheckpoint
        self.keys = Dictionary(keys.map { ($0.id, $0) }) { first, _ in first }
    }

    // MARK: Input

    /// The chain heads to start from, instead of the export's first line.
    package mutating func begin(_ starts: [String: RecordPlace], isPartial: Bool) {
        self.hasHeader = true
        self.isPartial = isPartial
        self.chains = starts.mapValues { RecordChainVerifier(start: $0) }
    }

    /// A checkpoint that was kept elsewhere.
    package mutating func expect(_ checkpoint: RecordCheckpoint) {
        if self.verify(checkpoint, "the kept checkpoint") { self.kept.append(checkpoint) }
    }

    /// A row that was noted elsewhere.
    package mutating func expect(_ place: RecordPlace, in chain: String) {
        self.noted.append((chain, place))
    }

    /// Where a chain ends, by the same source as its rows.
    package mutating func end(_ chain: String, at place: RecordPlace) {
        self.ends.append((chain, place))
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
            guard self.chains.values[place].take(row, self.reader) else { return }
            if let digest = row.erased { self.erased.append((row.chain, row.seq, digest)) }
            self.forgotten.formUnion(row.forgotten)
        } else if let checkpoint = RecordCheckpoint(line: bytes) {
            self.take(checkpoint)
        } else {
            self.takeFrame(bytes)
        }
    }

    /// The input is complete, and no last line was expected: the rows came from a database.
    package mutating func end() { self.hasEnd = true }

    private mutating func take(_ checkpoint: RecordCheckpoint) {
        self.count += 1
        // A checkpoint with an unknown signature says nothing about the chains.
        guard self.verify(checkpoint, "checkpoint \(checkpoint.number)") else { return }
        if let last = self.checkpoints.last {
            let isLater =
                checkpoint.number > last.number && checkpoint.atMicroseconds >= last.atMicroseconds
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

    /// - Returns: Whether it is signed by a key that was given, or none was.
    private mutating func verify(_ checkpoint: RecordCheckpoint, _ name: String) -> Bool {
        guard !self.keys.isEmpty else { return true }
        let key = self.keys[checkpoint.keyID]
        if let key, checkpoint.isSigned(by: key) {
            self.signed += 1
            return true
        }
        let why =
            key.map { "has a signature that is not by key \($0.id): it was changed or forged" }
            ?? "is signed with a key that was not given: \(Self.harmless(checkpoint.keyID))"
        self.faults.append(
            RecordFault(kind: .signature, chain: nil, seq: checkpoint.number, message: "\(name) \(why)"))
        return false
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
            self.end(name, at: place)
        }
    }

    private mutating func malformed(_ what: String) {
        // One fault of a kind is enough: the rest of a damaged file says nothing more.
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

    /// The verdict, once all lines have been read; a file without its header or end is at fault.
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
        // An attacker who rewrites all rows leaves the checkpoints out.
        if self.needsCheckpoint, !self.keys.isEmpty, self.count == 0,
            self.chains.values.contains(where: { !$0.isEmpty })
        {
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
            faults: [], doubts: [], chains: [:], signed: self.signed, checkpoints: self.count,
            lastCheckpoint: last.map { ($0.number, $0.atMicroseconds) }, isPartial: self.isPartial)
        let all = (self.checkpoints + self.kept).sorted { $0.number < $1.number }
        for name in names {
            guard var chain = self.chains[name] else { continue }
            chain.finish(name)
            var former: (seq: Int64, atMicroseconds: Int64)?
            var early: (first: Int64, count: Int)?
            for checkpoint in all {
                guard let ends = checkpoint.heads.chains[name] else { continue }
                if let found = chain.checkTimes(ends.head, name, checkpoint, after: former) {
                    early = (early?.first ?? found.first, (early?.count ?? 0) + found.count)
                }
                former = (ends.head.seq, checkpoint.atMicroseconds)
                chain.compare(ends.head, name, "checkpoint \(checkpoint.number)")
                // An export that begins later does not show where retention ended.
                if !self.isPartial, let end = all.last?.atMicroseconds {
                    chain.checkStart(ends.head, name, checkpoint, nowMicroseconds: end)
                }
            }
            for end in self.ends where end.chain == name { chain.compareEnd(end.place, name) }
            for noted in self.noted where noted.chain == name {
                chain.compare(noted.place, name, "the row that was noted")
            }
            verdict.doubts += self.startDoubts(name, chain.start, all)
            if let early { verdict.doubts.append(Self.earlyDoubt(name, early.first, early.count)) }
            if let fault = chain.fault { verdict.faults.append(fault) }
            verdict.chains[name] = chain.summary(signed: last?.heads.chains[name]?.head.seq ?? 0)
        }
        verdict.doubts += self.erasureDoubts()
        if self.isUnwitnessed {
            verdict.doubts.append(
                RecordFault(
                    kind: .checkpoint, chain: nil, seq: nil,
                    message: "there are rows and no checkpoint, nothing that was kept and no public key: "
                        + "anyone who controls the database may have written all of them"))
        }
        verdict.faults += self.missingChains(all) + self.faults
        return verdict
    }

    /// Whether there is nothing but the rows' hashes.
    private var isUnwitnessed: Bool {
        self.needsCheckpoint && self.keys.isEmpty && self.count == 0 && self.kept.isEmpty && self.noted.isEmpty
            && self.chains.values.contains { !$0.isEmpty }
    }

    private static func earlyDoubt(_ name: String, _ first: Int64, _ count: Int) -> RecordFault {
        RecordFault(
            kind: .time, chain: name, seq: first,
            message: "chain \(name): \(count) rows, the first \(first), are dated more than a day before the "
                + "checkpoint that precedes them: they were added later than they say, or waited so long for their position"
        )
    }

    /// A whole chain may have been left out, with its name.
    private func missingChains(_ checkpoints: [RecordCheckpoint]) -> [RecordFault] {
        guard self.hasHeader else { return [] }
        var missing: [String: String] = [:]
        for name in Self.names { missing[name] = "each record has it" }
        for noted in self.noted { missing[noted.chain] = "a row of it was noted" }
        for checkpoint in checkpoints {
            for (name, ends) in checkpoint.heads.chains {
                missing[name] = "checkpoint \(checkpoint.number) has its row \(ends.head.seq)"
            }
        }
        return missing.filter { self.chains[$0.key] == nil }.sorted { $0.key < $1.key }.map { name, witness in
            RecordFault(
                kind: .truncated, chain: name, seq: nil,
                message: "chain \(Self.harmless(name)) is not there: \(witness)")
        }
    }

    /// Rows before the start of a chain may be hidden, unless retention removed them or somebody noted the start.
    private func startDoubts(_ name: String, _ start: RecordPlace, _ checkpoints: [RecordCheckpoint]) -> [RecordFault] {
        var doubts = self.noted.filter { $0.chain == name && (1..<max(start.seq, 1)).contains($0.place.seq) }.map {
            RecordFault(
                kind: .start, chain: name, seq: $0.place.seq,
                message: "chain \(name): row \($0.place.seq), which was noted, is not there: "
                    + "the first is \(start.seq + 1)")
        }
        let ends = checkpoints.compactMap { checkpoint in
            checkpoint.heads.chains[name].map { (checkpoint.atMicroseconds, $0) }
        }
        let isKnown =
            start.seq == 0 || ends.contains { $1.anchor == start }
            || self.noted.contains { $0.chain == name && $0.place == start }
        // Retention continues between two checkpoints. Without any, it cannot be determined.
        let isOld = ends.contains { at, ends in
            ends.head.seq >= start.seq
                && (checkpoints.last?.atMicroseconds ?? 0) - at >= RecordChainVerifier.longestRetentionMicroseconds
        }
        if !isKnown, self.isPartial || !ends.isEmpty && !isOld {
            let first = (ends.map(\.1.anchor.seq).filter { $0 < start.seq }.max() ?? 0) + 1
            doubts.append(
                RecordFault(
                    kind: .start, chain: name, seq: first,
                    message: "chain \(name): rows \(first) to \(start.seq) are not there, and no checkpoint says that "
                        + "retention removed them"))
        }
        return doubts
    }

    /// The schema's owner can remove words without an erasure.
    private func erasureDoubts() -> [RecordFault] {
        var first: [String: (seq: Int64, count: Int)] = [:]
        for row in self.erased where !self.forgotten.contains(row.digest) {
            first[row.chain, default: (row.seq, 0)].count += 1
        }
        return first.sorted { $0.key < $1.key }.map { name, rows in
            RecordFault(
                kind: .erased, chain: name, seq: rows.seq,
                message: "chain \(name): words of \(rows.count) rows, the first \(rows.seq), were removed, and no "
                    + "erasure on record says so")
        }
    }
}

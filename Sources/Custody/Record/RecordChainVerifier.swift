internal import Glibc
internal import InspectCore

/// Verifies the rows of one chain.
struct RecordChainVerifier {
    /// Retention removes no younger row, except of endpoints (`insp.record_guard`): 365 days in microseconds. Leap days are left to
    /// the database.
    static let longestRetentionMicroseconds: Int64 = 365 * 86_400_000_000

    let start: RecordPlace
    var isEmpty: Bool { self.rows == 0 }
    private var last: RecordPlace
    /// The hashes of all rows, one after the other.
    private var hashes: [UInt8] = []
    /// The times of all rows.
    private var timesMicroseconds: [Int64] = []
    private var erased: Int64 = 0
    private var rows: Int64 = 0
    private(set) var fault: RecordFault?
    /// The place that was skipped; whether its row comes later decides which fault it is.
    private var gap: (expected: Int64, found: Int64)?

    init(start: RecordPlace) {
        self.start = start
        self.last = start
    }

    /// Takes the next row; its hashes are in `reader`.
    ///
    /// - Returns: Whether the chain is intact up to here.
    mutating func take(_ row: RecordRow, _ reader: RecordRowReader) -> Bool {
        self.judge(row, reader)
        return self.fault == nil && self.gap == nil
    }

    private mutating func judge(_ row: RecordRow, _ reader: RecordRowReader) {
        self.rows += 1
        if self.fault != nil { return }
        if let gap = self.gap {
            // Checks only whether the skipped row appears after all; nothing else matters until then.
            if row.seq == gap.expected {
                self.fail(
                    .reordered, row.chain, gap.expected,
                    "row \(gap.expected) stands behind row \(gap.found): rows were reordered")
            }
            return
        }
        let expected = self.last.seq + 1
        if row.seq > expected {
            self.gap = (expected, row.seq)
            return
        }
        if row.seq < expected {
            return self.fail(
                .inserted, row.chain, row.seq,
                "a second row has position \(row.seq): one of the two was inserted")
        }
        if !row.isIntact {
            return self.fail(.changed, row.chain, row.seq, "row \(row.seq) was changed: its hash does not fit")
        }
        if row.hasOtherWords {
            return self.fail(
                .changed, row.chain, row.seq, "the words of row \(row.seq) were changed: their digest does not fit")
        }
        let follows = self.last.hash.withUnsafeBytes { memcmp($0.baseAddress!, reader.prev, 32) == 0 }
        if !follows {
            let first = self.start.seq + 1
            return self.fail(
                .changed, row.chain, max(first, row.seq - 1),
                row.seq == first
                    ? "row \(row.seq) does not follow the start of the chain"
                    : "row \(row.seq) does not follow row \(row.seq - 1): one of the two was changed or inserted")
        }
        self.last.seq = row.seq
        self.last.hash.withUnsafeMutableBytes { $0.baseAddress!.copyMemory(from: reader.hash, byteCount: 32) }
        self.hashes.append(contentsOf: UnsafeBufferPointer(start: reader.hash, count: 32))
        self.timesMicroseconds.append(row.atMicroseconds)
        if row.erased != nil { self.erased += 1 }
    }

    mutating func finish(_ name: String) {
        guard let gap = self.gap, self.fault == nil else { return }
        let rows =
            gap.found - gap.expected == 1 ? "row \(gap.expected) is" : "rows \(gap.expected) to \(gap.found - 1) are"
        self.fail(.missing, name, gap.expected, "\(rows) missing: row \(gap.found) follows row \(gap.expected - 1)")
    }

    /// Compares with a position that a checkpoint has, or that was noted.
    ///
    /// A fault at an earlier row stays; one at a later row gives way.
    mutating func compare(_ place: RecordPlace, _ name: String, _ witness: String) {
        guard place.seq >= self.start.seq else { return }
        if place.seq > self.last.seq {
            // The earlier fault explains it.
            guard self.fault == nil else { return }
            let first = self.last.seq + 1
            let rows = place.seq == first ? "row \(first) is" : "rows \(first) to \(place.seq) are"
            return self.fail(.truncated, name, first, "\(rows) missing at the end: \(witness) has row \(place.seq)")
        }
        guard self.hash(at: place.seq) != place.hash else {
            self.verified = max(self.verified, place.seq)
            return
        }
        let first = min(max(self.verified, self.start.seq) + 1, max(place.seq, 1))
        if let fault = self.fault, let seq = fault.seq, seq <= first { return }
        self.fail(
            .rewritten, name, first,
            first == place.seq
                ? "row \(first) was rewritten: \(witness) has another hash for it"
                : "one of the rows \(first) to \(place.seq), and all behind it, were rewritten: "
                    + "\(witness) has another hash for row \(place.seq)")
    }

    /// Compares with the end according to the rows' own source, which retention never moves before the start.
    mutating func compareEnd(_ place: RecordPlace, _ name: String) {
        guard place.seq < self.start.seq else { return self.compare(place, name, "the last line") }
        guard self.fault == nil else { return }
        self.fail(
            .truncated, name, place.seq + 1,
            "the chain ends at row \(place.seq), before its start, row \(self.start.seq): rows were removed at the end")
    }

    /// Up to here a checkpoint had the same hash.
    private var verified: Int64 = 0

    /// Finds rows that were removed from the start too early: those after a checkpoint's head are younger than the checkpoint.
    mutating func checkStart(
        _ head: RecordPlace, _ name: String, _ checkpoint: RecordCheckpoint, nowMicroseconds: Int64
    ) {
        guard name != "endpoint", self.start.seq > head.seq,
            nowMicroseconds - checkpoint.atMicroseconds < Self.longestRetentionMicroseconds,
            self.fault?.kind != .start
        else { return }
        self.fail(
            .start, name, head.seq + 1,
            "rows \(head.seq + 1) to \(self.start.seq) are missing at the start: they were written after checkpoint "
                + "\(checkpoint.number), and retention removes none that is younger than a year")
    }

    /// How far the database's clock may be ahead of the signer's, in microseconds: an hour.
    static let clockErrorMicroseconds: Int64 = 3_600_000_000
    /// How long a row may wait for its commit and its position, in microseconds: a day.
    static let longestWaitMicroseconds: Int64 = 86_400_000_000

    /// Compares the times of the rows that a checkpoint is the first to cover with it and with the one before.
    ///
    /// - Returns: How many are from long before the earlier one, and the place of the first.
    mutating func checkTimes(
        _ head: RecordPlace, _ name: String, _ checkpoint: RecordCheckpoint,
        after former: (seq: Int64, atMicroseconds: Int64)?
    ) -> (first: Int64, count: Int)? {
        let first = max(former?.seq ?? 0, self.start.seq) + 1
        let last = min(head.seq, self.start.seq + Int64(self.timesMicroseconds.count))
        guard first <= last else { return nil }
        var early: (first: Int64, count: Int)?
        for seq in first...last {
            let at = self.timesMicroseconds[Int(seq - self.start.seq - 1)]
            if at > checkpoint.atMicroseconds, at - checkpoint.atMicroseconds > Self.clockErrorMicroseconds {
                if let fault = self.fault, let place = fault.seq, place <= seq { return early }
                self.fail(
                    .time, name, seq,
                    "row \(seq) is dated after checkpoint \(checkpoint.number), which covers it: it was forged, or the "
                        + "database's clock was wrong")
                return early
            }
            if let former, at < former.atMicroseconds, former.atMicroseconds - at > Self.longestWaitMicroseconds {
                early = (early?.first ?? seq, (early?.count ?? 0) + 1)
            }
        }
        return early
    }

    private func hash(at seq: Int64) -> [UInt8] {
        guard seq > self.start.seq else { return self.start.hash }
        let offset = Int(seq - self.start.seq - 1) * 32
        return Array(self.hashes[offset..<offset + 32])
    }

    private mutating func fail(_ kind: RecordFault.Kind, _ chain: String, _ seq: Int64, _ message: String) {
        self.fault = RecordFault(kind: kind, chain: chain, seq: seq, message: "chain \(chain): \(message)")
    }

    func summary(signed: Int64) -> RecordVerdict.Chain {
        let isEmpty = self.last.seq == self.start.seq
        return RecordVerdict.Chain(
            first: isEmpty ? nil : self.start.seq + 1, last: isEmpty ? nil : self.last.seq,
            hash: self.last.hash.hexadecimal, rows: self.rows, erased: self.erased,
            unsigned: max(0, self.last.seq - max(signed, self.start.seq)))
    }
}

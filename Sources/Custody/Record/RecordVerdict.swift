/// What is wrong with a record, and where.
package struct RecordFault: Sendable, Equatable {
    /// The kinds of faults.
    package enum Kind: String, Sendable {
        /// A row with values or a place other than those that were hashed.
        case changed = "changed"
        /// A missing row, although later ones exist.
        case missing = "missing"
        /// A row after a later one.
        case reordered = "reordered"
        /// A second row for one place.
        case inserted = "inserted"
        /// Rows rewritten with consistent hashes that a checkpoint contradicts.
        case rewritten = "rewritten"
        /// Missing rows at the end that a checkpoint covers, in the record or kept elsewhere.
        case truncated = "truncated"
        /// Missing rows at the start that retention cannot have removed.
        case start = "start"
        /// A signature by a key that was not given.
        case signature = "signature"
        /// A checkpoint that contradicts another one.
        case checkpoint = "checkpoint"
        /// A line that does not belong to a record.
        case format = "format"
        /// An export without its last line.
        case cut = "cut"
        /// Rows whose own time contradicts the checkpoints before and after them: they were not written at that time.
        case time = "time"
        /// Words that were removed without an erasure on record.
        case erased = "erased"
        /// Rows that have had no place for so long that linking has stopped: they can be removed unnoticed.
        case waiting = "waiting"
    }

    /// What is wrong.
    package var kind: Kind
    /// The chain, where one is concerned.
    package var chain: String?
    /// Place of the first bad row; of a checkpoint its number.
    package var seq: Int64?
    /// For people: one sentence without personal data.
    package var message: String

    package init(kind: Kind, chain: String?, seq: Int64?, message: String) {
        self.kind = kind
        self.chain = chain
        self.seq = seq
        self.message = message
    }
}

/// The outcome of verifying a record.
package struct RecordVerdict: Sendable {
    /// The contents of a chain.
    package struct Chain: Sendable {
        /// Places of the first and last row; `nil`: there is none.
        package var first: Int64?
        /// The place of the last row; `nil`: there is none.
        package var last: Int64?
        /// The last row's hash in hexadecimal digits.
        package var hash: String
        /// Rows that were read.
        package var rows: Int64
        /// Rows whose words an erasure removed.
        package var erased: Int64
        /// Rows behind the last checkpoint.
        package var unsigned: Int64
    }

    /// The first fault of each chain, then those of checkpoints and of the export.
    package var faults: [RecordFault]
    /// Doubts: rows before the start of a chain, words that were removed.
    package var doubts: [RecordFault]
    /// By the chain's name.
    package var chains: [String: Chain]
    /// Checkpoints whose signature was verified.
    package var signed: Int
    /// Checkpoints in all.
    package var checkpoints: Int
    /// Number and time (since 1970) of the last one.
    package var lastCheckpoint: (number: Int64, atMicroseconds: Int64)?
    /// The export begins after the start of a chain.
    package var isPartial: Bool

    /// The verdict in a word; the raw values appear in the output of `inspectd audit`.
    package enum Outcome: String, Sendable {
        case whole = "whole"
        case broken = "broken"
        case inconclusive = "inconclusive"
    }

    /// Whole without faults and doubts; a doubt alone makes it inconclusive.
    package var outcome: Outcome {
        if !self.faults.isEmpty { return .broken }
        return self.doubts.isEmpty ? .whole : .inconclusive
    }
}

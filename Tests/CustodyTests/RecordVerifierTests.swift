import Custody
import Foundation
import TestSupport
import Testing

/// The verifier on files that are meant to break it.
@Suite struct RecordVerifierTests {
    private static let zeros = String(repeating: "0", count: 64)

    private static func header(_ start: String) -> String {
        #"{"record":"inspectd","version":1,"partial":false,"at":1,"chains":{"access":\#(start),"endpoint":\#(start),"#
            + #""operator":\#(start),"session":\#(start)}}"#
    }

    private static let row =
        #"{"chain": "access", "seq": 1, "at": 1, "actor": "a", "action": "read", "subject": "s", "purpose": null, "#
        + #""detail": {}, "words_sha256": null, "prev": "\#(zeros)", "hash": "\#(zeros)"}"#

    private static let checkpoint =
        #"{"checkpoint": 1, "at": 1, "key": "0123456789abcdef", "heads": {"access": [0, "\#(zeros)", 0, "\#(zeros)"]}, "#
        + #""signature": "\#(zeros)\#(zeros)"}"#

    private func verdict(_ lines: [String], _ key: Ed25519PublicKey? = nil) -> RecordVerdict {
        var verifier = RecordVerifier(keys: key.map { [$0] } ?? [])
        for line in lines { Data(line.utf8).withUnsafeBytes { verifier.take($0) } }
        return verifier.finish()
    }

    @Test(arguments: [
        "9223372036854775807", "9223372036854775806", "1000000000000000000", "-1", "1e300", "0.5", "null", "\"1\"",
    ])
    func `A start or an end that is no place is refused`(place: String) {
        let start = #"[\#(place),"\#(Self.zeros)"]"#
        let rows = [Self.header(start), Self.row, #"{"end":{"access":\#(start)}}"#]
        #expect(self.verdict(rows).faults.contains { $0.kind == .format })
        let none = #"[0,"\#(Self.zeros)"]"#
        let verdict = self.verdict([Self.header(none), Self.row, #"{"end":{"access":\#(start)}}"#])
        #expect(verdict.outcome == .broken)
        #expect(RecordPlace(seq: 999_999_999_999_999_999, hash: Self.zeros) != nil)
        #expect(RecordPlace(seq: 1_000_000_000_000_000_000, hash: Self.zeros) == nil)
        // Swift's own reading of numbers takes a sign.
        for sign in ["-0", "+0"] { #expect(RecordPlace(seq: 1, hash: sign + Self.zeros.dropFirst(2)) == nil) }
    }

    @Test func `The largest places overflow nothing`() {
        let start = #"[999999999999999999,"\#(Self.zeros)"]"#
        let row = Self.row.replacing("\"seq\": 1", with: "\"seq\": 999999999999999999")
        let head = Self.checkpoint.replacing(
            "[0, \"\(Self.zeros)\", 0,", with: "[0, \"\(Self.zeros)\", 999999999999999999,")
        #expect(
            self.verdict([Self.header(start), row, head, #"{"end":{"access":\#(start)}}"#]).outcome == .broken)
        #expect(self.verdict([Self.header(start), head, #"{"end":{"access":\#(start)}}"#]).outcome != .whole)
    }

    @Test func `Counts and times of a deletion report that are too large end nothing`() {
        var report = DeletionReport(partner: "acme", fromMicroseconds: 0, untilMicroseconds: .max)
        let row =
            #"{"chain": "operator", "seq": 1, "at": 9223372036854775807, "actor": "a", "action": "destroy_keys", "#
            + #""subject": "partner acme", "detail": {"keys": 9223372036854775807}}"#
        report.take(Data(row.replacing("9223372036854775807, \"actor", with: "1, \"actor").utf8))
        report.take(Data(row.replacing("9223372036854775807, \"actor", with: "2, \"actor").utf8))
        report.take(Data(row.utf8))
        #expect(report.text(first: 1, last: .start).contains("\"keys\": 9223372036854775807"))
        for text in ["300000-01-01T00:00:00Z", "292278-01-01T00:00:00Z", "10000-01-01T00:00:00Z"] {
            #expect(DeletionReport.microseconds(text) == nil, "\(text)")
        }
        #expect(DeletionReport.microseconds("9999-12-31") == 253_402_214_400_000_000)
    }

    /// Each of the lines is damaged in one to four places, by bytes that the format knows.
    @Test func `Damaged exports, checkpoints and reports are refused, and end no verifier`() throws {
        var random = TestRandom("damaged records")
        let key = Ed25519PrivateKey()
        let heads =
            #"{"access": [0, "\#(Self.zeros)", 1, "\#(Self.zeros)"], "operator": [0, "\#(Self.zeros)", 0, "\#(Self.zeros)"]}"#
        let signed = try #require(RecordCheckpoint(number: 1, atMicroseconds: 1, headsText: heads, key: key))
        let report = DeletionReport(partner: "acme", fromMicroseconds: 0, untilMicroseconds: 1)
        let deletions = try #require(
            SignedDeletionReport(report.text(first: 1, last: .start), atMicroseconds: 1, key: key))
        let none = #"[0,"\#(Self.zeros)"]"#
        let forgotten = Self.row.replacing("\"read\"", with: "\"forget_words\"").replacing(
            "{}", with: #"{"words": ["\#(Self.zeros)", "x"]}"#)
        let worded = Self.row.replacing("null, \"prev", with: "\"\(Self.zeros)\", \"prev").dropLast()
        let lines = [
            Self.header(none), Self.row, forgotten, worded + ", \"words\": null}",
            worded + #", "words": {"note": "x"}, "words_salt": "00000000-0000-0000-0000-000000000000"}"#, signed.line,
            #"{"end":{"access":\#(none)},"rows":1,"checkpoints":1}"#,
        ]
        let tokens = [
            "9223372036854775807", "-1", "1e999", "\"", "\\", "{", "}", "[", "]", ",", ":", " ", "null", "0", "\u{0}",
            "é",
            "99999999999999999999", "\\u0000", "",
        ].map { Array($0.utf8) }
        func damaged(_ line: String) -> [UInt8] {
            var bytes = Array(line.utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) where !bytes.isEmpty {
                let start = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, start + Int.random(in: 0...20, using: &random))
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes.replaceSubrange(start..<end, with: tokens.randomElement(using: &random)!)
                case 1: bytes[start] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2:
                    bytes.insert(contentsOf: bytes[start..<end], at: Int.random(in: 0...bytes.count, using: &random))
                default: bytes.removeSubrange(start..<end)
                }
            }
            return bytes
        }
        var whole = 0
        for _ in 0..<3000 {
            var verifier = RecordVerifier(keys: Bool.random(using: &random) ? [key.publicKey] : [])
            if let kept = Data(damaged(signed.line)).withUnsafeBytes({ RecordCheckpoint(line: $0) }) {
                verifier.expect(kept)
            }
            for line in lines {
                let bytes = Int.random(in: 0..<3, using: &random) == 0 ? damaged(line) : Array(line.utf8)
                bytes.withUnsafeBytes { verifier.take($0) }
            }
            if verifier.finish().outcome == .whole { whole += 1 }
            let line = Data(damaged(deletions.line))
            if let frame = SignedDeletionReport(line: line)?.frame {
                var counted = frame.report
                counted.take(Data(damaged(Self.row)))
                _ = counted.text(first: frame.first, last: frame.last)
            }
        }
        // The rows' hashes are made up.
        #expect(whole == 0)
    }
}

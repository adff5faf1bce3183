import Custody
import Foundation
import InspectCore
import JobQueue

/// Signs a report of a partner's erased data, and verifies such a report.
struct AuditDeletions {
    private let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    // MARK: A new report

    func sign(_ configuration: Configuration, _ store: RecordStore) async throws {
        // As the database allows them: the name is in the signed text.
        guard let partner = self.arguments["partner"],
            partner.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9_.-]{0,63}/) != nil
        else { throw UsageError("'audit deletions' needs --partner with a partner's name") }
        let key = try AuditKeyFile.read(try AuditKeyFile.path(configuration))
        let now = Int64(Date().timeIntervalSince1970 * 1_000_000)
        let from = try self.time("begin") ?? 0
        let until = try self.time("until") ?? now
        guard from < until, until <= now else {
            throw UsageError("--begin must be before --until, and --until must not be in the future")
        }
        // Rows that are not in the chain yet could be changed unnoticed.
        try await self.waitForChain(until, store)
        guard let ends = try await store.heads().heads.chains[DeletionReport.chain] else { throw Failure() }
        var report = DeletionReport(partner: partner, fromMicroseconds: from, untilMicroseconds: until)
        var place = ends.anchor.seq
        while place < ends.head.seq {
            let lines = try await store.rows(of: DeletionReport.chain, after: place)
                .filter { $0.number <= ends.head.seq }
            guard let first = lines.first, let last = lines.last else { break }
            if place == ends.anchor.seq { try Self.checkStart(first, place, from) }
            for line in lines { report.take(line.text) }
            place = last.number
        }
        let text = report.text(first: ends.anchor.seq + 1, last: ends.head)
        guard let signed = SignedDeletionReport(text, atMicroseconds: now, key: key) else {
            throw InspectError(.internalError, "libcrypto cannot sign")
        }
        Output.line(signed.line)
    }

    private func time(_ option: String) throws(UsageError) -> Int64? {
        guard let text = self.arguments[option] else { return nil }
        guard let time = DeletionReport.microseconds(text) else {
            throw UsageError("--\(option) takes a day or a time in UTC, such as 2026-01-31 or 2026-01-31T12:00:00Z")
        }
        return time
    }

    /// Waits for the places of rows that were written before a time.
    private func waitForChain(_ untilMicroseconds: Int64, _ store: RecordStore) async throws {
        let deadline = ContinuousClock.now + .seconds(10)
        while try await store.hasWaiting(in: DeletionReport.chain, before: untilMicroseconds) {
            guard .now < deadline else {
                throw InspectError(
                    .internalError, "rows of the record wait for their position",
                    hint: "Run a worker that maintains (insp.v_maintenance), or give an earlier --until.")
            }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// A report must not cover a period whose rows retention has removed.
    private static func checkStart(_ first: RecordLine, _ anchor: Int64, _ fromMicroseconds: Int64) throws {
        let row = try JSONSerialization.jsonObject(with: first.text) as? [String: Any]
        guard anchor > 0, let at = row?["at"] as? Int64, fromMicroseconds < at else { return }
        throw InspectError(
            .parameterInvalid, "retention removed the record from before \(DeletionReport.time(at))",
            hint: "Give --begin \(DeletionReport.time(at)) or later.")
    }

    // MARK: An existing report

    private struct Verdict: Encodable {
        var outcome: String
        var faults: [String]
        var signedAt: String
        var key: String
        var record: String
    }

    /// Verifies a report's signature and, with an export of the record, its counts. Needs no database.
    func verify(_ path: String, export: String?) throws {
        let keys = try AuditKeyFile.readPublic(self.arguments)
        guard !keys.isEmpty else { throw UsageError("'audit verify --deletions' needs --public-key") }
        let bytes = try InputFile.read(path, of: "--deletions", isSetting: true)
        let lines = bytes.split(separator: 0x0A)
        guard lines.count == 1, let report = SignedDeletionReport(line: Data(lines[0])), let frame = report.frame else {
            throw InputFile.Failure(description: "--deletions: \(path) is not a report of inspectd audit deletions")
        }
        var faults: [String] = []
        if !keys.contains(where: { $0.id == report.keyID }) {
            faults.append("it is signed with a key that was not given")
        } else if !keys.contains(where: { report.isSigned(by: $0) }) {
            faults.append("the signature is not by key \(report.keyID): it was changed or forged")
        }
        if let export { faults += try Self.compare(report, frame, keys, export) }
        Output.line(
            ResultEnvelope.json(
                Verdict(
                    outcome: faults.isEmpty ? "whole" : "broken", faults: faults,
                    signedAt: DeletionReport.time(report.atMicroseconds), key: report.keyID,
                    record: export == nil ? "not compared: no export was given" : "compared")))
        if !faults.isEmpty { throw Failure() }
    }

    private static func compare(
        _ report: SignedDeletionReport, _ frame: (report: DeletionReport, first: Int64, last: RecordPlace),
        _ keys: [Ed25519PublicKey], _ export: String
    ) throws -> [String] {
        var verifier = RecordVerifier(keys: keys)
        verifier.expect(frame.last, in: DeletionReport.chain)
        var counted = frame.report
        var first: Int64?
        let start = Data("{\"chain\": \"\(DeletionReport.chain)\", \"seq\": ".utf8)
        try LineFile(path: export).forEach { bytes in
            verifier.take(bytes)
            guard bytes.starts(with: start) else { return }
            let digits = bytes.dropFirst(start.count).prefix { (0x30...0x39).contains($0) }
            guard let seq = Int64(String(decoding: digits, as: UTF8.self)), seq <= frame.last.seq else { return }
            first = min(first ?? seq, seq)
            counted.take(Data(bytes))
        }
        var faults = verifier.finish().faults.map { "the record: \($0.message)" }
        if first.map({ $0 > frame.first }) ?? true {
            faults.append("the export begins behind the rows of which the report was made")
        } else if counted.text(first: frame.first, last: frame.last) != report.text {
            faults.append("the report does not say what the record says")
        }
        return faults
    }
}

package import Foundation
internal import InspectCore

/// What was erased of one partner within a time, as the record has it, by day and cause.
///
/// Made of the record's rows alone, so anyone with an export can check the counts.
package struct DeletionReport: Sendable {
    /// The cause of an erasure.
    package enum Cause: String, Sendable, Comparable, CaseIterable {
        /// One job with its reruns, by `insp.erase`.
        case job = "job"
        case person = "person"
        case face = "face"
        /// The end of a period.
        case retention = "retention"
        /// The whole partner.
        case partner = "partner"
        /// Not a separate cause: keys that the key store has destroyed, for any of the others.
        case keys = "keys"

        package static func < (left: Cause, right: Cause) -> Bool {
            Self.allCases.firstIndex(of: left)! < Self.allCases.firstIndex(of: right)!
        }
    }

    private struct Place: Hashable, Comparable {
        /// Since 1970.
        var days: Int64
        var cause: Cause

        static func < (left: Place, right: Place) -> Bool { (left.days, left.cause) < (right.days, right.cause) }
    }

    /// The chain from which it is made.
    package static let chain = "operator"
    /// The possible beginnings of rows that count, after their chain; other rows are not even parsed.
    private static let actions = ["erase", "face_", "purge", "destroy_keys", "keys_destroy_"]
        .map { Data("\"action\": \"\($0)".utf8) }

    /// The partner's name, whose deletions are counted.
    package let partner: String
    /// The start, since 1970.
    package let fromMicroseconds: Int64
    /// The end, exclusive, since 1970.
    package let untilMicroseconds: Int64
    private var counts: [Place: [String: Int64]] = [:]

    package init(partner: String, fromMicroseconds: Int64, untilMicroseconds: Int64) {
        self.partner = partner
        self.fromMicroseconds = fromMicroseconds
        self.untilMicroseconds = untilMicroseconds
    }

    /// Takes a row of the chain as `insp.record_rows` prints it; others are left out.
    package mutating func take(_ line: Data) {
        guard Self.actions.contains(where: { line.range(of: $0) != nil }),
            let row = (try? JSONSerialization.jsonObject(with: line)) as? [String: Any],
            row["chain"] as? String == Self.chain, let at = row["at"] as? Int64,
            at >= self.fromMicroseconds, at < self.untilMicroseconds,
            let action = row["action"] as? String, let detail = row["detail"] as? [String: Any]
        else { return }
        let isOurs = row["subject"] as? String == "partner \(self.partner)"
        let ours = (detail["partners"] as? [String: [String: Any]])?[self.partner]
        switch action {
        case "erase" where detail["partner"] as? String == self.partner:
            self.add(at, detail["for"] as? String == "person" ? .person : .job, detail, ["jobs", "templates"])
        case "erase_person" where isOurs:
            self.add(at, .person, detail.merging(["persons": Int64(1)]) { $1 }, ["persons", "templates"])
        case "face_delete" where isOurs:
            // The call is recorded for each spelling of the id, even if nothing was left.
            guard let templates = detail["templates"] as? Int64, templates > 0 else { return }
            self.add(at, .face, ["faces": Int64(1), "templates": templates], ["faces", "templates"])
        case "purge", "face_purge":
            guard let ours else { return }
            self.add(at, .retention, ours, ["parts", "results", "references", "templates"])
        case "erase_partner" where isOurs:
            self.add(
                at, .partner, detail, ["jobs", "templates", "persons", "endpoints", "credentials", "secrets"])
        case "destroy_keys" where isOurs, "keys_destroy_person" where isOurs, "keys_destroy_partner" where isOurs:
            self.add(at, .keys, detail, ["keys"])
        default: return
        }
    }

    private mutating func add(_ atMicroseconds: Int64, _ cause: Cause, _ detail: [String: Any], _ names: [String]) {
        let place = Place(days: atMicroseconds / 86_400_000_000, cause: cause)
        for name in names {
            guard let count = detail[name] as? Int64, count > 0 else { continue }
            let (sum, isTooLarge) = self.counts[place, default: [:]][name, default: 0].addingReportingOverflow(count)
            self.counts[place, default: [:]][name] = isTooLarge ? .max : sum
        }
    }

    /// The report as JSON, always with the same text for the same rows.
    ///
    /// - Parameters:
    ///   - first: Place of the first row of the record that is still there.
    ///   - last: The last row that was counted, or passed over.
    package func text(first: Int64, last: RecordPlace) -> String {
        let days = self.counts.sorted { $0.key < $1.key }.map { place, counts in
            let members = counts.sorted { $0.key < $1.key }.map { "\"\($0)\": \($1)" }
            let day = Self.time(place.days * 86_400_000_000).prefix(10)
            return "{\"day\": \"\(day)\", \"cause\": \"\(place.cause.rawValue)\", \(members.joined(separator: ", "))}"
        }
        return "{\"partner\": \"\(self.partner)\", \"from\": \"\(Self.time(self.fromMicroseconds))\", "
            + "\"until\": \"\(Self.time(self.untilMicroseconds))\", "
            + "\"record\": [\"\(Self.chain)\", \(first), \(last.seq), \"\(last.hash.hexadecimal)\"], "
            + "\"deletions\": [\(days.joined(separator: ", "))]}"
    }

    /// In UTC, with microseconds if there are any.
    package static func time(_ microseconds: Int64) -> String {
        let seconds = Date(timeIntervalSince1970: Double(microseconds / 1_000_000))
        let whole = seconds.formatted(Date.ISO8601FormatStyle())
        let rest = microseconds % 1_000_000
        return rest == 0 ? whole : whole.dropLast() + "." + String(String(1_000_000 + rest).dropFirst()) + "Z"
    }

    /// - Parameter text: A day, which begins at midnight UTC, or a time as RFC 3339 writes it.
    package static func microseconds(_ text: String) -> Int64? {
        let whole = text.utf8.count == 10 ? text + "T00:00:00Z" : text
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: whole.contains("."))
        // Up to the year 9999: a later one might not fit into microseconds, and has no form in RFC 3339.
        guard let date = try? style.parse(whole), (0..<253_402_300_800).contains(date.timeIntervalSince1970) else {
            return nil
        }
        return Int64((date.timeIntervalSince1970 * 1_000_000).rounded())
    }
}

/// A deletion report with the signature of the key that signs checkpoints.
package struct SignedDeletionReport: Sendable {
    /// The text of the report, a JSON object.
    package let text: String
    /// When it was signed, by the signer's clock, since 1970.
    package let atMicroseconds: Int64
    /// The ``Ed25519PublicKey/id`` of the key that signed it.
    package let keyID: String
    /// 64 bytes.
    package let signature: [UInt8]

    /// - Returns: `nil` if libcrypto cannot sign.
    package init?(_ text: String, atMicroseconds: Int64, key: Ed25519PrivateKey) {
        guard let signature = key.sign(Self.message(text, atMicroseconds, key.publicKey.id)) else { return nil }
        self.text = text
        self.atMicroseconds = atMicroseconds
        self.keyID = key.publicKey.id
        self.signature = signature
    }

    /// Reads what ``line`` writes.
    package init?(line: Data) {
        let read = line.withUnsafeBytes { bytes -> (String, Int64, String, [UInt8])? in
            var reader = LineReader(bytes)
            guard reader.takes("{\"deletions\": "), let report = reader.object(), reader.takes(", \"at\": "),
                let at = reader.number(), reader.takes(", \"key\": "), let key = reader.string(),
                reader.takes(", \"signature\": ")
            else { return nil }
            var signature = [UInt8](repeating: 0, count: 64)
            let isSigned = signature.withUnsafeMutableBufferPointer { reader.hexadecimal(64, into: $0.baseAddress!) }
            guard isSigned, reader.takes("}"), reader.isAtEnd else { return nil }
            return (reader.text(report), at, String(reader.text(key).dropFirst().dropLast()), signature)
        }
        guard let read else { return nil }
        (self.text, self.atMicroseconds, self.keyID, self.signature) = read
    }

    /// The line in a file that stores it.
    package var line: String {
        "{\"deletions\": \(self.text), \"at\": \(self.atMicroseconds), \"key\": \"\(self.keyID)\", "
            + "\"signature\": \"\(self.signature.hexadecimal)\"}"
    }

    /// Whether this key signed exactly this text at this time.
    package func isSigned(by key: Ed25519PublicKey) -> Bool {
        key.id == self.keyID
            && key.verifies(self.signature, of: Self.message(self.text, self.atMicroseconds, self.keyID))
    }

    /// A report with nothing counted yet, for the same partner and time, and the rows that it says it was made from; `nil`: the text is
    /// not from ``DeletionReport``.
    package var frame: (report: DeletionReport, first: Int64, last: RecordPlace)? {
        guard let object = (try? JSONSerialization.jsonObject(with: Data(self.text.utf8))) as? [String: Any],
            let partner = object["partner"] as? String,
            let from = (object["from"] as? String).flatMap({ DeletionReport.microseconds($0) }),
            let until = (object["until"] as? String).flatMap({ DeletionReport.microseconds($0) }),
            let record = object["record"] as? [Any], record.count == 4, record[0] as? String == DeletionReport.chain,
            let first = record[1] as? Int64, let seq = record[2] as? Int64, let hash = record[3] as? String,
            let last = RecordPlace(seq: seq, hash: hash)
        else { return nil }
        return (DeletionReport(partner: partner, fromMicroseconds: from, untilMicroseconds: until), first, last)
    }

    private static func message(_ text: String, _ atMicroseconds: Int64, _ key: String) -> [UInt8] {
        // The first line says what is signed, so that no other signature by the key can pass for one of this kind.
        Array("inspectd deletions\n[\(atMicroseconds), \"\(key)\", \(text)]".utf8)
    }
}

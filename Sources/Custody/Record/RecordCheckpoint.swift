package import Foundation
internal import InspectCore

/// One end of a chain: a place and the hash of the row there.
package struct RecordPlace: Sendable, Equatable {
    /// The row's place in its chain.
    package var seq: Int64
    /// 32 bytes.
    package var hash: [UInt8]

    package init(seq: Int64, hash: [UInt8]) {
        self.seq = seq
        self.hash = hash
    }

    /// Lines of an export have no more digits, and arithmetic cannot overflow.
    static let largest: Int64 = 999_999_999_999_999_999

    /// Before the first row of a chain.
    package static let start = RecordPlace(seq: 0, hash: [UInt8](repeating: 0, count: 32))

    /// - Parameter hash: 64 hexadecimal digits.
    package init?(seq: Int64, hash: String) {
        guard (0...Self.largest).contains(seq), let bytes = [UInt8](hexadecimal: hash), bytes.count == 32 else {
            return nil
        }
        self.init(seq: seq, hash: bytes)
    }
}

/// Both ends of every chain.
package struct RecordHeads: Sendable, Equatable {
    /// By chain: the last row that retention removed, and the last row.
    package var chains: [String: (anchor: RecordPlace, head: RecordPlace)]

    package static func == (left: RecordHeads, right: RecordHeads) -> Bool {
        left.chains.count == right.chains.count
            && left.chains.allSatisfy { name, ends in
                right.chains[name].map { $0.anchor == ends.anchor && $0.head == ends.head } ?? false
            }
    }

    /// - Parameter json: What `insp.record_heads` returns.
    package init?(json: Data) {
        guard let object = try? JSONSerialization.jsonObject(with: json) as? [String: [Any]] else { return nil }
        self.chains = [:]
        for (name, ends) in object {
            guard ends.count == 4, let first = ends[0] as? Int64, let anchor = ends[1] as? String,
                let last = ends[2] as? Int64, let head = ends[3] as? String,
                let start = RecordPlace(seq: first, hash: anchor), let end = RecordPlace(seq: last, hash: head)
            else { return nil }
            self.chains[name] = (start, end)
        }
    }
}

/// A signed statement of how far each chain reached at a time.
package struct RecordCheckpoint: Sendable {
    /// From 1.
    package var number: Int64
    /// By the signer's clock, since 1970.
    package var atMicroseconds: Int64
    /// The ``Ed25519PublicKey/id`` of the key that signed it.
    package var keyID: String
    /// Both ends of each chain at that time.
    package var heads: RecordHeads
    /// The text of `heads` that was signed.
    package var headsText: String
    /// 64 bytes.
    package var signature: [UInt8]

    /// Signs the ends of the chains.
    ///
    /// - Parameter headsText: The exact text of `insp.record_heads`.
    /// - Returns: `nil` if the text is none of that function, or libcrypto cannot sign.
    package init?(number: Int64, atMicroseconds: Int64, headsText: String, key: Ed25519PrivateKey) {
        guard let heads = RecordHeads(json: Data(headsText.utf8)),
            let signature = key.sign(Self.message(number, atMicroseconds, key.publicKey.id, headsText))
        else { return nil }
        self.number = number
        self.atMicroseconds = atMicroseconds
        self.keyID = key.publicKey.id
        self.heads = heads
        self.headsText = headsText
        self.signature = signature
    }

    /// Reads a line of `insp.record_checkpoints`.
    package init?(line: UnsafeRawBufferPointer) {
        var reader = LineReader(line)
        guard reader.takes("{\"checkpoint\": "), let number = reader.number(), reader.takes(", \"at\": "),
            let at = reader.number(), reader.takes(", \"key\": "), let key = reader.string(),
            reader.takes(", \"heads\": "), let span = reader.object(), reader.takes(", \"signature\": ")
        else { return nil }
        var signature = [UInt8](repeating: 0, count: 64)
        let isSigned = signature.withUnsafeMutableBufferPointer { reader.hexadecimal(64, into: $0.baseAddress!) }
        guard isSigned, reader.takes("}"), reader.isAtEnd, let heads = RecordHeads(json: Data(reader.bytes(span)))
        else { return nil }
        self.number = number
        self.atMicroseconds = at
        self.keyID = String(reader.text(key).dropFirst().dropLast())
        self.heads = heads
        self.headsText = reader.text(span)
        self.signature = signature
    }

    /// The line that ``init(line:)`` reads.
    package var line: String {
        "{\"checkpoint\": \(self.number), \"at\": \(self.atMicroseconds), \"key\": \"\(self.keyID)\", "
            + "\"heads\": \(self.headsText), \"signature\": \"\(self.signature.hexadecimal)\"}"
    }

    /// Whether this key signed exactly these heads under this number.
    package func isSigned(by key: Ed25519PublicKey) -> Bool {
        key.id == self.keyID
            && key.verifies(
                self.signature, of: Self.message(self.number, self.atMicroseconds, self.keyID, self.headsText))
    }

    private static func message(_ number: Int64, _ atMicroseconds: Int64, _ key: String, _ heads: String) -> [UInt8] {
        // The first line says what is signed, so that no other signature by the key can pass for one of this kind.
        Array("inspectd checkpoint\n[\(number), \(atMicroseconds), \"\(key)\", \(heads)]".utf8)
    }
}

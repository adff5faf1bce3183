package import Foundation
package import InspectCore

/// The purpose and the row of sealed bytes: they open nowhere else.
package struct SealContext: Sendable, Equatable {
    /// The kinds of sealed data. The names are part of the published format (deploy/SEALING.md).
    package enum Purpose: String, Sendable, CaseIterable {
        /// A part's bytes; the row: kind, number.
        case part = "part"
        /// A job's references, consent and callback URL.
        case personal = "personal"
        /// The body of a stage's result; the row: status.
        case step = "step"
        /// The result of a job.
        case result = "result"
        /// An enrolled face; the row: engine.
        case template = "template"
        /// A secret of an endpoint or a credential; the row: owner, purpose.
        case secret = "secret"
        /// A reviewer's note.
        case note = "note"
    }

    /// Number of the partner that owns it (`insp.partner.id`).
    package var partner: Int64
    /// The purpose of the bytes; bytes sealed for one purpose do not open for another.
    package var purpose: Purpose
    /// The values that distinguish the row from others sealed under the same key for the same purpose.
    package var row: [String]

    package init(partner: Int64, _ purpose: Purpose, row: [String] = []) {
        self.partner = partner
        self.purpose = purpose
        self.row = row
    }

    /// A part of a job.
    package static func part(_ kind: PartKind, _ ordinal: Int = 0, of partner: Int64) -> SealContext {
        SealContext(partner: partner, .part, row: [kind.rawValue, String(ordinal)])
    }
}

/// Seals data to be stored, and opens it. deploy/SEALING.md describes the format for other programs.
package enum Seal {
    /// The format's number, the first byte of sealed bytes, and the value of a row's column `seal`.
    package static let version: UInt8 = 1
    /// Bytes before the ciphertext: version, key id, nonce.
    static let headerCount = 1 + 16 + AES256GCM.nonceCount
    /// How many bytes sealing adds.
    static let overhead = Self.headerCount + AES256GCM.tagCount

    private static let label = "inspectd seal 1"

    /// Seals a text under a key, with a new nonce.
    package static func seal(_ text: Data, under key: CustodyKey, for context: SealContext) -> Data {
        self.seal(text, under: key, for: context, nonce: AES256GCM.nonce())
    }

    /// The same with a given nonce, which no other text may have under this key.
    static func seal(_ text: Data, under key: CustodyKey, for context: SealContext, nonce: [UInt8]) -> Data {
        precondition(key.partner == context.partner, "another partner's key")
        let start = [self.version] + key.id.bytes
        let associated = self.associated(start, context)
        var sealed = Data(start + nonce)
        sealed.count += text.count + AES256GCM.tagCount
        sealed.withUnsafeMutableBytes { sealed in
            text.withUnsafeBytes { text in
                nonce.withUnsafeBytes { nonce in
                    AES256GCM.seal(
                        text, under: key.secret, nonce: nonce, associated: associated,
                        into: UnsafeMutableRawBufferPointer(rebasing: sealed[self.headerCount...]))
                }
            }
        }
        return sealed
    }

    /// The key that opens sealed bytes.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken`` if they are too short or of another version.
    package static func keyID(of sealed: Data) throws(InspectError) -> KeyID {
        guard sealed.count >= self.overhead else { throw InspectError(.sealBroken, "too few bytes") }
        guard sealed.first == self.version, let id = KeyID(sealed.dropFirst().prefix(16)) else {
            throw InspectError(.sealBroken, "an unknown version of the format")
        }
        return id
    }

    /// The text.
    ///
    /// - Throws: ``InspectError`` with ``ErrorCode/sealBroken``: the bytes were changed, are another row's, or belong to another
    ///   key. It does not say which.
    package static func open(_ sealed: Data, under key: CustodyKey, for context: SealContext) throws(InspectError)
        -> Data
    {
        guard try self.keyID(of: sealed) == key.id, key.partner == context.partner else {
            throw InspectError(.sealBroken)
        }
        var text = Data(count: sealed.count - self.overhead)
        let associated = self.associated(Array(sealed.prefix(17)), context)
        let isGenuine = text.withUnsafeMutableBytes { text in
            sealed.withUnsafeBytes { sealed in
                AES256GCM.open(
                    UnsafeRawBufferPointer(rebasing: sealed[self.headerCount...]), under: key.secret,
                    nonce: UnsafeRawBufferPointer(rebasing: sealed[17..<self.headerCount]), associated: associated,
                    into: text)
            }
        }
        guard isGenuine else { throw InspectError(.sealBroken) }
        return text
    }

    private static func associated(_ start: [UInt8], _ context: SealContext) -> [UInt8] {
        let words = [String(context.partner), context.purpose.rawValue] + context.row
        return AssociatedData.encode([Array(self.label.utf8), start] + words.map { Array($0.utf8) })
    }
}
